"""Products: sums over a shared dim of two operands."""

from __future__ import annotations

import numpy as np

from ..buffer import empty
from ..errors import DTypeError, ShapeError
from ..op import Kind, make_op
from .movement import permute


def _dot_infer(a, b):
    if a.ndim < 2 or b.ndim != a.ndim or a.shape[:-2] != b.shape[:-2]:
        raise ShapeError(f"dot: expected [*batch, m, k] and [*batch, k, n], got {a} and {b}")
    if a.shape[-1] != b.shape[-2]:
        kind = ("mat1 and mat2 shapes cannot be multiplied" if a.ndim == 2
                else "Expected size for first two dimensions of batch2 tensor to match")
        raise ShapeError(f"{kind} ({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})")
    if a.dtype is not b.dtype:
        raise DTypeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype.name} != "
                         f"{b.dtype.name}")
    return a.with_shape((*a.shape[:-1], b.shape[-1]))


def _dot(a, b):
    if a.dtype.itemsize == 2 and a.dtype.kind not in "iu":  # half precision: products and sums in float32
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    with np.errstate(all="ignore"):
        out = empty((*a.shape[:-1], b.shape[-1]), a.dtype)
        return np.matmul(a, b, out=out)


def flip_last(x):
    """x with its last two dims exchanged."""
    return permute(x, dims=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _conj(x):
    from .elementwise import conj_of

    return conj_of(x)


dot = make_op(
    "dot", Kind.CONTRACT, _dot_infer, _dot,
    (lambda g, _y, _a, b: dot(g, flip_last(_conj(b))), lambda g, _y, a, _b: dot(flip_last(_conj(a)), g)),
    None,
)
