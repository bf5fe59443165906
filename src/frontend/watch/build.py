"""From the guards of one recording call to the nodes of a GuardSet, each after what it hangs in."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import CellType, ModuleType

from .guardset import GuardSet
from .layout import heap_layout
from .node import Anchor, Node, Spot
from .places import LISTS, describe, instance_dict, is_primitive
from .records import Guard, Kind

Found = tuple[object, tuple | None, tuple[int, ...]]  # container, element it is, path inside tuples

_HANGING = (dict, *LISTS, set, CellType)


def compile_guards(guards: Iterable[Guard], exact: bool = False) -> GuardSet:
    """Return the check of these guards; with `exact`, one that looks at no memory words.

    Let go of the guards afterwards: they keep alive what the returned set holds weakly.
    """
    guards = list(guards)
    draft = _Draft()
    for guard in guards + _adoptions(guards):
        draft.add(guard)
    return GuardSet(draft.order(), None if exact else heap_layout())


@dataclass(slots=True)
class _Draft:
    """The nodes being made, and where each container was seen hanging."""

    nodes: dict[int, Node] = field(default_factory=dict)
    hanging: dict[int, list[Anchor]] = field(default_factory=dict)

    def add(self, guard: Guard) -> None:
        address = id(guard.holder)
        node = self.nodes.get(address)
        if node is None:
            node = self.nodes[address] = Node(guard.holder)
        spot = Spot(node, guard, describe(guard.expected))
        node.spots.append(spot)
        for container, element, path in _containers(guard):
            self.hanging.setdefault(id(container), []).append(Anchor(node, spot, element, path))

    def order(self) -> list[Node]:
        """Hang every container in its anchors and return all nodes, each after those it hangs in.

        Containers that hang in one another in a circle are kept alive instead.
        """
        for address, node in self.nodes.items():
            node.origin = next(iter(self.hanging.get(address, ())), None)
        anchors = {
            address: self.hanging.get(address, []) if node.weak is None else []
            for address, node in self.nodes.items()
        }
        above = {address: {one.node.address for one in some} for address, some in anchors.items()}
        ordered: dict[int, Node] = {}
        for address in _parents_first(above):
            node = ordered[address] = self.nodes[address]
            if above[address] and above[address] <= ordered.keys() - {address}:
                node.hang(anchors[address])
        return list(ordered.values())


def _parents_first(above: dict[int, set[int]]) -> Iterator[int]:
    """Yield each key after those in its set; of a circle, the one named first comes first."""
    waiting = {key: set(parents) for key, parents in above.items()}
    below: dict[int, list[int]] = {}
    for key, parents in above.items():
        for parent in parents:
            below.setdefault(parent, []).append(key)
    ready = deque(key for key, parents in waiting.items() if not parents)
    while waiting:
        key = ready.popleft() if ready else next(iter(waiting))
        if waiting.pop(key, None) is None:
            continue
        yield key
        for child in below.get(key, ()):
            if child in waiting:
                waiting[child].discard(key)
                if not waiting[child]:
                    ready.append(child)


def _containers(guard: Guard) -> Iterator[Found]:
    """Yield the containers in what a guard expects."""
    if guard.kind is not Kind.CONTENT:
        yield from ((found, None, path) for found, path in _inside(guard.expected, ()))
    elif isinstance(guard.holder, dict):
        for key, value in dict.items(guard.holder):
            yield from ((found, (Kind.ITEM, key), path) for found, path in _inside(value, ()))
    elif type(guard.holder) is list:
        for index, value in enumerate(guard.expected):  # type: ignore[arg-type]
            yield from ((found, (Kind.INDEX, index), path) for found, path in _inside(value, ()))


def _inside(value: object, path: tuple[int, ...]) -> Iterator[tuple[object, tuple[int, ...]]]:
    if type(value) is tuple:
        for index, part in enumerate(value):
            yield from _inside(part, (*path, index))
    elif isinstance(value, _HANGING):
        yield value, path


def _adoptions(guards: list[Guard]) -> list[Guard]:
    """Return guards that say where containers hang of which it was not said.

    A framework declares that it read `_parameters`, and not that this is an attribute of a module.
    Kept alive, the dict would keep alive its parameters; and the module may get another one. So
    look for it in the guarded dicts.
    """
    said = {id(found) for guard in guards for found, _, _ in _containers(guard)}
    orphans = {
        id(guard.holder): guard
        for guard in guards
        if id(guard.holder) not in said and isinstance(guard.holder, _HANGING)
    }
    adopted: list[Guard] = []
    if orphans:
        for owner, names in _dicts_of(guards):
            for key, value in dict.items(names):
                orphan = orphans.get(id(value))
                if orphan is None or orphan.holder is names or not is_primitive(key):
                    continue
                if owner is not names and id(names) not in said:
                    said.add(id(names))
                    adopted.append(Guard(Kind.DICT, owner, None, names, orphan.where))
                adopted.append(Guard(Kind.ITEM, names, key, value, orphan.where))
    return adopted


def _dicts_of(guards: list[Guard]) -> Iterator[tuple[object, dict]]:
    """Yield each guarded dict, and the dict of each guarded instance, with what it belongs to."""
    holders = {id(guard.holder): guard.holder for guard in guards}
    for holder in holders.values():
        names = holder if isinstance(holder, dict) else instance_dict(holder)
        if names is not None and not isinstance(holder, ModuleType):
            yield holder, names
