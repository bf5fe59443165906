"""dropout: the seed is an operand, so that backward and a recomputed forward draw the same bits."""

from __future__ import annotations

import numpy as np

from ...ir import ops
from ...ir.composite import composite
from ...ir.ops.elementwise import full_as
from ...ir.ops.random import uniform_numpy
from .blocks import narrow, quiet, wide


def _draw_shape(shape, shared):
    return tuple(1 if d in shared else n for d, n in enumerate(shape))


def _body(x, seed, *, p, shared):
    shape = x.type.shape
    drawn = _draw_shape(shape, shared)
    u = ops.philox_uniform(seed, shape=drawn, dtype=x.type.dtype)
    keep = ops.ge(u, p)
    keep = keep if drawn == shape else ops.expand(keep, shape=shape)
    scale = 1 / (1 - p) if p < 1 else 0.0
    return ops.where(keep, x * scale, full_as(x, 0))


def _numpy(x, seed, *, p, shared):
    u = uniform_numpy(seed, shape=_draw_shape(x.shape, shared), dtype=x.dtype)
    scale = 1 / (1 - p) if p < 1 else 0.0
    y = wide(x) * wide(x).dtype.type(scale)
    return narrow(np.where(u >= x.dtype.type(p), y, y.dtype.type(0)), x.dtype)


dropout = composite("dropout", _body, eager=quiet(_numpy),
                    vjp=(lambda g, _y, _x, seed, *, p, shared: dropout(g, seed, p=p, shared=shared), None))
