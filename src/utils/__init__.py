"""Utilities beside the layers: data loading, checkpoints, trees and hooks, in torch.utils' names."""

from . import _pytree as _pytree, checkpoint as checkpoint, data as data, hooks as hooks
