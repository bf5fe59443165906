"""Utilities beside the layers: data loading and hooks, in torch.utils' names."""

from . import data as data, hooks as hooks
