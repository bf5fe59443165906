"""What a call reads and does, judged before it runs, from the callable and its arguments."""

import functools
import operator
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)

import numpy as np

from .attribute import guard_class, read_attribute, read_generic, write_plainly
from .operate import (
    compare,
    deep_content,
    elements_of,
    iterate,
    shown,
    special,
    subscript,
)
from .places import class_attribute, describe, is_primitive, mro_of
from .pure import FUNCTIONS, METHODS, TYPES, data_model, hashes
from .record import Record, is_helper_file
from .records import ABSENT

_LRU = type(functools.lru_cache(lambda: None))
_PARTIAL_FIELDS = functools.partial.__dict__
_GETTERS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)
_TYPE_CALL = type.__call__
_DISPATCHER = type(np.sum)
# NumPy functions that only look at what they are given; on plain data they are pure
_NUMPY_DATA = frozenset(
    (np.prod, np.sum, np.mean, np.max, np.min, np.ceil, np.floor, np.round, np.clip, np.isclose)
)


def call(record: Record, function: object, args: list, kw: dict[str, object]) -> None:
    """Guard what the call reads; note it as lazy when what it does cannot be known."""
    if _is_known(record, function):
        hand_over(record, args, kw)
        return
    model = _BY_TYPE.get(type(function))
    if model is not None:
        model(record, function, args, kw)
    elif isinstance(function, type):
        _construct(record, function, args, kw)
    elif isinstance(function, functools.partial):
        _partial(record, function, args, kw)
    else:
        _instance(record, function, args, kw)


def _is_known(record: Record, function: object) -> bool:
    return any(function is one for one in record.hooks.known_calls)


def hand_over(record: Record, args: list, kw: dict[str, object]) -> None:
    """Guard the containers given to code that is not watched: it may read all of them."""
    for value in (*args, *kw.values()):
        deep_content(record, value)
        _callable_handed_over(record, value)


def _callable_handed_over(record: Record, value: object) -> None:
    """Code that is not watched may call what it is given; only calls of Python code are seen then."""
    while isinstance(value, (functools.partial, MethodType)):
        value = value.func if isinstance(value, functools.partial) else value.__func__
    if isinstance(value, FunctionType):
        unseen = is_helper_file(value.__code__.co_filename)
    else:
        unseen = isinstance(value, _C_CALLABLES) and FUNCTIONS.get(value) is None
        unseen |= _reads_by_helper(value)
    if unseen and not _is_known(record, value):
        record.lazy(f"hands {describe_call(value)} to code that may call it unseen")


def _reads_by_helper(value: object) -> bool:
    """Tell whether the elements of `value` are read by Python code of the standard library."""
    if is_primitive(value) or isinstance(value, (type, tuple, list, dict, set)):
        return False
    found = [class_attribute(type(value), slot) for slot in ("__iter__", "__getitem__")]
    return any(isinstance(one, FunctionType) and is_helper_file(one.__code__.co_filename) for one in found)


_C_CALLABLES = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, MethodWrapperType, _LRU)


def _function(record: Record, function, args: list, kw: dict) -> None:
    # The user's functions are watched in their own frame.
    if record.hooks.is_framework_file(function.__code__.co_filename):
        hand_over(record, args, kw)


def _method(record: Record, method, args: list, kw: dict) -> None:
    call(record, method.__func__, [method.__self__, *args], kw)


def _partial(record: Record, made, args: list, kw: dict) -> None:
    function, fixed, named = (_PARTIAL_FIELDS[name].__get__(made) for name in ("func", "args", "keywords"))
    if not record.is_fresh(made):
        deep_content(record, named)
    call(record, function, [*fixed, *args], {**named, **kw})


def _cached(record: Record, function, args: list, kw: dict) -> None:
    inner = getattr(function, "__wrapped__", None)
    if isinstance(inner, FunctionType) and record.hooks.is_framework_file(inner.__code__.co_filename):
        hand_over(record, args, kw)
        return
    record.lazy(f"calls {describe_call(function)}, a cache whose state is not seen")


def _builtin(record: Record, function, args: list, kw: dict) -> None:
    """A function written in C: of a module, or bound to an object."""
    model = FUNCTIONS.get(function)
    if model is not None:
        _apply(record, model, args, kw, function)
        return
    caller = _CALLING_BACK.get(function)
    if caller is not None:
        caller(record, args, kw)
        return
    holder = function.__self__
    if function.__name__ == "__new__" and isinstance(holder, type):
        _new(record, holder, args, kw)
        return
    owner = holder if isinstance(holder, type) else type(holder)
    if holder is not None and not isinstance(holder, _MODULE):
        _c_method(record, _owner_of(owner, function.__name__), function.__name__, [holder, *args], kw)
    else:
        _unknown(record, function)


_MODULE = type(operator)


def _owner_of(owner: type, name: str) -> type:
    """Return the class of the MRO that defines the method in C."""
    for base in mro_of(owner):
        if isinstance(base.__dict__.get(name), _C_METHODS):
            return base
    return owner


