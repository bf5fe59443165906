"""linear, embedding and bilinear."""

from __future__ import annotations

from math import prod

import numpy as np

from ...ir import ops
from ...ir.buffer import empty
from ...ir.composite import composite
from ...ir.ops.elementwise import full_as
from ...ir.ops.contract import flip_last
from ...ir.ops.gather import check_range
from .blocks import narrow, quiet, wide


# linear -------------------------------------------------------------------------------------------
def _flat(x):
    """x as a matrix of its last dim's rows."""
    shape = x.type.shape
    return x if len(shape) == 2 else ops.reshape(x, shape=(prod(shape[:-1]), shape[-1]))


def _linear_body(x, w, b=None):
    y = ops.dot(_flat(x), flip_last(w))
    if b is not None:
        y = y + ops.expand(ops.reshape(b, shape=(1, b.type.numel)), shape=y.type.shape)
    return y if x.type.ndim == 2 else ops.reshape(y, shape=(*x.type.shape[:-1], w.type.shape[0]))


def _linear_numpy(x, w, b=None):
    flat = wide(x if x.ndim == 2 else x.reshape(prod(x.shape[:-1]), x.shape[-1]))
    y = empty((flat.shape[0], w.shape[0]), flat.dtype)
    np.matmul(flat, wide(w).T, out=y)
    if b is not None:
        y += wide(b)
    return narrow(y, x.dtype).reshape(*x.shape[:-1], w.shape[0])


def _linear_input(g, _y, _x, w, _b=None):
    y = ops.dot(_flat(g), w)
    return y if _x.ndim == 2 else ops.reshape(y, shape=_x.shape)


linear = composite("linear", _linear_body, eager=quiet(_linear_numpy), vjp=(
    _linear_input,
    lambda g, _y, x, _w, _b=None: ops.dot(flip_last(_flat(g)), _flat(x)),
    lambda g, _y, _x, _w, _b: ops.reduce_sum(_flat(g), dims=(0,)),
))


# embedding ----------------------------------------------------------------------------------------
RANGE = "index out of range in self"


def _embedding_body(w, idx, *, padding_idx):
    return ops.index(w, idx, error=RANGE)


def _embedding_numpy(w, idx, *, padding_idx):
    check_range(idx, w.shape[0], 0, RANGE)
    return w.take(idx.reshape(-1), axis=0).reshape(*idx.shape, w.shape[1])


def _embedding_weight(g, _y, _w, idx, *, padding_idx):
    if padding_idx >= 0:
        pad = ops.reshape(ops.eq(idx, padding_idx), shape=(*idx.type.shape, 1))
        g = ops.where(ops.expand(pad, shape=g.type.shape), 0, g)
    return ops.index_add(full_as(_w, 0), g, idx)


embedding = composite("embedding", _embedding_body, eager=_embedding_numpy, vjp=(_embedding_weight, None))
