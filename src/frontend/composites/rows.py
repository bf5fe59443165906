"""NumPy kernels over rows of a matrix, shared by softmax, attention and the losses."""

from __future__ import annotations

import numpy as np

from .blocks import row_blocks, rows_of


def softmax_rows(x: np.ndarray, out: np.ndarray) -> None:
    """Writes the softmax of x's last dim to `out`, contiguous and of x's shape."""
    x, out = rows_of(x), out.reshape(-1, out.shape[-1])
    with np.errstate(all="ignore"):
        for s in row_blocks(*x.shape):
            part = out[s]
            np.subtract(x[s], x[s].max(axis=1, keepdims=True), out=part)
            np.exp(part, out=part)
            part /= part.sum(axis=1, keepdims=True)


def logsumexp_rows(x: np.ndarray) -> np.ndarray:
    """log(sum(exp(row))) of each row of a matrix."""
    out = np.empty(x.shape[0], x.dtype)
    room = None
    with np.errstate(all="ignore"):
        for s in row_blocks(*x.shape):
            part = x[s]
            top = part.max(axis=1)
            base = np.where(np.isfinite(top), top, 0).astype(x.dtype)
            room = np.empty_like(part) if room is None or room.shape != part.shape else room
            np.subtract(part, base[:, None], out=room)
            np.exp(room, out=room)
            np.log(room.sum(axis=1), out=out[s])
            out[s] += base
    return out
