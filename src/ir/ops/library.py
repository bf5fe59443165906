"""Operations run by a library on the host: opaque to fusion."""

from __future__ import annotations

import numpy as np

from .. import dtype as dt
from ..errors import ShapeError
from ..op import Kind, make_op


def library(name, infer, eager, vjp=None, **more):
    return make_op(name, Kind.LIBRARY, infer, eager, vjp, None, **more)


# searchsorted --------------------------------------------------------------------------------------
def _searchsorted_infer(line, values, *, right):
    if line.ndim != 1 and line.shape[:-1] != values.shape[:-1]:
        raise ShapeError("torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
                         f"of boundaries tensor and input value tensor must match, but we got boundaries tensor "
                         f"{list(line.shape)} and input value tensor {list(values.shape)}")
    return values.with_dtype(dt.int64)


def _searchsorted(line, values, *, right):
    side = "right" if right else "left"
    if line.ndim == 1:
        return np.asarray(np.searchsorted(line, values, side)).astype(np.int64)
    out = np.empty(values.shape, np.int64)
    for at in np.ndindex(*line.shape[:-1]):
        out[at] = np.searchsorted(line[at], values[at], side)
    return out


searchsorted = library("searchsorted", _searchsorted_infer, _searchsorted, (None, None))
