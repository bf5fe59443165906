"""Normalisations of torch.nn.functional."""

from __future__ import annotations

from math import prod

from ....ir import ops
from ....ir.arith import expand_to
from ...composites import norm as rows
from ...grad_mode import no_grad
from ..reduce import vector_norm
from ..support import dtype_name, give, store


def _trailing(name, input, shape, weight, bias):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    have = input.type.shape
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           f"element, but got normalized_shape = {list(shape)}")
    if have[len(have) - len(shape):] != shape or len(have) < len(shape):
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [*, "
                           f"{', '.join(map(str, shape))}], but got input of size{list(have)}")
    for label, v in (("weight", weight), ("bias", bias)):
        if v is not None and v.type.shape != shape:
            raise RuntimeError(f"Expected {label} to be of same shape as normalized_shape, but got {label} of shape "
                               f"{list(v.type.shape)} and normalized_shape = {list(shape)}")
    return len(shape)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps: float = 1e-05):
    """Returns input with mean 0 and variance 1 over its last dims, times weight plus bias.

    >>> import treadle
    >>> layer_norm(treadle.tensor([[1., 3.]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    width = _trailing("layer_norm", input, normalized_shape, weight, bias)
    if weight is None and bias is not None:
        return rows.layer_norm(input, width=width, eps=float(eps))[0] + bias
    more = [v for v in (weight, bias) if v is not None]
    return rows.layer_norm(input, *more, width=width, eps=float(eps))[0]


def rms_norm(input, normalized_shape, weight=None, eps: float | None = None):
    """Returns input divided by the root mean square of its last dims, times weight."""
    from ..info import finfo

    width = _trailing("rms_norm", input, normalized_shape, weight, None)
    eps = finfo(input.type.dtype).eps if eps is None else float(eps)
    return rows.rms_norm(input, *(() if weight is None else (weight,)), width=width, eps=eps)


def _check_channels(input, **named):
    if input.type.ndim < 2:
        raise RuntimeError(f"batch_norm expects at least 2 dims, got input of size {list(input.type.shape)}")
    n = input.type.shape[1]
    for label, v in named.items():
        if v is not None and v.type.numel != n:
            raise RuntimeError(f"{label} should contain {n} elements not {v.type.numel}")


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training: bool = False,
               momentum: float = 0.1, eps: float = 1e-05):
    """Returns input normalised per channel (dim 1): by the batch's statistics in training, which the
    running ones then follow in place, else by the running ones.

    >>> import treadle
    >>> x = treadle.tensor([[1.], [3.]])
    >>> batch_norm(x, None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    _check_channels(input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if not training:
        return _by_running(input, running_mean, running_var, weight, bias, eps)
    shape = input.type.shape
    n = prod(shape) // shape[1] if shape[1] else 0
    if n == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {_size(shape)}")
    if weight is None and bias is not None:
        weight = ops.full(shape=bias.type.shape, value=1, dtype=bias.type.dtype, device=bias.type.device)
    more = [v for v in (weight, bias) if v is not None]
    y, mean, var = rows.batch_norm(input, *more, eps=float(eps))
    if running_mean is not None:
        with no_grad():
            _follow(running_mean, mean, momentum)
            _follow(running_var, var * (n / (n - 1)), momentum)
    return y


def _size(shape):
    from ...tensor import Size

    return Size(shape)


def _follow(running, now, momentum):
    store(running, running * (1 - momentum) + now.detach() * momentum)


def _by_running(input, mean, var, weight, bias, eps):
    if mean is None or var is None:
        raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
    if weight is None and bias is not None:
        weight = ops.full(shape=bias.type.shape, value=1, dtype=bias.type.dtype, device=bias.type.device)
    more = [v for v in (weight, bias) if v is not None]
    return rows.batch_norm_eval(input, mean, var, *more, eps=float(eps))


def _grouped(input, groups, weight, bias, eps):
    """Normalised over each group of channels, then an affine map per channel."""
    n, c, *rest = input.type.shape
    flat = ops.reshape(input, shape=(n * groups, prod([c // groups, *rest])))
    y = ops.reshape(rows.layer_norm(flat, width=1, eps=float(eps))[0], shape=input.type.shape)
    if weight is not None:
        y = y * rows.over_channels(weight, input)
    return y if bias is None else y + rows.over_channels(bias, input)


def group_norm(input, num_groups: int, weight=None, bias=None, eps: float = 1e-05):
    """Returns input (N, C, ...) normalised over each of num_groups groups of channels."""
    shape = input.type.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if shape[1] % num_groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{list(shape)} and num_groups={num_groups}")
    return _grouped(input, num_groups, weight, bias, eps)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-05):
    """Returns input (N, C, ...) normalised over each channel of each sample."""
    if not use_input_stats:
        return _by_running(input, running_mean, running_var, weight, bias, eps)
    shape = input.type.shape
    if prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {_size(shape)}")
    if running_mean is not None:
        from ..reduce import mean, var

        dims = list(range(2, len(shape)))
        with no_grad():
            _follow(running_mean, mean(mean(input, dims), 0), momentum)
            _follow(running_var, mean(var(input, dims), 0), momentum)
    return _grouped(input, shape[1], weight, bias, eps)


def local_response_norm(input, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
    """Returns input divided by (k + alpha * mean of squares over `size` neighbouring channels) ** beta."""
    n, c, *rest = input.type.shape
    flat = ops.reshape(input * input, shape=(n, c, prod(rest)))
    padded = ops.pad(flat, before=(0, size // 2, 0), after=(0, (size - 1) // 2, 0), value=0)
    last = ops.permute(padded, dims=(0, 2, 1))
    near = ops.reduce_sum(ops.window(last, kernel=(size,), stride=(1,), dilation=(1,)), dims=(3,)) / size
    scale = ops.reshape(ops.permute(near, dims=(0, 2, 1)), shape=input.type.shape) * alpha + k
    return input / ops.pow(scale, beta)


def normalize(input, p: float = 2.0, dim=1, eps: float = 1e-12, out=None):
    """Returns input divided by its p-norm along a dim, at least eps.

    >>> import treadle
    >>> normalize(treadle.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    from ..binary import clamp_min

    size = clamp_min(vector_norm(input, p, dim, keepdim=True), eps)
    return give(input / expand_to(size, input.type.shape), out)


def cosine_similarity(x1, x2, dim: int = 1, eps: float = 1e-8):
    """Returns the cosines of the angles between vectors along a dim."""
    from ..binary import clamp_min, promoted
    from ..reduce import sum

    if x1.type.dtype.kind not in "fc":
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is "
                           f"{dtype_name(x1.type.dtype)}")
    a, b = promoted(x1, x2)
    unit_a = a / clamp_min(vector_norm(a, 2, dim, keepdim=True), eps)
    unit_b = b / clamp_min(vector_norm(b, 2, dim, keepdim=True), eps)
    return sum(unit_a * unit_b, dim)


def pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
    """Returns the p-norms of x1 - x2 + eps over the last dim."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)
