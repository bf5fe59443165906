"""The type of a value: shape, dtype, device. Interned, so equal types are one object."""

from __future__ import annotations

from math import prod

from .device import CPU, device
from .dtype import DType


class TensorType:
    """Shape, dtype and device; made by `tensor_type`, never by hand, so `is` compares."""

    __slots__ = ("__weakref__", "device", "dtype", "ndim", "numel", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: DType, dev: device):
        self.shape, self.dtype, self.device = shape, dtype, dev
        self.ndim, self.numel = len(shape), prod(shape)

    @property
    def nbytes(self) -> int:
        return self.numel * self.dtype.itemsize

    def with_shape(self, shape) -> TensorType:
        return tensor_type(tuple(shape), self.dtype, self.device)

    def with_dtype(self, dtype: DType) -> TensorType:
        return tensor_type(self.shape, dtype, self.device)

    def __repr__(self) -> str:
        dev = "" if self.device is CPU else f"@{self.device}"
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]{dev}"

    def __reduce__(self):
        return tensor_type, (self.shape, self.dtype, self.device)


_interned: dict[tuple, TensorType] = {}
_BOUND = 1 << 16


def tensor_type(shape: tuple[int, ...], dtype: DType, dev: device = CPU) -> TensorType:
    key = (shape, dtype, dev)
    found = _interned.get(key)
    if found is None:
        if len(_interned) > _BOUND:  # a program with endless new shapes must not leak
            _interned.clear()
        if type(shape) is not tuple:  # a Size would print as one
            return tensor_type(tuple(shape), dtype, dev)
        found = _interned.setdefault(key, TensorType(shape, dtype, dev))
    return found


def contiguous_strides(shape) -> tuple[int, ...]:
    """Row-major strides in elements; a size-0 or size-1 dim counts as size 1, as torch does."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))
