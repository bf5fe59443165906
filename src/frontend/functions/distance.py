"""Distances between rows, sums of bags, and losses over alignments."""

from __future__ import annotations

from ...ir import ops
from ...ir.arith import broadcast_shape, expand_to
from ..autocast import cast_inputs
from .matmul import matmul
from .reduce import vector_norm


def cdist(x1, x2, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"):
    """Returns the p-norms of the differences of all pairs of rows, (..., rows of x1, rows of x2).

    >>> import treadle
    >>> cdist(treadle.tensor([[0., 0.]]), treadle.tensor([[3., 4.]]))
    tensor([[5.]])
    """
    x1, x2 = cast_inputs("cdist", x1, x2)
    if x1.type.ndim < 2 or x2.type.ndim < 2:
        raise RuntimeError(f"cdist only supports at least 2D tensors, X1 got: {x1.type.ndim}D")
    if x1.type.shape[-1] != x2.type.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.type.shape[-1]} X2: "
                           f"{x2.type.shape[-1]}")
    m, n = x1.type.shape[-2], x2.type.shape[-2]
    many = m > 25 or n > 25
    if p == 2 and (compute_mode == "use_mm_for_euclid_dist" or (
            many and compute_mode == "use_mm_for_euclid_dist_if_necessary")):
        return _by_products(x1, x2)
    batch = broadcast_shape(x1.type.shape[:-2], x2.type.shape[:-2])
    shape = (*batch, m, n, x1.type.shape[-1])
    a = ops.reshape(x1, shape=(*x1.type.shape[:-1], 1, x1.type.shape[-1]))
    b = ops.reshape(x2, shape=(*x2.type.shape[:-2], 1, n, x2.type.shape[-1]))
    return vector_norm(expand_to(a, shape) - expand_to(b, shape), p, -1)


def _by_products(x1, x2):
    """sqrt(|a|^2 + |b|^2 - 2 a.b), without a tensor of differences."""
    last = (x1.type.ndim - 1,)
    a = ops.reduce_sum(x1 * x1, dims=last)
    b = ops.reduce_sum(x2 * x2, dims=(x2.type.ndim - 1,))
    a = ops.reshape(a, shape=(*a.type.shape, 1))
    b = ops.reshape(b, shape=(*b.type.shape[:-1], 1, b.type.shape[-1]))
    from .shape import mT

    square = ops.maximum(a + b - matmul(x1, mT(x2)) * 2, 0)
    zero = ops.eq(square, 0)
    return ops.where(zero, 0.0, ops.sqrt(ops.where(zero, 1.0, square)))


def pdist(input, p: float = 2.0):
    """Returns the p-norms of the differences of all pairs of different rows, as one line."""
    from .ranges import triu_indices

    n = input.type.shape[0]
    pairs = triu_indices(n, n, 1)
    return vector_norm(input[pairs[0]] - input[pairs[1]], p, -1)
