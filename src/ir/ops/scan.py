"""Scans and sorts along one dim: each output element depends on its whole line."""

from __future__ import annotations

from math import inf

import numpy as np

from .. import dtype as dt
from ..errors import ShapeError, UnsupportedDTypeError
from ..op import Kind, make_op
from .elementwise import conj_of, eq, exp, full_as, where
from .movement import flip, pad, slice_


def _same(name, kinds):
    def infer(t, **_attrs):
        if t.dtype.kind not in kinds:
            raise UnsupportedDTypeError(f'"{name}_cpu" not implemented for \'{t.dtype.scalar_name}\'')
        return t

    return infer


def _line(fn):
    """Half precision runs in float32; a 0-d value is a line of one."""

    def run(x, *, dim, **attrs):
        half = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
        w = x.astype(np.float32) if half else x
        y = fn(w.reshape(1) if w.ndim == 0 else w, 0 if w.ndim == 0 else dim, **attrs)
        return y.reshape(x.shape).astype(x.dtype, copy=False)

    return run


def _scan(name, fn, vjp, kinds="uifc"):
    return make_op(name, Kind.SCAN, _same(name, kinds), _line(fn), (vjp,), None)


def from_end(g, dim):
    """The sum of g from each place to the end of its line."""
    if g.ndim == 0:
        return g
    return flip(cumsum(flip(g, dims=(dim,)), dim=dim), dims=(dim,))


def ahead(x, dim, steps, fill):
    """x's elements `steps` places further along the dim, `fill` past its end."""
    n, d = x.type.shape, dim
    if steps >= n[d]:
        return full_as(x, fill)
    part = slice_(x, starts=tuple(steps if k == d else 0 for k in range(len(n))), stops=n, steps=(1,) * len(n))
    return pad(part, before=(0,) * len(n), after=tuple(steps if k == d else 0 for k in range(len(n))), value=fill)


def behind(x, dim, fill):
    """x's elements one place back along the dim, `fill` before its start."""
    n, d = x.type.shape, dim
    if n[d] == 0:
        return x
    part = slice_(x, starts=(0,) * len(n), stops=tuple(m - (k == d) for k, m in enumerate(n)), steps=(1,) * len(n))
    return pad(part, before=tuple(int(k == d) for k in range(len(n))), after=(0,) * len(n), value=fill)


def recurrence_from_end(a, b, dim):
    """h with h_k = b_k + a_k h_(k+1), 0 past the end: log(n) rounds of products, without a division."""
    step = 1
    while step < a.type.shape[dim]:
        b = b + a * ahead(b, dim, step, 0)
        a = a * ahead(a, dim, step, 0)
        step *= 2
    return b


def _cumprod_vjp(g, y, x, *, dim):
    """The product before k times the sum over i >= k of g_i times the products from k + 1 to i."""
    if x.ndim == 0:
        return g
    y, x = conj_of(y), conj_of(x)
    return behind(y, dim, 1) * recurrence_from_end(ahead(x, dim, 1, 0), g, dim)


def _keep_dtype(fn):
    return lambda x, dim: fn(x, axis=dim, dtype=x.dtype)


cumsum = _scan("cumsum", _keep_dtype(np.cumsum), lambda g, _y, _x, *, dim: from_end(g, dim))
cumprod = _scan("cumprod", _keep_dtype(np.cumprod), _cumprod_vjp)


def _logcumsumexp(x, dim):
    with np.errstate(all="ignore"):
        return np.logaddexp.accumulate(x, axis=dim)


def _logcumsumexp_vjp(g, y, x, *, dim):
    """exp(x_k - y_k) times the sum over i >= k of g_i exp(y_k - y_i); no exponent is positive."""
    if x.ndim == 0:
        return g
    ratio = exp(where(eq(y, -inf), full_as(y, 0), y - ahead(y, dim, 1, 0)))
    return exp(where(eq(x, -inf), x, x - y)) * recurrence_from_end(ratio, g, dim)


