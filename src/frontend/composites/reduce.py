"""Composite reductions: mean, variance, standard deviation, logsumexp, 2-norm over a tuple of dims."""

from __future__ import annotations

from math import inf, nan

import numpy as np

from ...ir import ops
from ...ir.composite import composite
from ...ir.ops.elementwise import conj_of, full_as
from ...ir.ops.reduce import count, spread
from .blocks import quiet, wide


def _inverse(n) -> float:
    """1 / n as IEEE arithmetic has it: torch divides by zero here rather than raise."""
    return 1 / n if n else inf


def _divided(x, n):
    """x / n, where 0 / 0 is NaN."""
    return x / n if n else x * nan


# mean ---------------------------------------------------------------------------------------------
def _mean_numpy(x, *, dims):
    n = count(x.shape, dims)
    y = np.add.reduce(wide(x), axis=dims)
    return np.asarray(np.true_divide(y, n) if n else y * np.nan).astype(x.dtype, copy=False)


def _mean_pull(g, _y, _x, *, dims):
    return spread(_divided(g, count(_x.shape, dims)), _x.shape, dims)


mean = composite("mean", lambda x, *, dims: _divided(ops.reduce_sum(x, dims=dims), count(x.type.shape, dims)),
                 eager=quiet(_mean_numpy), vjp=(_mean_pull,))


# variance -----------------------------------------------------------------------------------------
def _freedom(shape, dims, correction):
    return max(0, count(shape, dims) - correction)


def _centred(x, dims):
    return x - spread(mean(x, dims=dims), x.type.shape, dims)


def _var_body(x, *, dims, correction):
    d = _centred(x, dims)
    square = d * d if x.type.dtype.kind == "f" else ops.real(d * ops.conj(d))
    n = _freedom(x.type.shape, dims, correction)
    return _divided_by_freedom(ops.reduce_sum(square, dims=dims), n)


def _divided_by_freedom(total, n):
    """A sum of squares over n; over 0 it is NaN if 0 and inf otherwise."""
    return total / n if n else total / full_as(total, 0)


def _var_numpy(x, *, dims, correction):
    if x.dtype.kind == "c":
        d = x - x.mean(axis=dims, keepdims=True)
        total = (d.real * d.real + d.imag * d.imag).sum(axis=dims)
    else:
        w = wide(x)
        d = np.asarray(w - np.add.reduce(w, axis=dims, keepdims=True) / max(count(x.shape, dims), 1))
        np.multiply(d, d, out=d)
        total = np.add.reduce(d, axis=dims)
    y = np.true_divide(total, _freedom(x.shape, dims, correction))
    return np.asarray(y).astype(x.real.dtype, copy=False)


def _var_pull(g, _y, x, *, dims, correction):
    n = _freedom(x.type.shape, dims, correction)
    if x.type.dtype.kind == "c":
        g = ops.convert(g, dtype=x.type.dtype)
    return spread(g * (2 * _inverse(n)), x.type.shape, dims) * _centred(x, dims)


var = composite("var", _var_body, eager=quiet(_var_numpy), vjp=(_var_pull,))


def _std_pull(g, y, x, *, dims, correction):
    half = ops.where(ops.eq(y, 0), 0, g / (y + y))
    return _var_pull(half, None, x, dims=dims, correction=correction)


std = composite("std", lambda x, **attrs: ops.sqrt(_var_body(x, **attrs)),
                eager=quiet(lambda x, **attrs: np.sqrt(wide(_var_numpy(x, **attrs))).astype(x.real.dtype)),
                vjp=(_std_pull,))


# logsumexp ----------------------------------------------------------------------------------------
def _logsumexp_body(x, *, dims):
    if count(x.type.shape, dims) == 0:
        return ops.log(ops.reduce_sum(ops.exp(x), dims=dims))
    size = ops.real(x) if x.type.dtype.kind == "c" else x
    top = ops.reduce_max(size, dims=dims)
    top = ops.where(ops.eq(ops.abs(top), inf), 0, top)
    if x.type.dtype.kind == "c":
        top = ops.convert(top, dtype=x.type.dtype)
    return ops.log(ops.reduce_sum(ops.exp(x - spread(top, x.type.shape, dims)), dims=dims)) + top


logsumexp = composite(
    "logsumexp", _logsumexp_body,
    vjp=(lambda g, y, x, *, dims: spread(g, x.type.shape, dims) * conj_of(
        ops.exp(x - spread(_finite(y), x.type.shape, dims))),),
)


def _finite(y):
    """y with infinities as 0, so that a row of -inf has gradient 0 and not NaN."""
    if y.type.dtype.kind == "c":
        return y
    return ops.where(ops.eq(ops.abs(y), inf), 0, y)


# 2-norm -------------------------------------------------------------------------------------------
def _norm2_numpy(x, *, dims):
    w = wide(x)
    if len(dims) == x.ndim and w.flags.c_contiguous:
        flat = w.reshape(-1)
        return np.asarray(np.sqrt(np.add.reduce(np.multiply(flat, flat)))).astype(x.dtype)
    return np.asarray(np.sqrt(np.add.reduce(np.multiply(w, w), axis=dims))).astype(x.dtype)


def _norm2_pull(g, y, x, *, dims):
    scale = ops.where(ops.eq(y, 0), 0, g / y)
    return spread(scale, x.type.shape, dims) * x


norm2 = composite("norm2", lambda x, *, dims: ops.sqrt(ops.reduce_sum(x * x, dims=dims)),
                  eager=quiet(_norm2_numpy), vjp=(_norm2_pull,))
