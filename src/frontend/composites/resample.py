"""Sums over intervals and between neighbours of a dim: adaptive pooling, interpolation, fold."""

from __future__ import annotations

from math import prod

import numpy as np

from ...ir import ops
from ...ir.composite import composite
from .blocks import narrow, quiet, wide
from .pool import _shifted


# fold: windows back into an image -------------------------------------------------------------------
def _fold_body(x, *, size, kernel, stride, padding, dilation):
    """x (N, C, taps..., positions...) summed where windows meet."""
    k = len(kernel)
    order = (0, 1, *range(2 + k, 2 + 2 * k), *range(2, 2 + k))
    padded = tuple(n + 2 * p for n, p in zip(size, padding, strict=True))
    spread = ops.unwindow(ops.permute(x, dims=order), size=padded, kernel=kernel, stride=stride, dilation=dilation)
    y = ops.reduce_sum(spread, dims=tuple(range(2 + k, 2 + 2 * k)))
    if not any(padding):
        return y
    stops = (*y.type.shape[:2], *(p + n for p, n in zip(padding, size, strict=True)))
    return ops.slice(y, starts=(0, 0, *padding), stops=stops, steps=(1,) * y.type.ndim)


def _fold_numpy(x, *, size, kernel, stride, padding, dilation):
    k = len(kernel)
    out = x.shape[2 + k:]
    w = wide(x)
    whole = np.zeros((*x.shape[:2], *(n + 2 * p for n, p in zip(size, padding, strict=True))), w.dtype)
    for tap in np.ndindex(*kernel):
        target = _shifted(whole, tap, out, stride, dilation)
        target += w[(slice(None), slice(None), *tap)]
    inner = tuple(slice(p, p + n) for p, n in zip(padding, size, strict=True))
    return narrow(np.ascontiguousarray(whole[(Ellipsis, *inner)]), x.dtype)


def _fold_pull(g, _y, _x, *, size, kernel, stride, padding, dilation):
    return unfolded(g, kernel, stride, padding, dilation)


def unfolded(x, kernel, stride, padding, dilation):
    """x (N, C, size) as windows (N, C, taps..., positions...)."""
    k = len(kernel)
    if any(padding):
        x = ops.pad(x, before=(0, 0, *padding), after=(0, 0, *padding), value=0)
    windows = ops.window(x, kernel=kernel, stride=stride, dilation=dilation)
    return ops.permute(windows, dims=(0, 1, *range(2 + k, 2 + 2 * k), *range(2, 2 + k)))


fold = composite("fold", _fold_body, eager=quiet(_fold_numpy), vjp=(_fold_pull,))


# a small matrix along one dim -------------------------------------------------------------------------
def along(x, matrix, dim):
    """`matrix` (out, n) times x's dim."""
    shape = x.type.shape
    n, out = shape[dim], matrix.type.shape[0]
    order = (*(d for d in range(len(shape)) if d != dim), dim)
    last = ops.permute(x, dims=order) if dim != len(shape) - 1 else x
    lead = last.type.shape[:-1]
    y = ops.dot(ops.reshape(last, shape=(prod(lead), n)), ops.permute(matrix, dims=(1, 0)))
    y = ops.reshape(y, shape=(*lead, out))
    if dim == len(shape) - 1:
        return y
    back = [0] * len(shape)
    for place, d in enumerate(order):
        back[d] = place
    return ops.permute(y, dims=tuple(back))


def interval_means(n, out, like):
    """The matrix (out, n) whose row i averages floor(i n / out) .. ceil((i + 1) n / out)."""
    from ...ir.dtype import int64

    t = like.type
    row = ops.expand(ops.reshape(ops.iota(size=out, dtype=int64, device=t.device), shape=(out, 1)), shape=(out, n))
    col = ops.expand(ops.reshape(ops.iota(size=n, dtype=int64, device=t.device), shape=(1, n)), shape=(out, n))
    start = ops.floordiv(row * n, out)
    end = ops.floordiv(row * n + (n + out - 1), out)
    inside = ops.convert(ops.bit_and(ops.ge(col, start), ops.lt(col, end)), dtype=t.dtype)
    return inside / ops.convert(end - start, dtype=t.dtype)


