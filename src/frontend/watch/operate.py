"""What an operation on an object reads: iteration, truth, comparison, subscripts, formatting.

Each function guards what the operation reads of Python state, or notes why it cannot be known.
An operation that the type implements in Python runs in a frame of its own and is watched there;
only its selection by the type is guarded here.
"""

import collections
import itertools
from types import (
    BuiltinFunctionType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)

import numpy as np

from .attribute import guard_class, guard_type
from .places import LISTS, SETS, base_of, class_attribute, describe, is_primitive
from .record import Record, is_library_file
from .records import ABSENT, Kind

_OD = collections.OrderedDict()
ITERATORS = frozenset(
    [type(iter(made)) for made in (
        [], (), {}, set(), "", "\x80", b"", range(0), range(2**70), {}.values(), {}.items(),
        bytearray(), _OD, _OD.values(), _OD.items(), collections.deque(), reversed({}),
        reversed({}.values()), reversed({}.items()), reversed([]), reversed(collections.deque()),
        iter(int, 0), enumerate(()), zip(), map(int, ()), filter(None, ()), reversed(()),
    )]
    + [kind for kind in vars(itertools).values() if isinstance(kind, type)]
    + [GeneratorType]
)  # fmt: skip
DATA = (int, float, complex, str, bytes, bool, range)
IMMUTABLE = (*DATA, tuple)  # what their C methods read of `self` can never change
MOST_ELEMENTS = 50_000
ALL = "every element, however deep"  # marks a container in `Record.resolved`
VIEWS = frozenset(type(view) for d in ({}, _OD) for view in (d.keys(), d.values(), d.items()))
# objects that are only themselves: compared by identity, always true, printed with an address
PLAIN = (type, FunctionType, MethodType, BuiltinFunctionType, ModuleType, np.dtype, slice)


def special(record: Record, holder: object, name: str) -> object:
    """Return the type's own `name`, guarded: operators look on the type only."""
    guard_type(record, holder)
    return guard_class(record, type(holder), name)


def is_value(record: Record, holder: object, name: str) -> bool:
    """Tell whether the framework does this operation; guard that its class still does it so."""
    if not record.hooks.is_value(holder):
        return False
    guard_class(record, type(holder), name)
    return True


def c_owner(method: object) -> type | None:
    """Return the C type that implements `method`, or None when it is not a C method."""
    if isinstance(method, (MethodDescriptorType, WrapperDescriptorType)):
        return method.__objclass__
    return None


def content(record: Record, holder: object) -> None:
    """Guard all elements of a list, dict, set or deque; tuples and frozen sets cannot change."""
    if not isinstance(holder, (*LISTS, dict, set)) or not record.needs_guard(holder):
        return
    if base_of(holder).__len__(holder) > MOST_ELEMENTS:
        record.lazy(f"reads all of {describe(holder)}, too much to look at before each call")
    else:
        record.read(Kind.CONTENT, holder)


def deep_content(record: Record, value: object, depth: int = 0) -> None:
    """Guard everything in nested containers that are handed to code which is not watched."""
    if depth > 20 or not isinstance(value, (tuple, *LISTS, dict, *SETS)):
        return
    if (id(value), ALL) in record.resolved:
        return
    content(record, value)
    if not depth and not isinstance(value, tuple) and record.needs_guard(value):
        record.resolved.add((id(value), ALL))
    for element in inside(value):
        deep_content(record, element, depth + 1)


def inside(value: object) -> tuple:
    """Return the elements of a container (the values of a dict) without running user code."""
    kind = base_of(value)
    return tuple((kind.values if issubclass(kind, dict) else kind.__iter__)(value))


def elements_of(value: object) -> list | None:
    """Return the elements of a plain container without running user code, else None."""
    if type(value) in (list, tuple, dict, set, frozenset, range, str, bytes, collections.deque):
        return list(value)
    return None


def iterate(record: Record, value: object) -> None:
    """Guard what iterating over `value` reads."""
    if is_primitive(value) or type(value) is tuple or is_value(record, value, "__iter__"):
        return
    if type(value) in ITERATORS or type(value) in VIEWS:
        if not record.is_fresh(value):
            record.lazy(f"iterates over a {type(value).__name__} made outside the call")
        return
    found = special(record, value, "__iter__")
    owner = c_owner(found)
    if isinstance(found, FunctionType) or owner in IMMUTABLE:
        return
    if owner in (*LISTS, dict, *SETS, collections.OrderedDict):
        content(record, value)
    elif found is not ABSENT or not isinstance(special(record, value, "__getitem__"), FunctionType):
        record.lazy(f"iterates over {describe(value)}")


