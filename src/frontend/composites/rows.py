"""NumPy kernels over rows of a matrix, shared by softmax, attention and the losses."""

from __future__ import annotations

import numpy as np

from .blocks import row_blocks, rows_of
from .parallel import each


def softmax_rows(x: np.ndarray, out: np.ndarray) -> None:
    """Writes the softmax of x's last dim to `out`, contiguous and of x's shape."""
    x, out = rows_of(x), out.reshape(-1, out.shape[-1])

    def block(s):
        part = out[s]
        np.subtract(x[s], x[s].max(axis=1, keepdims=True), out=part)
        np.exp(part, out=part)
        part /= part.sum(axis=1, keepdims=True)

    each(block, row_blocks(*x.shape))


def logsumexp_rows(x: np.ndarray) -> np.ndarray:
    """log(sum(exp(row))) of each row of a matrix."""
    out = np.empty(x.shape[0], x.dtype)

    def block(s):
        top = x[s].max(axis=1)
        base = np.where(np.isfinite(top), top, 0).astype(x.dtype)
        room = x[s] - base[:, None]
        np.exp(room, out=room)
        np.log(room.sum(axis=1), out=out[s])
        out[s] += base

    each(block, row_blocks(*x.shape))
    return out
