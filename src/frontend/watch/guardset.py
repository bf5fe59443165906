"""The long-lived check that `compile_guards` makes from the guards of one recording call.

Each guarded object is a node. What tells that a node did not change is a word or two of memory
(a dict's version, a type's version, a pointer), and the words of all nodes are compared in a few
C calls, level by level: a container that hangs in another is looked at only after the words of
that other were found unchanged, so it is known to be there. When a word differs, the node is
checked exactly and the word is wanted anew. A node whose words change all the time, or that has
none on this Python, is checked exactly at every call.
"""

from collections.abc import Callable
from itertools import count
from threading import Lock

from .layout import HeapLayout
from .node import Node
from .places import describe
from .wording import name_of
from .wordplan import lay_out, measure, plan_words
from .words import Words, word_at

# A node whose words change this many times, each within so many checks of the last, is volatile.
TIMES, WITHIN = 3, 32


class GuardSet:
    """Whether everything that one recording call read is still the same.

    `check()` is the fast answer, `first_failure()` says in words what changed, `texts` lists all
    guards. Objects are held weakly; what is guarded of an object that died counts as unchanged,
    a place where the dead object was expected as changed.

    >>> from treadle.frontend.watch import Hooks, Watch, compile_guards
    >>> scale = {"factor": 2}
    >>> def fn(x):
    ...     return x * scale["factor"]
    >>> with Watch(fn, Hooks(is_framework_file=lambda name: False)) as watch:
    ...     result = fn(3)
    >>> guards = compile_guards(watch.guards)
    >>> guards.check()
    True
    >>> scale["factor"] = 5
    >>> guards.check()
    False
    """

    def __init__(self, nodes: list[Node], layout: HeapLayout | None):
        self.nodes, self._layout = nodes, layout
        self._lock, self._calls = Lock(), count()
        self._levels: list[Words] = []
        self._exact: list[Node] = []
        self._unchanged: Callable[[], bool] = bool
        self._build()

    def check(self) -> bool:
        """Tell whether all guards hold."""
        next(self._calls)
        if not self._unchanged():
            return self._check_slowly()
        for node in self._exact:
            if not node.holds():
                return False
        return True

    def first_failure(self) -> str:
        """Return which guard fails and how, "" when all hold."""
        for node in self.nodes:
            holder = node.get()
            failing = None if holder is None else node.failing(holder)
            if failing is not None:
                spot, found = failing
                return f"{name_of(node, spot)} was {spot.was}, is {describe(found)} ({spot.where})"
        return ""

    @property
    def texts(self) -> list[str]:
        """Return one line for each guard."""
        return [
            f"{name_of(node, spot)} is {spot.was} ({spot.where})"
            for node in self.nodes
            for spot in node.spots
        ]

    def _check_slowly(self) -> bool:
        """Check exactly each node whose words changed, and want its words as they are now."""
        if not self._lock.acquire(blocking=False):  # another thread, or a finalizer amid this one
            return all(node.holds() for node in self.nodes)
        try:
            return self._refresh()
        finally:
            self._lock.release()

    def _refresh(self) -> bool:
        now, rebuild = next(self._calls), False
        for node in self.nodes:
            holder = node.get()
            if holder is None or node.exact or self._layout is None:
                if not node.holds():
                    return False
                if holder is not None:
                    node.remember(holder)
                continue
            if not node.unset and node.kind is not list and _words_unchanged(node):
                continue
            first, renewed = node.unset, _renew(node, holder, self._layout)
            if renewed is None:
                return False
            rebuild |= not renewed or (not first and _grows_volatile(node, now))
        if rebuild:
            self._build()
        return True

    def _build(self) -> None:
        """Lay out the words of all nodes anew."""
        kept = [node.get() for node in self.nodes]  # none may die while its words are laid out
        for node, holder in zip(self.nodes, kept, strict=True):
            hangs_loose = any(anchor.node.exact for anchor in node.anchors)
            planned = None
            if self._layout is not None and holder is not None and not (node.exact or hangs_loose):
                planned = plan_words(node, holder, self._layout)
            node.exact, node.plan = planned is None and not node.dead, planned or []
        retired, self._levels = self._levels, lay_out(self.nodes)
        self._exact = [node for node in self.nodes if node.exact]
        self._unchanged = _comparison(self._levels)
        for words in retired:
            words.retire()
        for node in self.nodes:
            if node.dead:
                node.forget_words()
        del kept


def _comparison(levels: list[Words]) -> Callable[[], bool]:
    """Return a function that compares all words.

    One expression, so that no other thread runs between two levels: CPython may switch threads
    at calls and jumps only, and a container known to be there could be freed meanwhile.
    """
    if not levels:
        return lambda: True
    arguments = ", ".join(f"v{i}=v{i}, g{i}=g{i}" for i in range(len(levels)))
    names: dict[str, object] = {}
    for i, words in enumerate(levels):
        names[f"v{i}"], names[f"g{i}"] = words.view, words.goal
    text = " and ".join(f"v{i} == g{i}" for i in range(len(levels)))
    return eval(f"lambda {arguments}: {text}", names)


def _words_unchanged(node: Node) -> bool:
    return all(
        word_at(entry[2], entry[1]) == words.wanted[index]
        for entry, (words, index) in zip(node.plan, node.words, strict=True)
    )


def _renew(node: Node, holder: object, layout: HeapLayout) -> bool | None:
    """Want the node's words as they are: None if it is not right, False if it needs other words."""
    places = node.words
    measured = measure(node, holder, layout)
    if measured is None:
        return None
    if len(measured) != len(places):
        return False
    if places:
        places[-1][0].spoil(places[-1][1])  # a list's pointer to its items: wanted again at the end
    for (words, index), (address, value) in zip(places, measured, strict=True):
        words.pointers[index], words.wanted[index] = address, value
    node.unset = False
    if node.dead:
        for words, index in places:
            words.forget(index)
    return True


def _grows_volatile(node: Node, now: int) -> bool:
    """Count a change of the node's words; tell whether they change too often to be of use."""
    node.streak = node.streak + 1 if now - node.missed < WITHIN else 1
    node.missed = now
    if node.streak < TIMES:
        return False
    for one in node.below():
        one.exact = True
    return True
