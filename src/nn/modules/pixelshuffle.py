"""PixelShuffle and PixelUnshuffle."""

from __future__ import annotations

from ...frontend.declare import declare_attrs
from ...frontend.tensor import Tensor
from .. import functional as F  # noqa: N812
from .module import Module


class PixelShuffle(Module):
    """(*, C r**2, H, W) as (*, C, H r, W r)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        declare_attrs(self, ("upscale_factor",))
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(*, C, H r, W r) as (*, C r**2, H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        declare_attrs(self, ("downscale_factor",))
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