def advance(record: Record, iterator: object) -> None:
    """Judge one step of an iterator, which changes it."""
    if record.is_fresh(iterator) or record.hooks.is_value(iterator):
        return
    if not isinstance(special(record, iterator, "__next__"), FunctionType):
        record.lazy(f"advances a {type(iterator).__name__} made outside the call")


def length(record: Record, value: object) -> None:
    """Guard what len(value) reads."""
    if is_primitive(value) or is_value(record, value, "__len__"):
        return
    found = special(record, value, "__len__")
    owner = c_owner(found)
    if isinstance(found, FunctionType) or found is ABSENT or owner in IMMUTABLE:
        return
    if owner in (*LISTS, dict, *SETS, collections.OrderedDict):
        record.read(Kind.LENGTH, value)
    elif not (type(value) in VIEWS and record.is_fresh(value)):
        record.lazy(f"takes the length of {describe(value)}")


def truth(record: Record, value: object) -> None:
    """Guard what bool(value) reads."""
    if is_primitive(value) or isinstance(value, PLAIN) or is_value(record, value, "__bool__"):
        return
    found = special(record, value, "__bool__")
    if found is ABSENT:
        length(record, value)
    elif not isinstance(found, FunctionType) and c_owner(found) not in IMMUTABLE:
        record.lazy(f"takes the truth of {describe(value)}")


def hashes_plainly(record: Record, key: object) -> bool:
    """Tell whether looking up `key` runs no code of the user's."""
    if is_primitive(key) or record.hooks.is_value(key) or isinstance(key, type):
        return True
    if type(key) is tuple:
        return all(hashes_plainly(record, element) for element in key)
    found = class_attribute(type(key), "__hash__")
    if isinstance(found, FunctionType):
        file = found.__code__.co_filename
        return is_library_file(file) or record.hooks.is_framework_file(file)
    return found is object.__hash__ or isinstance(key, PLAIN)


def item(record: Record, holder: object, key: object, kind: Kind = Kind.ITEM) -> object:
    """Guard one entry of a dict (or, with Kind.HAS, presence in a dict or set); return it."""
    if hashes_plainly(record, key):
        return None if isinstance(holder, frozenset) else record.read(kind, holder, key)
    special(record, key, "__hash__")
    special(record, key, "__eq__")
    content(record, holder)
    return None


def subscript(record: Record, holder: object, key: object) -> None:
    """Guard what `holder[key]` reads."""
    if is_value(record, holder, "__getitem__"):
        deep_content(record, key)
        return
    if is_primitive(holder):
        return
    found = special(record, holder, "__getitem__")
    if isinstance(holder, type) and found is ABSENT:
        guard_class(record, holder, "__class_getitem__")  # X[int]: a type expression
    elif not isinstance(found, FunctionType):
        c_item(record, holder, key, c_owner(found))


def c_item(record: Record, holder: object, key: object, owner: type | None) -> None:
    """Guard what the owner's own `__getitem__`, written in C, reads."""
    if owner in IMMUTABLE:
        return
    if owner is dict:
        _dict_item(record, holder, key)
    elif owner in LISTS:
        _list_item(record, holder, key)
    else:
        record.lazy(f"indexes {describe(holder)}")


def _dict_item(record: Record, holder, key: object) -> None:
    if item(record, holder, key) is not ABSENT:
        return
    filler = special(record, holder, "__missing__")
    if filler is not ABSENT and not isinstance(filler, FunctionType):
        mutate(record, holder, "adds a missing key")


def _list_item(record: Record, holder, key: object) -> None:
    if type(key) is not int:
        content(record, holder)
        return
    record.read(Kind.INDEX, holder, key)
    if key < 0:
        record.read(Kind.LENGTH, holder)


def contains(record: Record, holder: object, key: object) -> None:
    """Guard what `key in holder` reads."""
    if is_primitive(holder) or is_value(record, holder, "__contains__"):
        return
    if type(holder) in VIEWS and record.is_fresh(holder):
        return
    found = special(record, holder, "__contains__")
    if found is ABSENT:
        iterate(record, holder)
    elif not isinstance(found, FunctionType):
        c_contains(record, holder, key, c_owner(found))


def c_contains(record: Record, holder: object, key: object, owner: type | None) -> None:
    """Guard what the owner's own `__contains__`, written in C, reads."""
    if owner in (dict, set, frozenset):
        item(record, holder, key, Kind.HAS)
    elif owner in (tuple, *LISTS):
        content(record, holder)
        for element in inside(holder):
            if element is not key:
                compare(record, element, key)
    elif owner not in IMMUTABLE:
        record.lazy(f"looks into {describe(holder)}")


