"""Padding of the last dims: by a constant, by the border, by reflection, in a circle."""

from __future__ import annotations

from ...frontend.declare import declare_attrs
from ...frontend.tensor import Tensor
from .. import functional as F  # noqa: N812
from .module import Module
from .utils import ntuple


class _Pad(Module):
    """Pads the last `dims` dims; `padding` is one number or (before, after) of each, the last dim first."""

    dims = 1
    mode = "constant"

    def __init__(self, padding) -> None:
        super().__init__()
        self.padding = ntuple(2 * self.dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        declare_attrs(self, ("padding",))
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_Pad):
    """Pads the last dim with `value`."""

    def __init__(self, padding, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        declare_attrs(self, ("padding", "value"))
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """Pads the last two dims with `value`."""

    dims = 2


class ConstantPad3d(ConstantPad1d):
    """Pads the last three dims with `value`."""

    dims = 3


class ZeroPad1d(ConstantPad1d):
    """Pads the last dim with zeros."""

    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ZeroPad1d):
    """Pads the last two dims with zeros."""

    dims = 2


class ZeroPad3d(ZeroPad1d):
    """Pads the last three dims with zeros."""

    dims = 3


class ReflectionPad1d(_Pad):
    """Pads the last dim by reflection at the border elements."""

    mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """Pads the last two dims by reflection at the border elements."""

    dims = 2


class ReflectionPad3d(ReflectionPad1d):
    """Pads the last three dims by reflection at the border elements."""

    dims = 3


class ReplicationPad1d(_Pad):
    """Pads the last dim with the border elements."""

    mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """Pads the last two dims with the border elements."""

    dims = 2


class ReplicationPad3d(ReplicationPad1d):
    """Pads the last three dims with the border elements."""

    dims = 3


class CircularPad1d(_Pad):
    """Pads the last dim with elements of its other end."""

    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        low, high = self.dims + 1, self.dims + 2
        if input.ndim not in (low, high):
            raise ValueError(f"expected {low}D or {high}D input (got {input.ndim}D input)")
        return super().forward(input)


class CircularPad2d(CircularPad1d):
    """Pads the last two dims with elements of their other ends."""

    dims = 2


class CircularPad3d(CircularPad1d):
    """Pads the last three dims with elements of their other ends."""

    dims = 3
