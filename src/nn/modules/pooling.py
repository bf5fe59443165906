"""Pooling: windows reduced to their maximum, mean or norm."""

from __future__ import annotations

from typing import Any

from ...frontend.declare import declare_attrs
from ...frontend.tensor import Tensor
from .. import functional as F  # noqa: N812
from .module import Module
from .utils import _pair, _single, _triple


class _Pool(Module):
    """A pooling whose function takes the attributes `options` by name."""

    options: tuple[str, ...] = ()

    def _options(self) -> dict[str, Any]:
        declare_attrs(self, self.options)
        return {name: getattr(self, name) for name in self.options}


class _MaxPoolNd(_Pool):
    options = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices: bool = False,
                 ceil_mode: bool = False) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def extra_repr(self) -> str:
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
                f"dilation={self.dilation}, ceil_mode={self.ceil_mode}")


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window of (N, C, L)."""

    def forward(self, input: Tensor):
        return F.max_pool1d(input, **self._options())


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of (N, C, H, W).

    >>> import treadle
    >>> MaxPool2d(2)(treadle.zeros(1, 1, 4, 4)).shape
    torch.Size([1, 1, 2, 2])
    """

    def forward(self, input: Tensor):
        return F.max_pool2d(input, **self._options())


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of (N, C, D, H, W)."""

    def forward(self, input: Tensor):
        return F.max_pool3d(input, **self._options())


class _MaxUnpoolNd(_Pool):
    options = ("kernel_size", "stride", "padding")
    sizes = staticmethod(_single)

    def __init__(self, kernel_size, stride=None, padding=0) -> None:
        super().__init__()
        self.kernel_size = self.sizes(kernel_size)
        self.stride = self.sizes(kernel_size if stride is None else stride)
        self.padding = self.sizes(padding)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Maxima put back to where max_pool1d found them, zeros elsewhere."""

    def forward(self, input: Tensor, indices: Tensor, output_size=None) -> Tensor:
        return F.max_unpool1d(input, indices, output_size=output_size, **self._options())


class MaxUnpool2d(_MaxUnpoolNd):
    """Maxima put back to where max_pool2d found them, zeros elsewhere."""

    sizes = staticmethod(_pair)

    def forward(self, input: Tensor, indices: Tensor, output_size=None) -> Tensor:
        return F.max_unpool2d(input, indices, output_size=output_size, **self._options())


class MaxUnpool3d(_MaxUnpoolNd):
    """Maxima put back to where max_pool3d found them, zeros elsewhere."""

    sizes = staticmethod(_triple)

    def forward(self, input: Tensor, indices: Tensor, output_size=None) -> Tensor:
        return F.max_unpool3d(input, indices, output_size=output_size, **self._options())


class _AvgPoolNd(_Pool):
    options = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        for name, value in (("padding", 0), ("ceil_mode", False), ("count_include_pad", True),
                            ("divisor_override", None)):
            self.__dict__.setdefault(name, value)


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of (N, C, L)."""

    options = _AvgPoolNd.options[:-1]

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False,
                 count_include_pad: bool = True) -> None:
        Module.__init__(self)  # there is no divisor_override
        self.kernel_size = _single(kernel_size)
        self.stride = self.kernel_size if stride is None else _single(stride)
        self.padding, self.ceil_mode, self.count_include_pad = _single(padding), ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, **self._options())


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of (N, C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, **self._options())


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of (N, C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, **self._options())


class _FractionalMaxPool(_Pool):
    options = ("kernel_size", "output_size", "output_ratio", "return_indices")
    sizes = staticmethod(_pair)

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices: bool = False,
                 _random_samples=None) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size, self.return_indices = self.sizes(kernel_size), return_indices
        if any(k <= 0 for k in self.kernel_size):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else self.sizes(output_size)
        self.output_ratio = None if output_ratio is None else self.sizes(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows at random places, so that the output has a given size or share."""

    def forward(self, input: Tensor):
        return F.fractional_max_pool2d(input, **self._options(), _random_samples=self._random_samples)


class FractionalMaxPool3d(_FractionalMaxPool):
    """FractionalMaxPool2d over three dims."""

    sizes = staticmethod(_triple)

    def forward(self, input: Tensor):
        return F.fractional_max_pool3d(input, **self._options(), _random_samples=self._random_samples)


class _LPPoolNd(_Pool):
    options = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(self, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def extra_repr(self) -> str:
        return (f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"ceil_mode={self.ceil_mode}")


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of (N, C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, **self._options())


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of (N, C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, **self._options())


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of (N, C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, **self._options())


class _AdaptiveMaxPoolNd(_Pool):
    options = ("output_size", "return_indices")

    def __init__(self, output_size, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of windows whose sizes give the wanted output size."""

    def forward(self, input: Tensor):
        return F.adaptive_max_pool1d(input, **self._options())


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """AdaptiveMaxPool1d over two dims."""

    def forward(self, input: Tensor):
        return F.adaptive_max_pool2d(input, **self._options())


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """AdaptiveMaxPool1d over three dims."""

    def forward(self, input: Tensor):
        return F.adaptive_max_pool3d(input, **self._options())


class _AdaptiveAvgPoolNd(_Pool):
    options = ("output_size",)

    def __init__(self, output_size) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of windows whose sizes give the wanted output size."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, **self._options())


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """AdaptiveAvgPool1d over two dims."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, **self._options())


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """AdaptiveAvgPool1d over three dims."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, **self._options())