_C_METHODS = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType, staticmethod)


def _descriptor(record: Record, method, args: list, kw: dict) -> None:
    _c_method(record, method.__objclass__, method.__name__, args, kw)


def _wrapper(record: Record, method, args: list, kw: dict) -> None:
    holder, name = method.__self__, method.__name__
    _c_method(record, method.__objclass__, name, [holder, *args], kw)


def _c_method(record: Record, owner: type, name: str, args: list, kw: dict) -> None:
    model = data_model(owner, name)
    if model is not None:
        _apply(record, model, args, kw, f"{owner.__name__}.{name}")
        if name == "sort":
            _call_back(record, kw.get("key"), args[0])
        return
    protocol = _PROTOCOL.get(name)
    if protocol is not None and owner in (object, type, FunctionType, MethodType, super, BaseException):
        protocol(record, args, kw)
    else:
        _unknown(record, f"{owner.__name__}.{name}")


def _apply(record: Record, model, args: list, kw: dict, function: object) -> None:
    try:
        model(record, *args, **kw)
    except TypeError:  # wrong arguments for the function too, or a row that does not know this use
        _unknown(record, function)


def _unknown(record: Record, function: object) -> None:
    name = function if isinstance(function, str) else describe_call(function)
    record.lazy(f"calls {name}, which is not known to be pure")


def describe_call(function: object) -> str:
    """Return a readable name of a callable without running user code."""
    if isinstance(function, (BuiltinFunctionType, FunctionType, _LRU)):
        module = getattr(function, "__module__", None)
        own = module if isinstance(module, str) and module != "builtins" else ""
        return f"{own}.{function.__qualname__}".lstrip(".")
    return describe(function)


def _instance(record: Record, holder: object, args: list, kw: dict) -> None:
    """An object with `__call__`."""
    if isinstance(holder, _GETTERS):
        _getter(record, holder, args, kw)
        return
    found = special(record, holder, "__call__")
    if isinstance(found, FunctionType):
        _function(record, found, [holder, *args], kw)
    elif not _plain_numpy(record, holder, args, kw):
        _unknown(record, holder)


def _plain_numpy(record: Record, function: object, args: list, kw: dict) -> bool:
    """Tell whether this is a NumPy function that only computes, on plain data."""
    if isinstance(function, np.ufunc):
        return all(map(is_primitive, args)) and not kw
    if type(function) is not _DISPATCHER or not any(function is one for one in _NUMPY_DATA):
        return False
    record.muted = all(_plain_data(value) for value in (*args, *kw.values()))
    return record.muted


def _plain_data(value: object) -> bool:
    return is_primitive(value) or (isinstance(value, tuple) and all(map(_plain_data, value)))


def _getter(record: Record, getter, args: list, kw: dict) -> None:
    """operator.attrgetter and its kin; their arguments are read back from their pickled form."""
    names = getter.__reduce__()[1]
    if isinstance(getter, operator.attrgetter):
        for dotted in names:
            _read_path(record, args[0], dotted)
    elif isinstance(getter, operator.itemgetter):
        for key in names:
            subscript(record, args[0], key)
    elif names and isinstance(names[0], str):
        read_attribute(record, args[0], names[0])
        call(record, getattr(args[0], names[0]), list(names[1:]), kw)


def _read_path(record: Record, holder: object, dotted: str) -> None:
    first, _, rest = dotted.partition(".")
    read_attribute(record, holder, first)
    if rest:
        record.lazy(f"reads the dotted name {dotted} by attrgetter")


# Making objects -----------------------------------------------------------------------------------


def _construct(record: Record, cls: type, args: list, kw: dict) -> None:
    """A class that is called: metaclass, `__new__`, `__init__`."""
    model = TYPES.get(cls)
    if model is not None:
        _apply(record, model, args, kw, cls)
        return
    caller = _CALLING_BACK.get(cls)
    if caller is not None:
        caller(record, args, kw)
        return
    if isinstance(guard_class(record, type(cls), "__call__"), FunctionType):
        return
    new, init = guard_class(record, cls, "__new__"), guard_class(record, cls, "__init__")
    _construct_part(record, cls, new, args, kw)
    if isinstance(init, FunctionType):
        _function(record, init, args, kw)


def _construct_part(record: Record, cls: type, new: object, args: list, kw: dict) -> None:
    inner = new.__func__ if isinstance(new, staticmethod) else new
    if isinstance(inner, FunctionType):
        _function(record, inner, args, kw)
    elif isinstance(inner, BuiltinFunctionType) and isinstance(inner.__self__, type):
        _new(record, inner.__self__, [cls, *args], kw)
    else:
        _unknown(record, cls)


