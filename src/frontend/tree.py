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
ATOMS = (int, float, bool, str, bytes, complex, type(None))


def flatten(value: Any, leaves: list[Tensor]) -> Any:
    """A hashable spec of `value`; its tensors are appended to `leaves`.

    Plain values are part of the spec; any other object stands by identity and is guarded as such.
    """
    if isinstance(value, Tensor):
        leaves.append(value)
        return "T"
    kind = type(value)
    if kind in ATOMS:
        return (kind, repr(value)) if kind is float else (kind, value)
    if kind is tuple or kind is list:
        return (kind, *[flatten(v, leaves) for v in value])
    if kind is dict:
        return (kind, *[(k if isinstance(k, ATOMS) else Identity(k), flatten(v, leaves))
                        for k, v in value.items()])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (kind, *[flatten(v, leaves) for v in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (kind, *[flatten(getattr(value, f.name), leaves) for f in dataclasses.fields(value)])
    return Identity(value)


def atoms_of(spec: Any) -> tuple:
    """The numbers, strings and opaque objects in a spec of `flatten`."""
    if type(spec) is Identity:
        return (spec,)
    if type(spec) is not tuple:
        return ()
    if len(spec) == 2 and spec[0] in _VARYING:
        return (spec[1],)
    return tuple(a for part in spec for a in atoms_of(part))


def atomless(spec: Any) -> Any:
    """The spec without the values of its numbers, strings and opaque objects."""
    if type(spec) is Identity:
        return spec.name
    if type(spec) is not tuple:
        return spec
    if len(spec) == 2 and spec[0] in _VARYING:
        return spec[0]
    return tuple(atomless(part) for part in spec)


_VARYING = (int, float, str, bytes, complex)


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


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors in `value`, as often as they are there."""
    leaves: list[Tensor] = []
    flatten(value, leaves)
    return leaves


def containers_of(value: Any) -> list:
    """The lists, tuples, dicts and dataclass instances that `flatten` looks into."""
    found, stack = [], [value]
    while stack:
        one = stack.pop()
        kind = type(one)
        if kind is dict:
            stack += one.values()
        elif kind in (list, tuple) or (isinstance(one, tuple) and hasattr(one, "_fields")):
            stack += one
        elif dataclasses.is_dataclass(one) and not isinstance(one, type):
            stack += [getattr(one, f.name) for f in dataclasses.fields(one)]
        else:
            continue
        found.append(one)
    return found


def template(value: Any, place, outside: set[int]) -> Any:
    """`value` with each tensor replaced by place(tensor), as nested ('kind', ...) records to `rebuild`.

    Refused if a container in it is one of `outside` (by id) or is there twice: a replay makes anew.
    """
    if isinstance(value, Tensor):
        return ("tensor", place(value))
    kind = type(value)
    if kind is tuple:
        return ("sequence", kind, [template(v, place, outside) for v in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return ("named", kind, [template(v, place, outside) for v in value])
    if kind in (list, dict) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        return _container(value, place, outside)
    if kind not in ATOMS and not isinstance(value, _LASTING):
        raise Refused(f"an object of class {kind.__name__} is returned, which a replay could not make anew")
    return ("same", value)


def _container(value: Any, place, outside: set[int]) -> Any:
    kind = type(value)
    if id(value) in outside:
        raise Refused(f"a {kind.__name__} that was not made in the call, or twice the same, is returned")
    outside.add(id(value))
    if kind is list:
        return ("sequence", kind, [template(v, place, outside) for v in value])
    if kind is dict:
        return ("dict", [(k, template(v, place, outside)) for k, v in value.items()])
    return ("dataclass", kind, [(f.name, template(getattr(value, f.name), place, outside))
                                for f in dataclasses.fields(value)])


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