logcumsumexp = _scan("logcumsumexp", _logcumsumexp, _logcumsumexp_vjp, kinds="f")


# running extremes, with their places ---------------------------------------------------------------
def _pair_infer(name, kinds="buif"):
    check = _same(name, kinds)
    return lambda t, **attrs: (check(t), t.with_dtype(dt.int64))


def _running(better):
    """Values and places of the running extreme; of equals the last place counts, and NaN stays."""

    def run(x, *, dim):
        line = x.reshape(1) if x.ndim == 0 else x
        line = np.moveaxis(line, dim if x.ndim else 0, -1)
        wide = line.astype(np.float32) if line.dtype.itemsize == 2 and line.dtype.kind not in "iu" else line
        values = better.accumulate(wide, axis=-1)
        hit = (wide == values) | (np.isnan(wide) if wide.dtype.kind == "f" else False)
        places = np.where(hit, np.arange(line.shape[-1]), 0)
        places = np.maximum.accumulate(places, axis=-1)
        out = np.take_along_axis(line, places, -1) if places.size else line
        back = [np.moveaxis(v, -1, dim if x.ndim else 0).reshape(x.shape) for v in (out, places)]
        return back[0], back[1].astype(np.int64)

    return run


def _places_vjp(g, y, _x, *, dim):
    from .gather import scatter_add

    return scatter_add(full_as(_x, 0), y[1], g[0], dim=dim) if _x.ndim else g[0]


cummax = make_op("cummax", Kind.SCAN, _pair_infer("cummax"), _running(np.maximum), (_places_vjp,), None,
                 outputs=2)
cummin = make_op("cummin", Kind.SCAN, _pair_infer("cummin"), _running(np.minimum), (_places_vjp,), None,
                 outputs=2)


# sort, topk ---------------------------------------------------------------------------------------
def _order(x, dim, descending):
    """The stable order; NaN counts as the largest."""
    if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
        x = x.astype(np.float32)
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    turned = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(turned, dim)


def _sort(x, *, dim, descending):
    if x.ndim == 0:
        return np.array(x), np.zeros((), np.int64)
    order = _order(x, dim, descending)
    return np.take_along_axis(x, order, dim), order.astype(np.int64, copy=False)


sort = make_op("sort", Kind.SCAN, _pair_infer("sort"), _sort,
               (lambda g, y, _x, *, dim, descending: _places_vjp(g, y, _x, dim=dim),), None, outputs=2)


def _topk_infer(t, *, k, dim, largest):
    if t.dtype.kind not in "uif":
        raise UnsupportedDTypeError(f'"topk_cpu" not implemented for \'{t.dtype.scalar_name}\'')
    size = t.shape[dim] if t.ndim else 1
    if not 0 <= k <= size:
        raise ShapeError("selected index k out of range")
    shape = t.shape if not t.ndim else (*t.shape[:dim], k, *t.shape[dim + 1:])
    y = t.with_shape(shape)
    return y, y.with_dtype(dt.int64)


def _topk(x, *, k, dim, largest):
    """The k extremes in order, found by partition where they are few."""
    if x.ndim == 0:
        return np.array(x), np.zeros((), np.int64)
    n = x.shape[dim]
    w = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
    if 0 < k < n // 4:
        cut = np.argpartition(w, n - k if largest else k - 1, axis=dim)
        cut = np.take(cut, np.arange(n - k, n) if largest else np.arange(k), axis=dim)
        cut = np.sort(cut, axis=dim)
        inner = _order(np.take_along_axis(w, cut, dim), dim, largest)
        order = np.take_along_axis(cut, inner, dim)
    else:
        order = np.take(_order(w, dim, largest), np.arange(k), axis=dim)
    return np.take_along_axis(x, order, dim), order.astype(np.int64, copy=False)


topk = make_op("topk", Kind.SCAN, _topk_infer, _topk,
               (lambda g, y, _x, *, k, dim, largest: _places_vjp(g, y, _x, dim=dim),), None, outputs=2)
