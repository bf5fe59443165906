"""Running a NumPy function over blocks of rows, so that its temporaries stay in cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.buffer import empty
from .parallel import each

BLOCK = 1 << 16  # elements a block: long enough loops for threads not to queue for Python's lock


def wide(x: np.ndarray) -> np.ndarray:
    """`x` in float32 if it is a half precision float, else itself."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def narrow(y: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`y` in `dtype`."""
    return y if y.dtype == dtype else y.astype(dtype)


def quiet(fn: Callable) -> Callable:
    """`fn` without NumPy's warnings: IEEE results are what the framework promises."""

    def run(*args, **attrs):
        with np.errstate(all="ignore"):
            return fn(*args, **attrs)

    return run


def rows_of(x: np.ndarray) -> np.ndarray:
    """`x` as a contiguous matrix whose rows are its last dim."""
    return np.ascontiguousarray(x).reshape(-1, x.shape[-1] if x.ndim else 1)


def row_blocks(count: int, width: int):
    """Slices of about BLOCK elements that cover `count` rows of `width`."""
    step = max(1, BLOCK // max(width, 1))
    return [slice(i, min(i + step, count)) for i in range(0, count, step)]


def flat_blocks(size: int):
    """Slices of BLOCK elements that cover `size`."""
    return [slice(i, min(i + BLOCK, size)) for i in range(0, size, BLOCK)]


def flat(x: np.ndarray) -> np.ndarray:
    """`x` as one contiguous dim, without a copy where it is contiguous."""
    return np.ascontiguousarray(x).reshape(-1)


def pointwise(kernel: Callable, *arrays: np.ndarray) -> np.ndarray:
    """`kernel(out, work1, work2, *blocks)` over blocks of equal-shaped arrays; returns the outs together.

    Half precision is computed in float32 and rounded once.
    """
    shape, dtype = arrays[0].shape, arrays[0].dtype
    parts = [flat(wide(a)) for a in arrays]
    size = parts[0].size
    out = empty((size,), parts[0].dtype)

    def block(s):
        n = s.stop - s.start
        kernel(out[s], np.empty(n, out.dtype), np.empty(n, out.dtype), *[p[s] for p in parts])

    each(block, flat_blocks(size))
    return narrow(out, dtype).reshape(shape)
