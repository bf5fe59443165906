"""Sorting, searching and counting."""

from __future__ import annotations

import numpy as np

from ...ir import dtype as dt
from ...ir import ops
from ...ir.arith import cast, elementwise
from . import returns
from .reads import data, made

from .support import give, one_dim


def sort(input, dim: int = -1, descending: bool = False, stable: bool = False, *, out=None):
    """Returns (values, indices) sorted along a dim, always stable; NaN counts as the largest.

    >>> import treadle
    >>> sort(treadle.tensor([3, 1, 2])).values
    tensor([1, 2, 3])
    """
    if input.type.dtype.kind == "c":
        raise RuntimeError("Sort currently does not support complex dtypes on CPU")
    d = one_dim(dim, input.type.ndim)
    return give(returns.sort(*ops.sort(input, dim=d, descending=bool(descending))), out)


def argsort(input, dim: int = -1, descending: bool = False, stable: bool = False):
    """Returns the indices that sort input along a dim."""
    return sort(input, dim, descending).indices


def msort(input, *, out=None):
    """Returns input sorted along dim 0."""
    return give(sort(input, 0).values, out)


def topk(input, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out=None):
    """Returns (values, indices) of the k largest (or smallest) along a dim, in order.

    >>> import treadle
    >>> topk(treadle.tensor([1., 5., 3.]), 2).values
    tensor([5., 3.])
    """
    d = one_dim(dim, input.type.ndim)
    return give(returns.topk(*ops.topk(input, k=int(k), dim=d, largest=bool(largest))), out)


def kthvalue(input, k: int, dim: int = -1, keepdim: bool = False, *, out=None):
    """Returns (value, index) of the k-th smallest along a dim, counted from 1."""
    shape = input.type.shape
    d = one_dim(dim, len(shape))
    size = shape[d] if shape else 1
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    values, indices = ops.sort(input, dim=d, descending=False)
    return give(returns.kthvalue(*_at(values, indices, d, k - 1, keepdim)), out)


def _at(values, indices, d, place, keepdim):
    """Both at one place of a sorted dim (a number, or a tensor of places with the dim kept)."""
    if values.type.ndim == 0:
        return values, indices
    shape = values.type.shape
    if isinstance(place, int):
        place = ops.full(shape=(*shape[:d], 1, *shape[d + 1:]), value=place, dtype=dt.int64,
                         device=values.type.device)
    pair = tuple(ops.gather(v, place, dim=d) for v in (values, indices))
    if keepdim:
        return pair
    return tuple(ops.reshape(v, shape=(*shape[:d], *shape[d + 1:])) for v in pair)


