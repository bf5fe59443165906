"""Normalisations: layer_norm, batch_norm in training, rms_norm, with one joint backward each.

The statistics of the forward are outputs, so that backward does not compute them again.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ...ir import ops
from ...ir.buffer import empty_like
from ...ir.composite import composite
from ...ir.op import Joint
from ...ir.ops.reduce import count, spread
from .blocks import narrow, quiet, row_blocks, wide
from .parallel import each
from .reduce import mean as mean_op
from .twice import derived


def _trailing(x, width):
    return tuple(range(x.type.ndim - width, x.type.ndim))


def _affine(y, x, width, w, b):
    """y * w + b, where w and b have x's last `width` dims."""
    shape = x.type.shape
    lead = (1,) * (len(shape) - width)
    for op, v in ((ops.mul, w), (ops.add, b)):
        if v is not None:
            y = op(y, ops.expand(ops.reshape(v, shape=lead + shape[len(lead):]), shape=shape))
    return y


def _rows(x, width):
    n = prod(x.shape[x.ndim - width:])
    return np.ascontiguousarray(wide(x)).reshape(prod(x.shape[:x.ndim - width]), n)


# layer_norm ---------------------------------------------------------------------------------------
def _layer_norm_body(x, w=None, b=None, *, width, eps):
    dims, shape = _trailing(x, width), x.type.shape
    mean = mean_op(x, dims=dims)
    d = x - spread(mean, shape, dims)
    rstd = ops.rsqrt(mean_op(d * d, dims=dims) + eps)
    return _affine(d * spread(rstd, shape, dims), x, width, w, b), mean, rstd


def _layer_norm_numpy(x, w=None, b=None, *, width, eps):
    rows = _rows(x, width)
    n = rows.shape[1]
    out = empty_like(rows)
    mean, rstd = np.empty(len(rows), rows.dtype), np.empty(len(rows), rows.dtype)
    w, b = (v if v is None else wide(v).reshape(-1) for v in (w, b))

    def block(s):
        part, y = rows[s], out[s]
        m = np.add.reduce(part, axis=1, keepdims=True) / n
        np.subtract(part, m, out=y)
        r = 1 / np.sqrt(np.einsum("ij,ij->i", y, y)[:, None] / n + rows.dtype.type(eps))
        y *= r
        if w is not None:
            y *= w
        if b is not None:
            y += b
        mean[s], rstd[s] = m[:, 0], r[:, 0]

    each(block, row_blocks(*rows.shape))
    lead = x.shape[:x.ndim - width]
    return tuple(narrow(v, x.dtype).reshape(shape) for v, shape in
                 ((out, x.shape), (mean, lead), (rstd, lead)))


def _layer_norm_back_body(g, x, mean, rstd, w=None, *, width, eps):
    dims, shape = _trailing(x, width), x.type.shape
    lead = tuple(range(x.type.ndim - width))
    scale = spread(rstd, shape, dims)
    hat = (x - spread(mean, shape, dims)) * scale
    inner = g if w is None else _affine(g, x, width, w, None)
    low, slope = mean_op(inner, dims=dims), mean_op(inner * hat, dims=dims)
    dx = (inner - spread(low, shape, dims) - hat * spread(slope, shape, dims)) * scale
    return dx, ops.reduce_sum(g * hat, dims=lead), ops.reduce_sum(g, dims=lead)


def _layer_norm_back_numpy(g, x, mean, rstd, w=None, *, width, eps):
    rows, grads = _rows(x, width), _rows(g, width)
    n = rows.shape[1]
    mean, rstd = wide(mean).reshape(-1, 1), wide(rstd).reshape(-1, 1)
    w = None if w is None else wide(w).reshape(-1)
    blocks = row_blocks(*rows.shape)
    dx, parts = empty_like(rows), np.zeros((2, len(blocks), n), rows.dtype)

    def block(numbered):
        k, s = numbered
        gy, hat, out = grads[s], rows[s] - mean[s], dx[s]
        hat *= rstd[s]
        np.multiply(gy, hat, out=out)
        np.add.reduce(out, axis=0, out=parts[0, k])
        np.add.reduce(gy, axis=0, out=parts[1, k])
        inner = gy if w is None else gy * w
        slope = np.einsum("ij,ij->i", inner, hat)[:, None] / n
        np.subtract(inner, np.add.reduce(inner, axis=1, keepdims=True) / n, out=out)
        hat *= slope
        out -= hat
        out *= rstd[s]

    each(block, list(enumerate(blocks)))
    dw, db = np.add.reduce(parts, axis=1)
    tail = x.shape[x.ndim - width:]
    return tuple(narrow(v, x.dtype).reshape(shape) for v, shape in ((dx, x.shape), (dw, tail), (db, tail)))


def _layer_norm_again_body(g, x, w=None, *, width, eps):
    _, mean, rstd = _layer_norm_body(x, width=width, eps=eps)
    return _layer_norm_back_body(g, x, mean, rstd, *(() if w is None else (w,)), width=width, eps=eps)


layer_norm_again = composite("layer_norm_again", _layer_norm_again_body, outputs=3)


def _layer_norm_twice(gs, _y, g, x, _mean, _rstd, w=None, *, width, eps):
    xs = (g, x) if w is None else (g, x, w)
    found = derived(layer_norm_again, gs, xs, {"width": width, "eps": eps})
    return (*found[:2], None, None, *found[2:])


layer_norm_backward = composite("layer_norm_backward", _layer_norm_back_body,
                                eager=quiet(_layer_norm_back_numpy), vjp=Joint(_layer_norm_twice), outputs=3)


