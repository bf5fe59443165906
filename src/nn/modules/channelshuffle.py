"""ChannelShuffle."""

from __future__ import annotations

from ...frontend.declare import declare_attrs
from ...frontend.tensor import Tensor
from .. import functional as F  # noqa: N812
from .module import Module


class ChannelShuffle(Module):
    """Channels in `groups` rows, read by columns."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        declare_attrs(self, ("groups",))
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
