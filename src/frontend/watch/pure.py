"""The C functions and types of which a watch knows what they read: one row each.

A row is a model: called with the record and the arguments of the call, it guards what the
function reads and notes what it changes. A C function without a row makes the call lazy.
"""

import _abc
import cmath
import collections
import functools
import itertools
import math
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType

import numpy as np

from .attribute import guard_class, guard_type, read_attribute, write_attribute
from .layout import HEAP_TYPE
from .operate import (
    IMMUTABLE,
    ITERATORS,
    advance,
    binary,
    c_contains,
    c_item,
    c_owner,
    compare,
    contains,
    content,
    deep_content,
    elements_of,
    item,
    iterate,
    length,
    mutate,
    shown,
    special,
    subscript,
    truth,
    unary,
    write_item,
)
from .places import base_of, describe, is_primitive
from .record import Record
from .records import ABSENT, Kind

Model = Callable[..., None]


def nothing(_record: Record, *_args: object, **_kw: object) -> None:
    """Reads nothing but its immutable arguments."""


def scalar(record: Record, *args: object, **_kw: object) -> None:
    """Works on numbers and strings; anything else must bring its own Python conversion."""
    for value in args:
        if is_primitive(value) or record.hooks.is_value(value) or type(value) is type:
            continue
        slots = ("__float__", "__int__", "__index__", "__complex__", "__abs__", "__round__", "__trunc__")
        found = [special(record, value, slot) for slot in slots]
        if not any(isinstance(one, FunctionType) or c_owner(one) in IMMUTABLE for one in found):
            record.lazy(f"converts {describe(value)}")


def iterates(record: Record, *args: object, **_kw: object) -> None:
    """Iterates over each argument that can be iterated over."""
    for value in args:
        if not is_primitive(value):
            iterate(record, value)


def texts(record: Record, *args: object, **kw: object) -> None:
    """Turns each argument into text."""
    for value in (*args, *kw.values()):
        shown(record, value)


def adds_up(record: Record, values: object, *_args: object, **_kw: object) -> None:
    """sum and its kin: iterates, and adds element to element."""
    iterate(record, values)
    for value in elements_of(values) or ():
        binary(record, value, value, 0)


def truths(record: Record, values: object) -> None:
    """any and all: the truth of each element."""
    iterate(record, values)
    for value in elements_of(values) or ():
        truth(record, value)


def of_type(record: Record, value: object, classes: object = None) -> None:
    """Reads the class of its first argument (isinstance, issubclass, type, callable)."""
    owner = value if isinstance(value, type) else guard_type(record, value)
    if owner.__flags__ & HEAP_TYPE:
        record.read(Kind.MRO, owner)
    for one in classes if type(classes) is tuple else (classes,):
        if isinstance(one, type) and type(one) is not type:
            guard_class(record, type(one), "__instancecheck__")
            guard_class(record, type(one), "__subclasscheck__")


def abstract_check(record: Record, *_args: object) -> None:
    """Asks the registry of abstract base classes, which has one counter for all changes."""
    record.read(Kind.CALL, _abc.get_cache_token)


def callable_type(record: Record, value: object) -> None:
    special(record, value, "__call__")


def default_dict(record: Record, *args: object, **_kw: object) -> None:
    iterates(record, *args[1:])


def makes_class(record: Record, *args: object, **_kw: object) -> None:
    """type(x) reads the class of x; type(name, bases, names) makes one."""
    of_type(record, args[0]) if len(args) == 1 else record.lazy("defines a class")


def attribute(record: Record, holder: object, name: object, *_default: object) -> None:
    """getattr and hasattr."""
    read_attribute(record, holder, name) if isinstance(name, str) else None


def sets_attribute(record: Record, holder: object, name: object, value: object) -> None:
    write_attribute(record, holder, str(name), value)


def deletes_attribute(record: Record, holder: object, name: object) -> None:
    write_attribute(record, holder, str(name), ABSENT)


def own_names(record: Record, *args: object) -> None:
    """vars(x) is x.__dict__; without an argument it is locals()."""
    read_attribute(record, args[0], "__dict__") if args else record.lazy("calls vars()")


def makes_iterator(record: Record, value: object, *sentinel: object) -> None:
    record.lazy("calls iter() with a sentinel") if sentinel else iterate(record, value)


