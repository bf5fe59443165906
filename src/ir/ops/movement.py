"""Movement primitives: each output element is one input element (or a fill), by an index map.

`emit(index, shapes, **attrs)` gives pieces, tried in order: Piece(operand, its index, conditions), where
a condition (expr, low, high) holds if low <= expr < high; operand None is the constant `fill`.
Index expressions take + - * // % with ints.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as np_as_strided

from ..buffer import copy
from ..errors import ShapeError
from ..op import Kind, make_op
from ..type import TensorType, contiguous_strides


@dataclass(frozen=True, slots=True)
class Piece:
    operand: int | None
    index: tuple
    conditions: tuple[tuple[Any, int, int], ...] = ()
    fill: Any = 0


def movement(name, infer, eager, vjp, emit, **more):
    return make_op(name, Kind.MOVE, infer, eager, vjp, emit, **more)


# reshape ------------------------------------------------------------------------------------------
def _reshape_infer(t, *, shape):
    if prod(shape) != t.numel:
        raise ShapeError(f"shape '{list(shape)}' is invalid for input of size {t.numel}")
    return t.with_shape(shape)


def _reshape_emit(index, shapes, *, shape):
    flat = sum((i * s for i, s in zip(index, contiguous_strides(shape), strict=True)), 0)
    (source,) = shapes
    return (Piece(0, tuple((flat // s) % max(n, 1) if d else flat // s for d, (s, n) in
                           enumerate(zip(contiguous_strides(source), source, strict=True)))),)


def _reshape(x, *, shape):
    try:
        return x.reshape(shape, copy=False)
    except ValueError:  # no strides say it
        return copy(x).reshape(shape)


reshape = movement("reshape", _reshape_infer, _reshape,
                   (lambda g, _y, _x, *, shape: reshape(g, shape=_x.shape),), _reshape_emit, alias=True)


# permute, expand ----------------------------------------------------------------------------------
def inverse(dims):
    out = [0] * len(dims)
    for i, d in enumerate(dims):
        out[d] = i
    return tuple(out)


permute = movement(
    "permute", lambda t, *, dims: t.with_shape(t.shape[d] for d in dims),
    lambda x, *, dims: x.transpose(dims),
    (lambda g, _y, _x, *, dims: permute(g, dims=inverse(dims)),),
    lambda index, shapes, *, dims: (Piece(0, tuple(index[d] for d in inverse(dims))),), alias=True,
)


def _expand_infer(t, *, shape):
    bad = len(shape) != t.ndim or any(n not in (1, m) for n, m in zip(t.shape, shape, strict=True))
    if bad:
        raise ShapeError(f"The expanded size of the tensor {shape} must match the existing size {t.shape}")
    return t.with_shape(shape)


def unexpand(g, shape):
    """The sum of g over the dims that were expanded from size 1."""
    from .reduce import reduce_sum

    dims = tuple(i for i, (n, m) in enumerate(zip(shape, g.shape, strict=True)) if n == 1 and m != 1)
    return reshape(reduce_sum(g, dims=dims), shape=shape) if dims else g


expand = movement(
    "expand", _expand_infer, lambda x, *, shape: np.broadcast_to(x, shape),
    (lambda g, _y, _x, *, shape: unexpand(g, _x.shape),),
    lambda index, shapes, *, shape: (
        Piece(0, tuple(0 if n == 1 else i for i, n in zip(index, shapes[0], strict=True))),),
    alias=True,
)


# slice and its inverse ----------------------------------------------------------------------------
def _count(start, stop, step):
    return max(0, -(-(stop - start) // step))


def _slice_infer(t, *, starts, stops, steps):
    return t.with_shape(_count(*span) for span in zip(starts, stops, steps, strict=True))


def slices(starts, stops, steps):
    return tuple(slice(*span) for span in zip(starts, stops, steps, strict=True))


def _zeros(t: TensorType):
    from .elementwise import full_as

    return full_as(t, 0)


slice_ = movement(
    "slice", _slice_infer, lambda x, *, starts, stops, steps: x[slices(starts, stops, steps)],
    (lambda g, _y, _x, **span: slice_put(_zeros(_x), g, **span),),
    lambda index, shapes, *, starts, stops, steps: (
        Piece(0, tuple(i * k + a for i, a, k in zip(index, starts, steps, strict=True))),),
    alias=True,
)


def _put_infer(t, value, *, starts, stops, steps):
    want = _slice_infer(t, starts=starts, stops=stops, steps=steps)
    if value.shape != want.shape:
        raise ShapeError(f"shape mismatch: value tensor of shape {list(value.shape)} cannot be "
                         f"broadcast to indexing result of shape {list(want.shape)}")
    return t


def _put(x, value, *, starts, stops, steps):
    out = copy(x)
    out[slices(starts, stops, steps)] = value
    return out


def _put_emit(index, shapes, *, starts, stops, steps):
    where, inside = [], []
    for i, n, a, b, k in zip(index, shapes[0], starts, stops, steps, strict=True):
        where.append((i - a) // k if k > 1 else i - a)
        if (a, b) != (0, n):
            inside.append((i, a, b))
        if k > 1:
            inside.append(((i - a) % k, 0, 1))
    return Piece(1, tuple(where), tuple(inside)), Piece(0, tuple(index))


slice_put = movement(
    "slice_put", _put_infer, _put,
    (lambda g, _y, _x, _v, **span: slice_put(g, _zeros(_v), **span),
     lambda g, _y, _x, _v, **span: slice_(g, **span)), _put_emit,
)


# flip, pad, cat -----------------------------------------------------------------------------------
flip = movement(
    "flip", lambda t, *, dims: t, lambda x, *, dims: np.flip(x, dims),
    (lambda g, _y, _x, *, dims: flip(g, dims=dims),),
    lambda index, shapes, *, dims: (
        Piece(0, tuple(n - 1 - i if d in dims else i
                       for d, (i, n) in enumerate(zip(index, shapes[0], strict=True)))),),
)


def _pad_infer(t, *, before, after, value):
    shape = tuple(a + n + b for a, n, b in zip(before, t.shape, after, strict=True))
    if any(n < 0 for n in shape):
        raise ShapeError(f"The input size {t.shape}, plus padding {before} and {after} resulted in a "
                         "negative output size")
    return t.with_shape(shape)


def _pad(x, *, before, after, value):
    cut = tuple(slice(max(0, -a), n - max(0, -b)) for a, b, n in zip(before, after, x.shape, strict=True))
    width = [(max(0, a), max(0, b)) for a, b in zip(before, after, strict=True)]
    return np.pad(x[cut], width, constant_values=value) if width else np.array(x)


def _pad_emit(index, shapes, *, before, after, value):
    source = tuple(i - a for i, a in zip(index, before, strict=True))
    inside = tuple((i, 0, n) for i, n, a, b in zip(source, shapes[0], before, after, strict=True)
                   if a > 0 or b > 0)
    return Piece(0, source, inside), Piece(None, (), (), value)


pad = movement(
    "pad", _pad_infer, _pad,
    (lambda g, _y, _x, *, before, after, value:
     pad(g, before=tuple(-a for a in before), after=tuple(-b for b in after), value=0),), _pad_emit,
)


def _cat_infer(*types, dim):
    first = types[0]
    for t in types[1:]:
        same = t.ndim == first.ndim and all(
            a == b for d, (a, b) in enumerate(zip(t.shape, first.shape, strict=True)) if d != dim)
        if not same or t.dtype is not first.dtype:
            raise ShapeError(f"Sizes of tensors must match except in dimension {dim}. Expected {first} "
                             f"but got {t}")
    shape = list(first.shape)
    shape[dim] = sum(t.shape[dim] for t in types)
    return first.with_shape(shape)


def _cat_vjp(g, _y, operand, *_xs, dim):
    start = sum(t.shape[dim] for t in _xs[:operand])
    return narrow(g, dim, start, _xs[operand].shape[dim])


def narrow(x, dim, start, length):
    """x's elements start..start+length of one dim."""
    starts, stops = [0] * x.ndim, list(x.shape)
    starts[dim], stops[dim] = start, start + length
    return slice_(x, starts=tuple(starts), stops=tuple(stops), steps=(1,) * x.ndim)