def _adaptive_body(x, *, out):
    lead = x.type.ndim - len(out)
    for i, o in enumerate(out):
        n = x.type.shape[lead + i]
        if n % o == 0:
            shape = x.type.shape
            split = ops.reshape(x, shape=(*shape[:lead + i], o, n // o, *shape[lead + i + 1:]))
            x = ops.reduce_sum(split, dims=(lead + i + 1,)) / (n // o)
        elif n != o:
            x = along(x, interval_means(n, o, x), lead + i)
    return x


def _adaptive_numpy(x, *, out):
    lead = x.ndim - len(out)
    y = wide(x)
    if all(o == 1 for o in out):
        y = y.reshape(*x.shape[:lead], prod(x.shape[lead:])).mean(axis=-1)
        return narrow(y, x.dtype).reshape(*x.shape[:lead], *out)
    for i, o in enumerate(out):
        n = y.shape[lead + i]
        starts = np.arange(o) * n // o
        ends = -(-(np.arange(o) + 1) * n // o)
        lines = [np.take(y, np.arange(a, b), lead + i).mean(axis=lead + i) for a, b in zip(starts, ends, strict=True)]
        y = np.stack(lines, lead + i)
    return narrow(np.array(y) if y is x else y, x.dtype)


adaptive_avg_pool = composite("adaptive_avg_pool", _adaptive_body, eager=quiet(_adaptive_numpy), vjp=(
    lambda g, _y, _x, *, out: adaptive_avg_back(g, size=tuple(_x.shape[_x.ndim - len(out):])),))


def _adaptive_back_body(g, *, size):
    lead = g.type.ndim - len(size)
    for i, n in enumerate(size):
        o = g.type.shape[lead + i]
        if n % o == 0:
            shape = g.type.shape
            wide_shape = (*shape[:lead + i + 1], n // o, *shape[lead + i + 1:])
            split = ops.reshape(g / (n // o), shape=(*shape[:lead + i + 1], 1, *shape[lead + i + 1:]))
            g = ops.reshape(ops.expand(split, shape=wide_shape), shape=(*shape[:lead + i], n, *shape[lead + i + 1:]))
        elif n != o:
            g = along(g, ops.permute(interval_means(n, o, g), dims=(1, 0)), lead + i)
    return g


adaptive_avg_back = composite("adaptive_avg_back", _adaptive_back_body)


# interpolation -----------------------------------------------------------------------------------------
def _positions(out, n, scale, align_corners, like):
    """Where each output element lies among the input's, as float64."""
    from ...ir.dtype import float64

    i = ops.iota(size=out, dtype=float64, device=like.type.device)
    if align_corners:
        return i * ((n - 1) / (out - 1) if out > 1 else 0.0)
    step = 1 / scale if scale else n / out
    return (i + 0.5) * step - 0.5


def _picked(x, dim, index):
    """x at whole places (int64) of one dim."""
    shape = x.type.shape
    lines = [ops.iota(size=s, dtype=index.type.dtype, device=x.type.device) for s in shape[:dim]]
    whole = (*shape[:dim], index.type.numel)
    spread = [ops.expand(ops.reshape(v, shape=(1,) * d + (v.type.numel,) + (1,) * (dim - d)), shape=whole)
              for d, v in enumerate([*lines, index])]
    return ops.index(x, *spread)


def _limited(place, n):
    from ...ir.dtype import int64

    return ops.convert(ops.minimum(ops.maximum(place, 0), n - 1), dtype=int64)


def _nearest_line(out, n, scale, exact, like):
    from ...ir.dtype import float64

    i = ops.iota(size=out, dtype=float64, device=like.type.device)
    step = 1 / scale if scale else n / out
    return _limited(ops.floor((i + 0.5) * step if exact else i * step), n)


def _weighted(x, dim, taps):
    """The sum of x at places times weights along one dim."""
    total = None
    for place, weight in taps:
        picked = _picked(x, dim, place)
        line = ops.reshape(ops.convert(weight, dtype=x.type.dtype),
                           shape=(1,) * dim + (weight.type.numel,) + (1,) * (x.type.ndim - dim - 1))
        part = picked * line
        total = part if total is None else total + part
    return total


def _linear_taps(out, n, scale, align_corners, like):
    at = ops.maximum(_positions(out, n, scale, align_corners, like), 0)
    low = ops.floor(at)
    weight = at - low
    return [(_limited(low, n), 1 - weight), (_limited(low + 1, n), weight)]


def _cubic_taps(out, n, scale, align_corners, like, a=-0.75):
    at = _positions(out, n, scale, align_corners, like)
    low = ops.floor(at)
    t = at - low

    def near(v):
        return ((v * (a + 2)) - (a + 3)) * v * v + 1

    def far(v):
        return ((v * a - 5 * a) * v + 8 * a) * v - 4 * a

    weights = (far(t + 1), near(t), near(1 - t), far(2 - t))
    return [(_limited(low + k, n), w) for k, w in zip((-1, 0, 1, 2), weights, strict=True)]


def _interpolate_body(x, *, out, scales, mode, align_corners):
    lead = x.type.ndim - len(out)
    for i, (o, scale) in enumerate(zip(out, scales, strict=True)):
        d = lead + i
        n = x.type.shape[d]
        if mode in ("nearest", "nearest-exact"):
            x = _picked(x, d, _nearest_line(o, n, scale, mode == "nearest-exact", x))
        elif mode == "bicubic":
            x = _weighted(x, d, _cubic_taps(o, n, scale, align_corners, x))
        elif o != n or (scale and scale != 1):
            x = _weighted(x, d, _linear_taps(o, n, scale, align_corners, x))
    return x


interpolate = composite("interpolate", _interpolate_body)