def _new(record: Record, base: type, args: list, kw: dict) -> None:
    """base.__new__(cls, ...), of a type written in C."""
    if base is object or issubclass(base, BaseException):
        return
    model = TYPES.get(base)
    if model is not None:
        _apply(record, model, args[1:], kw, base)
    elif issubclass(base, np.generic) and all(map(is_primitive, args[1:])) or base is functools.partial:
        return
    else:
        _unknown(record, base)


def makes_new(cls: type) -> bool:
    """Tell whether calling `cls` surely gives a new object, whatever its `__init__` does."""
    if isinstance(class_attribute(type(cls), "__call__"), FunctionType):
        return False
    new = class_attribute(cls, "__new__")
    if not isinstance(new, BuiltinFunctionType):
        return False
    base = new.__self__
    return base is object or base in METHODS or issubclass(base, BaseException)


# Calls back into Python ---------------------------------------------------------------------------


def _call_back(record: Record, function: object, *sources: object) -> None:
    """Judge `function` applied to the elements of the sources by code written in C."""
    if function is None or isinstance(function, FunctionType):
        return
    columns = [elements_of(source) for source in sources]
    if any(column is None for column in columns):
        record.lazy(f"applies {describe_call(function)} to what {describe(sources[0])} yields")
        return
    for row in zip(*columns, strict=False):  # type: ignore[arg-type]
        call(record, function, list(row), {})


def _sorted(record: Record, args: list, kw: dict) -> None:
    iterate(record, args[0])
    _call_back(record, kw.get("key"), args[0])
    if kw.get("key") is None:
        _compare_all(record, args[0])


def _compare_all(record: Record, values: object) -> None:
    for value in elements_of(values) or ():
        compare(record, value, None, "__lt__")


def _extreme(record: Record, args: list, kw: dict) -> None:
    values = args if len(args) > 1 else args[0]
    if len(args) == 1:
        iterate(record, values)
    _call_back(record, kw.get("key"), values)
    if kw.get("key") is None:
        _compare_all(record, values)


def _mapping(record: Record, args: list, _kw: dict) -> None:
    for source in args[1:]:
        iterate(record, source)
    _call_back(record, args[0], *args[1:])


def _reduce(record: Record, args: list, _kw: dict) -> None:
    iterate(record, args[1])
    if isinstance(args[0], FunctionType):
        return
    values = elements_of(args[1])
    if values is None:
        record.lazy(f"reduces what {describe(args[1])} yields")
        return
    data = all(is_primitive(one) or record.hooks.is_value(one) for one in (*values, *args[2:]))
    if not any(args[0] is one for one in _ARITHMETIC) or not data:
        _unknown(record, args[0])
        return
    for value in values:
        call(record, args[0], [value, value], {})


_ARITHMETIC = (operator.add, operator.mul, operator.sub, operator.and_, operator.or_, operator.xor,
               operator.matmul, operator.truediv, operator.floordiv)  # fmt: skip


def _makes_partial(_record: Record, _args: list, _kw: dict) -> None:
    """functools.partial(f, ...) only keeps what it is given."""


_CALLING_BACK = {
    sorted: _sorted, min: _extreme, max: _extreme, map: _mapping, filter: _mapping,
    functools.reduce: _reduce, functools.partial: _makes_partial,
}  # fmt: skip


# Slots called by name, as by super().__setattr__(...) ---------------------------------------------


def _sets(record: Record, args: list, _kw: dict) -> None:
    write_plainly(record, args[0], args[1], args[2])


def _deletes(record: Record, args: list, _kw: dict) -> None:
    write_plainly(record, args[0], args[1], ABSENT)


def _gets(record: Record, args: list, _kw: dict) -> None:
    read_generic(record, args[0], args[1])


_PROTOCOL = {
    "__init__": lambda record, args, kw: None,
    "__init_subclass__": lambda record, args, kw: None,
    "__new__": lambda record, args, kw: _new(record, object, args, kw),
    "__setattr__": _sets,
    "__delattr__": _deletes,
    "__getattribute__": _gets,
    "__call__": lambda record, args, kw: call(record, args[0], args[1:], kw),
    "__eq__": lambda record, args, kw: compare(record, args[0], args[1]),
    "__ne__": lambda record, args, kw: compare(record, args[0], args[1]),
    "__str__": lambda record, args, kw: shown(record, args[0]),
    "__repr__": lambda record, args, kw: shown(record, args[0]),
    "__format__": lambda record, args, kw: shown(record, args[0]),
    "__hash__": lambda record, args, kw: hashes(record, args[0]),
    "__get__": lambda record, args, kw: None,
    "__instancecheck__": lambda record, args, kw: None,
    "__subclasscheck__": lambda record, args, kw: None,
}

_BY_TYPE = {
    FunctionType: _function,
    MethodType: _method,
    BuiltinFunctionType: _builtin,
    MethodDescriptorType: _descriptor,
    WrapperDescriptorType: _descriptor,
    ClassMethodDescriptorType: _descriptor,
    MethodWrapperType: _wrapper,
    _LRU: _cached,
}
