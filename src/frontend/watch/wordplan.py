"""Which words of memory tell that a node changed, and their values once it was found right."""

from enum import Enum
from types import CellType, FunctionType, MemberDescriptorType

from .layout import MANAGED_DICT, HeapLayout
from .node import Node, Spot, data_in
from .places import instance_dict, ordered_dict
from .records import Kind
from .words import Words, word_at

_OF_DICT = frozenset((Kind.ITEM, Kind.HAS, Kind.CONTENT, Kind.LENGTH))
_OF_CLASS = frozenset((Kind.CLASS, Kind.MRO))
_OF_LIST = frozenset((Kind.INDEX, Kind.CONTENT, Kind.LENGTH))
_OF_FUNCTION = {Kind.CODE: 0, Kind.DEFAULTS: 1, Kind.KWDEFAULTS: 2}
_LIST_SIZE, _LIST_ITEMS = 16, 24  # PyListObject, in every version
# PyMemberDescrObject.d_member; PyMemberDef.type and .offset; T_OBJECT_EX: in every version
_MEMBER, _MEMBER_TYPE, _MEMBER_OFFSET, _OBJECT = 40, 8, 16, 16
type_lookup = type.__getattribute__


class Value(Enum):
    """What a word is wanted to be, where it is not the address of what a spot holds."""

    VERSION = "as it was read just before the node was found right"
    LENGTH = "length of the list"
    TYPE = "list"


Entry = tuple[int, str, int, "Value | Spot | int"]  # level, width, address, value (int: list index)


def plan_words(node: Node, holder: object, layout: HeapLayout) -> list[Entry] | None:
    """Return the words that change when the node does; None when only an exact check can tell."""
    found: dict[int, Entry] = {}
    for spot in node.spots:
        entries = _entries(node, holder, spot, layout)
        if entries is None:
            return None
        if not spot.one_object() and any(entry[3] is not Value.VERSION for entry in entries):
            return None
        found |= {entry[2]: entry for entry in entries}
    return list(found.values())


def _entries(node: Node, holder: object, spot: Spot, layout: HeapLayout) -> list[Entry] | None:
    kind, level, start = spot.kind, node.level, node.address
    if kind is Kind.CLOSURE:
        return []
    if kind in _OF_DICT and isinstance(holder, dict):
        words: list[Entry] = [(level, "Q", start + layout.dict_version, Value.VERSION)]
        if ordered_dict(holder) and kind is Kind.CONTENT:
            words.append((level, "Q", start + layout.dict_order, Value.VERSION))
        return words
    if kind in _OF_LIST and type(holder) is list:
        return _list_entries(node, holder, spot, layout)
    if kind in _OF_CLASS and isinstance(holder, type):
        type_lookup(holder, "__module__")  # a lookup gives the type a version if it has none
        address = start + layout.type_version
        return [(level, "I", address, Value.VERSION)] if word_at(address, "I") else None
    if kind is Kind.SLOT:
        address = _slot_pointer(holder, spot, start)
    else:
        address = _pointer(holder, kind, start, layout)
    return None if address is None else [(level, "Q", address, spot)]


def _pointer(holder: object, kind: Kind, start: int, layout: HeapLayout) -> int | None:
    """Return where the holder keeps its reference to what the spot holds."""
    if kind is Kind.TYPE:
        return start + layout.type
    if kind is Kind.DICT:
        return _dict_pointer(holder, start, layout)
    if kind is Kind.CELL and type(holder) is CellType:
        return start + layout.cell
    if kind in _OF_FUNCTION and type(holder) is FunctionType:
        return start + layout.function[_OF_FUNCTION[kind]]
    return None


def _dict_pointer(holder: object, start: int, layout: HeapLayout) -> int | None:
    owner = type(holder)
    if owner.__flags__ & MANAGED_DICT:
        address = start + layout.managed_dict
    elif owner.__dictoffset__ > 0:
        address = start + owner.__dictoffset__
    else:
        return None
    names = instance_dict(holder)
    return address if names is not None and word_at(address) == id(names) else None


def _slot_pointer(holder: object, spot: Spot, start: int) -> int | None:
    """Return where the instance keeps what a `__slots__` entry holds."""
    if not isinstance(spot.key, MemberDescriptorType):
        return None
    definition = word_at(id(spot.key) + _MEMBER)
    if word_at(definition + _MEMBER_TYPE, "I") != _OBJECT:
        return None
    address = start + word_at(definition + _MEMBER_OFFSET)
    return address if word_at(address) == id(spot.read(holder)) else None


def _list_entries(node: Node, holder: list, spot: Spot, layout: HeapLayout) -> list[Entry]:
    start, level = node.address, node.level
    entries: list[Entry] = [
        (level, "Q", start + layout.type, Value.TYPE),
        (level, "Q", start + _LIST_SIZE, Value.LENGTH),
    ]
    if spot.kind is Kind.LENGTH:
        return entries
    items = word_at(start + _LIST_ITEMS)
    indexes = range(len(holder)) if spot.kind is Kind.CONTENT else [spot.key % max(len(holder), 1)]
    entries += [(level + 1, "Q", items + 8 * index, index) for index in indexes if index < len(holder)]
    # Last, and so wanted last: the items are looked at only where this word was right.
    return [*entries, (level, "Q", start + _LIST_ITEMS, Value.VERSION)]


def measure(node: Node, holder: object, layout: HeapLayout) -> list[tuple[int, int]] | None:
    """Return (address, value) of each word of a node found right, None when it is not right.

    Versions are read before the node is looked at: a change in between is then seen later on.
    """
    if node.kind is list:
        plan = plan_words(node, holder, layout) or []
        node.plan = plan
    plan = node.plan
    if isinstance(holder, type):
        type_lookup(holder, "__module__")  # after a change it has no version until it is looked at
    before = [_version(entry) if entry[3] is Value.VERSION else 0 for entry in plan]
    if node.kind is list:
        holder = list(holder)  # type: ignore[call-overload]
    found = {spot: spot.read(holder) for spot in node.spots}
    if not all(spot.expected.match(value) for spot, value in found.items()):
        return None
    node.pins = data_in(list(found.values()))
    return [
        (entry[2], _value(entry[3], version, holder, found))
        for entry, version in zip(plan, before, strict=True)
    ]


def _version(entry: Entry) -> int:
    """Return the word as it is; where a type has no version, one that no type has."""
    return word_at(entry[2], entry[1]) or int(entry[1] == "I")


def _value(source: object, version: int, holder, found: dict) -> int:
    if source is Value.VERSION:
        return version
    if source is Value.LENGTH:
        return len(holder)
    if source is Value.TYPE:
        return id(list)
    return id(found[source]) if isinstance(source, Spot) else id(holder[source])


def lay_out(nodes: list[Node]) -> list[Words]:
    """Return the words of all nodes in the order of comparison, and tell each node its own."""
    addresses: dict[tuple[int, str], list[int]] = {}
    places: list[list[tuple[tuple[int, str], int]]] = []
    for node in nodes:
        mine = []
        for level, code, address, _ in node.plan:
            layer = addresses.setdefault((level, code), [])
            mine.append(((level, code), len(layer)))
            layer.append(address)
        places.append(mine)
    made = {key: Words(addresses[key], key[1]) for key in sorted(addresses)}
    for node, mine in zip(nodes, places, strict=True):
        node.words = [(made[key], index) for key, index in mine]
        node.unset = True
    return list(made.values())
