"""Losses: cross_entropy and nll_loss over rows of classes, and the elementwise ones."""

from __future__ import annotations

from math import pi

import numpy as np

from ...ir import ops
from ...ir.buffer import empty_like
from ...ir.composite import composite
from ...ir.op import Joint
from ...ir.ops.gather import check_range
from .blocks import narrow, quiet, row_blocks, wide
from .parallel import each
from .reduce import logsumexp
from .reduce import mean as mean_op
from .rows import logsumexp_rows
from .twice import derived

TARGET = "Target {value} is out of bounds."


def reduced(x, reduction):
    """A loss per element as reduction asks: 'none', 'sum' or 'mean'."""
    if reduction == "none":
        return x
    dims = tuple(range(x.type.ndim))
    return mean_op(x, dims=dims) if reduction == "mean" else ops.reduce_sum(x, dims=dims)


def _column(v):
    return ops.reshape(v, shape=(v.type.numel, 1))


def _wide_column(v, shape):
    return ops.expand(_column(v), shape=shape)


def _row_weights(target, x, w, ignore_index):
    """(safe targets, weight of each row): an ignored row weighs 0 and reads class 0."""
    valid = ops.ne(target, ignore_index)
    safe = ops.where(valid, target, 0)
    if w is None:
        return safe, ops.convert(valid, dtype=x.type.dtype)
    picked = ops.gather(w, safe, dim=0, error=TARGET)
    return safe, ops.where(valid, picked, 0)


# cross_entropy of rows (N, C) and class numbers (N) ------------------------------------------------
def _cross_entropy_body(x, target, w=None, *, ignore_index, smoothing, reduction):
    lse = logsumexp(x, dims=(1,))
    safe, weight = _row_weights(target, x, w, ignore_index)
    picked = ops.reshape(ops.gather(x, _column(safe), dim=1, error=TARGET), shape=safe.type.shape)
    loss = (lse - picked) * weight
    if smoothing:
        loss = loss * (1 - smoothing) + _smooth_loss(x, lse, target, w, ignore_index) * smoothing
    if reduction == "none":
        return loss, lse
    total = ops.reduce_sum(loss, dims=(0,))
    return (total / ops.reduce_sum(weight, dims=(0,)) if reduction == "mean" else total), lse


def _smooth_loss(x, lse, target, w, ignore_index):
    """The mean over classes of -log p (weighted), 0 in ignored rows."""
    shape = x.type.shape
    each = _wide_column(lse, shape) - x
    if w is not None:
        each = each * ops.expand(ops.reshape(w, shape=(1, shape[1])), shape=shape)
    rows = ops.reduce_sum(each, dims=(1,)) / shape[1]
    return ops.where(ops.ne(target, ignore_index), rows, 0)


def _numpy_weights(target, classes, w, ignore_index, dtype):
    valid = target != ignore_index
    safe = np.where(valid, target, 0)
    check_range(safe, classes, 1, TARGET)
    weight = valid.astype(dtype) if w is None else np.where(valid, wide(w)[safe], 0).astype(dtype)
    return safe, weight, valid


def _cross_entropy_numpy(x, target, w=None, *, ignore_index, smoothing, reduction):
    rows = np.ascontiguousarray(wide(x))
    safe, weight, valid = _numpy_weights(target, x.shape[1], w, ignore_index, rows.dtype)
    lse = logsumexp_rows(rows)
    loss = (lse - rows[np.arange(len(rows)), safe]) * weight
    if smoothing:
        each = lse[:, None] - rows
        smooth = (each if w is None else each * wide(w)).sum(1) / x.shape[1]
        loss = loss * (1 - smoothing) + np.where(valid, smooth, 0) * smoothing
        loss = loss.astype(rows.dtype, copy=False)
    if reduction != "none":
        loss = np.asarray(loss.sum() / weight.sum() if reduction == "mean" else loss.sum())
    return narrow(loss, x.dtype), narrow(lse, x.dtype)


def _coefficients(g, weight, reduction):
    """What each row's loss is multiplied by in the total, times g."""
    if reduction == "none":
        return g
    g = ops.expand(ops.reshape(g, shape=(1,)), shape=weight.type.shape)
    if reduction == "sum":
        return g
    total = ops.reshape(ops.reduce_sum(weight, dims=(0,)), shape=(1,))
    return g / ops.expand(total, shape=weight.type.shape)


