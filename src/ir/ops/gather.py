"""Reads and writes at places given by index tensors; an index out of range is an IndexError, never a wild read.

An `error` attribute, where a row has one, is the message of that IndexError, a format with {value}.
GATHER `emit(index, shapes, **attrs)` gives the place in operand 0 as a tuple whose entries are index
expressions or At(operand, its index): a number read from an index operand. SCATTER rows give, for each
source element, the place in the result in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import dtype as dt
from ..errors import DTypeError, IndexRangeError, ShapeError
from ..op import Kind, make_op


@dataclass(frozen=True, slots=True)
class At:
    """A place read from index operand `operand` at `index`."""

    operand: int
    index: tuple


def range_message(size, dim, error="") -> str:
    """What is said, as a format with {value}, of a place outside 0..size-1."""
    return error or f"index {{value}} is out of bounds for dimension {dim} with size {size}"


def check_range(idx, size, dim, error=""):
    """IndexError in PyTorch's words for the first place outside 0..size-1."""
    if not idx.size or (idx.min() >= 0 and idx.max() < size):
        return
    flat = idx.reshape(-1)
    bad = int(flat[np.argmax((flat < 0) | (flat >= size))])
    raise IndexRangeError(range_message(size, dim, error).format(value=bad))


def _zeros(t):
    from .elementwise import full_as

    return full_as(t, 0)


def _check_integer(*types):
    for t in types:
        if t.dtype not in (dt.int64, dt.int32):
            raise DTypeError(f"Expected tensor for argument 'index' to have one of the following scalar "
                             f"types: Long, Int; but got {t.dtype.name} instead")


# index: the leading dims of x by one index tensor each ---------------------------------------------
def _index_infer(x, *index, error=""):
    _check_integer(*index)
    if len(index) > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim}")
    if any(t.shape != index[0].shape for t in index):
        raise ShapeError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                         + ", ".join(str(list(t.shape)) for t in index))
    return x.with_shape(index[0].shape + x.shape[len(index):])


def _index(x, *index, error=""):
    for d, i in enumerate(index):
        check_range(i, x.shape[d], d, error)
    return x[index]


def _index_emit(index, shapes, **_attrs):
    width = len(shapes[1])
    places = tuple(At(k, index[:width]) for k in range(1, len(shapes)))
    return (*places, *index[width:])


def _index_vjp(g, _y, operand, _x, *index, error=""):
    return index_add(_zeros(_x), g, *index) if operand == 0 else None


index = make_op("index", Kind.GATHER, _index_infer, _index, _index_vjp, _index_emit)


def _index_put_infer(x, value, *index):
    want = _index_infer(x, *index)
    if value.shape != want.shape or value.dtype is not x.dtype:
        raise ShapeError(f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast "
                         f"to indexing result of shape {list(want.shape)}")
    return x


def _index_add(x, value, *index):
    for d, i in enumerate(index):
        check_range(i, x.shape[d], d)
    out = np.array(x, order="C")  # _add_rows writes through a reshape
    if out.dtype.itemsize == 2 and out.dtype.kind not in "iu":
        total = out.astype(np.float32)
        np.add.at(total, index, value.astype(np.float32))
        return total.astype(out.dtype)
    _add_rows(out, value, index)
    return out


def _add_rows(out, value, index):
    """np.add.at, by sorted runs where rows are long (add.at is slow there)."""
    row = int(np.prod(out.shape[len(index):]))
    if row < 8 or value.size == 0:
        np.add.at(out, index, value)
        return
    flat = np.ravel_multi_index(index, out.shape[:len(index)]).reshape(-1)
    order = np.argsort(flat, kind="stable")
    at = flat[order]
    starts = np.flatnonzero(np.r_[True, at[1:] != at[:-1]])
    sums = np.add.reduceat(value.reshape(-1, row)[order], starts, axis=0)
    out.reshape(-1, row)[at[starts]] += sums


