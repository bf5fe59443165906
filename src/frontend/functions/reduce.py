"""Reductions: sums, means, extremes, norms over dims."""

from __future__ import annotations

import math
from math import prod as product

from ...ir import dtype as dt
from ...ir import ops
from ...ir.arith import cast, is_number
from ...ir.ops.reduce import kept
from ..autocast import cast_inputs
from ..composites.reduce import (logsumexp as logsumexp_op, mean as mean_op, norm2 as norm2_op, std as std_op,
                                 var as var_op)
from . import returns
from .binary import maximum, minimum, truth
from .support import all_dims, dtype_name, give, one_dim


def finish(y, shape, dims, keepdim):
    """A reduction's result with the reduced dims put back as size 1 if asked."""
    return ops.reshape(y, shape=kept(shape, dims)) if keepdim else y


def _pick(dim, axis):
    return dim if axis is None else axis


def sum(input, dim=None, keepdim: bool = False, *, dtype=None, out=None, axis=None):
    """Returns the sum over dims (all by default); integers and bools give int64.

    >>> import treadle
    >>> x = treadle.tensor([[1., 2.], [3., 4.]])
    >>> sum(x), sum(x, 0), sum(x, 1, keepdim=True)
    (tensor(10.), tensor([4., 6.]), tensor([[3.],
            [7.]]))
    """
    t = input.type
    want = dtype or (dt.int64 if t.dtype.kind in "bui" else t.dtype)
    dims = all_dims(_pick(dim, axis), t.ndim)
    return give(finish(ops.reduce_sum(cast(input, want), dims=dims), t.shape, dims, keepdim), out)


def nansum(input, dim=None, keepdim: bool = False, *, dtype=None, out=None):
    """Returns the sum over dims, NaN counting as 0."""
    x = ops.where(ops.ne(input, input), 0, input) if input.type.dtype.kind == "f" else input
    return sum(x, dim, keepdim, dtype=dtype, out=out)


def _mean_input(input, dtype, name):
    x = input if dtype is None else cast(input, dtype)
    if x.type.dtype.kind not in "fc":
        raise RuntimeError(f"{name}(): could not infer output dtype. Input dtype must be either a floating point "
                           f"or complex dtype. Got: {dtype_name(x.type.dtype)}")
    return x


def mean(input, dim=None, keepdim: bool = False, *, dtype=None, out=None, axis=None):
    """Returns the mean over dims (all by default); RuntimeError for integers unless dtype is given.

    >>> import treadle
    >>> mean(treadle.tensor([1., 2., 6.]))
    tensor(3.)
    """
    x = _mean_input(input, dtype, "mean")
    dims = all_dims(_pick(dim, axis), x.type.ndim)
    return give(finish(mean_op(x, dims=dims), x.type.shape, dims, keepdim), out)


def nanmean(input, dim=None, keepdim: bool = False, *, dtype=None, out=None):
    """Returns the mean over dims of what is not NaN."""
    x = _mean_input(input, dtype, "nanmean")
    real = cast(ops.eq(x, x), x.type.dtype)
    return give(nansum(x, dim, keepdim) / sum(real, dim, keepdim), out)


def _correction(unbiased, correction):
    if correction is not None:
        return correction
    return 1 if unbiased is None or unbiased else 0


def _spread_args(dim, unbiased, keepdim):
    """torch's two signatures: var(x, unbiased) and var(x, dim, unbiased, keepdim)."""
    return (None, dim, keepdim) if isinstance(dim, bool) else (dim, unbiased, keepdim)


def _deviation(op, name, input, dim, unbiased, keepdim, correction):
    dim, unbiased, keepdim = _spread_args(dim, unbiased, keepdim)
    if input.type.dtype.kind not in "fc":
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    dims = all_dims(dim, input.type.ndim)
    y = op(input, dims=dims, correction=_correction(unbiased, correction))
    return finish(y, input.type.shape, dims, keepdim)


def var(input, dim=None, unbiased=None, keepdim: bool = False, *, correction=None, out=None):
    """Returns the variance over dims, divided by n - correction (1 by default).

    >>> import treadle
    >>> var(treadle.tensor([1., 3.])), var(treadle.tensor([1., 3.]), correction=0)
    (tensor(2.), tensor(1.))
    """
    return give(_deviation(var_op, "var", input, dim, unbiased, keepdim, correction), out)


def std(input, dim=None, unbiased=None, keepdim: bool = False, *, correction=None, out=None):
    """Returns the standard deviation over dims, the square root of var.

    >>> import treadle
    >>> std(treadle.tensor([1., 3.]), unbiased=False)
    tensor(1.)
    """
    return give(_deviation(std_op, "std", input, dim, unbiased, keepdim, correction), out)


def var_mean(input, dim=None, unbiased=None, keepdim: bool = False, *, correction=None, out=None):
    """Returns (variance, mean) over dims."""
    dim_, _, keep = _spread_args(dim, unbiased, keepdim)
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, dim_, keep)


