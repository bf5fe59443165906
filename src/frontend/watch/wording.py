"""How a guard is named in messages: by the user's expression, else by type and attribute."""

import dis
from types import FunctionType

from .node import Node, Spot
from .records import Kind, Where

_LOADS = frozenset(("LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "BINARY_SUBSCR"))
_NAMED_BY_SOURCE = frozenset((Kind.ITEM, Kind.INDEX, Kind.CELL, Kind.SLOT, Kind.CLASS))

_OTHERS = {
    Kind.DICT: "__dict__", Kind.CODE: "__code__", Kind.DEFAULTS: "__defaults__", Kind.MRO: "__mro__",
    Kind.KWDEFAULTS: "__kwdefaults__", Kind.CLOSURE: "__closure__", Kind.CALL: "result",
}  # fmt: skip


def name_of(node: Node, spot: Spot) -> str:
    """Return the shortest true name of a guarded place."""
    if spot.text:
        return spot.text
    if spot.kind in _NAMED_BY_SOURCE and _is_load(spot.where):
        written = spot.where.source()
        name = spot.key[0] if spot.kind is Kind.CLASS else spot.key  # type: ignore[index]
        if written and (not isinstance(name, str) or written.rstrip("'\"]").endswith(name)):
            return written
    return _generic_name(node, spot.kind, spot.key)


def _is_load(where: Where) -> bool:
    """Tell whether the instruction at this place does nothing but read it."""
    return dis.opname[where.code.co_code[where.offset]] in _LOADS


def _generic_name(node: Node, kind: Kind, key: object) -> str:
    holder = _holder_name(node)
    if kind in (Kind.TYPE, Kind.LENGTH, Kind.CONTENT):
        word = {Kind.TYPE: "type of", Kind.LENGTH: "length of", Kind.CONTENT: "content of"}[kind]
        return f"{word} {holder}"
    if kind is Kind.CLASS:
        return f"{holder}.{key[0]}"  # type: ignore[index]
    if kind is Kind.ITEM and _is_instance_dict(node):
        return f"{holder}.{key}"
    if kind is Kind.HAS:
        return f"{key!r} in {holder}"
    if kind in (Kind.ITEM, Kind.INDEX):
        shown = repr(key) if isinstance(key, (str, int)) else type(key).__name__
        return f"{holder}[{shown}]"
    if kind is Kind.CELL:
        return f"variable of {holder}"
    return f"{holder}.{getattr(key, '__name__', _OTHERS.get(kind, '?'))}"


def _is_instance_dict(node: Node) -> bool:
    return node.origin is not None and node.origin.spot.kind is Kind.DICT


def _holder_name(node: Node) -> str:
    """Name a node by what it hangs in, else by its class."""
    anchor = node.origin
    held = node.weak() if node.weak is not None else node.kept
    if isinstance(held, (type, FunctionType)):
        return held.__qualname__
    if anchor is None or not isinstance(held, (dict, list, set, type(None))):
        return node.kind.__name__
    if anchor.spot.kind in (Kind.DICT, Kind.CLOSURE):
        return _holder_name(anchor.node)
    kind, key = anchor.element or (anchor.spot.kind, anchor.spot.key)
    return _generic_name(anchor.node, kind, key)
