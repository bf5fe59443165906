"""Draws inside kernels: bits by position from a seed operand (Philox), the same on every back end."""

from __future__ import annotations

import numpy as np

from .. import dtype as dt
from ..errors import DTypeError
from ..op import Kind, make_op
from ..philox import uniform


def uniform_numpy(seed, *, shape, dtype):
    """Uniform numbers in [0, 1) of `shape`; element i, in row-major order, reads its own word."""
    d = dtype if isinstance(dtype, dt.DType) else dt.from_numpy(np.dtype(dtype))
    n = 1
    for size in shape:
        n *= size
    return uniform(int(np.asarray(seed).reshape(())[()]), n, d).reshape(shape)


def _infer(seed, *, shape, dtype):
    if seed.dtype is not dt.int64 or seed.shape:
        raise DTypeError(f"philox_uniform: expected a 0-d int64 seed, got {seed}")
    if dtype.kind != "f":
        raise DTypeError(f"philox_uniform: expected a floating dtype, got {dtype.name}")
    return seed.with_shape(shape).with_dtype(dtype)


# emit: the scalar at flat position `place` of the draw of `seed`, in `dtype`
philox_uniform = make_op(
    "philox_uniform", Kind.RANDOM, _infer, uniform_numpy, (None,),
    lambda s, seed, place, *, shape, dtype: s.philox(seed, place, dtype),
)