def _cat_emit(index, shapes, *, dim):
    pieces, start = [], 0
    for k, shape in enumerate(shapes):
        at = index[dim] - start
        pieces.append(Piece(k, (*index[:dim], at, *index[dim + 1:]),
                            ((index[dim], start, start + shape[dim]),)))
        start += shape[dim]
    return tuple(pieces)


cat = movement("cat", _cat_infer, lambda *xs, dim: np.concatenate(xs, dim), _cat_vjp, _cat_emit)


# strided access to a flat value -------------------------------------------------------------------
def _strided(x, shape, strides, offset):
    step = x.itemsize
    return np_as_strided(x[offset:], shape, tuple(s * step for s in strides))


def _as_strided_put(x, value, *, shape, strides, offset):
    out = np.array(x)
    _strided(out, shape, strides, offset)[...] = value
    return out


def _as_strided_back(g, _y, _x, *, shape, strides, offset):
    from .gather import strided_add

    return strided_add(g, size=_x.shape[0], shape=shape, strides=strides, offset=offset)


as_strided = movement(
    "as_strided", lambda t, *, shape, strides, offset: t.with_shape(shape),
    lambda x, *, shape, strides, offset: _strided(x, shape, strides, offset), (_as_strided_back,),
    lambda index, shapes, *, shape, strides, offset: (
        Piece(0, (sum((i * s for i, s in zip(index, strides, strict=True)), 0) + offset,)),),
    alias=True,
)
as_strided_put = movement(
    "as_strided_put", lambda t, v, **_span: t, _as_strided_put,
    (lambda g, _y, _x, _v, **span: as_strided_put(g, _zeros(_v), **span),
     lambda g, _y, _x, _v, **span: as_strided(g, **span)), None,
)


