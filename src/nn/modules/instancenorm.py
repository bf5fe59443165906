"""Instance normalisation: each channel of each sample by its own statistics."""

from __future__ import annotations

import warnings

from ...frontend.declare import declare_attrs
from ...frontend.tensor import Tensor
from .. import functional as F  # noqa: N812
from .batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    dims = 0  # of an input without batch

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device=None, dtype=None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        low, high = self.dims, self.dims + 1
        if input.ndim not in (low, high):
            raise ValueError(f"expected {low}D or {high}D input (got {input.ndim}D input)")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys,
                              unexpected_keys, error_msgs) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            keys = [prefix + n for n in ("running_mean", "running_var") if prefix + n in state_dict]
            if keys:
                name = type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {' and '.join(f'{k!r}' for k in keys)} for {name} with "
                    f"track_running_stats=False. If the running stats are actually needed, instead set "
                    f"track_running_stats=True in {name} to enable them.")
            for key in keys:
                state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys,
                                      unexpected_keys, error_msgs)

    def forward(self, input: Tensor) -> Tensor:
        declare_attrs(self, ("eps", "momentum", "track_running_stats", "training"))
        self._check_input_dim(input)
        alone = input.ndim == self.dims
        dim = input.ndim - self.dims
        if input.shape[dim] != self.num_features:
            self._complain(dim, input.shape[dim])
        out = F.instance_norm(input.unsqueeze(0) if alone else input, self.running_mean, self.running_var,
                              self.weight, self.bias, self.training or not self.track_running_stats,
                              0.0 if self.momentum is None else self.momentum, self.eps)
        return out.squeeze(0) if alone else out

    def _complain(self, dim: int, size: int) -> None:
        if self.affine:
            raise ValueError(f"expected input's size at dim={dim} to match num_features ({self.num_features}), "
                             f"but got: {size}.")
        warnings.warn(f"input's size at dim={dim} does not match num_features. You can silence this warning by "
                      "not passing in num_features, which is not used because affine=False", stacklevel=4)


class InstanceNorm1d(_InstanceNorm):
    """(x - mean) / sqrt(var + eps) over L of (N, C, L) or (C, L)."""

    dims = 2


class InstanceNorm2d(_InstanceNorm):
    """(x - mean) / sqrt(var + eps) over H, W of (N, C, H, W) or (C, H, W)."""

    dims = 3


class InstanceNorm3d(_InstanceNorm):
    """(x - mean) / sqrt(var + eps) over D, H, W of (N, C, D, H, W) or (C, D, H, W)."""

    dims = 4
