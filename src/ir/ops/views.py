"""More movement: diagonals, and the same bytes as another dtype."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .. import dtype as dt
from ..errors import ShapeError
from .elementwise import full_as, imag, make_complex, real
from .movement import Piece, cat, movement, reshape, slice_


# diagonal -----------------------------------------------------------------------------------------
def diagonal_size(rows: int, cols: int, offset: int) -> int:
    return max(0, min(rows, cols - offset) if offset >= 0 else min(rows + offset, cols))


def _rest(shape, dim1, dim2):
    return tuple(n for d, n in enumerate(shape) if d not in (dim1, dim2))


def _diagonal_infer(t, *, offset, dim1, dim2):
    n = diagonal_size(t.shape[dim1], t.shape[dim2], offset)
    return t.with_shape((*_rest(t.shape, dim1, dim2), n))


def _diagonal(x, *, offset, dim1, dim2):
    n = diagonal_size(x.shape[dim1], x.shape[dim2], offset)
    start = [slice(None)] * x.ndim
    if n:
        start[dim1], start[dim2] = slice(max(0, -offset), None), slice(max(0, offset), None)
    x = x[tuple(start)]
    steps = (*_rest(x.strides, dim1, dim2), x.strides[dim1] + x.strides[dim2])
    return as_strided(x, (*_rest(x.shape, dim1, dim2), n), steps)


def _diagonal_emit(index, shapes, *, offset, dim1, dim2):
    rest = iter(index[:-1])
    at = {dim1: index[-1] + max(0, -offset), dim2: index[-1] + max(0, offset)}
    return (Piece(0, tuple(at[d] if d in at else next(rest) for d in range(len(shapes[0])))),)


def _diagonal_put_infer(t, value, **attrs):
    want = _diagonal_infer(t, **attrs)
    if value.shape != want.shape or value.dtype is not t.dtype:
        raise ShapeError(f"expected src to have a size equal to the slice of self. src size = {list(value.shape)}, "
                         f"slice size = {list(want.shape)}")
    return t


def _diagonal_put(x, value, **attrs):
    out = np.array(x)
    _diagonal(out, **attrs)[...] = value
    return out


def _diagonal_put_emit(index, shapes, *, offset, dim1, dim2):
    row, col = index[dim1], index[dim2]
    place = row - max(0, -offset)
    n = shapes[1][-1]
    inside = ((col - row - offset, 0, 1), (place, 0, n))
    return Piece(1, (*_rest(index, dim1, dim2), place), inside), Piece(0, tuple(index))


diagonal = movement(
    "diagonal", _diagonal_infer, _diagonal,
    (lambda g, _y, _x, **attrs: diagonal_put(full_as(_x, 0), g, **attrs),), _diagonal_emit, alias=True)
diagonal_put = movement(
    "diagonal_put", _diagonal_put_infer, _diagonal_put,
    (lambda g, _y, _x, _v, **attrs: diagonal_put(g, full_as(_v, 0), **attrs),
     lambda g, _y, _x, _v, **attrs: diagonal(g, **attrs)), _diagonal_put_emit)


# the same bytes as another dtype --------------------------------------------------------------------
def _pairs(x):
    return x[..., None].view(x.real.dtype)


def _part(x, k):
    n = x.type.shape
    last = slice_(x, starts=(0,) * (len(n) - 1) + (k,), stops=(*n[:-1], k + 1), steps=(1,) * len(n))
    return reshape(last, shape=n[:-1])


def _view_complex_infer(t):
    return t.with_shape(t.shape[:-1]).with_dtype(t.dtype.to_complex())


def _view_complex(x):
    want = np.result_type(x.dtype, np.complex64)
    if x.strides[-1] == x.itemsize or x.size == 0:
        return x.view(want)[..., 0]
    out = np.empty(x.shape[:-1], want)
    out.real, out.imag = x[..., 0], x[..., 1]
    return out


def _join(g):
    """A complex value as pairs of reals."""
    parts = [reshape(p, shape=(*g.type.shape, 1)) for p in (real(g), imag(g))]
    return cat(*parts, dim=g.type.ndim)


view_real = movement(
    "view_real", lambda t: t.with_shape((*t.shape, 2)).with_dtype(t.dtype.to_real()), _pairs,
    (lambda g, _y, _x: make_complex(_part(g, 0), _part(g, 1)),), None, alias=True)
view_complex = movement("view_complex", _view_complex_infer, _view_complex,
                        (lambda g, _y, _x: _join(g),), None, alias=True)


def _bitcast_infer(t, *, dtype):
    if dtype.itemsize == t.dtype.itemsize:
        return t.with_dtype(dtype)
    return t.with_shape((*t.shape[:-1], t.shape[-1] * t.dtype.itemsize // dtype.itemsize)).with_dtype(dtype)


def _bitcast(x, *, dtype):
    if dtype.np.itemsize == x.itemsize or x.shape[-1:] and x.strides[-1] == x.itemsize:
        return x.view(dtype.np)
    raise RuntimeError("self.stride(-1) must be 1 to view "
                       f"{dt.from_numpy(x.dtype).name} as {dtype.name} (different element sizes), but got "
                       f"{x.strides[-1] // x.itemsize}")


bitcast = movement("bitcast", _bitcast_infer, _bitcast, (None,), None, alias=True)