def _index_set(x, value, *index):
    for d, i in enumerate(index):
        check_range(i, x.shape[d], d)
    out = np.array(x)
    out[index] = value
    return out


def _index_add_vjp(g, _y, operand, _x, _v, *index_):
    return g if operand == 0 else index(g, *index_) if operand == 1 else None


def _index_set_vjp(g, _y, operand, _x, _v, *index_):
    if operand == 0:
        return index_set(g, _zeros(_v), *index_)
    return index(g, *index_) if operand == 1 else None


def _index_write_emit(index, shapes, **_attrs):
    """Place in the result of source element `index` (operand 1); operands 2.. are the indices."""
    width = len(shapes[2])
    return (*(At(k, index[:width]) for k in range(2, len(shapes))), *index[width:])


# with a place named twice, index_add sums and index_set keeps one of the values
index_add = make_op("index_add", Kind.SCATTER, _index_put_infer, _index_add, _index_add_vjp,
                    (_index_write_emit, "add"))
index_set = make_op("index_set", Kind.SCATTER, _index_put_infer, _index_set, _index_set_vjp,
                    (_index_write_emit, "set"))


# gather and scatter along one dim ------------------------------------------------------------------
def _gather_infer(x, index, *, dim, error=""):
    _check_integer(index)
    if index.ndim != x.ndim:
        raise ShapeError("Index tensor must have the same number of dimensions as input tensor")
    for d, (n, m) in enumerate(zip(index.shape, x.shape, strict=True)):
        if d != dim and n > m:
            raise ShapeError(f"Size does not match at dimension {d} expected index {list(index.shape)} to "
                             f"be no larger than self {list(x.shape)} apart from dimension {dim}")
    return x.with_shape(index.shape)


def _cut(x, index, dim):
    return x[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape))]


def _gather(x, index, *, dim, error=""):
    check_range(index, x.shape[dim], dim, error)
    return np.take_along_axis(_cut(x, index, dim), index, dim)


def _gather_emit(index, shapes, *, dim, error=""):
    return (*index[:dim], At(1, index), *index[dim + 1:])


gather = make_op(
    "gather", Kind.GATHER, _gather_infer, _gather,
    (lambda g, _y, _x, index, *, dim, error="": scatter_add(_zeros(_x), index, g, dim=dim), None), _gather_emit)


def _scatter_infer(x, index, src, *, dim):
    _gather_infer(x, index, dim=dim)
    if src.dtype is not x.dtype:
        raise DTypeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if any(n > m for n, m in zip(index.shape, src.shape, strict=True)):
        raise ShapeError(f"Expected index {list(index.shape)} to be no larger than src {list(src.shape)}")
    return x


def _places(index, dim):
    grid = np.ogrid[tuple(slice(n) for n in index.shape)]
    return tuple(index if d == dim else g for d, g in enumerate(grid))


def _scatter_with(write):
    def run(x, index, src, *, dim):
        check_range(index, x.shape[dim], dim)
        out = np.array(x)
        write(out, _places(index, dim), src[tuple(slice(n) for n in index.shape)])
        return out

    return run


def _set(out, places, src):
    out[places] = src


def _scatter_emit(index, shapes, *, dim):
    return (*index[:dim], At(1, index), *index[dim + 1:])


scatter_add = make_op(
    "scatter_add", Kind.SCATTER, _scatter_infer, _scatter_with(np.add.at),
    (lambda g, _y, _x, _i, _s, *, dim: g, None, lambda g, _y, _x, i, _s, *, dim: _padded(gather(g, i, dim=dim), _s)),
    (_scatter_emit, "add"))
scatter = make_op(
    "scatter", Kind.SCATTER, _scatter_infer, _scatter_with(_set),
    (lambda g, _y, _x, i, _s, *, dim: scatter(g, i, _zeros(g.type.with_shape(i.shape)), dim=dim), None,
     lambda g, _y, _x, i, _s, *, dim: _padded(gather(g, i, dim=dim), _s)), (_scatter_emit, "set"))


