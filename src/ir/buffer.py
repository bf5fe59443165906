"""Where the results of eager functions lie: NumPy's memory, or an allocator's that keeps freed blocks."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

LARGE = 1 << 16  # bytes from which pages that are there already are worth a slower call

_allocators: list[Callable] = [np.empty]


def set_allocator(empty: Callable[[tuple[int, ...], np.dtype], np.ndarray]) -> None:
    """Takes large results from `empty(shape, dtype)` from now on."""
    _allocators[:] = [empty]


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised contiguous array.

    Freed memory of NumPy's goes back to the system, and each of its pages costs a fault when it is
    written again: more than the arithmetic of many ops.
    """
    if prod(shape) * dtype.itemsize < LARGE:
        return np.empty(shape, dtype)
    return _allocators[0](shape, dtype)


def copy(x: np.ndarray) -> np.ndarray:
    """A contiguous copy of x."""
    out = empty(x.shape, x.dtype)
    out[...] = x
    return out


def empty_like(x: np.ndarray) -> np.ndarray:
    """An uninitialised contiguous array of x's shape and dtype."""
    return empty(x.shape, x.dtype)
