"""Convolution and its two gradients, each the gradient of the others.

conv         y = x * w            x (N, C, size), w (O, C / groups, kernel), y (N, O, out)
conv_input   what reaches x from y's cotangent; also the transposed convolution
conv_weight  what reaches w
A body is padding and windows (movement), then one batched product; the eager forms are in `conv_numpy`.
"""

from __future__ import annotations

from math import prod

from ...ir import ops
from ...ir.composite import composite
from ...ir.ops.contract import flip_last
from . import conv_numpy


def _columns(x, kernel, stride, padding, dilation, groups):
    """x's windows as (N, groups, C / groups * taps, positions), and the sizes of the output."""
    n, c, *size = x.type.shape
    k = len(size)
    if any(padding):
        x = ops.pad(x, before=(0, 0, *padding), after=(0, 0, *padding), value=0)
    if prod(kernel) == 1 and all(s == 1 for s in stride):
        out = x.type.shape[2:]
        return ops.reshape(x, shape=(n, groups, c // groups, prod(out))), out
    windows = ops.window(x, kernel=kernel, stride=stride, dilation=dilation)
    out = windows.type.shape[2:2 + k]
    order = (0, 1, *range(2 + k, 2 + 2 * k), *range(2, 2 + k))
    taps = ops.permute(windows, dims=order)
    return ops.reshape(taps, shape=(n, groups, c // groups * prod(kernel), prod(out))), out


def _matrices(w, groups, n):
    """w as (n, groups, O / groups, C / groups * taps)."""
    o = w.type.shape[0] // groups
    w = ops.reshape(w, shape=(1, groups, o, prod(w.type.shape[1:])))
    return ops.expand(w, shape=(n, *w.type.shape[1:]))


def _conv_body(x, w, b=None, *, stride, padding, dilation, groups):
    columns, out = _columns(x, w.type.shape[2:], stride, padding, dilation, groups)
    n = x.type.shape[0]
    y = ops.dot(_matrices(w, groups, n), columns)
    y = ops.reshape(y, shape=(n, w.type.shape[0], *out))
    if b is not None:
        shape = y.type.shape
        y = y + ops.expand(ops.reshape(b, shape=(1, shape[1]) + (1,) * len(out)), shape=shape)
    return y


def _conv_input_body(g, w, *, size, stride, padding, dilation, groups):
    n, o, *out = g.type.shape
    kernel, c = w.type.shape[2:], w.type.shape[1] * groups
    k = len(out)
    rows = ops.reshape(g, shape=(n, groups, o // groups, prod(out)))
    columns = ops.dot(flip_last(_matrices(w, groups, n)), rows)
    taps = ops.reshape(columns, shape=(n, c, *kernel, *out))
    taps = ops.permute(taps, dims=(0, 1, *range(2 + k, 2 + 2 * k), *range(2, 2 + k)))
    padded = tuple(s + 2 * p for s, p in zip(size, padding, strict=True))
    spread = ops.unwindow(taps, size=padded, kernel=kernel, stride=stride, dilation=dilation)
    x = ops.reduce_sum(spread, dims=tuple(range(2 + k, 2 + 2 * k)))
    if not any(padding):
        return x
    starts = (0, 0, *padding)
    stops = (n, c, *(p + s for p, s in zip(padding, size, strict=True)))
    return ops.slice(x, starts=starts, stops=stops, steps=(1,) * (2 + k))


def _conv_weight_body(g, x, *, kernel, stride, padding, dilation, groups):
    n, o, *out = g.type.shape
    c = x.type.shape[1]
    columns, _ = _columns(x, kernel, stride, padding, dilation, groups)
    rows = ops.reshape(g, shape=(n, groups, o // groups, prod(out)))
    w = ops.reduce_sum(ops.dot(rows, flip_last(columns)), dims=(0,))
    return ops.reshape(w, shape=(o, c // groups, *kernel))


conv_input = composite("conv_input", _conv_input_body, eager=conv_numpy.conv_input, vjp=(
    lambda g, _y, _g, w, *, size, **attrs: conv(g, w, **attrs),
    lambda g, _y, x, _w, *, size, **attrs: conv_weight(x, g, kernel=tuple(_w.shape[2:]), **attrs),
))
conv_weight = composite("conv_weight", _conv_weight_body, eager=conv_numpy.conv_weight, vjp=(
    lambda g, _y, _g, x, *, kernel, **attrs: conv(x, g, **attrs),
    lambda g, _y, y, _x, *, kernel, **attrs: conv_input(y, g, size=tuple(_x.shape[2:]), **attrs),
))
conv = composite("conv", _conv_body, eager=conv_numpy.conv, vjp=(
    lambda g, _y, _x, w, _b=None, **attrs: conv_input(g, w, size=tuple(_x.shape[2:]), **attrs),
    lambda g, _y, x, _w, _b=None, **attrs: conv_weight(g, x, kernel=tuple(_w.shape[2:]), **attrs),
    lambda g, _y, _x, _w, _b, **attrs: ops.reduce_sum(g, dims=(0, *range(2, g.type.ndim))),
))
