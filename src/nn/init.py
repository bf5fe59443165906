"""Filling tensors with initial values, in torch.nn.init's names and with its draws."""

from __future__ import annotations

import math
import warnings

import numpy as np

from ..frontend.functions.create import empty_like, from_numpy
from ..frontend.grad_mode import no_grad
from ..frontend.tensor import Tensor

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
           "conv_transpose3d", "sigmoid")


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Returns the factor by which `nonlinearity` wants its input's deviation scaled.

    >>> calculate_gain("relu") ** 2, calculate_gain("tanh")
    (2.0000000000000004, 1.6666666666666667)
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is None:
        param = 0.01
    elif isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + param**2))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator=None) -> Tensor:
    """Fills with uniform numbers of [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator=None) -> Tensor:
    """Fills with normal numbers."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with one number."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fills with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with zeros."""
    with no_grad():
        return tensor.zero_()


def _put(tensor: Tensor, array: np.ndarray) -> Tensor:
    with no_grad():
        return tensor.copy_(from_numpy(np.asarray(array, order="C")))


def eye_(tensor: Tensor) -> Tensor:
    """Fills a matrix with the identity."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _put(tensor, np.eye(*tensor.shape, dtype=tensor.dtype.np))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fills a convolution's weight so that it hands on as many channels as it can."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tuple(tensor.shape)
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    center = tuple(n // 2 for n in sizes[2:])
    array = np.zeros(sizes, tensor.dtype.np)
    for g in range(groups):
        for channel in range(min(per_group, sizes[1])):
            array[(g * per_group + channel, channel, *center)] = 1
    return _put(tensor, array)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outs, ins, *field = tensor.shape
    return ins * math.prod(field), outs * math.prod(field)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode, modes = mode.lower(), ["fan_in", "fan_out"]
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """Fills with uniform numbers whose variance is 2 gain**2 / (fan_in + fan_out) (Glorot)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    a = math.sqrt(3.0) * std
    return uniform_(tensor, -a, a, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """Fills with normal numbers whose variance is 2 gain**2 / (fan_in + fan_out) (Glorot)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator=None) -> Tensor:
    """Fills with uniform numbers whose variance is gain**2 / fan (He)."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator=None) -> Tensor:
    """Fills with normal numbers whose variance is gain**2 / fan (He)."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0, std, generator)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator=None) -> Tensor:
    """Fills with normal numbers, those outside [a, b] drawn again until none is."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
                      "values may be incorrect.", stacklevel=2)
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    draw = _redrawn if inside > 0.3 else _rejected
    with no_grad():
        return _put(tensor, draw(empty_like(tensor.detach()), mean, std, a, b, generator))


def _redrawn(buffer: Tensor, mean, std, a, b, generator) -> np.ndarray:
    """Whole tensors of normals, taken where the last one was outside."""
    low, high = (buffer.dtype.np.type(v) for v in (a, b))
    result = buffer.normal_(mean, std, generator=generator).nd.copy()
    while True:
        outside = (result < low) | (result > high)
        if not outside.any():
            return result
        result = np.where(outside, buffer.normal_(mean, std, generator=generator).nd, result)


def _rejected(buffer: Tensor, mean, std, a, b, generator) -> np.ndarray:
    """Uniform candidates, each taken with the probability of its density over the highest in [a, b]."""
    number = buffer.dtype.np.type
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def candidates() -> tuple[np.ndarray, np.ndarray]:
        drawn = buffer.uniform_(a, b, generator=generator).nd.copy()
        log_density = ((drawn - number(mean)) / number(std)) ** 2 * number(-0.5) - number(log_peak)
        with np.errstate(divide="ignore"):
            chance = np.log(buffer.uniform_(generator=generator).nd)
        return drawn, chance > log_density

    result, refused = candidates()
    while refused.any():
        drawn, again = candidates()
        result = np.where(refused, drawn, result)
        refused &= again
    return result


def orthogonal_(tensor: Tensor, gain: float = 1, generator=None) -> Tensor:
    """Fills with a (semi) orthogonal matrix, dims behind the first taken as one."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    drawn = empty_like(tensor.detach().reshape(rows, columns)).normal_(0, 1, generator=generator).nd
    q, r = np.linalg.qr(drawn.T if rows < columns else drawn)
    q = q * np.sign(np.diagonal(r))  # else the matrices were not uniform among the orthogonal ones
    q = q.T if rows < columns else q
    return _put(tensor, (q * q.dtype.type(gain)).reshape(tuple(tensor.shape)))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator=None) -> Tensor:
    """Fills a matrix with normal numbers, a fraction `sparsity` of each column with zeros."""
    from ..frontend.functions.random import randperm

    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    array = empty_like(tensor.detach()).normal_(0, std, generator=generator).nd
    for column in range(columns):
        array[randperm(rows).nd[: math.ceil(sparsity * rows)], column] = 0
    return _put(tensor, array)


def _deprecated(fn):
    old = fn.__name__[:-1]

    def call(*args, **kwargs):
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{fn.__name__}`.",
                      FutureWarning, stacklevel=2)
        return fn(*args, **kwargs)

    call.__name__, call.__doc__ = old, f"The deprecated name of {fn.__name__}."
    return call


uniform, normal, constant, eye, dirac, sparse = map(
    _deprecated, (uniform_, normal_, constant_, eye_, dirac_, sparse_))
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal, orthogonal = map(
    _deprecated, (xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_, orthogonal_))
