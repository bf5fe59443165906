"""Scaled dot-product attention: scores, mask, softmax, values; backward makes the scores again.

Outputs are (result, lse), lse being the log of each row's sum of exponentials: with it backward needs no
saved matrix of probabilities. A row that may look at nothing gives 0.
"""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np

from ...ir import ops
from ...ir.buffer import copy, empty
from ...ir.composite import composite
from ...ir.device import CPU
from ...ir.dtype import int64
from ...ir.op import Joint
from ...ir.ops.contract import flip_last
from ...ir.ops.reduce import spread
from .blocks import narrow, quiet, wide
from .parallel import each
from .twice import derived

GROUP = 1 << 16  # scores computed together: they stay in L2


def _grid(shape, dim, like):
    """The index along `dim` of a matrix in the last two dims, in `shape`."""
    n = shape[dim]
    line = ops.iota(size=n, dtype=int64, device=CPU)
    lead = (1,) * (len(shape) - 2)
    return ops.expand(ops.reshape(line, shape=lead + ((n, 1) if dim == len(shape) - 2 else (1, n))), shape=shape)


def _scores(q, k, mask, is_causal, scale):
    s = ops.dot(q, flip_last(k)) * scale
    shape = s.type.shape
    if is_causal:
        below = ops.ge(_grid(shape, len(shape) - 2, s), _grid(shape, len(shape) - 1, s))
        s = ops.where(below, s, -inf)
    if mask is not None:
        mask = ops.expand(mask, shape=shape) if mask.type.shape != shape else mask
        s = ops.where(mask, s, -inf) if mask.type.dtype.kind == "b" else s + mask
    return s


def _kept(seed, like, p):
    """The factor of each probability under dropout: 0 or 1 / (1 - p)."""
    u = ops.philox_uniform(seed, shape=like.type.shape, dtype=like.type.dtype)
    return ops.where(ops.ge(u, p), full(like, 1 / (1 - p) if p < 1 else 0.0), 0)


def full(like, value):
    from ...ir.ops.elementwise import full_as

    return full_as(like, value)


def _split(more, has_mask, dropout_p):
    mask = more[0] if has_mask else None
    return mask, more[-1] if dropout_p else None


def _body(q, k, v, *more, has_mask, is_causal, dropout_p, scale):
    mask, seed = _split(more, has_mask, dropout_p)
    s = _scores(q, k, mask, is_causal, scale)
    last = (s.type.ndim - 1,)
    if s.type.shape[-1] == 0:
        return ops.dot(s, v), full(ops.reduce_sum(s, dims=last), -inf)
    top = ops.reduce_max(s, dims=last)
    top = ops.where(ops.eq(ops.abs(top), inf), 0, top)
    e = ops.exp(s - spread(top, s.type.shape, last))
    total = ops.reduce_sum(e, dims=last)
    p = e / spread(ops.where(ops.eq(total, 0), 1, total), s.type.shape, last)
    p = p if seed is None else p * _kept(seed, p, dropout_p)
    return ops.dot(p, v), ops.log(total) + top


def _back_body(g, q, k, v, out, lse, *more, has_mask, is_causal, dropout_p, scale):
    mask, seed = _split(more, has_mask, dropout_p)
    s = _scores(q, k, mask, is_causal, scale)
    last = (s.type.ndim - 1,)
    base = ops.where(ops.eq(lse, -inf), inf, lse)
    p = ops.exp(s - spread(base, s.type.shape, last))
    dp = ops.dot(g, flip_last(v))
    kept = p
    if seed is not None:
        factor = _kept(seed, p, dropout_p)
        dp, kept = dp * factor, p * factor
    delta = ops.reduce_sum(g * out, dims=(g.type.ndim - 1,))
    ds = p * (dp - spread(delta, s.type.shape, last)) * scale
    return ops.dot(ds, k), ops.dot(flip_last(ds), q), ops.dot(flip_last(kept), g)


