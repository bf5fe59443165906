"""Convolutions and transposed convolutions."""

from __future__ import annotations

import math

from ...frontend.declare import declare_attrs
from ...frontend.functions.create import empty
from ...frontend.tensor import Tensor
from .. import functional as F  # noqa: N812
from .. import init
from ..parameter import Parameter
from .module import Module
from .utils import _pair, _single, _triple, reversed_twice

_OPTIONS = ("stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "kernel_size",
            "_reversed_padding_repeated_twice")


class _ConvNd(Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple, stride: tuple,
                 padding: str | tuple, dilation: tuple, transposed: bool, output_padding: tuple, groups: int,
                 bias: bool, padding_mode: str, device=None, dtype=None) -> None:
        super().__init__()
        _check(in_channels, out_channels, groups, padding, stride, padding_mode)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.dilation, self.transposed, self.output_padding = dilation, transposed, output_padding
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = _margins(padding, dilation, kernel_size)
        channels = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (channels[0], channels[1] // groups, *kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias uniformly within 1 / sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution of `input` by another weight and bias, with this module's options."""
        declare_attrs(self, _OPTIONS)
        if self.padding_mode == "zeros":
            return self._conv(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return self._conv(padded, weight, bias, self.stride, (0,) * len(self.kernel_size), self.dilation,
                          self.groups)

    def _conv(self, *args) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        """Returns (N, out_channels, ...) for input (N, in_channels, ...), or both without N."""
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        text = (f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
                f"stride={self.stride}")
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else text + f", padding_mode={self.padding_mode}"

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _check(in_channels, out_channels, groups, padding, stride, padding_mode) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    modes = ("zeros", "reflect", "replicate", "circular")
    if padding_mode not in modes:
        raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")


def _margins(padding, dilation: tuple, kernel_size: tuple) -> list[int]:
    """The padding as `pad` wants it: last dim first, before and after."""
    if not isinstance(padding, str):
        return reversed_twice(padding)
    out = []
    for d, k in zip(reversed(dilation), reversed(kernel_size), strict=True):
        total = d * (k - 1) if padding == "same" else 0
        out += [total // 2, total - total // 2]
    return out


class Conv1d(_ConvNd):
    """Cross-correlation over (N, C, L); weight is (out_channels, in_channels / groups, k)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, dilation=1,
                 groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device=None,
                 dtype=None) -> None:
        super().__init__(in_channels, out_channels, _single(kernel_size), _single(stride),
                         padding if isinstance(padding, str) else _single(padding), _single(dilation), False,
                         _single(0), groups, bias, padding_mode, device, dtype)

    def _conv(self, *args) -> Tensor:
        return F.conv1d(*args)


class Conv2d(_ConvNd):
    """Cross-correlation over (N, C, H, W); weight is (out_channels, in_channels / groups, kh, kw).

    >>> import treadle
    >>> Conv2d(3, 8, 3, padding=1)(treadle.zeros(2, 3, 5, 5)).shape
    torch.Size([2, 8, 5, 5])
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, dilation=1,
                 groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device=None,
                 dtype=None) -> None:
        super().__init__(in_channels, out_channels, _pair(kernel_size), _pair(stride),
                         padding if isinstance(padding, str) else _pair(padding), _pair(dilation), False,
                         _pair(0), groups, bias, padding_mode, device, dtype)

    def _conv(self, *args) -> Tensor:
        return F.conv2d(*args)


class Conv3d(_ConvNd):
    """Cross-correlation over (N, C, D, H, W)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, dilation=1,
                 groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device=None,
                 dtype=None) -> None:
        super().__init__(in_channels, out_channels, _triple(kernel_size), _triple(stride),
                         padding if isinstance(padding, str) else _triple(padding), _triple(dilation), False,
                         _triple(0), groups, bias, padding_mode, device, dtype)

    def _conv(self, *args) -> Tensor:
        return F.conv3d(*args)


class _ConvTransposeNd(_ConvNd):
    """The gradient of a convolution with respect to its input, as a layer."""

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed,
                 output_padding, groups, bias, padding_mode, device=None, dtype=None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, transposed,
                         output_padding, groups, bias, padding_mode, device, dtype)

    def forward(self, input: Tensor, output_size=None) -> Tensor:
        """Returns (N, out_channels, ...); `output_size` picks one where several would do."""
        declare_attrs(self, _OPTIONS)
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        extra = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size,
                                     len(self.kernel_size), self.dilation)
        return self._conv(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
                          self.dilation)

    def _output_padding(self, input: Tensor, output_size, stride, padding, kernel_size,
                        num_spatial_dims: int, dilation=None) -> list[int]:
        """What has to be added to the smallest output to get `output_size`."""
        if output_size is None:
            return list(_single(self.output_padding))
        dims = num_spatial_dims
        lead = 2 if input.ndim == dims + 2 else 1
        wanted = list(output_size)
        wanted = wanted[lead:] if len(wanted) == lead + dims else wanted
        if len(wanted) != dims:
            raise ValueError(f"ConvTranspose{dims}D: for {input.ndim}D input, output_size must have {dims} or "
                             f"{lead + dims} elements (got {len(wanted)})")
        dilation = (1,) * dims if dilation is None else dilation
        least = [(input.shape[d + lead] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1
                 for d in range(dims)]
        most = [n + s - 1 for n, s in zip(least, stride, strict=True)]
        if any(not low <= n <= high for low, n, high in zip(least, wanted, most, strict=True)):
            raise ValueError(f"requested an output size of {wanted}, but valid sizes range from {least} to "
                             f"{most} (for an input of {input.shape[2:]})")
        return [n - low for n, low in zip(wanted, least, strict=True)]


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution over (N, C, L); weight is (in_channels, out_channels / groups, k)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0,
                 output_padding=0, groups: int = 1, bias: bool = True, dilation=1,
                 padding_mode: str = "zeros", device=None, dtype=None) -> None:
        super().__init__(in_channels, out_channels, _single(kernel_size), _single(stride), _single(padding),
                         _single(dilation), True, _single(output_padding), groups, bias, padding_mode,
                         device, dtype)

    def _conv(self, *args) -> Tensor:
        return F.conv_transpose1d(*args)


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution over (N, C, H, W)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0,
                 output_padding=0, groups: int = 1, bias: bool = True, dilation=1,
                 padding_mode: str = "zeros", device=None, dtype=None) -> None:
        super().__init__(in_channels, out_channels, _pair(kernel_size), _pair(stride), _pair(padding),
                         _pair(dilation), True, _pair(output_padding), groups, bias, padding_mode, device,
                         dtype)

    def _conv(self, *args) -> Tensor:
        return F.conv_transpose2d(*args)


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution over (N, C, D, H, W)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0,
                 output_padding=0, groups: int = 1, bias: bool = True, dilation=1,
                 padding_mode: str = "zeros", device=None, dtype=None) -> None:
        super().__init__(in_channels, out_channels, _triple(kernel_size), _triple(stride), _triple(padding),
                         _triple(dilation), True, _triple(output_padding), groups, bias, padding_mode,
                         device, dtype)

    def _conv(self, *args) -> Tensor:
        return F.conv_transpose3d(*args)
