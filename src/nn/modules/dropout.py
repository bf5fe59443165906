"""Dropout of elements and of whole channels."""

from __future__ import annotations

from ...frontend.declare import declare_attrs
from ...frontend.tensor import Tensor
from .. import functional as F  # noqa: N812
from .module import Module


class _DropoutNd(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def _options(self) -> tuple[float, bool, bool]:
        declare_attrs(self, ("p", "training", "inplace"))
        return self.p, self.training, self.inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes elements with probability p in training, and scales the others by 1 / (1 - p)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, *self._options())


class Dropout1d(_DropoutNd):
    """Zeroes channels of (N, C, L) with probability p in training."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, *self._options())


class Dropout2d(_DropoutNd):
    """Zeroes channels of (N, C, H, W) with probability p in training."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, *self._options())


class Dropout3d(_DropoutNd):
    """Zeroes channels of (N, C, D, H, W) with probability p in training."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, *self._options())


class AlphaDropout(_DropoutNd):
    """Dropout that keeps the mean and variance of SELU activations."""

    def forward(self, input: Tensor) -> Tensor:
        p, training, _ = self._options()
        return F.alpha_dropout(input, p, training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        p, training, _ = self._options()
        return F.feature_alpha_dropout(input, p, training)
