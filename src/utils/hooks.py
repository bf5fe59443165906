"""Handles of hooks, in torch.utils.hooks' names."""

from ..frontend.hooks import RemovableHandle as RemovableHandle