def steps(record: Record, iterator: object, *_default: object) -> None:
    advance(record, iterator)


def hashes(record: Record, value: object) -> None:
    """The hash of data is data; the hash of an object is its address."""
    if not is_primitive(value) and not (isinstance(value, tuple) and all(map(is_primitive, value))):
        if not isinstance(special(record, value, "__hash__"), FunctionType):
            record.lazy(f"hashes {describe(value)}, which depends on its address")


def _operator_models() -> dict[object, Model]:
    names = ("add", "and_", "floordiv", "lshift", "matmul", "mul", "mod", "or_", "pow", "rshift", "sub",
             "truediv", "xor")  # fmt: skip
    rows: dict[object, Model] = {}
    for index, name in enumerate(names):
        rows[getattr(operator, name)] = functools.partial(_binary, operator=index)
        in_place = getattr(operator, "i" + name.rstrip("_"))
        rows[in_place] = functools.partial(_binary, operator=index + len(names))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        rows[getattr(operator, name)] = functools.partial(compare, name=f"__{name}__")
    for name in ("neg", "pos", "invert", "abs"):
        rows[getattr(operator, name)] = functools.partial(unary, name=f"__{name}__")
    rows |= {operator.index: scalar, operator.is_: nothing, operator.is_not: nothing}
    rows |= {operator.truth: truth, operator.not_: truth, operator.contains: contains}
    rows |= {operator.getitem: subscript, operator.setitem: _sets_item}
    rows |= {operator.delitem: _deletes_item, operator.concat: functools.partial(_binary, operator=0)}
    return rows | {operator.length_hint: length}


def _binary(record: Record, left: object, right: object, *, operator: int) -> None:
    binary(record, left, right, operator)


def _sets_item(record: Record, holder: object, key: object, _value: object) -> None:
    write_item(record, holder, key)


def _deletes_item(record: Record, holder: object, key: object) -> None:
    write_item(record, holder, key, "deletes an item")


def _math_models() -> dict[object, Model]:
    found = [*vars(math).values(), *vars(cmath).values()]
    rows: dict[object, Model] = {one: scalar for one in found if isinstance(one, BuiltinFunctionType)}
    return rows | {math.prod: adds_up, math.fsum: adds_up, math.dist: iterates}


# Callables that call back are rows of `calls.py`: sorted, min, max, map, filter, reduce, partial.
FUNCTIONS: dict[object, Model] = _operator_models() | _math_models() | {
    len: length, isinstance: of_type, issubclass: of_type, callable: callable_type, getattr: attribute,
    hasattr: attribute, setattr: sets_attribute, delattr: deletes_attribute, vars: own_names,
    iter: makes_iterator, next: steps, sum: adds_up, any: truths, all: truths, abs: scalar,
    round: scalar, divmod: scalar, pow: scalar, repr: texts, format: texts, ascii: texts, ord: scalar,
    chr: scalar, bin: scalar, hex: scalar, oct: scalar, hash: hashes,
    _abc._abc_instancecheck: abstract_check, _abc._abc_subclasscheck: abstract_check,
}  # fmt: skip

TYPES: dict[type, Model] = {
    bool: truth, int: scalar, float: scalar, complex: scalar, str: texts, bytes: iterates, range: scalar,
    slice: nothing, object: nothing, super: nothing, property: nothing, staticmethod: nothing,
    classmethod: nothing, type: makes_class, tuple: iterates, list: iterates, set: iterates,
    frozenset: iterates, dict: iterates, enumerate: iterates, zip: iterates, reversed: iterates,
    collections.OrderedDict: iterates, collections.deque: iterates, collections.defaultdict: default_dict,
    operator.attrgetter: nothing, operator.itemgetter: nothing, operator.methodcaller: nothing,
    itertools.chain: iterates, itertools.cycle: iterates, itertools.islice: iterates,
    itertools.product: iterates, itertools.permutations: iterates, itertools.combinations: iterates,
    itertools.repeat: nothing, itertools.count: scalar, itertools.zip_longest: iterates,
    itertools.pairwise: iterates, np.dtype: deep_content,
}  # fmt: skip


