"""One graph as a table for the terminal: a row for each kernel, product and NumPy call."""

from __future__ import annotations

from pathlib import Path

from ..engine import Report
from .model import Place, Unit, view_of

WIDE = 44  # characters of what a kernel computes


def unit_table(report: Report) -> list[str]:
    """Returns the rows, equal kernels in one: how often it runs, what, bytes, lines, why it ends there."""
    rows = [("", "runs", "computes", "moves", "from", "ends because")]
    for unit in view_of(report).units:
        moved = size_text(unit.read + unit.written)
        rows.append((unit.key.upper(), str(len(unit.steps)), _cut(what(unit), WIDE), moved,
                     places_text(unit.places), _reason(unit)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].ljust(widths[2]),
                       row[3].rjust(widths[3]), row[4].ljust(widths[4]), row[5]]).rstrip() for row in rows]


def what(unit: Unit) -> str:
    """The composites a unit computes, then its ops."""
    return f"{unit.origin}: {unit.title}" if unit.origin else unit.title


def _reason(unit: Unit) -> str:
    if not unit.reasons:
        return ""
    more = f" (and {len(unit.reasons) - 1} like it)" if len(unit.reasons) > 1 else ""
    return unit.reasons[0] + more


def places_text(places: list[Place]) -> str:
    """Files and line numbers, the first four.

    >>> places_text([("/a/train.py", 7), ("/a/train.py", 9), ("/b/net.py", 3)])
    'train.py:7,9 net.py:3'
    """
    files: dict[str, list[int]] = {}
    for file, number in places[:4]:
        files.setdefault(Path(file).name, []).append(number)
    more = f" +{len(places) - 4}" if len(places) > 4 else ""
    return " ".join(f"{name}:{','.join(map(str, numbers))}" for name, numbers in files.items()) + more


def size_text(count: float) -> str:
    """Bytes with a unit.

    >>> size_text(0), size_text(1536), size_text(3.2e6)
    ('0 B', '1.54 kB', '3.2 MB')
    """
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def time_text(seconds: float) -> str:
    """Seconds with a unit.

    >>> time_text(2.5), time_text(0.0123), time_text(3.2e-06)
    ('2.5 s', '12.3 ms', '3.2 µs')
    """
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