def _shares(y, x, i, src, dim):
    """Which elements equal the result, at x's places and at src's, and how many meet at each place."""
    from .elementwise import convert, eq

    mine = convert(eq(x, y), dtype=x.dtype)
    theirs = convert(eq(_head(src, i), gather(y, i, dim=dim)), dtype=x.dtype)
    return mine, theirs, scatter_add(mine, i, theirs, dim=dim)


def _extreme_self(g, y, x, i, src, *, dim):
    mine, _, count = _shares(y, x, i, src, dim)
    return g * mine / count


def _extreme_source(g, y, x, i, src, *, dim):
    _, theirs, count = _shares(y, x, i, src, dim)
    return _padded(gather(g / count, i, dim=dim) * theirs, src)


def _head(src, index):
    """The part of src that an index of its own shape or a smaller one reads."""
    from .movement import slice_

    if src.shape == index.shape:
        return src
    zeros, ones = (0,) * src.ndim, (1,) * src.ndim
    return slice_(src, starts=zeros, stops=index.shape, steps=ones)


def _prod_self(g, y, x, i, src, *, dim):
    from .elementwise import eq, full_as, where

    ones = full_as(x, 1)
    others = scatter_prod(ones, i, src, dim=dim)
    return where(eq(x, 0), g * others, g * y / where(eq(x, 0), ones, x))


def _prod_source(g, y, x, i, src, *, dim):
    """g times the product of all the others at the place: its own zero is left out, a second one is not."""
    from .elementwise import convert, eq, full_as, where

    part = _head(src, i)
    zero = eq(part, 0)
    zeros = scatter_add(_zeros(x.type), i, convert(zero, dtype=x.dtype), dim=dim)
    others = scatter_prod(x, i, where(zero, full_as(part, 1), part), dim=dim)
    alone = where(eq(zeros, 1), others, 0)
    plain = gather(g * y, i, dim=dim) / where(zero, full_as(part, 1), part)
    return _padded(where(zero, gather(g * alone, i, dim=dim), plain), src)


# places that meet are combined: by product, by the larger, by the smaller
scatter_prod = make_op("scatter_prod", Kind.SCATTER, _scatter_infer, _scatter_with(np.multiply.at),
                       (_prod_self, None, _prod_source), (_scatter_emit, "mul"))
scatter_amax = make_op("scatter_amax", Kind.SCATTER, _scatter_infer, _scatter_with(np.maximum.at),
                       (_extreme_self, None, _extreme_source), (_scatter_emit, "maximum"))
scatter_amin = make_op("scatter_amin", Kind.SCATTER, _scatter_infer, _scatter_with(np.minimum.at),
                       (_extreme_self, None, _extreme_source), (_scatter_emit, "minimum"))


def _padded(g, src):
    """g with zeros where src is larger than the index was."""
    from .movement import pad

    if g.shape == src.shape:
        return g
    after = tuple(m - n for n, m in zip(g.shape, src.shape, strict=True))
    return pad(g, before=(0,) * g.ndim, after=after, value=0)


# the sum of g over all places of a strided view that meet ------------------------------------------
def _strided_add(g, *, size, shape, strides, offset):
    out = np.zeros(size, g.dtype)
    at = np.full(shape, offset, np.int64)
    for d, s in enumerate(strides):
        at += (np.arange(shape[d]) * s).reshape((-1,) + (1,) * (len(shape) - 1 - d))
    np.add.at(out, at.reshape(-1), np.asarray(g).reshape(-1))
    return out


def _strided_add_vjp(g, _y, _x, *, size, shape, strides, offset):
    from .movement import as_strided

    return as_strided(g, shape=shape, strides=strides, offset=offset)


strided_add = make_op("strided_add", Kind.LIBRARY, lambda t, *, size, shape, strides, offset:
                      t.with_shape((size,)), _strided_add, (_strided_add_vjp,), None)
