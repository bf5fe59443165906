"""The key of a call: what of its tensors and of the thread's modes decides what it does."""

from __future__ import annotations

from typing import Any

from ..ir.arith import defaults
from . import autocast
from .tape import modes
from .tensor import Tensor
from .tree import ATOMS, Identity


def mode_key() -> tuple:
    """The modes of this thread and the default dtype."""
    return modes.grad, modes.inference, autocast.state.key(), defaults.dtype


def tensor_key(t: Tensor) -> tuple:
    """One tensor: type, layout, place on the tape, hooks, and what users set on it."""
    kind = (t.type, t.requires_grad, type(t), t.is_contiguous() or t._strides())
    if t._requires_grad or t._root is not None:
        root = t._root
        kind += (t._fn is None, root is not None and (root.requires_grad, root._fn is None))
    return kind + attributes(t) if t.__dict__ else kind


def attributes(t: Tensor) -> tuple:
    """Hooks and the user's own attributes of a tensor, by value where they are plain."""
    return tuple((name, _attribute(value)) for name, value in t.__dict__.items())


def _attribute(value: Any):
    if type(value) in ATOMS:
        return type(value), repr(value)
    if isinstance(value, dict):
        return tuple((k if isinstance(k, ATOMS) else Identity(k), Identity(v)) for k, v in value.items())
    return Identity(value)


def sharing_key(tensors: list[Tensor]) -> tuple:
    """Which of the tensors are the same, or views of one memory; () if none are."""
    if len({id(t.storage) for t in tensors}) == len(tensors):
        return ()
    firsts: dict[int, int] = {}
    sames: dict[int, int] = {}
    out = []
    for k, t in enumerate(tensors):
        out.append((firsts.setdefault(id(t.storage), k), sames.setdefault(id(t), k), view_key(t)))
    return tuple(out)


def view_key(t: Tensor) -> tuple:
    """How t is derived from its base."""
    return tuple((op, tuple(sorted(attrs.items())), source) for op, attrs, source in t._chain)