def _middle(input, d, keepdim, skip_nan):
    """The lower median along d: NaN wins unless skipped."""
    values, indices = ops.sort(input, dim=d, descending=False)
    shape = input.type.shape
    n = shape[d] if shape else 1
    if input.type.dtype.kind != "f" or not shape:
        return _at(values, indices, d, (n - 1) // 2, keepdim)
    good = ops.reduce_sum(cast(ops.eq(input, input), dt.int64), dims=(d,))
    good = ops.reshape(good, shape=(*shape[:d], 1, *shape[d + 1:]))
    among = ops.maximum(elementwise(ops.floordiv, good - 1, 2), 0)
    place = among if skip_nan else ops.where(ops.eq(good, n), (n - 1) // 2, ops.minimum(good, n - 1))
    return _at(values, indices, d, place, keepdim)


def _median(name, input, dim, keepdim, out, skip_nan):
    if dim is None:
        if input.type.numel == 0:
            return give(ops.full(shape=(), value=float("nan"), dtype=input.type.dtype, device=input.type.device), out)
        flat = ops.reshape(input, shape=(input.type.numel,))
        return give(_middle(flat, 0, False, skip_nan)[0], out)
    d = one_dim(dim, input.type.ndim)
    if input.type.ndim and input.type.shape[d] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    return give(getattr(returns, name)(*_middle(input, d, keepdim, skip_nan)), out)


def median(input, dim=None, keepdim: bool = False, *, out=None):
    """Returns the lower median of all, or (values, indices) along a dim; NaN if any element is.

    >>> import treadle
    >>> median(treadle.tensor([3., 1., 2., 4.]))
    tensor(2.)
    """
    return _median("median", input, dim, keepdim, out, False)


def nanmedian(input, dim=None, keepdim: bool = False, *, out=None):
    """Returns the lower median of what is not NaN, or (values, indices) along a dim."""
    return _median("nanmedian", input, dim, keepdim, out, True)


def mode(input, dim: int = -1, keepdim: bool = False, *, out=None):
    """Returns (values, indices) of the most frequent value along a dim, the smallest of equals."""
    shape = input.type.shape
    d = one_dim(dim, len(shape))
    values, indices = ops.sort(input, dim=d, descending=False)
    if not shape:
        return give(returns.mode(values, indices), out)
    line = ops.iota(size=shape[d], dtype=dt.int64, device=input.type.device)
    line = ops.expand(ops.reshape(line, shape=(1,) * d + (shape[d],) + (1,) * (len(shape) - d - 1)), shape=shape)
    starts = ops.where(_changes(values, d), line, 0)
    runs = line - ops.cummax(starts, dim=d)[0]
    place = ops.reshape(ops.max_with_index(runs, dims=(d,))[1], shape=(*shape[:d], 1, *shape[d + 1:]))
    return give(returns.mode(*_at(values, indices, d, place, keepdim)), out)


def _changes(values, d):
    """Whether each element of a sorted line differs from the one before it."""
    from .join import narrow

    n = values.type.shape[d]
    first = ops.full(shape=(*values.type.shape[:d], 1, *values.type.shape[d + 1:]), value=True, dtype=dt.bool_,
                     device=values.type.device)
    return ops.cat(first, ops.ne(narrow(values, d, 1, n - 1), narrow(values, d, 0, n - 1)), dim=d)


def quantile(input, q, dim=None, keepdim: bool = False, *, interpolation: str = "linear", out=None):
    """Returns quantiles q (a number or 1-d tensor) of all or along a dim.

    >>> import treadle
    >>> quantile(treadle.tensor([0., 1., 2., 3.]), 0.5)
    tensor(1.5000)
    """
    from .create import tensor
    from .shape import movedim, unsqueeze

    d_in = input.type.dtype
    if d_in not in (dt.float32, dt.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    q = tensor(q, dtype=d_in) if not hasattr(q, "type") else q
    x = ops.reshape(input, shape=(input.type.numel,)) if dim is None else input
    d = 0 if dim is None else one_dim(dim, x.type.ndim)
    last = movedim(x, d, -1) if x.type.ndim else ops.reshape(x, shape=(1,))
    values = ops.sort(last, dim=last.type.ndim - 1, descending=False)[0]
    n = last.type.shape[-1]
    lead = last.type.shape[:-1]
    rows = ops.reshape(q, shape=(q.type.numel,) + (1,) * len(lead))
    rows = ops.expand(rows, shape=(q.type.numel, *lead)) * (n - 1)
    got = [_interpolated(values, r, interpolation) for r in _rows(rows)]
    nan = ops.reduce_any(ops.ne(last, last), dims=(last.type.ndim - 1,))
    got = [ops.where(nan, float("nan"), g) for g in got]
    if keepdim:
        kept = (1,) * input.type.ndim if dim is None else (*x.type.shape[:d], 1, *x.type.shape[d + 1:])
        got = [ops.reshape(g, shape=kept) for g in got]
    if q.type.ndim == 0:
        return give(got[0], out)
    return give(ops.cat(*[unsqueeze(g, 0) for g in got], dim=0), out)


def _rows(x):
    from .join import unbind

    return unbind(x, 0)


def _interpolated(values, rank, how):
    """The sorted last dim at a fractional rank."""
    low, high = ops.floor(rank), ops.ceil(rank)
    if how == "nearest":
        low = high = ops.round(rank)
    elif how == "lower":
        high = low
    elif how == "higher":
        low = high
    elif how not in ("linear", "midpoint"):
        raise RuntimeError("quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
                           f"got {how}")

    def at(place):
        shape = place.type.shape
        index = ops.reshape(cast(place, dt.int64), shape=(*shape, 1))
        return ops.reshape(ops.gather(values, index, dim=values.type.ndim - 1), shape=shape)

    a, b = at(low), at(high)
    weight = 0.5 if how == "midpoint" else rank - low
    return a + (b - a) * weight


# scans --------------------------------------------------------------------------------------------
def _running_dtype(input, dtype):
    return cast(input, dtype or (dt.int64 if input.type.dtype.kind in "bui" else input.type.dtype))


def cumsum(input, dim: int, *, dtype=None, out=None):
    """Returns running sums along a dim; integers give int64.

    >>> import treadle
    >>> cumsum(treadle.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    return give(ops.cumsum(_running_dtype(input, dtype), dim=one_dim(dim, input.type.ndim)), out)


def cumprod(input, dim: int, *, dtype=None, out=None):
    """Returns running products along a dim; integers give int64."""
    return give(ops.cumprod(_running_dtype(input, dtype), dim=one_dim(dim, input.type.ndim)), out)


def logcumsumexp(input, dim: int, *, out=None):
    """Returns the logarithms of running sums of exponentials along a dim."""
    return give(ops.logcumsumexp(input, dim=one_dim(dim, input.type.ndim)), out)


def cummax(input, dim: int, *, out=None):
    """Returns (values, indices) of the running largest along a dim."""
    return give(returns.cummax(*ops.cummax(input, dim=one_dim(dim, input.type.ndim))), out)


def cummin(input, dim: int, *, out=None):
    """Returns (values, indices) of the running smallest along a dim."""
    return give(returns.cummin(*ops.cummin(input, dim=one_dim(dim, input.type.ndim))), out)


def diff(input, n: int = 1, dim: int = -1, prepend=None, append=None, *, out=None):
    """Returns the n-th differences along a dim.

    >>> import treadle
    >>> diff(treadle.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    from .join import cat, narrow

    parts = [p for p in (prepend, input, append) if p is not None]
    x = cat(parts, dim) if len(parts) > 1 else input
    d = one_dim(dim, x.type.ndim)
    for _ in range(n):
        size = x.type.shape[d]
        a, b = narrow(x, d, min(1, size), max(size - 1, 0)), narrow(x, d, 0, max(size - 1, 0))
        x = ops.bit_xor(a, b) if x.type.dtype.kind == "b" else a - b
    return give(x, out)


def trapezoid(y, x=None, *, dx=None, dim: int = -1):
    """Returns the integral of y along a dim by trapezoids, at places x or dx apart."""
    from .join import narrow
    from .reduce import sum as total

    d = one_dim(dim, y.type.ndim)
    n = y.type.shape[d]
    pairs = (narrow(y, d, 1, n - 1) + narrow(y, d, 0, n - 1)) * 0.5
    if x is None:
        return total(pairs, d) * (1 if dx is None else dx)
    steps = diff(x, dim=d if x.type.ndim == y.type.ndim else -1)
    if steps.type.ndim == 1:
        steps = ops.reshape(steps, shape=(n - 1,) + (1,) * (y.type.ndim - d - 1))
    return total(pairs * steps, d)


trapz = trapezoid


# places found in data -------------------------------------------------------------------------------
def nonzero(input, *, out=None, as_tuple: bool = False):
    """Returns the indices of the elements that are not zero, as rows or as a tuple of columns.

    >>> import treadle
    >>> nonzero(treadle.tensor([0, 3, 4]))
    tensor([[1],
            [2]])
    """
    array = data(input)
    if as_tuple:
        return tuple(made(i.astype(np.int64)) for i in np.nonzero(np.atleast_1d(array)))
    if array.ndim == 0:
        return give(made(np.zeros((int(array != 0), 0), np.int64)), out)
    return give(made(np.argwhere(array).astype(np.int64)), out)


def argwhere(input):
    """Returns the indices of the elements that are not zero, as rows."""
    return nonzero(input)


def masked_select(input, mask, *, out=None):
    """Returns the elements where a bool mask, broadcast, holds, as one dim.

    >>> import treadle
    >>> masked_select(treadle.tensor([1, 2, 3]), treadle.tensor([True, False, True]))
    tensor([1, 3])
    """
    from .shape import broadcast_tensors

    if mask.type.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    x, m = broadcast_tensors(input, mask)
    flat = ops.reshape(x, shape=(x.type.numel,))
    where = made(np.flatnonzero(data(m)).astype(np.int64))
    return give(ops.index(flat, where), out)


def repeats_index(repeats):
    """For counts n0, n1, ...: place 0 n0 times, then 1 n1 times, ..."""
    counts = data(repeats).reshape(-1)
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    return made(np.repeat(np.arange(counts.size, dtype=np.int64), counts))


def _counted(result, return_inverse, inverse, return_counts, counts):
    parts = [result, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return parts[0] if len(parts) == 1 else tuple(parts)


def unique(input, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim=None):
    """Returns the different values (or slices along a dim), sorted; with places and counts if asked.

    >>> import treadle
    >>> unique(treadle.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    array = data(input)
    half = array.dtype.itemsize == 2 and array.dtype.kind not in "iu"
    values, inverse, counts = np.unique(array.astype(np.float32) if half else array, return_inverse=True,
                                        return_counts=True, axis=dim, equal_nan=False)
    inverse = inverse.reshape(array.shape) if dim is None else inverse.reshape(-1)
    return _counted(made(values.astype(array.dtype)), return_inverse, made(inverse.astype(np.int64)),
                    return_counts, made(counts.astype(np.int64)))


def unique_consecutive(input, return_inverse: bool = False, return_counts: bool = False, dim=None):
    """Returns input without elements (or slices) equal to the one before."""
    array = data(input)
    line = array.reshape(-1) if dim is None else np.moveaxis(array, dim, 0)
    n = line.shape[0]
    changed = np.ones(n, bool)
    if n > 1:
        different = line[1:] != line[:-1]
        changed[1:] = different.reshape(n - 1, -1).any(axis=1)
    starts = np.flatnonzero(changed)
    counts = np.diff(np.append(starts, n)).astype(np.int64)
    kept = line[starts] if dim is None else np.moveaxis(line[starts], 0, dim)
    inverse = np.cumsum(changed).astype(np.int64) - 1
    inverse = inverse.reshape(array.shape) if dim is None else inverse
    return _counted(made(kept), return_inverse, made(inverse), return_counts, made(counts))


def bincount(input, weights=None, minlength: int = 0):
    """Returns how often each non-negative integer occurs, or the sums of weights there."""
    array = data(input)
    if array.ndim != 1 or (array.size and array.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    w = None if weights is None else data(weights)
    got = np.bincount(array, w, minlength)
    if w is None:
        return made(got.astype(np.int64))
    return made(got.astype(np.float32 if w.dtype == np.float32 else np.float64))


def histc(input, bins: int = 100, min=0, max=0, *, out=None):
    """Returns the counts of elements in equal bins between min and max (the data's if both are equal)."""
    array = data(input)
    low, high = min, max
    if low == high and array.size:
        low, high = array.min(), array.max()
    if low == high:
        low, high = low - 1, high + 1
    counts = np.histogram(array[(array >= low) & (array <= high)], bins, (low, high))[0]
    return give(made(counts.astype(array.dtype)), out)


def histogram(input, bins, *, range=None, weight=None, density: bool = False):
    """Returns (hist, bin_edges) as numpy.histogram counts them."""
    edges = data(bins) if hasattr(bins, "type") else bins
    hist, edges = np.histogram(data(input), edges, range, density=density,
                               weights=None if weight is None else data(weight))
    return returns.histogram(made(hist.astype(data(input).dtype)), made(edges.astype(data(input).dtype)))


def searchsorted(sorted_sequence, input, *, out_int32: bool = False, right: bool = False, side=None, out=None,
                 sorter=None):
    """Returns where each value would be put into a sorted last dim to keep it sorted.

    >>> import treadle
    >>> searchsorted(treadle.tensor([1, 3, 5]), treadle.tensor([3, 6]))
    tensor([1, 3])
    """
    from .create import tensor

    values = input if hasattr(input, "type") else tensor(input)
    after = right or side == "right"
    if sorter is not None:
        sorted_sequence = ops.gather(sorted_sequence, sorter, dim=sorted_sequence.type.ndim - 1)
    got = ops.searchsorted(sorted_sequence, values, right=bool(after))
    return give(cast(got, dt.int32) if out_int32 else got, out)


def bucketize(input, boundaries, *, out_int32: bool = False, right: bool = False, out=None):
    """Returns the index of the bucket each value falls in."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def isin(elements, test_elements, *, assume_unique: bool = False, invert: bool = False):
    """Returns whether each element is among the test elements."""
    from .create import tensor

    a, b = (v if hasattr(v, "type") else tensor(v) for v in (elements, test_elements))
    flat = ops.reshape(b, shape=(b.type.numel,))
    line = ops.sort(flat, dim=0, descending=False)[0]
    if b.type.numel == 0:
        found = ops.full(shape=a.type.shape, value=False, dtype=dt.bool_, device=a.type.device)
    else:
        place = ops.minimum(ops.searchsorted(line, cast(a, line.type.dtype), right=False), b.type.numel - 1)
        found = ops.eq(ops.index(line, place), cast(a, line.type.dtype))
    return ops.bit_not(found) if invert else found



