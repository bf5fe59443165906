"""Dropout: one word of the stream is the seed, each element then draws by its position."""

from __future__ import annotations

from ....ir import ops
from ...composites.dropout import dropout as dropout_op
from ..random import next_seed
from ..support import store


def _check(p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p: float = 0.5, training: bool = True, inplace: bool = False):
    """Returns input with elements zeroed with probability p and the others divided by 1 - p, in training.

    >>> import treadle
    >>> dropout(treadle.ones(3), 0.5, training=False)
    tensor([1., 1., 1.])
    """
    _check(p)
    if not training or p == 0:
        return input
    y = dropout_op(input, next_seed(), p=float(p), shared=())
    return store(input, y) if inplace else y


def _channels(input, p, training, inplace, dims):
    _check(p)
    if not training or p == 0:
        return input
    y = dropout_op(input, next_seed(), p=float(p), shared=dims)
    return store(input, y) if inplace else y


def _feature_dims(name, input, spatial):
    """The dims that share one draw: all after the channels, which come after a batch if there is one."""
    if input.type.ndim not in (spatial + 1, spatial + 2):
        raise RuntimeError(f"{name}: Expected {spatial + 1}D or {spatial + 2}D input, but received a "
                           f"{input.type.ndim}D input.")
    return tuple(range(input.type.ndim - spatial, input.type.ndim))


def dropout1d(input, p: float = 0.5, training: bool = True, inplace: bool = False):
    """Returns input with whole channels (N, C, L) zeroed with probability p, in training."""
    return _channels(input, p, training, inplace, _feature_dims("dropout1d", input, 1))


def dropout2d(input, p: float = 0.5, training: bool = True, inplace: bool = False):
    """Returns input with whole channels (N, C, H, W) zeroed with probability p, in training."""
    dims = tuple(range(2, input.type.ndim))
    return _channels(input, p, training, inplace, dims)


def dropout3d(input, p: float = 0.5, training: bool = True, inplace: bool = False):
    """Returns input with whole channels (N, C, D, H, W) zeroed with probability p, in training."""
    return _channels(input, p, training, inplace, _feature_dims("dropout3d", input, 3))


def feature_alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False):
    """alpha_dropout of whole channels."""
    return _alpha(input, p, training, inplace, tuple(range(2, input.type.ndim)))


def alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False):
    """Returns dropout to selu's lower limit that keeps mean and variance, in training."""
    return _alpha(input, p, training, inplace, ())


def _alpha(input, p, training, inplace, shared):
    _check(p)
    if not training or p == 0:
        return input
    if p == 1:
        return store(input, input * 0) if inplace else input * 0
    low = -1.7580993408473766
    a = ((1 - p) * (1 + p * low * low)) ** -0.5
    keep = dropout_op(ops.full(shape=input.type.shape, value=1 - p, dtype=input.type.dtype,
                               device=input.type.device), next_seed(), p=float(p), shared=shared)
    y = (input * keep + (1 - keep) * low) * a - a * p * low
    return store(input, y) if inplace else y


