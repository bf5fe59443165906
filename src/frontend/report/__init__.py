"""The report page's parts: what to show (model), the drawing, coloured code, looks. In: a Report; out: HTML."""