def std_mean(input, dim=None, unbiased=None, keepdim: bool = False, *, correction=None, out=None):
    """Returns (standard deviation, mean) over dims."""
    dim_, _, keep = _spread_args(dim, unbiased, keepdim)
    return std(input, dim, unbiased, keepdim, correction=correction), mean(input, dim_, keep)


def prod(input, dim=None, keepdim: bool = False, *, dtype=None, out=None, axis=None):
    """Returns the product over one dim or all; integers and bools give int64.

    >>> import treadle
    >>> prod(treadle.tensor([2, 3, 4]))
    tensor(24)
    """
    (input,) = cast_inputs("prod", input)
    t = input.type
    want = dtype or (dt.int64 if t.dtype.kind in "bui" else t.dtype)
    dims = all_dims(_pick(dim, axis), t.ndim)
    return give(finish(ops.reduce_prod(cast(input, want), dims=dims), t.shape, dims, keepdim), out)


def amax(input, dim=(), keepdim: bool = False, *, out=None):
    """Returns the largest value over dims; ties share the gradient."""
    dims = all_dims(dim, input.type.ndim)
    _not_empty("amax", input, dims)
    return give(finish(ops.reduce_max(input, dims=dims), input.type.shape, dims, keepdim), out)


def amin(input, dim=(), keepdim: bool = False, *, out=None):
    """Returns the smallest value over dims; ties share the gradient."""
    dims = all_dims(dim, input.type.ndim)
    _not_empty("amin", input, dims)
    return give(finish(ops.reduce_min(input, dims=dims), input.type.shape, dims, keepdim), out)


def _not_empty(name, input, dims):
    if input.type.numel == 0 and len(dims) == input.type.ndim:
        raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                           "reduction dim with the 'dim' argument.")
    for d in dims:
        if input.type.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def aminmax(input, *, dim=None, keepdim: bool = False, out=None):
    """Returns (min, max) over a dim or all."""
    chosen = () if dim is None else dim
    return give(returns.aminmax(amin(input, chosen, keepdim), amax(input, chosen, keepdim)), out)


def _extreme(name, input, dim, keepdim, out):
    row, whole = (ops.max_with_index, ops.reduce_max) if name == "max" else (ops.min_with_index, ops.reduce_min)
    t = input.type
    if dim is None:
        if t.numel == 0:
            raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                               "the reduction dim with the 'dim' argument.")
        return give(whole(input, dims=tuple(range(t.ndim))), out)
    d = one_dim(dim, t.ndim)
    if t.ndim == 0:
        values, indices = input, ops.full(shape=(), value=0, dtype=dt.int64, device=t.device)
        return give(getattr(returns, name)(ops.copy(values), indices), out)
    if t.shape[d] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    values, indices = row(input, dims=(d,))
    pair = (finish(values, t.shape, (d,), keepdim), finish(indices, t.shape, (d,), keepdim))
    return give(getattr(returns, name)(*pair), out)


def max(input, dim=None, keepdim: bool = False, *, out=None, other=None, axis=None):
    """Returns the largest element; (values, indices) along a dim; or the larger of two tensors.

    >>> import treadle
    >>> max(treadle.tensor([[1, 9], [5, 2]]), 1).indices
    tensor([1, 0])
    """
    other = dim if hasattr(dim, "type") and not isinstance(dim, int) else other
    if other is not None:
        return maximum(input, other, out=out)
    return _extreme("max", input, _pick(dim, axis), keepdim, out)


def min(input, dim=None, keepdim: bool = False, *, out=None, other=None, axis=None):
    """Returns the smallest element; (values, indices) along a dim; or the smaller of two tensors.

    >>> import treadle
    >>> min(treadle.tensor([3, 1, 2]))
    tensor(1)
    """
    other = dim if hasattr(dim, "type") and not isinstance(dim, int) else other
    if other is not None:
        return minimum(input, other, out=out)
    return _extreme("min", input, _pick(dim, axis), keepdim, out)


def _place(name, input, dim, keepdim, out):
    row = ops.max_with_index if name == "argmax" else ops.min_with_index
    t = input.type
    if t.dtype.kind == "b":
        raise RuntimeError(f'"{name}_cpu" not implemented for \'Bool\'')
    if dim is None:
        if t.numel == 0:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                             "the reduction dim with the 'dim' argument.")
        y = row(ops.reshape(input, shape=(t.numel,)), dims=(0,))[1]
        return give(ops.reshape(y, shape=(1,) * t.ndim) if keepdim else y, out)
    d = one_dim(dim, t.ndim)
    if t.ndim == 0:
        return give(ops.full(shape=(), value=0, dtype=dt.int64, device=t.device), out)
    if t.shape[d] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    return give(finish(row(input, dims=(d,))[1], t.shape, (d,), keepdim), out)


