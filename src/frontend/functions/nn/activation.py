"""Activations of torch.nn.functional."""

from __future__ import annotations

from ....ir import ops
from ....ir.arith import cast, defaults
from ...autocast import cast_inputs
from ...composites import activation as rows
from ..join import narrow
from ..pointwise import sigmoid as sigmoid
from ..pointwise import tanh as tanh
from ..support import number, one_dim, store
from .softmax import softmax


def _done(input, y, inplace):
    return store(input, y) if inplace else y


def _float(input):
    return input if input.type.dtype.kind == "f" else cast(input, defaults.dtype)


def relu(input, inplace: bool = False):
    """Returns max(input, 0), elementwise.

    >>> import treadle
    >>> relu(treadle.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return _done(input, rows.relu(input), inplace)


def relu_(input):
    """relu in place."""
    return relu(input, True)


def relu6(input, inplace: bool = False):
    """Returns min(max(input, 0), 6), elementwise."""
    return _done(input, rows.hardtanh(input, low=0, high=6), inplace)


def leaky_relu(input, negative_slope: float = 0.01, inplace: bool = False):
    """Returns input where positive, negative_slope * input elsewhere."""
    return _done(input, rows.leaky_relu(input, slope=float(negative_slope)), inplace)


def leaky_relu_(input, negative_slope: float = 0.01):
    """leaky_relu in place."""
    return leaky_relu(input, negative_slope, True)


def prelu(input, weight):
    """Returns input where positive, weight * input elsewhere; weight is one number or one a channel."""
    input, weight = cast_inputs("prelu", input, weight)
    shape, n = input.type.shape, weight.type.numel
    if n != 1 and (len(shape) < 2 or shape[1] != n):
        raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {n} and "
                           f"channel size = {shape[1] if len(shape) > 1 else 1}.")
    lead = (1,) * min(1, len(shape))
    flat = (*lead, n, *(1,) * (len(shape) - 2))[:len(shape)] if n != 1 else (1,) * len(shape)
    w = ops.expand(ops.reshape(weight, shape=flat), shape=shape)
    return rows.prelu(input, w)


def gelu(input, approximate: str = "none"):
    """Returns input times the normal distribution function of input, or its tanh approximation.

    >>> import treadle
    >>> gelu(treadle.tensor([1.0]))
    tensor([0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return rows.gelu(input, approximate=approximate)


def silu(input, inplace: bool = False):
    """Returns input * sigmoid(input), elementwise."""
    return _done(input, rows.silu(input), inplace)


def mish(input, inplace: bool = False):
    """Returns input * tanh(softplus(input)), elementwise."""
    return _done(input, rows.mish(input), inplace)


def elu(input, alpha: float = 1.0, inplace: bool = False):
    """Returns input where positive, alpha * (exp(input) - 1) elsewhere."""
    return _done(input, rows.elu(input, alpha=float(alpha), scale=1.0, input_scale=1.0), inplace)


def elu_(input, alpha: float = 1.0):
    """elu in place."""
    return elu(input, alpha, True)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def selu(input, inplace: bool = False):
    """Returns the scaled elu that keeps mean 0 and variance 1."""
    return _done(input, rows.elu(input, alpha=_SELU_ALPHA, scale=_SELU_SCALE, input_scale=1.0), inplace)


def celu(input, alpha: float = 1.0, inplace: bool = False):
    """Returns input where positive, alpha * (exp(input / alpha) - 1) elsewhere."""
    return _done(input, rows.elu(input, alpha=float(alpha), scale=1.0, input_scale=1.0 / alpha), inplace)


def softplus(input, beta: float = 1.0, threshold: float = 20.0):
    """Returns log(1 + exp(beta * input)) / beta; input itself where beta * input exceeds the threshold."""
    return rows.softplus(input, beta=float(beta), threshold=float(threshold))


def logsigmoid(input):
    """Returns log(sigmoid(input)) without overflow."""
    return rows.logsigmoid(input)


def hardtanh(input, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
    """Returns input limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _done(input, rows.hardtanh(input, low=float(min_val), high=float(max_val)), inplace)


def hardtanh_(input, min_val: float = -1.0, max_val: float = 1.0):
    """hardtanh in place."""
    return hardtanh(input, min_val, max_val, True)


def hardsigmoid(input, inplace: bool = False):
    """Returns (input + 3) / 6 limited to [0, 1]."""
    return _done(input, rows.hardsigmoid(input), inplace)


def hardswish(input, inplace: bool = False):
    """Returns input * hardsigmoid(input)."""
    return _done(input, rows.hardswish(input), inplace)


def softshrink(input, lambd: float = 0.5):
    """Returns input moved towards 0 by lambd, 0 within."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return rows.softshrink(input, lambd=float(lambd))


def hardshrink(input, lambd: float = 0.5):
    """Returns input, 0 where |input| <= lambd."""
    return rows.hardshrink(input, lambd=float(lambd))


def tanhshrink(input):
    """Returns input - tanh(input)."""
    return rows.tanhshrink(input)


def softsign(input):
    """Returns input / (1 + |input|)."""
    return rows.softsign(input)


def threshold(input, threshold: float, value: float, inplace: bool = False):
    """Returns input where it exceeds the threshold, else value."""
    return _done(input, rows.threshold(input, threshold=number(threshold), value=number(value)), inplace)


def threshold_(input, threshold_: float, value: float):
    """threshold in place."""
    return threshold(input, threshold_, value, True)


def rrelu(input, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False):
    """Returns leaky_relu with slopes drawn from [lower, upper) in training, their mean otherwise."""
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    from ..random import next_seed

    u = ops.philox_uniform(next_seed(), shape=input.type.shape, dtype=_float(input).type.dtype)
    return _done(input, ops.where(ops.gt(input, 0), input, input * (u * (upper - lower) + lower)), inplace)


def glu(input, dim: int = -1):
    """Returns the first half along a dim times the sigmoid of the second half."""
    if not input.type.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    d = one_dim(dim, input.type.ndim)
    n = input.type.shape[d]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {d} is size {n}")
    return narrow(input, d, 0, n // 2) * ops.sigmoid(narrow(input, d, n // 2, n // 2))


def gumbel_softmax(logits, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1):
    """Returns samples of the Gumbel-softmax distribution; hard ones are one-hot, with soft gradients."""
    from ..create import empty_like
    from ..random import exponential_
    from ..select import scatter

    noise = -exponential_(empty_like(logits)).log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    d = one_dim(dim, logits.type.ndim)
    place = ops.reshape(ops.max_with_index(soft, dims=(d,))[1],
                        shape=(*soft.type.shape[:d], 1, *soft.type.shape[d + 1:]))
    zeros = ops.full(shape=soft.type.shape, value=0, dtype=soft.type.dtype, device=soft.type.device)
    return scatter(zeros, d, place, 1.0) - soft.detach() + soft
