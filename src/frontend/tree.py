"""Argument and result trees: nested tuples, lists, dicts, named tuples and dataclasses of leaves."""

from __future__ import annotations

import dataclasses
import weakref
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ..ir.device import device
from ..ir.dtype import DType
from .errors import Refused
from .tensor import Size, Tensor

_LASTING = (type, FunctionType, BuiltinFunctionType, ModuleType, DType, device, Size)  # handed out as they are
_ATOMS = (int, float, bool, str, bytes, complex, type(None))


def flatten(value: Any, leaves: list[Tensor]) -> Any:
    """A hashable spec of `value`; its tensors are appended to `leaves`.

    Plain values are part of the spec; any other object stands by identity and is guarded as such.
    """
    if isinstance(value, Tensor):
        leaves.append(value)
        return "T"
    kind = type(value)
    if kind in _ATOMS:
        return (kind, repr(value)) if kind is float else (kind, value)
    if kind is tuple or kind is list:
        return (kind, *[flatten(v, leaves) for v in value])
    if kind is dict:
        return (kind, *[(k if isinstance(k, _ATOMS) else Identity(k), flatten(v, leaves))
                        for k, v in value.items()])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (kind, *[flatten(v, leaves) for v in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (kind, *[flatten(getattr(value, f.name), leaves) for f in dataclasses.fields(value)])
    return Identity(value)


class Identity:
    """An object as a key: equal to itself only, held weakly where that can be (a dead one equals nothing)."""

    __slots__ = ("_hash", "_of", "name")

    def __init__(self, value):
        self._hash, self.name = id(value), type(value).__name__
        try:
            self._of = weakref.ref(value)
        except TypeError:
            self._of = lambda: value

    def __eq__(self, other):
        if not isinstance(other, Identity):
            return False
        mine = self._of()
        return mine is not None and mine is other._of()

    def __hash__(self):
        return self._hash

    def __repr__(self):
        return f"<{self.name}>"


def template(value: Any, place) -> Any:
    """`value` with each tensor replaced by place(tensor), as nested ('kind', ...) records to `rebuild`."""
    if isinstance(value, Tensor):
        return ("tensor", place(value))
    kind = type(value)
    if kind in (tuple, list):
        return ("sequence", kind, [template(v, place) for v in value])
    if kind is dict:
        return ("dict", [(k, template(v, place)) for k, v in value.items()])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return ("named", kind, [template(v, place) for v in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return ("dataclass", kind, [(f.name, template(getattr(value, f.name), place))
                                    for f in dataclasses.fields(value)])
    if kind not in _ATOMS and not isinstance(value, _LASTING):
        raise Refused(f"an object of class {kind.__name__} is returned, which a replay could not make anew")
    return ("same", value)


def rebuild(spec: Any, tensors) -> Any:
    """The value a template stands for, with tensors taken from `tensors` by place."""
    kind = spec[0]
    if kind == "tensor":
        return tensors[spec[1]]
    if kind == "sequence":
        return spec[1](rebuild(v, tensors) for v in spec[2])
    if kind == "dict":
        return {k: rebuild(v, tensors) for k, v in spec[1]}
    if kind == "named":
        return spec[1](*[rebuild(v, tensors) for v in spec[2]])
    if kind == "dataclass":
        out = object.__new__(spec[1])
        for name, v in spec[2]:
            object.__setattr__(out, name, rebuild(v, tensors))
        return out
    return spec[1]
