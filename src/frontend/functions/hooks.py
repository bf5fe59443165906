"""Hooks on tensors: what is called with a gradient as it arrives."""

from __future__ import annotations

import weakref
from collections import OrderedDict

from ..hooks import RemovableHandle
from ..tensor import rebinds


def register_hook(input, hook) -> RemovableHandle:
    """Calls hook(grad) when input's gradient is computed; a returned tensor takes its place.

    >>> import treadle
    >>> x = treadle.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda g: g * 10)
    >>> (x * 2).sum().backward(); x.grad
    tensor([20.])
    """
    if not input.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if input.is_leaf:
        own = input.__dict__.setdefault("_leaf_hooks", OrderedDict())
        node, number = input.edge()
        node.tensor_hooks = {0: own}
    else:
        node, number = input.edge()
        if node.tensor_hooks is None:
            node.tensor_hooks = {}
        own = node.tensor_hooks.setdefault(number, OrderedDict())
    handle = RemovableHandle(own)
    own[handle.id] = hook
    rebinds[0] += 1
    return handle


def register_post_accumulate_grad_hook(input, hook) -> RemovableHandle:
    """Calls hook(input) after a leaf's `.grad` was accumulated."""
    if not input.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not input.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    own = input.__dict__.setdefault("_accumulate_hooks", OrderedDict())
    handle = RemovableHandle(own)
    own[handle.id] = hook
    rebinds[0] += 1
    return handle


def retain_grad(input) -> None:
    """Keeps the gradient of a computed tensor in its `.grad` after backward."""
    if not input.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if input.is_leaf or input.retains_grad:
        return
    node, number = input.edge()
    if node.retained is None:
        node.retained = {}
    node.retained[number] = weakref.ref(input)
    input.__dict__["_retains"] = True
