"""One guarded object: how it is found again, and what was read of it."""

from collections.abc import Iterator
from functools import partial
from itertools import repeat

from .places import READ, is_primitive
from .records import ABSENT, Guard, Kind
from .seal import Sealed, Tuple, seal, weakly
from .words import Words


class Spot:
    """One place of a node and what is expected there."""

    __slots__ = ("expected", "key", "kind", "text", "was", "weak_key", "where")

    def __init__(self, node: "Node", guard: Guard, was: str):
        self.kind, self.text, self.where, self.was = guard.kind, guard.text, guard.where, was
        self.expected: Sealed = seal(guard.expected, partial(_expected_died, node))
        strong = is_primitive(guard.key) or type(guard.key) is tuple or guard.kind is Kind.SLOT
        self.weak_key = None if strong else weakly(guard.key)
        self.key = guard.key if self.weak_key is None else None

    def read(self, holder: object) -> object:
        if self.weak_key is None:
            return READ[self.kind](holder, self.key)
        key = self.weak_key()
        return ABSENT if key is None else READ[self.kind](holder, key)

    def one_object(self) -> bool:
        """Tell whether equal addresses mean equal things, for what is found here and in here."""
        parts = self.expected.parts if isinstance(self.expected, Tuple) else ()
        if self.kind is not Kind.CONTENT:
            return not isinstance(self.expected, Tuple)
        return not any(isinstance(part, Tuple) for part in parts)


class Anchor:
    """Where a container hangs: at a spot of that node (or an element of it), inside tuples."""

    __slots__ = ("element", "node", "path", "spot", "weak_key")

    def __init__(self, node: "Node", spot: Spot, element: tuple | None, path: tuple[int, ...]):
        self.node, self.spot, self.path = node, spot, path
        # The key of an entry may be a tensor, which must be free to die.
        weak = None if element is None or is_primitive(element[1]) else weakly(element[1])
        self.element = element if weak is None else (element[0], weak)
        self.weak_key = weak is not None

    def follow(self) -> object:
        """Return what hangs there now, or None."""
        holder = None if self.node.dead else self.node.get()
        if holder is None:
            return None
        if self.element is None:
            found = self.spot.read(holder)
        else:
            kind, key = self.element
            found = READ[kind](holder, key() if self.weak_key else key)
        for index in self.path:
            found = found[index] if type(found) is tuple and index < len(found) else None
        return found


class Node:
    """One guarded object.

    It is held weakly where its type allows that. A list or dict cannot be, so it is found through
    its anchors, other nodes in whose guarded places it hangs; without an anchor it is kept alive.
    """

    __slots__ = (
        "address", "anchors", "children", "dead", "exact", "kept", "kind", "level", "missed", "origin", "pins",
        "plan", "seen", "spots", "streak", "unset", "weak", "words",
    )  # fmt: skip

    def __init__(self, holder: object):
        self.address, self.kind = id(holder), type(holder)
        self.weak = weakly(holder, partial(_holder_died, self))
        self.kept: object = holder if self.weak is None else None
        self.anchors: list[Anchor] = []
        self.origin: Anchor | None = None  # where it was first seen hanging, for messages
        self.children: list[Node] = []
        self.spots: list[Spot] = []
        self.level, self.exact, self.dead = 0, False, False
        self.plan: list[tuple] = []  # how its words are found, see wordplan.py
        self.words: list[tuple[Words, int]] = []  # where each of them stands
        self.pins: object = None  # data that must live while its address is wanted
        self.unset = True  # whether its words were never wanted yet
        self.missed, self.streak = 0, 0
        self.seen: tuple | None = None  # (addresses found right, their keys, their pins)

    def hang(self, anchors: list[Anchor]) -> None:
        """Be found through these anchors from now on, and no longer keep the object alive."""
        self.anchors, self.kept = anchors, None
        for anchor in anchors:
            anchor.node.children.append(self)
        self.level = 1 + max(anchor.node.last_level() for anchor in anchors)

    def last_level(self) -> int:
        """Return the level after which all that hangs in this node is known to be there."""
        return self.level + (self.kind is list)

    def get(self) -> object:
        """Return the object, or None when it died or no longer hangs where it did."""
        if self.weak is not None:
            return self.weak()
        if not self.anchors:
            return self.kept
        for anchor in self.anchors:
            found = anchor.follow()
            if found is not None and id(found) == self.address and type(found) is self.kind:
                return found
        return None

    def below(self) -> Iterator["Node"]:
        """Yield the node and all that hang below it, each after what it hangs in."""
        yield self
        for child in self.children:
            yield from child.below()

    def failing(self, holder: object) -> tuple[Spot, object] | None:
        """Return the first spot that is not as expected, and what is there; None if all are."""
        for spot in self.spots:
            found = spot.read(holder)
            if not spot.expected.match(found):
                return spot, found
        return None

    def holds(self) -> bool:
        """Tell exactly whether all is as expected; an object that died claims nothing."""
        holder = self.get()
        if holder is None:
            return self.dead or self.weak is not None
        seen = self.seen
        if seen is not None and _lies_at(holder, seen[1]) == seen[0]:
            return True
        return self.failing(holder) is None

    def remember(self, holder: object) -> None:
        """Note where all that is guarded lies, after it was found right, if that is quick to get."""
        spots = self.spots
        if not spots or not all(spot.one_object() for spot in spots):
            return
        whole_list = spots[0].kind is Kind.CONTENT and type(holder) is list and len(spots) == 1
        entries = type(holder) is dict and all(
            spot.kind is Kind.ITEM and spot.weak_key is None for spot in spots
        )
        if not whole_list and not entries:
            return
        found = [spot.read(holder) for spot in spots]  # alive until `seen` pins what it must
        if all(spot.expected.match(one) for spot, one in zip(spots, found, strict=True)):
            places = tuple(map(id, found[0] if whole_list else found))
            self.seen = (places, None if whole_list else [spot.key for spot in spots], data_in(found))

    def forget_words(self) -> None:
        for words, index in self.words:
            words.forget(index)
        self.words = []


def _lies_at(holder, keys: list | None) -> tuple[int, ...]:
    """Return the addresses of a list's elements, or of a dict's values under these keys."""
    return tuple(map(id, holder if keys is None else map(holder.get, keys, repeat(ABSENT))))


def data_in(value: object) -> object:
    """Return the immutable data in nested lists and tuples, and nothing that should be free to die."""
    if isinstance(value, (list, tuple)):
        return tuple(map(data_in, value))
    return value if is_primitive(value) else None


def _expected_died(node: Node, _reference: object) -> None:
    """The object expected in some place of the node is gone: look at the place exactly."""
    node.seen = None
    for words, index in node.words:
        words.spoil(index)


def _holder_died(node: Node, _reference: object) -> None:
    """The object is going: let go of its memory, and of what hung in it alone."""
    for one in node.below():
        if one is node or all(anchor.node.dead for anchor in one.anchors):
            one.dead = True
            one.forget_words()
            one.spots, one.kept, one.pins, one.seen = [], None, None, None