def _cross_entropy_back_body(g, x, target, lse, w=None, *, ignore_index, smoothing, reduction):
    shape = x.type.shape
    safe, weight = _row_weights(target, x, w, ignore_index)
    share = _coefficients(g, weight, reduction)
    p = ops.exp(x - _wide_column(lse, shape))
    classes = ops.iota(size=shape[1], dtype=safe.type.dtype, device=x.type.device)
    hit = ops.eq(ops.expand(ops.reshape(classes, shape=(1, shape[1])), shape=shape), _wide_column(safe, shape))
    hard = ops.where(ops.ne(target, ignore_index), share * weight * (1 - smoothing), 0)
    dx = ops.where(hit, p - 1, p) * _wide_column(hard, shape)
    if smoothing:
        soft = ops.where(ops.ne(target, ignore_index), share * (smoothing / shape[1]), 0)
        soft = _wide_column(soft, shape)
        if w is None:
            dx = dx + (p * shape[1] - 1) * soft
        else:
            spread = ops.expand(ops.reshape(w, shape=(1, shape[1])), shape=shape)
            total = ops.expand(ops.reshape(ops.reduce_sum(w, dims=(0,)), shape=(1, 1)), shape=shape)
            dx = dx + (p * total - spread) * soft
    return dx


def _cross_entropy_back_numpy(g, x, target, lse, w=None, *, ignore_index, smoothing, reduction):
    rows, g, lse = np.ascontiguousarray(wide(x)), wide(g), wide(lse)
    dtype, classes = rows.dtype, x.shape[1]
    safe, weight, valid = _numpy_weights(target, classes, w, ignore_index, dtype)
    share = np.broadcast_to(g / weight.sum() if reduction == "mean" else g, weight.shape)
    hard = np.where(valid, share * weight * (1 - smoothing), 0).astype(dtype)
    soft = np.where(valid, share * (smoothing / classes), 0).astype(dtype)
    out = empty_like(rows)

    def block(s):
        p = np.subtract(rows[s], lse[s, None], out=out[s])
        np.exp(p, out=p)
        extra = _soft_part(p, soft[s], w, classes) if smoothing else None
        p *= hard[s, None]
        p[np.arange(len(p)), safe[s]] -= hard[s]
        if extra is not None:
            p += extra

    each(block, row_blocks(*rows.shape))
    return narrow(out, x.dtype)


def _soft_part(p, soft, w, classes):
    inner = p * classes - 1 if w is None else p * wide(w).sum() - wide(w)
    inner *= soft[:, None]
    return inner


def _cross_entropy_again_body(g, x, target, w=None, **attrs):
    more = () if w is None else (w,)
    return _cross_entropy_back_body(g, x, target, logsumexp(x, dims=(1,)), *more, **attrs)


cross_entropy_again = composite("cross_entropy_again", _cross_entropy_again_body)


def _cross_entropy_twice(gg, _y, g, x, target, _lse, w=None, **attrs):
    found = derived(cross_entropy_again, gg, (g, x, target) if w is None else (g, x, target, w), attrs)
    return (*found[:2], None, None, None)


cross_entropy_backward = composite("cross_entropy_backward", _cross_entropy_back_body,
                                   eager=quiet(_cross_entropy_back_numpy), vjp=Joint(_cross_entropy_twice))


def _cross_entropy_pull(g, y, x, target, w=None, **attrs):
    return cross_entropy_backward(g[0], x, target, y[1], *(() if w is None else (w,)), **attrs)


cross_entropy = composite("cross_entropy", _cross_entropy_body, eager=quiet(_cross_entropy_numpy),
                          vjp=(_cross_entropy_pull, None, None), outputs=2)


# nll_loss of log-probabilities (N, C) and class numbers (N) -----------------------------------------
def _nll_body(x, target, w=None, *, ignore_index, reduction):
    safe, weight = _row_weights(target, x, w, ignore_index)
    picked = ops.reshape(ops.gather(x, _column(safe), dim=1, error=TARGET), shape=safe.type.shape)
    loss = -picked * weight
    if reduction == "none":
        return loss
    total = ops.reduce_sum(loss, dims=(0,))
    return total / ops.reduce_sum(weight, dims=(0,)) if reduction == "mean" else total


