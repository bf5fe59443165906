"""What each instruction of a user frame reads and does, from the operands on the value stack.

`decode` turns a code object into a table from offsets to (handler, argument), once; instructions
that read no Python state are left out of it, and one of unknown name makes the call lazy.
A handler runs before its instruction. It returns nothing, or where the instruction may make an
object: the depth on the stack at which the result will lie, or the class that is being called.
"""

import dis
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from types import CodeType, FrameType, FunctionType

from .attribute import guard_type, read_attribute, write_attribute
from .calls import call, makes_new
from .layout import VERSION, Stack
from .operate import (
    advance,
    binary,
    compare,
    contains,
    content,
    iterate,
    length,
    shown,
    special,
    subscript,
    truth,
    unary,
    write_item,
)
from .record import Record, home_file
from .records import ABSENT, Kind


class Place:
    """Where a handler runs: the frame, its value stack, and the record it writes to."""

    __slots__ = ("caller", "frame", "record", "stack")

    def __init__(self, frame: FrameType, stack: Stack, record: Record, caller: FrameType | None):
        self.frame, self.stack, self.record, self.caller = frame, stack, record, caller


Result = int | type | None
Handler = Callable[[Place, object], Result]


# Names --------------------------------------------------------------------------------------------


def _load_global(at: Place, name) -> None:
    if at.record.read(Kind.ITEM, at.frame.f_globals, name, name) is ABSENT:
        at.record.read(Kind.ITEM, at.frame.f_builtins, name, name)


def _load_name(at: Place, name) -> None:
    if name not in at.frame.f_locals:
        _load_global(at, name)


def _load_cell(at: Place, index) -> None:
    at.record.read(Kind.CELL, at.stack.slots[index])


def _store_cell(at: Place, index) -> None:
    if not at.record.is_fresh(at.stack.slots[index]):
        at.record.lazy("assigns to a variable of an enclosing function (nonlocal)")


def _store_global(at: Place, name) -> None:
    at.record.lazy(f"assigns to the global {name}")


def _store_name(at: Place, name) -> None:
    if at.frame.f_locals is at.frame.f_globals:
        _store_global(at, name)


# Attributes and items -----------------------------------------------------------------------------


def _load_attr(at: Place, name) -> Result:
    read_attribute(at.record, at.stack.peek(1), name)
    return 1  # a property may make an object


def _load_method(at: Place, name) -> None:
    read_attribute(at.record, at.stack.peek(1), name)


def _store_attr(at: Place, name) -> None:
    write_attribute(at.record, at.stack.peek(1), name, at.stack.peek(2))


def _delete_attr(at: Place, name) -> None:
    write_attribute(at.record, at.stack.peek(1), name, ABSENT)


def _subscript(at: Place, _arg) -> Result:
    subscript(at.record, at.stack.peek(2), at.stack.peek(1))
    return 1


def _store_item(at: Place, _arg) -> None:
    write_item(at.record, at.stack.peek(2), at.stack.peek(1))


def _delete_item(at: Place, _arg) -> None:
    write_item(at.record, at.stack.peek(2), at.stack.peek(1), "deletes an item")


# Operators ----------------------------------------------------------------------------------------


def _binary(at: Place, operator) -> Result:
    binary(at.record, at.stack.peek(2), at.stack.peek(1), operator)
    return 1


def _compare(at: Place, name) -> None:
    compare(at.record, at.stack.peek(2), at.stack.peek(1), name)


def _contains(at: Place, _arg) -> None:
    contains(at.record, at.stack.peek(1), at.stack.peek(2))


def _truth(at: Place, _arg) -> None:
    value = at.stack.peek(1)
    if type(value) is not bool:
        truth(at.record, value)


def _unary(at: Place, _arg, name: str) -> None:
    unary(at.record, at.stack.peek(1), name)


def _format(at: Place, flags) -> None:
    shown(at.record, at.stack.peek(2 if flags & 4 else 1))


def _length(at: Place, _arg) -> None:
    length(at.record, at.stack.peek(1))


# Iteration and building ---------------------------------------------------------------------------


def _new_object(_at: Place, _arg) -> Result:
    return 1


def _iterate(at: Place, _arg) -> None:
    iterate(at.record, at.stack.peek(1))


def _get_iter(at: Place, _arg) -> Result:
    iterate(at.record, at.stack.peek(1))
    return 1


def _advance(at: Place, _arg) -> None:
    advance(at.record, at.stack.peek(1))


def _send(at: Place, _arg) -> None:
    advance(at.record, at.stack.peek(2))


def _unpack_rest(at: Place, counts) -> Result:
    """`a, *b = value` makes a list; it will lie under the names in front of the star."""
    iterate(at.record, at.stack.peek(1))
    return (counts & 0xFF) + 1


