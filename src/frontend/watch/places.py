"""Reading a place of an object without running user code, and comparing what is found there."""

import struct
from collections import OrderedDict, deque
from collections.abc import Callable
from types import CellType, EllipsisType, FunctionType, ModuleType, NoneType, NotImplementedType

import numpy as np

from .records import ABSENT, Kind

mro_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_names_of = type.__dict__["__dict__"].__get__
_plain_getattribute = object.__getattribute__

NUMBERS = frozenset((int, float, bool, complex))
PRIMITIVES = NUMBERS | {str, bytes, range, NoneType, EllipsisType, NotImplementedType}
LISTS = (list, deque)
SETS = (set, frozenset)
_CONTAINERS = (OrderedDict, dict, *LISTS, *SETS, tuple)


def is_primitive(value: object) -> bool:
    """Tell whether `value` is immutable data that guards compare by type and value."""
    return type(value) in PRIMITIVES or isinstance(value, np.generic)


def class_attribute(owner: type, name: str, after: type | None = None) -> object:
    """Return what `name` means on instances of `owner` by its MRO, starting behind `after`."""
    mro = mro_of(owner)
    start = mro.index(after) + 1 if after is not None else 0
    for base in mro[start:]:
        names = _names_of(base)
        if name in names:
            return names[name]
    return ABSENT


def instance_dict(holder: object) -> dict | None:
    """Return the dict that holds the instance's own attributes, or None if there is none."""
    if isinstance(holder, type):
        return None
    try:
        found = _plain_getattribute(holder, "__dict__")
    except AttributeError:
        return None
    return found if isinstance(found, dict) else None


def base_of(holder: object) -> type:
    """Return the container type of the holder, whose own methods read it as it really is."""
    return next((kind for kind in _CONTAINERS if isinstance(holder, kind)), type(holder))


def _content(holder, _key):
    kind = base_of(holder)
    if issubclass(kind, dict):
        return (*kind.keys(holder), ABSENT, *kind.values(holder))
    return tuple(kind.__iter__(holder))


def _index(holder, key):
    kind = base_of(holder)
    size = kind.__len__(holder)
    return kind.__getitem__(holder, key) if -size <= key < size else ABSENT


def _cell(holder: CellType, _key):
    try:
        return holder.cell_contents
    except ValueError:
        return ABSENT


def _slot(holder, key):
    try:
        return key.__get__(holder, type(holder))
    except AttributeError:
        return ABSENT


READ: dict[Kind, Callable] = {
    Kind.TYPE: lambda holder, _: type(holder),
    Kind.DICT: lambda holder, _: instance_dict(holder),
    Kind.SLOT: _slot,
    Kind.ITEM: lambda holder, key: dict.get(holder, key, ABSENT),
    Kind.HAS: lambda holder, key: base_of(holder).__contains__(holder, key),
    Kind.CONTENT: _content,
    Kind.LENGTH: lambda holder, _: base_of(holder).__len__(holder),
    Kind.INDEX: _index,
    Kind.CELL: _cell,
    Kind.CLASS: lambda holder, key: class_attribute(holder, *key),
    Kind.CODE: lambda holder, _: holder.__code__,
    Kind.DEFAULTS: lambda holder, _: holder.__defaults__,
    Kind.KWDEFAULTS: lambda holder, _: holder.__kwdefaults__,
    Kind.CLOSURE: lambda holder, _: holder.__closure__,
    Kind.MRO: lambda holder, _: mro_of(holder),
    Kind.CALL: lambda holder, _: holder(),
}


def equal_primitive(left: object, right: object) -> bool:
    """Tell whether two primitives of one type are the same data: NaN is NaN, 0.0 is not -0.0."""
    if isinstance(left, np.generic) and isinstance(right, np.generic):
        return left.dtype == right.dtype and left.tobytes() == right.tobytes()
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack("d", left) == struct.pack("d", right)
    if isinstance(left, complex) and isinstance(right, complex):
        return struct.pack("dd", left.real, left.imag) == struct.pack("dd", right.real, right.imag)
    return left == right


def same(expected: object, found: object) -> bool:
    """Tell whether `found` stands for `expected`: equal data, else the very same object."""
    if expected is found:
        return True
    if type(expected) is not type(found):
        return False
    if type(expected) is tuple:
        return len(expected) == len(found) and all(map(same, expected, found))
    return is_primitive(expected) and equal_primitive(expected, found)


def describe(value: object) -> str:
    """Return a short name of `value` for a message, without running user code."""
    if is_primitive(value) or value is ABSENT:
        text = repr(value)
    elif isinstance(value, type):
        text = f"class {type.__dict__['__qualname__'].__get__(value)}"
    elif isinstance(value, FunctionType):
        text = f"function {value.__qualname__}"
    elif isinstance(value, ModuleType):
        text = f"module {dict.get(value.__dict__, '__name__', '?')}"
    elif type(value) in (tuple, list):
        text = _describe_sequence(value)
    elif isinstance(value, dict):
        text = f"{type(value).__name__} of {dict.__len__(value)}"
    else:
        text = f"{type(value).__name__} at {id(value):#x}"
    return text if len(text) <= 80 else text[:77] + "..."


def _describe_sequence(value) -> str:
    inner = ", ".join(describe(element) for element in value[:8])
    inner += ", ..." if len(value) > 8 else ""
    return f"[{inner}]" if type(value) is list else f"({inner})"


def ordered_dict(holder: object) -> bool:
    """Tell whether the order of `holder` may change without its version word (OrderedDict)."""
    return isinstance(holder, OrderedDict)
