"""Which places an attribute access reads or writes, resolved without running it.

The rules are those of object.__getattribute__, type.__getattribute__, modules and super().
Where Python code takes part (a property, `__getattr__`, a descriptor written in Python), that
code runs in a frame of its own and is watched there; here only its selection is guarded.
"""

from functools import partial
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)

from .layout import HEAP_TYPE, IMMUTABLE_TYPE, reads_attributes_plainly
from .places import class_attribute, describe, instance_dict, is_primitive, same
from .record import Record
from .records import ABSENT, Kind

_object_getattribute = object.__getattribute__
# C descriptors whose __get__ does no more than bind or unwrap
_BINDING = (
    FunctionType, MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType,
    BuiltinFunctionType, MethodType, classmethod, staticmethod, type, partial,
)  # fmt: skip
_GENERIC = (object.__getattribute__, ModuleType.__getattribute__)


def guard_type(record: Record, holder: object) -> type:
    """Return the holder's type; guard it where Python allows `holder.__class__ = other`."""
    owner = type(holder)
    if owner.__flags__ & HEAP_TYPE or owner is ModuleType:
        record.read(Kind.TYPE, holder)
    return owner


def guard_class(record: Record, owner: type, name: str, after: type | None = None) -> object:
    """Return what the class says about `name`, guarded unless the class cannot change."""
    if owner.__flags__ & IMMUTABLE_TYPE:
        return class_attribute(owner, name, after)
    return record.read(Kind.CLASS, owner, (name, after))


def read_attribute(record: Record, holder: object, name: str) -> None:
    """Guard what `holder.name` reads."""
    if (id(holder), name) in record.resolved:
        return
    if record.hooks.is_value(holder):
        _read_of_value(record, holder, name)
        return
    if record.needs_guard(holder):
        record.resolved.add((id(holder), name))
        record.alive.append(holder)
    if isinstance(holder, type):
        _read_of_class(record, holder, name)
    elif type(holder) is super:
        _read_of_super(record, holder, name)
    elif is_primitive(holder):
        return
    elif _selects_python(record, holder, "__getattribute__"):
        guard_type(record, holder)
    else:
        read_generic(record, holder, name)


def _selects_python(record: Record, holder: object, slot: str) -> bool:
    """Tell whether the type runs Python code for `slot`; a C version of its own is lazy."""
    found = guard_class(record, type(holder), slot)
    return isinstance(found, FunctionType)


def read_generic(record: Record, holder: object, name: str) -> None:
    """Guard what object.__getattribute__(holder, name) reads."""
    owner = guard_type(record, holder)
    access = class_attribute(owner, "__getattribute__")
    known = isinstance(access, FunctionType) or any(access is one for one in _GENERIC)
    if not known and not reads_attributes_plainly(owner):
        record.lazy(f"reads .{name} of {describe(holder)}, whose attribute access is unknown C code")
        return
    winner = guard_class(record, owner, name)
    if is_data_descriptor(winner):
        _read_descriptor(record, holder, name, winner)
        return
    names = own_dict(record, holder)
    if names is not None and record.read(Kind.ITEM, names, name) is not ABSENT:
        return
    if winner is ABSENT:
        guard_class(record, owner, "__getattr__")
        if isinstance(holder, ModuleType) and names is not None:
            record.read(Kind.ITEM, names, "__getattr__")
    else:
        _check_binding(record, winner, name)


def own_dict(record: Record, holder: object) -> dict | None:
    """Return the instance's dict, guarded to be this one; the dict is as fresh as its owner."""
    names = instance_dict(holder)
    if names is None:
        return None
    if record.is_fresh(holder):
        record.made(names)
    elif record.needs_guard(holder):
        record.read(Kind.DICT, holder)
    else:
        record.owned.setdefault(id(names), names)
    return names


def is_data_descriptor(value: object) -> bool:
    kind = type(value)
    return (
        class_attribute(kind, "__set__") is not ABSENT
        or class_attribute(kind, "__delete__") is not ABSENT
    )


def _read_descriptor(record: Record, holder: object, name: str, winner: object) -> None:
    if name == "__class__" and type(winner) is GetSetDescriptorType:
        guard_type(record, holder)
    elif name == "__dict__" and type(winner) is GetSetDescriptorType:
        own_dict(record, holder)
    elif isinstance(winner, (GetSetDescriptorType, MemberDescriptorType)):
        _read_slot(record, holder, name, winner)
    elif isinstance(winner, property):
        if not isinstance(winner.fget, (FunctionType, NoneType)):
            record.lazy(f"reads the property .{name}, whose getter is not a Python function")
    elif not isinstance(class_attribute(type(winner), "__get__"), FunctionType):
        if type(winner).__name__ != "_tuplegetter":  # a namedtuple's field: the tuple is fixed
            record.lazy(f"reads .{name} through a descriptor written in C")