# Calls --------------------------------------------------------------------------------------------


def _call(at: Place, arg) -> Result:
    count, names = arg
    args = at.stack.take(count + 1)
    try:
        function = at.stack.peek(count + 2)
    except ValueError:  # NULL: no bound self, the callable lies where self would
        function = args.pop(0)
    return _judge_call(at, function, args, names)


def _judge_call(at: Place, function: object, args: list, names: tuple[str, ...]) -> Result:
    cut = len(args) - len(names)
    call(at.record, function, args[:cut], dict(zip(names, args[cut:], strict=True)))
    if not isinstance(function, type) or not makes_new(function):
        return 1
    at.record.building = function
    return function


def _call_spread(at: Place, flags) -> Result:
    depth = 1 + (flags & 1)
    kw = at.stack.peek(1) if flags & 1 else {}
    args, function = at.stack.peek(depth), at.stack.peek(depth + 1)
    iterate(at.record, args)
    if not isinstance(args, (tuple, list)) or not isinstance(kw, dict):
        at.record.lazy("spreads the elements of an iterator over a call")
        return 1
    content(at.record, kw)
    return _judge_call(at, function, [*args, *dict.values(kw)], tuple(dict.keys(kw)))


def _import(at: Place, name) -> Result:
    """Importing what is loaded already only reads sys.modules; else the module's code would run."""
    level, names = at.stack.peek(2), at.stack.peek(1) or ()
    top, record = name.partition(".")[0], at.record
    loaded = sys.modules.get(name)
    missing = [one for one in names if one not in getattr(loaded, "__dict__", ())]  # type: ignore
    if level != 0 or loaded is None or missing or record.read(
            Kind.ITEM, at.frame.f_builtins, "__import__") is not __import__:  # fmt: skip
        record.lazy(f"imports {name}")
    else:
        record.read(Kind.ITEM, sys.modules, name)
        record.read(Kind.ITEM, sys.modules, top)
    record.muted = True  # until the next instruction: the import system is not the user's
    return 1


def _enter_with(at: Place, _arg) -> Result:
    manager = at.stack.peek(1)
    for name in ("__enter__", "__exit__"):
        if not isinstance(special(at.record, manager, name), FunctionType):
            at.record.lazy(f"enters a {type(manager).__name__}, whose state is not seen")
            break
    return 1


# Patterns, and what is never replayed -------------------------------------------------------------


def _match_type(at: Place, _arg) -> None:
    guard_type(at.record, at.stack.peek(1))


def _match_keys(at: Place, _arg) -> None:
    content(at.record, at.stack.peek(2))


def _caught(at: Place, _arg) -> None:
    """An exception that arises from what is guarded will arise again; one from data may not."""
    error = at.stack.peek(1)
    if not isinstance(error, Exception) or isinstance(error, (MemoryError, RecursionError)):
        at.record.lazy("catches an exception that is not the program's own")
        return
    trace = error.__traceback__
    while trace is not None:
        if at.record.hooks.is_framework_file(home_file(trace.tb_frame)):
            at.record.lazy("catches an exception that may depend on data")
            return
        trace = trace.tb_next


def _lazy(at: Place, _arg, text: str) -> None:
    at.record.lazy(text)


def _refuse(text: str) -> Handler:
    return partial(_lazy, text=text)