# windows: x[..., i * stride + j * dilation] as a new trailing dim per windowed dim -----------------
def _window_out(n, k, stride, dilation):
    return (n - dilation * (k - 1) - 1) // stride + 1


def _window_infer(t, *, kernel, stride, dilation):
    lead = t.ndim - len(kernel)
    out = tuple(map(_window_out, t.shape[lead:], kernel, stride, dilation))
    if any(n < 0 for n in out):
        raise ShapeError(f"Calculated output size is too small: input {t.shape}, kernel {kernel}")
    return t.with_shape(t.shape[:lead] + out + kernel)


def _window(x, *, kernel, stride, dilation):
    lead = x.ndim - len(kernel)
    out = tuple(map(_window_out, x.shape[lead:], kernel, stride, dilation))
    steps = x.strides[:lead] + tuple(a * b for a, b in zip(x.strides[lead:], stride, strict=True)) \
        + tuple(a * b for a, b in zip(x.strides[lead:], dilation, strict=True))
    return np_as_strided(x, x.shape[:lead] + out + kernel, steps, writeable=False)


def _window_emit(index, shapes, *, kernel, stride, dilation):
    k = len(kernel)
    lead = len(shapes[0]) - k
    at, tap = index[lead:lead + k], index[lead + k:]
    return (Piece(0, (*index[:lead], *(i * s + j * d for i, j, s, d in
                                       zip(at, tap, stride, dilation, strict=True)))),)


def _window_vjp(g, _y, _x, *, kernel, stride, dilation):
    from .reduce import reduce_sum

    k = len(kernel)
    size = _x.shape[_x.ndim - k:]
    taps = unwindow(g, size=size, kernel=kernel, stride=stride, dilation=dilation)
    return reduce_sum(taps, dims=tuple(range(taps.ndim - k, taps.ndim)))


window = movement("window", _window_infer, _window, (_window_vjp,), _window_emit)


def _unwindow_infer(t, *, size, kernel, stride, dilation):
    return t.with_shape(t.shape[:t.ndim - 2 * len(size)] + size + kernel)


def _unwindow(g, *, size, kernel, stride, dilation):
    k = len(size)
    lead = g.ndim - 2 * k
    out = np.zeros(g.shape[:lead] + size + kernel, g.dtype)
    for tap in np.ndindex(*kernel):
        spot = tuple(slice(j * d, j * d + (n - 1) * s + 1, s) for j, d, s, n in
                     zip(tap, dilation, stride, g.shape[lead:lead + k], strict=True))
        out[(Ellipsis, *spot, *tap)] = g[(Ellipsis, *tap)]
    return out


def _unwindow_emit(index, shapes, *, size, kernel, stride, dilation):
    k = len(size)
    lead = len(shapes[0]) - 2 * k
    place, inside = [], []
    for d in range(k):
        at = index[lead + d] - index[lead + k + d] * dilation[d]
        place.append(at // stride[d] if stride[d] > 1 else at)
        inside.append((at, 0, (shapes[0][lead + d] - 1) * stride[d] + 1))
        if stride[d] > 1:
            inside.append((at % stride[d], 0, 1))
    return (Piece(0, (*index[:lead], *place, *index[lead + k:]), tuple(inside)), Piece(None, ()))


def _unwindow_vjp(g, _y, _x, *, size, kernel, stride, dilation):
    """Each window element reads its own tap of g."""
    k = len(size)
    lead = _x.ndim - 2 * k
    # position i, tap j reads g[i * stride + j * dilation, j]: a window over the size dims, diagonal in taps
    seen = window(permute(g, dims=(*range(lead), *range(lead + k, lead + 2 * k), *range(lead, lead + k))),
                  kernel=kernel, stride=stride, dilation=dilation)
    return _tap_diagonal(seen, lead, k, _x.shape)


def _tap_diagonal(x, lead, k, shape):
    """x[..., t, i, j] at t == j, as [..., i, j]."""
    from .gather import gather
    from .create import iota
    from ..device import CPU
    from ..dtype import int64

    taps = prod(x.shape[lead:lead + k])
    front, spots = x.shape[:lead], x.shape[lead + k:lead + 2 * k]
    flat = reshape(x, shape=(*front, taps, prod(spots), taps))
    order = iota(size=taps, dtype=int64, device=CPU)
    pick = expand(reshape(order, shape=(1,) * (flat.ndim - 1) + (taps,)),
                  shape=(*front, 1, prod(spots), taps))
    return reshape(gather(flat, pick, dim=lead), shape=shape)


unwindow = movement("unwindow", _unwindow_infer, _unwindow, (_unwindow_vjp,), _unwindow_emit)
