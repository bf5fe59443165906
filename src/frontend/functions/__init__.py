"""Public functions in torch's names: promote, broadcast, and call primitives."""