nll_loss = composite("nll_loss", _nll_body)


# elementwise losses: the derived gradients are good -------------------------------------------------
def _elementwise_loss(name, each):
    def body(*values, reduction, **attrs):
        return reduced(each(*values, **attrs), reduction)

    return composite(name, body)


def _squared(x, y):
    d = x - y
    return d * d


def _smooth_l1(x, y, *, beta):
    d = ops.abs(x - y)
    return ops.where(ops.lt(d, beta), d * d * (0.5 / beta), d - 0.5 * beta)


def _huber(x, y, *, delta):
    d = ops.abs(x - y)
    return ops.where(ops.le(d, delta), d * d * 0.5, (d - 0.5 * delta) * delta)


def _bce(x, y, w=None):
    """log is limited to -100 from below, so that its gradient is limited too."""
    loss = -(y * ops.maximum(ops.log(x), -100) + (1 - y) * ops.maximum(ops.log(1 - x), -100))
    return loss if w is None else loss * w


def _bce_gradient(g, x, y):
    return g * (x - y) / ops.maximum((1 - x) * x, 1e-12)


def _logistic(x, y, w=None, pw=None):
    soft = ops.log1p(ops.exp(-ops.abs(x))) + ops.maximum(-x, 0)  # log(1 + exp(-x))
    loss = (1 - y) * x + (soft if pw is None else ((pw - 1) * y + 1) * soft)
    return loss if w is None else loss * w


def _kl(x, y, *, log_target):
    if log_target:
        return ops.exp(y) * (y - x)
    positive = ops.gt(y, 0)
    return ops.where(positive, y * ops.log(ops.where(positive, y, 1.0)), 0 * y) - y * x


mse_loss = composite(
    "mse_loss", lambda x, y, *, reduction: reduced(_squared(x, y), reduction),
    vjp=(lambda g, _y, x, y, *, reduction: _spread_mean(g, x, reduction) * ((x - y) * 2),
         lambda g, _y, x, y, *, reduction: _spread_mean(g, x, reduction) * ((y - x) * 2)),
    eager=quiet(lambda x, y, *, reduction: _reduced_numpy(np.square(wide(x) - wide(y)), reduction, x.dtype)),
)


def _spread_mean(g, x, reduction):
    if reduction == "none":
        return g
    t = x.type
    g = ops.expand(ops.reshape(g, shape=(1,) * t.ndim), shape=t.shape)
    return g / t.numel if reduction == "mean" else g


def _reduced_numpy(x, reduction, dtype):
    y = x if reduction == "none" else x.mean() if reduction == "mean" else x.sum()
    return np.asarray(y).astype(dtype, copy=False)


l1_loss = _elementwise_loss("l1_loss", lambda x, y: ops.abs(x - y))
smooth_l1_loss = _elementwise_loss("smooth_l1_loss", _smooth_l1)
huber_loss = _elementwise_loss("huber_loss", _huber)
bce_loss = composite("bce", _bce, vjp=(
    lambda g, _y, x, y, w=None: _bce_gradient(g if w is None else g * w, x, y),
    lambda g, _y, x, _t, w=None: (g if w is None else g * w) * (ops.log(1 - x) - ops.log(x))))
bce_with_logits = _elementwise_loss("bce_with_logits", _logistic)
kl_div = _elementwise_loss("kl_div", _kl)
soft_margin_loss = _elementwise_loss(
    "soft_margin_loss", lambda x, y: ops.log1p(ops.exp(-ops.abs(x * y))) + ops.maximum(-(x * y), 0))


def _poisson(x, y, *, log_input, full, eps):
    loss = ops.exp(x) - y * x if log_input else x - y * ops.log(x + eps)
    if full:
        stirling = y * ops.log(y) - y + ops.log(y * (2 * pi)) * 0.5
        loss = loss + ops.where(ops.gt(y, 1), stirling, 0)
    return loss


poisson_nll_loss = _elementwise_loss("poisson_nll_loss", _poisson)