def compare(record: Record, left: object, right: object, name: str = "__eq__") -> None:
    """Guard what comparing the two reads."""
    if is_primitive(left) and is_primitive(right):
        return
    mirrored = _MIRRORED.get(name, name)
    if is_value(record, left, name) | is_value(record, right, mirrored):
        return
    _comparable(record, left, name)
    _comparable(record, right, mirrored)


_MIRRORED = {"__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__"}


def _comparable(record: Record, value: object, name: str, depth: int = 0) -> None:
    if is_primitive(value) or isinstance(value, PLAIN) or record.hooks.is_value(value):
        return
    found = special(record, value, name)
    owner = c_owner(found)
    if isinstance(found, FunctionType) or found is ABSENT or owner in (object, *DATA):
        return
    if owner not in (tuple, *LISTS, dict, *SETS, collections.OrderedDict) or depth > 20:
        record.lazy(f"compares {describe(value)}")
        return
    content(record, value)
    for element in inside(value):
        _comparable(record, element, name if owner in (tuple, *LISTS) else "__eq__", depth + 1)


_OPERATORS = (
    "add", "and", "floordiv", "lshift", "matmul", "mul", "mod", "or", "pow", "rshift", "sub",
    "truediv", "xor",
)  # fmt: skip


def binary(record: Record, left: object, right: object, operator: int) -> None:
    """Guard what a binary operator reads; `operator` is the argument of BINARY_OP."""
    if is_primitive(left) and is_primitive(right):
        return
    in_place, name = operator >= len(_OPERATORS), _OPERATORS[operator % len(_OPERATORS)]
    slot, mirrored = f"__{'i' * in_place}{name}__", f"__r{name}__"
    if is_value(record, left, slot) | is_value(record, right, mirrored):
        return
    if in_place and isinstance(left, (*LISTS, dict, set)):
        mutate(record, left, f"applies an in-place {name}")
    if isinstance(left, str) and name == "mod":
        for value in right if type(right) is tuple else (right,):
            shown(record, value)
        return
    for value in (left, right):
        _operand(record, value, name, in_place)


def _operand(record: Record, value: object, name: str, in_place: bool) -> None:
    if is_primitive(value) or isinstance(value, tuple):
        return
    if isinstance(value, (*LISTS, dict, *SETS)) or type(value) in VIEWS:
        iterate(record, value)
        return
    slots = [f"__{name}__", f"__r{name}__"] + [f"__i{name}__"] * in_place
    found = [special(record, value, slot) for slot in slots]
    known = all(
        one is ABSENT or isinstance(one, FunctionType) or c_owner(one) in IMMUTABLE for one in found
    )
    if not known and not isinstance(value, type):  # X | Y of classes is a type expression
        record.lazy(f"computes with {describe(value)}")


def unary(record: Record, value: object, name: str) -> None:
    """Guard what a unary operator reads."""
    if is_primitive(value) or is_value(record, value, name):
        return
    found = special(record, value, name)
    if not isinstance(found, FunctionType) and c_owner(found) not in IMMUTABLE:
        record.lazy(f"computes with {describe(value)}")


def shown(record: Record, value: object, depth: int = 0) -> None:
    """Guard what str(), repr() or an f-string reads of `value`."""
    if is_primitive(value) or isinstance(value, (type, np.dtype)):
        return
    if is_value(record, value, "__format__"):
        return
    found = [special(record, value, slot) for slot in ("__format__", "__str__", "__repr__")]
    owner = c_owner(found[2])
    if any(isinstance(one, FunctionType) for one in found) or owner in DATA:
        return
    if owner not in (tuple, list, dict, set, frozenset, collections.OrderedDict) or depth > 20:
        record.lazy(f"prints {describe(value)}, whose text is not known to stay the same")
        return
    content(record, value)
    keys = dict.keys(value) if isinstance(value, dict) else ()
    for part in (*keys, *inside(value)):
        shown(record, part, depth + 1)


def mutate(record: Record, holder: object, action: str) -> None:
    """Judge a change of a container: fine for one that the call made itself."""
    if not record.is_fresh(holder):
        record.lazy(f"{action} on {describe(holder)}, which was not made in this call")


def write_item(record: Record, holder: object, key: object, action: str = "sets an item") -> None:
    """Judge `holder[key] = ...` and `del holder[key]`."""
    if is_value(record, holder, "__setitem__"):
        deep_content(record, key)
        return
    slot = "__delitem__" if action.startswith("del") else "__setitem__"
    if not isinstance(special(record, holder, slot), FunctionType):
        mutate(record, holder, action)
