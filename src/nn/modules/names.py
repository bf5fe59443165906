"""How error messages name the type of a value."""

from __future__ import annotations

from typing import Any

from ...frontend.tensor import Tensor

_LEGACY = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


def typename(value: Any) -> str:
    """Returns the name PyTorch's messages give the type of `value`.

    >>> typename(1), typename(Tensor)
    ('int', 'type')
    """
    if isinstance(value, Tensor):
        return f"torch.{_LEGACY[value.dtype.name]}Tensor"
    cls = type(value)
    name = cls.__qualname__
    return name if cls.__module__ in ("builtins", "") else f"{cls.__module__}.{name}"
