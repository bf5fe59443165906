"""Operators shared by Tensor and graph Node: promote, broadcast, then one primitive.

Each function here takes values (anything with `.type`) and Python numbers, and ends in `bind`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtype as dt
from .errors import ShapeError
from .type import TensorType


class _Defaults:
    """The dtype of new floating tensors; process-wide, as in PyTorch."""

    dtype = dt.float32


defaults = _Defaults()
table: Any = None  # the package `ir.ops`, set when it is loaded (rows are written with these operators)


def is_number(v) -> bool:
    return isinstance(v, (int, float, complex, np.generic))


def number_as(value, dtype: dt.DType):
    """`value` as a Python number that `dtype` can hold (integers wrap, as a cast would)."""
    kind = dtype.kind
    if kind == "f":
        return float(value)
    if kind == "c":
        return complex(value)
    if kind == "b":
        return bool(value)
    value = int(value)
    low, high = (0, 255) if dtype is dt.uint8 else (-(1 << 8 * dtype.itemsize - 1),
                                                    (1 << 8 * dtype.itemsize - 1) - 1)
    if low <= value <= high:
        return value
    return (value - low) % (high - low + 1) + low


def result_dtype(*values) -> dt.DType:
    """torch.result_type of tensors, nodes and Python numbers."""
    dims, zeros, numbers = [], [], []
    for v in values:
        t = getattr(v, "type", None)
        if isinstance(t, TensorType):
            (dims if t.ndim else zeros).append(t.dtype)
        else:
            numbers.append(v)
    return dt.result_type(dims, zeros, numbers, defaults.dtype)


def broadcast_shape(*shapes, op: str = "") -> tuple[int, ...]:
    """The common shape; RuntimeError in PyTorch's words if there is none."""
    ndim = max(map(len, shapes))
    out = [1] * ndim
    for shape in shapes:
        for i, n in enumerate(shape, ndim - len(shape)):
            if n == 1 or n == out[i]:
                continue
            if out[i] != 1:
                raise ShapeError(
                    f"The size of tensor a ({out[i]}) must match the size of tensor b ({n}) at "
                    f"non-singleton dimension {i}" + (f" [{op}: shapes {', '.join(map(str, shapes))}]"
                                                      if op else "")
                )
            out[i] = n
    return tuple(out)


def cast(x, dtype: dt.DType):
    """`x` in `dtype`; `x` itself if it is in it."""
    return x if x.type.dtype is dtype else table.convert(x, dtype=dtype)


def expand_to(x, shape: tuple[int, ...]):
    """`x` broadcast to `shape`; `x` itself if it has it."""
    have = x.type.shape
    if have == shape:
        return x
    if len(have) < len(shape):
        x = table.reshape(x, shape=(1,) * (len(shape) - len(have)) + have)
        if x.type.shape == shape:
            return x
    return table.expand(x, shape=shape)


def elementwise(op, *values, dtype: dt.DType | None = None):
    """`op` over broadcast operands, all cast to `dtype` (default: their promoted dtype)."""
    tensors = [v for v in values if not is_number(v)]
    for v in tensors:
        if not isinstance(getattr(v, "type", None), TensorType):
            raise TypeError(f"{op.name}(): argument 'other' (position 2) must be Tensor, not {type(v).__name__}")
    if dtype is None:
        first = tensors[0].type
        same = all(v.type is first for v in tensors)
        if same and len(tensors) == len(values):
            return op(*values)
        dtype = result_dtype(*values)
    shape = tensors[0].type.shape
    if any(v.type.shape != shape for v in tensors):
        shape = broadcast_shape(*[v.type.shape for v in tensors], op=op.name)
    return op(*[number_as(v, dtype) if is_number(v) else expand_to(cast(v, dtype), shape)
                for v in values])


def floating(*values) -> dt.DType:
    """The promoted dtype, integers and bools becoming the default float."""
    d = result_dtype(*values)
    return d if d.kind in "fc" else defaults.dtype


def unary_float(op, x):
    """`op` on `x`, an integer or bool first becoming the default float."""
    d = x.type.dtype
    return op(x if d.kind in "fc" else cast(x, defaults.dtype))


def _known(other) -> bool:
    return is_number(other) or isinstance(getattr(other, "type", None), TensorType)


def _binary(name, swap=False, floats=False):
    def method(self, other):
        if not _known(other):
            other = self._coerce(other)
            if other is NotImplemented:
                return NotImplemented
        a, b = (other, self) if swap else (self, other)
        return elementwise(getattr(table, name), a, b, dtype=floating(a, b) if floats else None)

    return method


def _unary(name):
    def method(self):
        return getattr(table, name)(self)

    return method


class Arith:
    """Python's operators over `bind`; a class that mixes it in has `.type`."""

    __slots__ = ()
    type: TensorType

    def _coerce(self, _other):
        """An operand this class can make a value of, else NotImplemented."""
        return NotImplemented

    @property
    def shape(self):
        return self.type.shape

    @property
    def dtype(self):
        return self.type.dtype

    @property
    def ndim(self):
        return self.type.ndim

    __add__, __radd__ = _binary("add"), _binary("add", swap=True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", swap=True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", swap=True)
    __truediv__, __rtruediv__ = _binary("div", floats=True), _binary("div", swap=True, floats=True)
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _binary("floordiv", swap=True)
    __mod__, __rmod__ = _binary("mod"), _binary("mod", swap=True)
    __pow__, __rpow__ = _binary("pow"), _binary("pow", swap=True)
    __and__, __rand__ = _binary("bit_and"), _binary("bit_and", swap=True)
    __or__, __ror__ = _binary("bit_or"), _binary("bit_or", swap=True)
    __xor__, __rxor__ = _binary("bit_xor"), _binary("bit_xor", swap=True)
    __lshift__, __rlshift__ = _binary("shl"), _binary("shl", swap=True)
    __rshift__, __rrshift__ = _binary("shr"), _binary("shr", swap=True)
    __lt__, __le__, __gt__, __ge__ = map(_binary, ("lt", "le", "gt", "ge"))
    __neg__, __invert__, __abs__ = map(_unary, ("neg", "bit_not", "abs"))