# NumPy ----------------------------------------------------------------------------------------------
def _groups(shape):
    """Index tuples over the batch dims of scores of `shape`, each of about GROUP scores."""
    *lead, rows, cols = shape
    if not lead:
        return [()]
    step = max(1, GROUP // max(rows * cols, 1))
    last = [slice(i, min(i + step, lead[-1])) for i in range(0, lead[-1], step)]
    return [(*at, s) for at in product(*map(range, lead[:-1])) for s in last]


def _bias(shape, is_causal, dtype):
    """What a causal mask adds to the scores."""
    if not is_causal:
        return None
    return np.where(np.tri(shape[-2], shape[-1], dtype=bool), 0, -np.inf).astype(dtype)


def _turned(x):
    """The last two dims exchanged, in memory too: a BLAS takes small A @ B, not A @ B^T, on one thread."""
    return copy(np.swapaxes(x, -1, -2))


def _group_scores(q, kt, at, bias, mask, scale):
    s = np.matmul(q[at], kt[at])
    s *= scale
    if bias is not None:
        s += bias
    if mask is not None:
        part = mask[at]
        s += part if part.dtype.kind == "f" else np.where(part, 0, -np.inf).astype(s.dtype)
    return s


def _factor(seed, shape, p, dtype):
    """Dropout's factor of every probability, by the same counters as in the body."""
    from ...ir.ops.random import uniform_numpy

    u = uniform_numpy(seed, shape=shape, dtype=dtype)
    return np.where(u >= p, dtype.type(1 / (1 - p) if p < 1 else 0), dtype.type(0))


def _prepare(q, k, v, more, has_mask, is_causal, dropout_p):
    mask, seed = _split(more, has_mask, dropout_p)
    half = q.dtype
    q, k, v = wide(q), wide(k), wide(v)
    shape = (*q.shape[:-1], k.shape[-2])
    if mask is not None:
        mask = np.broadcast_to(mask if mask.dtype.kind == "b" else wide(mask), shape)
    factor = _factor(seed, shape, dropout_p, q.dtype) if seed is not None else None
    return half, q, k, v, shape, mask, _bias(shape, is_causal, q.dtype), factor


def _numpy(q, k, v, *more, has_mask, is_causal, dropout_p, scale):
    half, q, k, v, shape, mask, bias, factor = _prepare(q, k, v, more, has_mask, is_causal, dropout_p)
    out = empty((*q.shape[:-1], v.shape[-1]), q.dtype)
    lse = empty(q.shape[:-1], q.dtype)
    if shape[-1] == 0:
        out[...], lse[...] = 0, -np.inf
        return narrow(out, half), narrow(lse, half)
    kt = _turned(k)

    def group(at):
        s = _group_scores(q, kt, at, bias, mask, scale)
        top = s.max(axis=-1, keepdims=True)
        top[np.isinf(top)] = 0
        s -= top
        np.exp(s, out=s)
        total = s.sum(axis=-1, keepdims=True)
        if factor is not None:
            s *= factor[at]
        y = np.matmul(s, v[at])
        y /= np.where(total == 0, 1, total)
        out[at] = y
        lse[at] = (np.log(total) + top)[..., 0]

    each(group, _groups(shape))
    return narrow(out, half), narrow(lse, half)


def _back_numpy(g, q, k, v, out, lse, *more, has_mask, is_causal, dropout_p, scale):
    half, q, k, v, shape, mask, bias, factor = _prepare(q, k, v, more, has_mask, is_causal, dropout_p)
    g, out, lse = wide(g), wide(out), wide(lse)
    if 0 in shape:
        return tuple(np.zeros(x.shape, half) for x in (q, k, v))
    dq, dk, dv = (empty(x.shape, x.dtype) for x in (q, k, v))
    kt, vt = _turned(k), _turned(v)

    def group(at):
        p = _group_scores(q, kt, at, bias, mask, scale)
        base = lse[at][..., None]
        p -= np.where(base == -np.inf, np.inf, base).astype(p.dtype)
        np.exp(p, out=p)
        gy = g[at]
        ds = np.matmul(gy, vt[at])
        if factor is not None:
            ds *= factor[at]
        ds -= np.einsum("...e,...e->...", gy, out[at])[..., None]
        ds *= p
        ds *= scale
        dq[at] = np.matmul(ds, k[at])
        dk[at] = np.matmul(np.swapaxes(ds, -1, -2), q[at])
        if factor is not None:
            p *= factor[at]
        dv[at] = np.matmul(np.swapaxes(p, -1, -2), gy)

    each(group, _groups(shape))
    return tuple(narrow(d, half) for d in (dq, dk, dv))


def _again_body(g, q, k, v, *more, **attrs):
    return _back_body(g, q, k, v, *_body(q, k, v, *more, **attrs), *more, **attrs)


attention_again = composite("attention_again", _again_body, outputs=3)


def _twice(gs, _y, g, q, k, v, _out, _lse, mask=None, seed=None, **attrs):
    more = tuple(m for m in (mask, seed) if m is not None)
    found = derived(attention_again, gs, (g, q, k, v, *more), attrs)
    return (*found[:4], None, None, None, None)


attention_backward = composite("attention_backward", _back_body, eager=quiet(_back_numpy), vjp=Joint(_twice), outputs=3)


def _pull(g, y, q, k, v, mask=None, seed=None, **attrs):
    if mask is not None and not attrs["has_mask"]:
        mask, seed = None, mask
    more = tuple(m for m in (mask, seed) if m is not None)
    grads = attention_backward(g[0], q, k, v, y[0], y[1], *more, **attrs)
    return (*grads, None, None)


attention = composite("attention", _body, eager=quiet(_numpy), vjp=Joint(_pull), outputs=2)
