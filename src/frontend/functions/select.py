"""Reads and writes at places: gather, scatter, index_select, index_add, take, triangles, diagonals."""

from __future__ import annotations

from ...ir import dtype as dt
from ...ir import ops
from ...ir.arith import broadcast_shape, cast, elementwise, expand_to, is_number, number_as
from ...ir.ops.elementwise import full_as
from .shape import movedim
from .support import dtype_name, give, one_dim

SELF_RANGE = "index out of range in self"


def _lined(x):
    """x with at least one dim."""
    return ops.reshape(x, shape=(1,)) if x.type.ndim == 0 else x


def gather(input, dim: int, index, *, sparse_grad: bool = False, out=None):
    """Returns input's elements at `index` along a dim, in index's shape.

    IndexError (also a RuntimeError) for an index out of range.

    >>> import treadle
    >>> gather(treadle.tensor([[1, 2], [3, 4]]), 1, treadle.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    if index.type.dtype not in (dt.int64, dt.int32):
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    d = one_dim(dim, input.type.ndim)
    y = ops.gather(_lined(input), _lined(index), dim=d)
    return give(y if index.type.ndim else ops.reshape(y, shape=()), out)


def take_along(input, indices, dim: int):
    """input's elements at indices along a dim, the other dims broadcast; negative indices wrap."""
    shape_x, shape_i = list(input.type.shape), list(indices.type.shape)
    shape_x[dim] = shape_i[dim] = 1
    common = broadcast_shape(tuple(shape_x), tuple(shape_i), op="take_along_dim")
    n = input.type.shape[dim]
    x = expand_to(input, (*common[:dim], n, *common[dim + 1:]))
    i = expand_to(indices, (*common[:dim], indices.type.shape[dim], *common[dim + 1:]))
    return ops.gather(x, i, dim=dim)


def take_along_dim(input, indices, dim=None, *, out=None):
    """Returns input's elements at indices along a dim, broadcast; of the flat input without a dim."""
    if dim is None:
        flat = ops.reshape(input, shape=(input.type.numel,))
        return give(gather(flat, 0, ops.reshape(indices, shape=(indices.type.numel,))), out)
    if input.type.ndim != indices.type.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {input.type.ndim} dimensions for input, and {indices.type.ndim} dimensions for "
                           "indices")
    return give(take_along(input, indices, one_dim(dim, input.type.ndim)), out)


def with_leading(x, d):
    """Index operands that walk x's dims before `d`, for an index of shape (n,) at d."""
    lead = x.type.shape[:d]
    return lead, [ops.iota(size=n, dtype=dt.int64, device=x.type.device) for n in lead]


def _places(x, d, index):
    """Index operands of x for `index` (1-d) at dim d: the dims before d are walked."""
    lead, lines = with_leading(x, d)
    shape = (*lead, index.type.numel)
    spread = [ops.expand(ops.reshape(line, shape=(1,) * i + (n,) + (1,) * (d - i)), shape=shape)
              for i, (line, n) in enumerate(zip(lines, lead, strict=True))]
    return (*spread, expand_to(index, shape))


