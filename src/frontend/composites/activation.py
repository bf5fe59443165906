"""Activations. Each body says what it is; an eager form says it in fewer passes over memory."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from ...ir import ops
from ...ir.composite import composite
from ...ir.ops.elementwise import full_as
from .blocks import pointwise, quiet, wide
from .normal import erf_into

# relu ---------------------------------------------------------------------------------------------


def _gate(g, y):
    """g where y > 0 (or NaN), else 0, by masking bits: a select is much slower in NumPy."""
    if g.dtype.itemsize not in (4, 8) or g.dtype.kind != "f" or not g.flags.c_contiguous or not g.ndim:
        return np.where(y <= 0, np.zeros((), g.dtype), g)
    bits = np.int32 if g.dtype.itemsize == 4 else np.int64
    keep = np.greater(y, 0) if not np.isnan(np.sum(y)) else ~(y <= 0)
    out = np.negative(keep.view(np.int8), dtype=np.int8).astype(bits)
    np.bitwise_and(out, g.view(bits), out=out)
    return out.view(g.dtype)


relu_backward = composite(
    "relu_backward", lambda g, y: ops.where(ops.le(y, 0), 0, g), eager=quiet(_gate),
    vjp=(lambda gg, _o, _g, y: relu_backward(gg, y), None),
)
relu = composite(
    "relu", lambda x: ops.maximum(x, 0), eager=quiet(lambda x: np.maximum(x, np.zeros((), x.dtype))),
    vjp=(lambda g, y, _x: relu_backward(g, y),),
)


# gelu ---------------------------------------------------------------------------------------------
_TANH_SCALE, _CUBE = sqrt(2 / pi), 0.044715


def _gelu_body(x, *, approximate):
    if approximate == "tanh":
        return x * 0.5 * (ops.tanh((x + x * x * x * _CUBE) * _TANH_SCALE) + 1)
    return x * 0.5 * (ops.erf(x * sqrt(0.5)) + 1)


def _gelu_kernel(out, t, w, x):
    np.multiply(x, sqrt(0.5), out=t)
    erf_into(t, t, w)
    t += 1
    np.multiply(x, 0.5, out=out)
    out *= t


def _gelu_tanh_kernel(out, t, _w, x):
    np.multiply(x, x, out=t)
    t *= _CUBE * _TANH_SCALE
    t += _TANH_SCALE
    t *= x
    np.tanh(t, out=t)
    t += 1
    np.multiply(x, 0.5, out=out)
    out *= t


def _gelu_eager(x, *, approximate):
    return pointwise(_gelu_tanh_kernel if approximate == "tanh" else _gelu_kernel, x)


def _gelu_backward_body(g, x, *, approximate):
    if approximate == "tanh":
        t = ops.tanh((x + x * x * x * _CUBE) * _TANH_SCALE)
        slope = (1 - t * t) * (x * x * (3 * _CUBE) + 1) * _TANH_SCALE
        return g * (0.5 * (t + 1) + x * 0.5 * slope)
    cdf = 0.5 * (ops.erf(x * sqrt(0.5)) + 1)
    pdf = ops.exp(x * x * -0.5) * (1 / sqrt(2 * pi))
    return g * (cdf + x * pdf)


def _gelu_grad_kernel(out, t, w, g, x):
    np.multiply(x, sqrt(0.5), out=t)
    erf_into(t, t, w)
    t += 1
    t *= 0.5
    np.multiply(x, x, out=out)
    out *= -0.5
    np.exp(out, out=out)
    out *= 1 / sqrt(2 * pi)
    out *= x
    out += t
    out *= g


def _gelu_tanh_grad_kernel(out, t, w, g, x):
    np.multiply(x, x, out=w)
    np.multiply(w, _CUBE * _TANH_SCALE, out=t)
    t += _TANH_SCALE
    t *= x
    np.tanh(t, out=t)
    w *= 3 * _CUBE * _TANH_SCALE * 0.5
    w += _TANH_SCALE * 0.5
    w *= x
    np.multiply(t, t, out=out)
    np.subtract(1, out, out=out)
    out *= w
    t += 1
    t *= 0.5
    out += t
    out *= g


def _gelu_backward_eager(g, x, *, approximate):
    return pointwise(_gelu_tanh_grad_kernel if approximate == "tanh" else _gelu_grad_kernel, g, x)


gelu_backward = composite("gelu_backward", _gelu_backward_body, eager=_gelu_backward_eager)
gelu = composite(
    "gelu", _gelu_body, eager=_gelu_eager,
    vjp=(lambda g, _y, x, *, approximate: gelu_backward(g, x, approximate=approximate),),
)


# silu ---------------------------------------------------------------------------------------------
def _silu_kernel(out, t, _w, x):
    np.negative(x, out=t)
    np.exp(t, out=t)
    t += 1
    np.divide(x, t, out=out)


def _silu_backward_body(g, x):
    s = ops.sigmoid(x)
    return g * (s * (x * (1 - s) + 1))


def _silu_grad_kernel(out, t, _w, g, x):
    np.negative(x, out=t)
    np.exp(t, out=t)
    t += 1
    np.reciprocal(t, out=t)
    np.subtract(1, t, out=out)
    out *= x
    out += 1
    out *= t
    out *= g


silu_backward = composite("silu_backward", _silu_backward_body,
                          eager=lambda g, x: pointwise(_silu_grad_kernel, g, x))
silu = composite("silu", lambda x: x * ops.sigmoid(x), eager=lambda x: pointwise(_silu_kernel, x),
                 vjp=(lambda g, _y, x: silu_backward(g, x),))


# others: the derived gradient is good -------------------------------------------------------------
leaky_relu = composite("leaky_relu", lambda x, *, slope: ops.where(ops.gt(x, 0), x, x * slope))
elu = composite(
    "elu", lambda x, *, alpha, scale, input_scale: ops.where(
        ops.gt(x, 0), x * scale, ops.expm1(ops.minimum(x, 0) * input_scale) * (alpha * scale)),
    vjp=(lambda g, _y, x, *, alpha, scale, input_scale: g * ops.where(
        ops.gt(x, 0), full_as(x, scale),
        ops.exp(ops.minimum(x, 0) * input_scale) * (alpha * scale * input_scale)),),
)
hardtanh = composite(
    "hardtanh", lambda x, *, low, high: ops.minimum(ops.maximum(x, low), high),
    eager=quiet(lambda x, *, low, high: np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high))),
    vjp=(lambda g, _y, x, *, low, high: ops.where(
        ops.bit_or(ops.le(x, low), ops.ge(x, high)), 0, g),),
)


def _softplus_body(x, *, beta, threshold):
    scaled = x * beta
    far = ops.gt(scaled, threshold)
    return ops.where(far, x, ops.log1p(ops.exp(ops.where(far, 0, scaled))) / beta)


softplus = composite("softplus", _softplus_body)
logsigmoid = composite("logsigmoid", lambda x: ops.minimum(x, 0) - ops.log1p(ops.exp(-ops.abs(x))),
                       vjp=(lambda g, _y, x: g * ops.sigmoid(-x),))
mish = composite("mish", lambda x: x * ops.tanh(_softplus_body(x, beta=1.0, threshold=20.0)))
hardsigmoid = composite(
    "hardsigmoid", lambda x: ops.minimum(ops.maximum(x + 3, 0), 6) / 6,
    vjp=(lambda g, _y, x: ops.where(ops.bit_and(ops.gt(x, -3), ops.lt(x, 3)), g * (1 / 6), 0),),
)
hardswish = composite(
    "hardswish", lambda x: x * ops.minimum(ops.maximum(x + 3, 0), 6) / 6,
    vjp=(lambda g, _y, x: ops.where(
        ops.le(x, -3), 0, ops.where(ops.lt(x, 3), g * (x / 3 + 0.5), g)),),
)
softshrink = composite(
    "softshrink", lambda x, *, lambd: ops.where(
        ops.gt(x, lambd), x - lambd, ops.where(ops.lt(x, -lambd), x + lambd, x * 0)))
hardshrink = composite(
    "hardshrink", lambda x, *, lambd: ops.where(
        ops.bit_and(ops.ge(x, -lambd), ops.le(x, lambd)), 0, x))
threshold = composite("threshold", lambda x, *, threshold, value: ops.where(ops.gt(x, threshold), x, value))
softsign = composite("softsign", lambda x: x / (ops.abs(x) + 1))
tanhshrink = composite("tanhshrink", lambda x: x - ops.tanh(x))
prelu = composite("prelu", lambda x, w: ops.where(ops.gt(x, 0), x, x * w))


# softmax ------------------------------------------------------------------------------------------
def _softmax_body(x, *, dim):
    if x.type.shape[dim] == 0:
        return ops.copy(x)
    top = _keep(ops.reduce_max(x, dims=(dim,)), x, dim)
    e = ops.exp(x - top)
    return e / _keep(ops.reduce_sum(e, dims=(dim,)), x, dim)


def _keep(y, x, dim):
    """A reduction over `dim`, spread over it again."""
    shape = x.type.shape
    return ops.expand(ops.reshape(y, shape=(*shape[:dim], 1, *shape[dim + 1:])), shape=shape)


def _softmax_numpy(x, *, dim):
    x, half = wide(x), x.dtype
    out = np.empty(x.shape, x.dtype)
    if x.size == 0:
        return out.astype(half, copy=False)
    from .rows import softmax_rows

    if dim == x.ndim - 1:
        softmax_rows(x, out)
    else:
        np.subtract(x, x.max(axis=dim, keepdims=True), out=out)
        np.exp(out, out=out)
        out /= out.sum(axis=dim, keepdims=True)
    return out.astype(half, copy=False)


def _softmax_backward_body(g, y, *, dim):
    return y * (g - _keep(ops.reduce_sum(g * y, dims=(dim,)), y, dim))


def _softmax_backward_numpy(g, y, *, dim):
    g, y, half = wide(g), wide(y), y.dtype
    out = np.multiply(g, y)
    total = out.sum(axis=dim, keepdims=True)
    np.subtract(g, total, out=out)
    out *= y
    return out.astype(half, copy=False)


softmax_backward = composite("softmax_backward", _softmax_backward_body, eager=quiet(_softmax_backward_numpy))
softmax = composite("softmax", _softmax_body, eager=quiet(_softmax_numpy),
                    vjp=(lambda g, y, _x, *, dim: softmax_backward(g, y, dim=dim),))


def _log_softmax_body(x, *, dim):
    if x.type.shape[dim] == 0:
        return ops.copy(x)
    shifted = x - _keep(ops.reduce_max(x, dims=(dim,)), x, dim)
    return shifted - _keep(ops.log(ops.reduce_sum(ops.exp(shifted), dims=(dim,))), x, dim)


def _log_softmax_numpy(x, *, dim):
    x, half = wide(x), x.dtype
    if x.size == 0:
        return np.empty(x.shape, half)
    out = np.subtract(x, x.max(axis=dim, keepdims=True))
    out -= np.log(np.exp(out).sum(axis=dim, keepdims=True))
    return out.astype(half, copy=False)


def _log_softmax_backward_body(g, y, *, dim):
    return g - ops.exp(y) * _keep(ops.reduce_sum(g, dims=(dim,)), y, dim)


def _log_softmax_backward_numpy(g, y, *, dim):
    g, y, half = wide(g), wide(y), y.dtype
    out = np.exp(y)
    out *= g.sum(axis=dim, keepdims=True)
    np.subtract(g, out, out=out)
    return out.astype(half, copy=False)


log_softmax_backward = composite("log_softmax_backward", _log_softmax_backward_body,
                                 eager=quiet(_log_softmax_backward_numpy))
log_softmax = composite("log_softmax", _log_softmax_body, eager=quiet(_log_softmax_numpy),
                        vjp=(lambda g, y, _x, *, dim: log_softmax_backward(g, y, dim=dim),))