NoneType = type(None)


def _read_slot(record: Record, holder: object, name: str, winner: object) -> None:
    if not record.needs_guard(holder):
        return
    first = record.read(Kind.SLOT, holder, winner)
    again = first if first is ABSENT else winner.__get__(holder, type(holder))  # type: ignore
    if not same(first, again):
        record.lazy(f"reads .{name} of {describe(holder)}, which is a new object each time")


def _check_binding(record: Record, winner: object, name: str) -> None:
    """Make lazy what a class hands out through a descriptor of unknown C code."""
    getter = class_attribute(type(winner), "__get__")
    if getter is ABSENT or isinstance(winner, _BINDING) or isinstance(getter, FunctionType):
        return
    if type(winner).__name__ != "_tuplegetter":
        record.lazy(f"reads .{name} through a descriptor written in C")


def _read_of_value(record: Record, holder: object, name: str) -> None:
    """Guard only what the framework does not see: its patched class, the user's own attributes."""
    winner = guard_class(record, type(holder), name)
    if is_data_descriptor(winner):
        return
    names = instance_dict(holder)
    if names is not None and (winner is ABSENT or name in names) and record.needs_guard(holder):
        record.read(Kind.DICT, holder)
        record.read(Kind.ITEM, names, name)


def _read_of_class(record: Record, holder: type, name: str) -> None:
    meta = type(holder)
    if isinstance(guard_class(record, meta, "__getattribute__"), FunctionType):
        return
    above = guard_class(record, meta, name)
    if is_data_descriptor(above):
        _read_descriptor(record, holder, name, above)
        return
    winner = guard_class(record, holder, name)
    if winner is not ABSENT:
        if not isinstance(winner, (GetSetDescriptorType, MemberDescriptorType, property)):
            _check_binding(record, winner, name)
    elif above is ABSENT:
        guard_class(record, meta, "__getattr__")
    else:
        _check_binding(record, above, name)


def _read_of_super(record: Record, holder: object, name: str) -> None:
    after = _object_getattribute(holder, "__thisclass__")
    start = _object_getattribute(holder, "__self_class__")
    bound = _object_getattribute(holder, "__self__")
    if start is None or name == "__class__":
        return
    if not isinstance(bound, type):
        guard_type(record, bound)
    winner = guard_class(record, start, name, after)
    if isinstance(winner, (GetSetDescriptorType, MemberDescriptorType)):
        _read_descriptor(record, bound, name, winner)
    elif winner is not ABSENT and not isinstance(winner, property):
        _check_binding(record, winner, name)


def write_attribute(record: Record, holder: object, name: str, value: object) -> None:
    """Judge `holder.name = value` (for a deletion `value` is ABSENT)."""
    slot = "__setattr__" if value is not ABSENT else "__delattr__"
    if isinstance(holder, type):
        if not record.is_fresh(holder):
            record.lazy(f"sets .{name} on {describe(holder)}")
        return
    setter = guard_class(record, type(holder), slot)
    guard_type(record, holder)
    if isinstance(setter, FunctionType):
        _write_by_python(record, holder, name, value, setter)
    else:
        write_plainly(record, holder, name, value)


def _write_by_python(record, holder, name: str, value, setter: FunctionType) -> None:
    """A setter written in Python: the user's is watched in its frame, the framework's is judged."""
    if not record.hooks.is_framework_file(setter.__code__.co_filename):
        return
    if record.is_fresh(holder):
        return
    if record.hooks.is_managed(holder) and (record.hooks.is_value(value) or value is ABSENT):
        names = instance_dict(holder)
        if names is not None:
            record.store(names, name)
    elif record.hooks.is_value(holder):
        write_plainly(record, holder, name, value)
    else:
        _refuse(record, holder, name, value)


def write_plainly(record: Record, holder: object, name: str, value: object) -> None:
    """Judge what object.__setattr__ does: a descriptor runs, or the instance itself changes."""
    if name == "__dict__" or name == "__class__":
        _refuse(record, holder, name, value)
        return
    winner = guard_class(record, type(holder), name)
    if is_data_descriptor(winner) and not isinstance(winner, MemberDescriptorType):
        if record.hooks.is_value(holder) or isinstance(winner, property):
            return  # framework business, or a Python setter with a frame of its own
        if isinstance(class_attribute(type(winner), "__set__"), FunctionType):
            return
    if not record.is_fresh(holder):
        _refuse(record, holder, name, value)


def _refuse(record: Record, holder: object, name: str, value: object) -> None:
    verb = "deletes" if value is ABSENT else "sets"
    record.lazy(f"{verb} .{name} on {describe(holder)}, which was not made in this call")