def index_select(input, dim: int, index, *, out=None):
    """Returns the slices of input at the places of a 1-d index along a dim.

    >>> import treadle
    >>> index_select(treadle.tensor([[1, 2], [3, 4]]), 0, treadle.tensor([1, 1]))
    tensor([[3, 4],
            [3, 4]])
    """
    if index.type.dtype not in (dt.int64, dt.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if index.type.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    d = one_dim(dim, input.type.ndim)
    x, i = _lined(input), _lined(index)
    y = ops.index(x, *_places(x, d, i), error=SELF_RANGE)
    return give(y if input.type.ndim else ops.reshape(y, shape=()), out)


def _source(name, input, source, dim):
    if source.type.dtype is not input.type.dtype:
        raise RuntimeError(f"{name}(): self ({dtype_name(input.type.dtype)}) and source "
                           f"({dtype_name(source.type.dtype)}) must have the same scalar type")
    return _lined(source)


def index_add(input, dim: int, index, source, *, alpha=1, out=None):
    """Returns input with alpha * source's slices added at the places of index along a dim."""
    d = one_dim(dim, input.type.ndim)
    x, i, s = _lined(input), _lined(index), _source("index_add", input, source, dim)
    if i.type.numel != s.type.shape[d]:
        raise RuntimeError(f"index_add(): Number of indices ({i.type.numel}) should be equal to source.size(dim): "
                           f"({s.type.shape[d]}), for dim: {dim}")
    s = s if alpha == 1 else s * alpha
    return give(ops.reshape(ops.index_add(x, s, *_places(x, d, i)), shape=input.type.shape), out)


def index_copy(input, dim: int, index, source, *, out=None):
    """Returns input with source's slices at the places of index along a dim."""
    d = one_dim(dim, input.type.ndim)
    x, i, s = _lined(input), _lined(index), _source("index_copy", input, source, dim)
    if i.type.numel != s.type.shape[d]:
        raise IndexError(f"index_copy(): Number of indices ({i.type.numel}) should be equal to source.size(dim) "
                         f"({s.type.shape[d]})")
    return give(ops.reshape(ops.index_set(x, s, *_places(x, d, i)), shape=input.type.shape), out)


def index_fill(input, dim: int, index, value):
    """Returns input with `value` in the slices at the places of index along a dim."""
    d = one_dim(dim, input.type.ndim)
    x, i = _lined(input), _lined(index)
    shape = (*x.type.shape[:d], i.type.numel, *x.type.shape[d + 1:])
    filler = filled(value, x.type.with_shape(shape))
    return ops.reshape(ops.index_set(x, filler, *_places(x, d, i)), shape=input.type.shape)


def filled(value, type):
    """`value`, a number or a 0-d tensor, in `type`'s shape and dtype."""
    if is_number(value):
        return full_as(type, number_as(value, type.dtype))
    return expand_to(cast(value, type.dtype), type.shape)


def _scatter_source(input, index, src):
    if is_number(src) or src.type.ndim == 0 and index.type.ndim:
        return filled(src, input.type.with_shape(index.type.shape))
    if src.type.dtype is not input.type.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    return src


def scatter(input, dim: int, index, src=None, value=None, *, reduce=None, out=None):
    """Returns input with src's elements (or a number) written at `index` along a dim.

    >>> import treadle
    >>> scatter(treadle.zeros(3), 0, treadle.tensor([2]), 5.0)
    tensor([0., 0., 5.])
    """
    src = value if src is None else src
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        src = _scatter_source(input, index, src)
        if reduce == "add":
            return give(scatter_add(input, dim, index, src), out)
        return give(scatter_reduce(input, dim, index, src, "prod"), out)
    return give(_scatter(ops.scatter, input, dim, index, _scatter_source(input, index, src)), out)


def _scatter(row, input, dim, index, src):
    if index.type.dtype not in (dt.int64, dt.int32):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    d = one_dim(dim, input.type.ndim)
    y = row(_lined(input), _lined(index), _lined(src), dim=d)
    return y if input.type.ndim else ops.reshape(y, shape=())


def scatter_add(input, dim: int, index, src, *, out=None):
    """Returns input with src's elements added at `index` along a dim."""
    return give(_scatter(ops.scatter_add, input, dim, index, _scatter_source(input, index, src)), out)


def scatter_reduce(input, dim: int, index, src, reduce: str, *, include_self: bool = True, out=None):
    """Returns input with src's elements combined at `index`: sum, prod, mean, amax or amin."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    touched = None
    if not include_self or reduce == "mean":
        ones = full_as(src.type.with_shape(index.type.shape), 1)
        touched = _scatter(ops.scatter_add, full_as(input, 0), dim, index, ones)
    base = input
    if not include_self:
        start = {"sum": 0, "mean": 0, "prod": 1}.get(reduce)
        if start is None:
            from ...ir.ops.reduce import limits

            start = limits(input.type.dtype)[0 if reduce == "amax" else 1]
        base = ops.where(ops.gt(touched, 0), start, input)
    if reduce in ("sum", "mean"):
        y = _scatter(ops.scatter_add, base, dim, index, src)
    else:
        y = _scatter(getattr(ops, f"scatter_{reduce}"), base, dim, index, src)
    if reduce == "mean":
        count = touched + 1 if include_self else ops.maximum(touched, 1)
        y = y / count if input.type.dtype.kind in "fc" else elementwise(ops.floordiv, y, count)
    return give(y, out)


def take(input, index):
    """Returns the elements at the places of index in the flat input; negative ones count from the end."""
    n = input.type.numel
    flat = ops.reshape(input, shape=(n,))
    return ops.index(flat, wrapped(index, n))


def wrapped(index, n: int):
    """index with -n..-1 as n + index; others as they are, so that an error shows what was given."""
    low = ops.bit_and(ops.lt(index, 0), ops.ge(index, -n))
    return ops.where(low, index + n, index)


def put(input, index, source, accumulate: bool = False):
    """Returns input with source's elements at the places of index in its flat order."""
    n, k = input.type.numel, index.type.numel
    flat = ops.reshape(input, shape=(n,))
    row = ops.index_add if accumulate else ops.index_set
    y = row(flat, ops.reshape(source, shape=(k,)), wrapped(ops.reshape(index, shape=(k,)), n))
    return ops.reshape(y, shape=input.type.shape)


def masked_scatter(input, mask, source):
    """Returns input with source's elements, in order, where the mask holds."""
    from .reads import data
    from .search import cumsum

    shape = broadcast_shape(input.type.shape, mask.type.shape, op="masked_scatter")
    x, m = expand_to(input, shape), expand_to(mask, shape)
    flat = ops.reshape(source, shape=(source.type.numel,))
    if int(data(m).sum()) > source.type.numel:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes and enough elements in source")
    order = cumsum(ops.reshape(m, shape=(m.type.numel,)), 0) - 1
    order = ops.minimum(ops.maximum(order, 0), max(source.type.numel - 1, 0))
    if source.type.numel == 0:
        return ops.copy(x)
    return ops.where(m, ops.reshape(ops.index(flat, order), shape=shape), x)


# triangles and diagonals ----------------------------------------------------------------------------
def _triangle(input, diagonal, lower):
    shape = input.type.shape
    if len(shape) < 2:
        raise RuntimeError(f"{'tril' if lower else 'triu'}: input tensor must have at least 2 dimensions")
    rows, cols = shape[-2:]
    dev = input.type.device
    row = ops.reshape(ops.iota(size=rows, dtype=dt.int64, device=dev), shape=(rows, 1))
    col = ops.reshape(ops.iota(size=cols, dtype=dt.int64, device=dev), shape=(1, cols))
    keep = elementwise(ops.le if lower else ops.ge, col, row + diagonal)
    return ops.where(expand_to(keep, shape), input, full_as(input, 0))


def tril(input, diagonal: int = 0, *, out=None):
    """Returns the lower triangles of matrices, zeros elsewhere.

    >>> import treadle
    >>> tril(treadle.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return give(_triangle(input, diagonal, True), out)


def triu(input, diagonal: int = 0, *, out=None):
    """Returns the upper triangles of matrices, zeros elsewhere."""
    return give(_triangle(input, diagonal, False), out)


def diag(input, diagonal: int = 0, *, out=None):
    """Returns a matrix with a vector on a diagonal, or a copy of a matrix's diagonal.

    >>> import treadle
    >>> diag(treadle.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if input.type.ndim == 1:
        return give(diag_embed(input, diagonal), out)
    if input.type.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.type.ndim}D")
    from .shape import diagonal as diagonal_of

    return give(ops.copy(diagonal_of(input, diagonal)), out)


def diag_embed(input, offset: int = 0, dim1: int = -2, dim2: int = -1):
    """Returns matrices with the last dim's vectors on a diagonal."""
    n = input.type.ndim + 1
    a, b = one_dim(dim1, n), one_dim(dim2, n)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = input.type.shape[-1] + (offset if offset >= 0 else -offset)
    zeros = full_as(input.type.with_shape((*input.type.shape[:-1], size, size)), 0)
    made = ops.diagonal_put(zeros, input, offset=offset, dim1=n - 2, dim2=n - 1)
    return made if (a, b) == (n - 2, n - 1) else movedim(made, (-2, -1), (a, b))


def diagflat(input, offset: int = 0):
    """Returns a matrix with the flat input on a diagonal."""
    return diag_embed(ops.reshape(input, shape=(input.type.numel,)), offset)


def diagonal_scatter(input, src, offset: int = 0, dim1: int = 0, dim2: int = 1):
    """Returns input with src on a diagonal."""
    n = input.type.ndim
    return ops.diagonal_put(input, src, offset=offset, dim1=one_dim(dim1, n), dim2=one_dim(dim2, n))


def select_scatter(input, src, dim: int, index: int):
    """Returns input with src at one place of a dim."""
    from .shape import unsqueeze

    d = one_dim(dim, input.type.ndim)
    i = index + input.type.shape[d] if index < 0 else index
    return _sliced(input, unsqueeze(src, d), d, i, i + 1, 1)


def slice_scatter(input, src, dim: int = 0, start=None, end=None, step: int = 1):
    """Returns input with src in a slice of a dim."""
    d = one_dim(dim, input.type.ndim)
    first, last, _ = slice(start, end, step).indices(input.type.shape[d])
    return _sliced(input, src, d, first, max(first, last), step)


def _sliced(x, src, d, start, stop, step):
    n = x.type.ndim
    starts, stops, steps = [0] * n, list(x.type.shape), [1] * n
    starts[d], stops[d], steps[d] = start, stop, step
    return ops.slice_put(x, cast(src, x.type.dtype), starts=tuple(starts), stops=tuple(stops), steps=tuple(steps))


def index_reduce(input, dim: int, index, source, reduce: str, *, include_self: bool = True):
    """Returns input with source's slices combined at the places of index along a dim."""
    d = one_dim(dim, input.type.ndim)
    wide = ops.reshape(index, shape=(1,) * d + (index.type.numel,) + (1,) * (input.type.ndim - d - 1))
    return scatter_reduce(input, d, expand_to(wide, source.type.shape), source, reduce, include_self=include_self)
