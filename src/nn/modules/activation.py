"""Activations."""

from __future__ import annotations

import warnings

from ...frontend.declare import declare_attrs
from ...frontend.functions.create import empty
from ...frontend.tensor import Tensor
from .. import functional as F  # noqa: N812
from .. import init
from ..parameter import Parameter
from .attention import MultiheadAttention as MultiheadAttention
from .module import Module


class _Activation(Module):
    """An activation whose options are the attributes `options`, in the order of its function's arguments."""

    options: tuple[str, ...] = ()

    def _options(self) -> list:
        declare_attrs(self, self.options)
        return [self.__dict__[name] for name in self.options]

    def extra_repr(self) -> str:
        shown = [f"{n}={self.__dict__[n]}" for n in self.options if n != "inplace"]
        return ", ".join(shown + ["inplace=True"] * bool(self.__dict__.get("inplace")))


class _InPlace(_Activation):
    """An activation whose one option is whether it overwrites its input."""

    options = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class Threshold(_Activation):
    """x where x > threshold, else value."""

    options = ("threshold", "value", "inplace")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, *self._options())


class ReLU(_InPlace):
    """max(x, 0).

    >>> import treadle
    >>> ReLU()(treadle.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, *self._options())


class RReLU(_Activation):
    """x where x >= 0, else x times a slope drawn from [lower, upper] (their mean in evaluation)."""

    options = ("lower", "upper", "inplace")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        lower, upper, inplace = self._options()
        declare_attrs(self, ("training",))
        return F.rrelu(input, lower, upper, self.training, inplace)


class Hardtanh(_Activation):
    """x clamped to [min_val, max_val]."""

    options = ("min_val", "max_val", "inplace")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
                 min_value: float | None = None, max_value: float | None = None) -> None:
        super().__init__()
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{old}` is deprecated and renamed to `{new}`",
                              FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, *self._options())


class ReLU6(Hardtanh):
    """x clamped to [0, 6]."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Hardsigmoid(_InPlace):
    """x / 6 + 1/2 clamped to [0, 1]."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, *self._options())

    def extra_repr(self) -> str:
        return ""


class Tanh(Module):
    """tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class SiLU(_InPlace):
    """x * sigmoid(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, *self._options())


class Mish(_InPlace):
    """x * tanh(softplus(x))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, *self._options())


class Hardswish(_InPlace):
    """x * hardsigmoid(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, *self._options())

    def extra_repr(self) -> str:
        return ""


class ELU(_Activation):
    """x where x > 0, else alpha * (exp(x) - 1)."""

    options = ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, *self._options())


class CELU(ELU):
    """max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, *self._options())


class SELU(_InPlace):
    """ELU scaled so that activations keep mean 0 and variance 1."""

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, *self._options())


class GLU(_Activation):
    """The first half of `dim` times the sigmoid of the second."""

    options = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, *self._options())


class GELU(_Activation):
    """x times the normal distribution's cdf at x, exactly or by tanh."""

    options = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        declare_attrs(self, self.options)
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(_Activation):
    """x where |x| > lambd, else 0."""

    options = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, *self._options())

    def extra_repr(self) -> str:
        return str(self.lambd)


class LeakyReLU(_Activation):
    """x where x >= 0, else negative_slope * x."""

    options = ("negative_slope", "inplace")

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, *self._options())


class LogSigmoid(Module):
    """log(sigmoid(x))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta, x itself where beta * x > threshold."""

    options = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, *self._options())


class Softshrink(Hardshrink):
    """x moved towards 0 by lambd, at most to 0."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, *self._options())


class PReLU(_Activation):
    """x where x >= 0, else weight * x, the weight one for all or one for each channel."""

    options = ("num_parameters",)

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fills the weight with `init`."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class _Softmax(_Activation):
    options = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)


class Softmin(_Softmax):
    """softmax(-x) along `dim`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, *self._options(), _stacklevel=5)


class Softmax(_Softmax):
    """exp(x) over its sum along `dim`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, *self._options(), _stacklevel=5)


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class LogSoftmax(_Softmax):
    """log(softmax(x)) along `dim`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, *self._options(), _stacklevel=5)