def data_method(record: Record, holder: object, *args: object, **kw: object) -> None:
    """A method of a string or number: pure, if its arguments are plain data too."""
    for value in (holder, *args, *kw.values()):
        deep_content(record, value)
        if not is_primitive(value) and not isinstance(value, (tuple, list, dict, slice)):
            shown(record, value)


def reads_all(record: Record, holder: object, *args: object, **_kw: object) -> None:
    """Reads its container whole, and those it is given."""
    content(record, holder)
    iterates(record, *args)


def measures(record: Record, holder: object) -> None:
    record.read(Kind.LENGTH, holder)


def gets_item(record: Record, holder: object, key: object) -> None:
    c_item(record, holder, key, c_owner(base_of(holder).__getitem__))


def has(record: Record, holder: object, key: object) -> None:
    c_contains(record, holder, key, base_of(holder))


def puts_item(record: Record, holder: object, *_args: object) -> None:
    mutate(record, holder, "sets an item")


def chains(record: Record, _class: object, sources: object) -> None:
    """itertools.chain.from_iterable."""
    iterate(record, sources)
    if elements_of(sources) is None:
        record.lazy("chains what an iterator yields")
    iterates(record, *elements_of(sources) or ())


def finds(record: Record, holder: object, value: object = None, *_rest: object) -> None:
    """index, count: compares each element."""
    c_contains(record, holder, value, base_of(holder))


def looks_up(record: Record, holder: object, key: object, *_default: object) -> None:
    item(record, holder, key)


def joins(record: Record, _holder: object, parts: object) -> None:
    iterate(record, parts)


def dict_from(record: Record, _class: object, keys: object, *_value: object) -> None:
    iterate(record, keys)


def changes(record: Record, holder: object, *args: object, **_kw: object) -> None:
    """Changes its container, and reads those it is given."""
    mutate(record, holder, f"changes a {type(holder).__name__}")
    for value in args:
        if isinstance(value, (list, tuple, dict, set)) or type(value) in ITERATORS:
            iterate(record, value)


def _rows(models: dict[Model, str]) -> dict[str, Model]:
    return {name: model for model, names in models.items() for name in names.split()}


_LIST = _rows({
    finds: "index count __contains__", reads_all: "copy __add__ __mul__ __iter__ __reversed__",
    measures: "__len__", gets_item: "__getitem__", puts_item: "__setitem__ __delitem__",
    changes: "append extend insert pop remove clear sort reverse appendleft extendleft popleft rotate"
             " __iadd__ __imul__ __init__",
})  # fmt: skip
_DICT = _rows({
    looks_up: "get", reads_all: "keys values items copy __iter__ __or__ __reversed__",
    measures: "__len__", gets_item: "__getitem__", has: "__contains__",
    puts_item: "__setitem__ __delitem__", dict_from: "fromkeys",
    changes: "update pop popitem setdefault clear move_to_end __ior__ __init__",
})  # fmt: skip
_SET = _rows({
    reads_all: "copy union intersection difference symmetric_difference issubset issuperset isdisjoint"
               " __iter__ __or__ __and__ __sub__ __xor__",
    measures: "__len__", has: "__contains__",
    changes: "add discard remove pop clear update intersection_update difference_update"
             " symmetric_difference_update __init__",
})  # fmt: skip
_TUPLE = _rows({
    finds: "index count __contains__", nothing: "__getitem__ __len__ __iter__ __add__ __mul__",
    iterates: "__new__",
})  # fmt: skip

METHODS: dict[type, dict[str, Model]] = {
    list: _LIST, collections.deque: _LIST, dict: _DICT, collections.OrderedDict: _DICT,
    collections.defaultdict: _DICT, set: _SET, frozenset: _SET, tuple: _TUPLE,
}  # fmt: skip
DATA_TYPES = (str, bytes, int, float, complex, bool, range, slice, np.generic, np.dtype)


def data_model(owner: type, name: str) -> Model | None:
    """Return the model of the C method `name` of `owner`, or None."""
    if owner in METHODS:
        return METHODS[owner].get(name)
    if owner in DATA_TYPES or issubclass(owner, (int, float, str, np.generic)):
        return joins if name == "join" else data_method
    if name == "from_iterable":
        return chains
    if owner in ITERATORS:
        return steps if name in ("__next__", "send", "throw", "close") else nothing
    return None
