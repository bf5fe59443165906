"""The records a watch hands out: what was read (`Guard`), what cannot be replayed (`LazyReason`)."""

import linecache
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice
from types import CodeType


class Absent:
    """The one value that stands for «nothing there»: no such key, attribute or cell content."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()


class Kind(IntEnum):
    """Which place of the holder was read; the comment says what `Guard.key` is."""

    TYPE = 0  # type(holder)
    DICT = 1  # holder.__dict__, the dict itself
    SLOT = 2  # key: the member or getset descriptor
    ITEM = 3  # key: of the dict
    HAS = 4  # key: of the dict or set; only its presence counts
    CONTENT = 5  # all elements in order; of a dict, all keys then all values
    LENGTH = 6
    INDEX = 7  # key: of the list or deque
    CELL = 8  # the content of a closure cell
    CLASS = 9  # key: (name, class after which super() starts, or None)
    CODE = 10
    DEFAULTS = 11
    KWDEFAULTS = 12
    CLOSURE = 13  # cannot change; says which function keeps the cells
    MRO = 14
    CALL = 15  # the holder is a pure C function of no arguments


@dataclass(frozen=True, slots=True)
class Where:
    """A place in user code: the instruction at `offset` of `code`."""

    code: CodeType
    offset: int

    @property
    def line(self) -> int:
        spot = next(islice(self.code.co_positions(), self.offset // 2, None), None)
        return (spot[0] if spot else None) or self.code.co_firstlineno

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.line}"

    def source(self) -> str:
        """Return the source of the expression read here, or "" when it is not on one line."""
        spot = next(islice(self.code.co_positions(), self.offset // 2, None), None)
        if spot is None or None in spot or spot[0] != spot[1]:
            return ""
        text = linecache.getline(self.code.co_filename, spot[0]).encode()
        return text[spot[2] : spot[3]].decode()


@dataclass(frozen=True, slots=True)
class Guard:
    """One place of one object and what was found there.

    A guard holds both strongly, so it is for the time of recording only; `compile_guards` makes
    from a list of them the long-lived check, which holds weakly what it can.
    """

    kind: Kind
    holder: object
    key: object
    expected: object
    where: Where
    text: str = ""  # how the user's source names the place, where the guard knows better


@dataclass(frozen=True, slots=True)
class LazyReason:
    """One thing that Python did and a replay could not do again, with the user's line."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.text} ({self.file}:{self.line})"


def _never(_: object) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a watch must be told about the framework it works for.

    `is_value(o)`: reads of and writes to `o` are the framework's business (a Tensor).
    `is_managed(o)`: the framework handles a value assigned to an attribute of `o` (a Module).
    `known_calls`: further callables that are pure, or handled by the framework.
    """

    is_framework_file: Callable[[str], bool]
    is_value: Callable[[object], bool] = _never
    is_managed: Callable[[object], bool] = _never
    known_calls: frozenset[object] | set[object] = field(default_factory=frozenset)