def _layer_norm_pull(g, y, x, w=None, _b=None, *, width, eps):
    more = () if w is None else (w,)
    return layer_norm_backward(g[0], x, y[1], y[2], *more, width=width, eps=eps)


layer_norm = composite("layer_norm", _layer_norm_body, eager=quiet(_layer_norm_numpy),
                       vjp=Joint(_layer_norm_pull), outputs=3)


# rms_norm -----------------------------------------------------------------------------------------
def _rms_norm_body(x, w=None, *, width, eps):
    dims = _trailing(x, width)
    rstd = ops.rsqrt(mean_op(x * x, dims=dims) + eps)
    return _affine(x * spread(rstd, x.type.shape, dims), x, width, w, None)


rms_norm = composite("rms_norm", _rms_norm_body)


# batch_norm ---------------------------------------------------------------------------------------
def _channel_dims(x):
    return tuple(d for d in range(x.type.ndim) if d != 1)


def over_channels(v, x):
    """v, one number a channel, in x's shape."""
    shape = x.type.shape
    return ops.expand(ops.reshape(v, shape=(1, shape[1]) + (1,) * (len(shape) - 2)), shape=shape)


def _batch_norm_body(x, w=None, b=None, *, eps):
    dims = _channel_dims(x)
    mean = mean_op(x, dims=dims)
    d = x - over_channels(mean, x)
    var = mean_op(d * d, dims=dims)
    y = d * over_channels(ops.rsqrt(var + eps), x)
    y = y if w is None else y * over_channels(w, x)
    return y if b is None else y + over_channels(b, x), mean, var


def _planes(x):
    """x as (samples, channels, positions)."""
    return np.ascontiguousarray(wide(x)).reshape(x.shape[0], x.shape[1], prod(x.shape[2:]))


def _batch_norm_numpy(x, w=None, b=None, *, eps):
    planes = _planes(x)
    n = planes.shape[0] * planes.shape[2]
    mean = np.add.reduce(np.add.reduce(planes, axis=2), axis=0) / n
    out = empty_like(planes)
    square = np.zeros_like(mean)
    for i, plane in enumerate(planes):
        d = np.subtract(plane, mean[:, None], out=out[i])
        square += np.einsum("cl,cl->c", d, d)
    var = square / n
    scale = 1 / np.sqrt(var + planes.dtype.type(eps))
    scale = scale if w is None else scale * wide(w)
    for y in out:
        y *= scale[:, None]
        if b is not None:
            y += wide(b)[:, None]
    return narrow(out, x.dtype).reshape(x.shape), narrow(mean, x.dtype), narrow(var, x.dtype)


def _batch_norm_back_body(g, x, mean, var, w=None, *, eps):
    dims = _channel_dims(x)
    n = count(x.type.shape, dims)
    rstd = ops.rsqrt(var + eps)
    hat = (x - over_channels(mean, x)) * over_channels(rstd, x)
    db, dw = ops.reduce_sum(g, dims=dims), ops.reduce_sum(g * hat, dims=dims)
    inner = g - over_channels(db / n, x) - hat * over_channels(dw / n, x)
    return inner * over_channels(rstd if w is None else rstd * w, x), dw, db


def _batch_norm_back_numpy(g, x, mean, var, w=None, *, eps):
    planes, grads = _planes(x), _planes(g)
    n = planes.shape[0] * planes.shape[2]
    mean, rstd = wide(mean), 1 / np.sqrt(wide(var) + planes.dtype.type(eps))
    out = empty_like(planes)
    dw = np.zeros_like(rstd)
    for i, (plane, gy) in enumerate(zip(planes, grads, strict=True)):
        hat = np.subtract(plane, mean[:, None], out=out[i])
        hat *= rstd[:, None]
        dw += np.einsum("cl,cl->c", hat, gy)
    db = np.add.reduce(np.add.reduce(grads, axis=2), axis=0)
    scale = rstd if w is None else rstd * wide(w)
    slope, low = (dw / n)[:, None], (db / n)[:, None]
    for hat, gy in zip(out, grads, strict=True):
        hat *= -slope
        hat -= low
        hat += gy
        hat *= scale[:, None]
    return narrow(out, x.dtype).reshape(x.shape), narrow(dw, x.dtype), narrow(db, x.dtype)


def _batch_norm_again_body(g, x, w=None, *, eps):
    _, mean, var = _batch_norm_body(x, eps=eps)
    return _batch_norm_back_body(g, x, mean, var, *(() if w is None else (w,)), eps=eps)


batch_norm_again = composite("batch_norm_again", _batch_norm_again_body, outputs=3)


def _batch_norm_twice(gs, _y, g, x, _mean, _var, w=None, *, eps):
    found = derived(batch_norm_again, gs, (g, x) if w is None else (g, x, w), {"eps": eps})
    return (*found[:2], None, None, *found[2:])


batch_norm_backward = composite("batch_norm_backward", _batch_norm_back_body,
                                eager=quiet(_batch_norm_back_numpy), vjp=Joint(_batch_norm_twice), outputs=3)


def _batch_norm_pull(g, y, x, w=None, _b=None, *, eps):
    more = () if w is None else (w,)
    return batch_norm_backward(g[0], x, y[1], y[2], *more, eps=eps)


batch_norm = composite("batch_norm", _batch_norm_body, eager=quiet(_batch_norm_numpy),
                       vjp=Joint(_batch_norm_pull), outputs=3)


def _batch_norm_eval_body(x, mean, var, w=None, b=None, *, eps):
    scale = ops.rsqrt(var + eps)
    scale = scale if w is None else scale * w
    y = (x - over_channels(mean, x)) * over_channels(scale, x)
    return y if b is None else y + over_channels(b, x)


batch_norm_eval = composite("batch_norm_eval", _batch_norm_eval_body)