HANDLERS: dict[str, Handler] = {
    "LOAD_GLOBAL": _load_global, "LOAD_NAME": _load_name, "LOAD_DEREF": _load_cell,
    "LOAD_CLASSDEREF": _load_cell, "STORE_DEREF": _store_cell, "DELETE_DEREF": _store_cell,
    "STORE_GLOBAL": _store_global, "DELETE_GLOBAL": _store_global, "STORE_NAME": _store_name,
    "DELETE_NAME": _store_name, "LOAD_ATTR": _load_attr, "LOAD_METHOD": _load_method,
    "STORE_ATTR": _store_attr, "DELETE_ATTR": _delete_attr, "BINARY_SUBSCR": _subscript,
    "STORE_SUBSCR": _store_item, "DELETE_SUBSCR": _delete_item, "BINARY_OP": _binary,
    "COMPARE_OP": _compare, "CONTAINS_OP": _contains, "UNARY_NOT": _truth,
    "UNARY_NEGATIVE": partial(_unary, name="__neg__"), "UNARY_INVERT": partial(_unary, name="__invert__"),
    "UNARY_POSITIVE": partial(_unary, name="__pos__"), "FORMAT_VALUE": _format, "GET_LEN": _length,
    "BUILD_LIST": _new_object, "BUILD_SET": _new_object, "BUILD_MAP": _new_object,
    "BUILD_CONST_KEY_MAP": _new_object, "MAKE_FUNCTION": _new_object, "GET_ITER": _get_iter,
    "FOR_ITER": _advance, "UNPACK_SEQUENCE": _iterate, "UNPACK_EX": _unpack_rest,
    "LIST_EXTEND": _iterate, "SET_UPDATE": _iterate, "DICT_UPDATE": _iterate, "DICT_MERGE": _iterate,
    "CALL": _call, "CALL_FUNCTION_EX": _call_spread, "BEFORE_WITH": _enter_with,
    "MATCH_SEQUENCE": _match_type, "MATCH_MAPPING": _match_type, "MATCH_KEYS": _match_keys,
    "MATCH_CLASS": _refuse("matches a class pattern"),
    "IMPORT_NAME": _import, "IMPORT_FROM": _load_attr, "IMPORT_STAR": _refuse("imports a module"),
    "LOAD_BUILD_CLASS": _refuse("defines a class"),
    "PUSH_EXC_INFO": _caught,
    "GET_YIELD_FROM_ITER": _get_iter, "SEND": _send,
    "GET_AWAITABLE": _refuse("awaits"), "GET_AITER": _refuse("awaits"), "GET_ANEXT": _refuse("awaits"),
    "BEFORE_ASYNC_WITH": _refuse("awaits"), "PRINT_EXPR": _refuse("prints"),
    **{f"{jump}_IF_{outcome}{rest}": _truth for outcome in ("TRUE", "FALSE") for jump, rest in (
        ("POP_JUMP_FORWARD", ""), ("POP_JUMP_BACKWARD", ""), ("JUMP", "_OR_POP"))},
}  # fmt: skip

# Instructions that read nothing but the frame's own variables and constants.
SILENT = frozenset(
    (
        "CACHE NOP RESUME POP_TOP PUSH_NULL COPY SWAP LOAD_CONST LOAD_FAST STORE_FAST DELETE_FAST "
        "LOAD_CLOSURE MAKE_CELL COPY_FREE_VARS PRECALL KW_NAMES IS_OP BUILD_TUPLE BUILD_STRING "
        "BUILD_SLICE LIST_TO_TUPLE LIST_APPEND SET_ADD MAP_ADD RETURN_VALUE RETURN_GENERATOR YIELD_VALUE "
        "RAISE_VARARGS RERAISE POP_EXCEPT CHECK_EXC_MATCH CHECK_EG_MATCH PREP_RERAISE_STAR "
        "WITH_EXCEPT_START LOAD_ASSERTION_ERROR ASYNC_GEN_WRAP END_ASYNC_FOR SETUP_ANNOTATIONS "
        "JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT POP_JUMP_FORWARD_IF_NONE "
        "POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE "
        "EXTENDED_ARG"
    ).split()
)

# How the name index is packed into the argument, by version: bits below it are flags.
_NAME_SHIFT = {(3, 11): {"LOAD_GLOBAL": 1}}.get(VERSION, {})
_COMPARISONS = {"<": "__lt__", "<=": "__le__", "==": "__eq__", "!=": "__ne__", ">": "__gt__", ">=": "__ge__"}
_NAMED = frozenset(dis.opname[op] for op in dis.hasname)

Table = dict[int, tuple[Handler, object]]


@lru_cache(maxsize=4096)
def decode(code: CodeType) -> Table:
    """Return the instructions of `code` that are to be looked at, by offset.

    An instruction with EXTENDED_ARG in front is traced at the prefix only, so it stands there.
    """
    raw, table = code.co_code, {}
    extended, start, keywords = 0, None, ()
    for offset in range(0, len(raw), 2):
        name, arg = dis.opname[raw[offset]], raw[offset + 1] | extended
        start = offset if start is None else start
        if name == "EXTENDED_ARG":
            extended = arg << 8
            continue
        if name == "KW_NAMES":
            keywords = code.co_consts[arg]
        handler = _handler(name)
        if handler is not None:
            table[start] = (handler, _argument(code, name, arg, keywords))
        if name == "CALL":
            keywords = ()
        extended, start = 0, None
    return table


def _handler(name: str) -> Handler | None:
    if name in SILENT:
        return None
    return HANDLERS.get(name) or _refuse(f"runs the unknown instruction {name}")


def _argument(code: CodeType, name: str, arg: int, keywords: tuple[str, ...]) -> object:
    if name == "CALL":
        return (arg, keywords)
    if name == "COMPARE_OP":
        return _COMPARISONS[dis.cmp_op[arg]]
    if name in _NAMED:
        return code.co_names[arg >> _NAME_SHIFT.get(name, 0)]
    return arg