def argmax(input, dim=None, keepdim: bool = False, *, out=None, axis=None):
    """Returns the place of the largest element, in the flat input or along a dim (the first of equals).

    >>> import treadle
    >>> argmax(treadle.tensor([1., 9., 2.]))
    tensor(1)
    """
    return _place("argmax", input, _pick(dim, axis), keepdim, out)


def argmin(input, dim=None, keepdim: bool = False, *, out=None, axis=None):
    """Returns the place of the smallest element, in the flat input or along a dim."""
    return _place("argmin", input, _pick(dim, axis), keepdim, out)


def _bools(row, input, dim, keepdim, out):
    dims = all_dims(dim, input.type.ndim)
    y = finish(row(truth(input), dims=dims), input.type.shape, dims, keepdim)
    return give(cast(y, dt.uint8) if input.type.dtype is dt.uint8 else y, out)


def any(input, dim=None, keepdim: bool = False, *, out=None, axis=None):
    """Returns whether any element is not zero, over dims or all.

    >>> import treadle
    >>> any(treadle.tensor([False, True]))
    tensor(True)
    """
    return _bools(ops.reduce_any, input, _pick(dim, axis), keepdim, out)


def all(input, dim=None, keepdim: bool = False, *, out=None, axis=None):
    """Returns whether all elements are not zero, over dims or all.

    >>> import treadle
    >>> all(treadle.tensor([1, 2, 0]))
    tensor(False)
    """
    return _bools(ops.reduce_all, input, _pick(dim, axis), keepdim, out)


def count_nonzero(input, dim=None):
    """Returns the number of elements that are not zero, over dims or all."""
    return sum(truth(input), dim)


def logsumexp(input, dim, keepdim: bool = False, *, out=None):
    """Returns log(sum(exp(input))) over dims, without overflow.

    >>> import treadle
    >>> logsumexp(treadle.tensor([0., 0.]), 0)
    tensor(0.6931)
    """
    from ...ir.arith import defaults

    x = input if input.type.dtype.kind in "fc" else cast(input, defaults.dtype)
    dims = all_dims(dim, x.type.ndim)
    return give(finish(logsumexp_op(x, dims=dims), x.type.shape, dims, keepdim), out)


# norms --------------------------------------------------------------------------------------------
def vector_norm(x, ord=2, dim=None, keepdim: bool = False, *, dtype=None, out=None):
    """Returns the norm of the elements over dims: (sum |x|^ord)^(1/ord), or an extreme for ord inf.

    >>> import treadle
    >>> vector_norm(treadle.tensor([3., 4.]))
    tensor(5.)
    """
    x = x if dtype is None else cast(x, dtype)
    if x.type.dtype.kind not in "fc":
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{dtype_name(x.type.dtype)}")
    dims = all_dims(dim, x.type.ndim)
    return give(finish(_norm(x, float(ord), dims), x.type.shape, dims, keepdim), out)


def _norm(x, p, dims):
    if p == 2 and x.type.dtype.kind == "f":
        return norm2_op(x, dims=dims)
    size = ops.abs(x)
    if math.isinf(p):
        if product(x.type.shape[d] for d in dims) == 0:
            raise RuntimeError(f"linalg.vector_norm cannot compute the {p} norm on an empty tensor because the "
                               "operation does not have an identity")
        return (ops.reduce_max if p > 0 else ops.reduce_min)(size, dims=dims)
    if p == 0:
        return ops.reduce_sum(cast(ops.ne(size, 0), size.type.dtype), dims=dims)
    if p == 1:
        return ops.reduce_sum(size, dims=dims)
    return ops.pow(ops.reduce_sum(ops.pow(size, p), dims=dims), 1.0 / p)


def norm(input, p="fro", dim=None, keepdim: bool = False, out=None, dtype=None):
    """Returns the p-norm of the elements over dims ('fro' is 2, 'nuc' the nuclear norm of matrices).

    >>> import treadle
    >>> norm(treadle.tensor([[3., 0.], [0., 4.]]))
    tensor(5.)
    """
    if p == "nuc":
        from .linalg import matrix_norm

        return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype, out=out)
    if p in ("fro", None):
        p = 2
    if not is_number(p):
        raise RuntimeError(f"norm: unknown order {p!r}; expected a number, 'fro' or 'nuc'")
    return vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)


def dist(input, other, p=2):
    """Returns the p-norm of input - other."""
    return norm(input - other, p)


def renorm(input, p, dim: int, maxnorm, *, out=None):
    """Returns input with each slice along `dim` scaled down to a p-norm of at most maxnorm."""
    d = one_dim(dim, input.type.ndim)
    others = tuple(i for i in range(input.type.ndim) if i != d)
    size = vector_norm(input, p, others, keepdim=True)
    factor = ops.where(ops.gt(size, float(maxnorm)), float(maxnorm) / (size + 1e-7), 1.0)
    return give(input * factor, out)


def trace(input):
    """Returns the sum of a matrix's diagonal."""
    if input.type.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    from .shape import diagonal

    return sum(diagonal(input))
