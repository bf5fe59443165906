"""What one recording call has learned so far: guards, lazy reasons, and the objects it made itself."""

import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from itertools import islice
from pathlib import Path
from types import FrameType

import numpy as np

from .places import READ, is_primitive
from .records import ABSENT, Guard, Hooks, Kind, LazyReason, Where

MOST_REASONS = 16  # past these, nothing more is learned by going on


@cache
def _roots() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the folders of the standard library, and those of installed packages."""
    paths = sysconfig.get_paths()
    library, packages = ({paths[a], paths[b]} for a, b in (("stdlib", "platstdlib"), ("purelib", "platlib")))
    packages |= {f"{path}/site-packages" for path in library}
    return tuple(
        tuple(f"{path}/" for path in found | {str(Path(path).resolve()) for path in found})
        for found in (library, packages)
    )  # type: ignore[return-value]


@cache
def is_library_file(filename: str) -> bool:
    """Tell whether `filename` belongs to the standard library or to an installed package."""
    library, packages = _roots()
    return filename.startswith((*library, *packages, "<frozen"))


@cache
def is_helper_file(filename: str) -> bool:
    """Tell whether `filename` belongs to the standard library or NumPy.

    What a framework calls there is its own business; any other package may hold a user's model.
    """
    library, packages = _roots()
    if filename.startswith((_NUMPY, "<frozen")):
        return True
    return filename.startswith(library) and not filename.startswith(packages)


_NUMPY = str(Path(np.__file__).parent) + "/"


def line_of(frame: FrameType) -> int:
    """Return the line that `frame` executes; instructions without one count to what follows."""
    if frame.f_lineno is not None:
        return frame.f_lineno
    rest = islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    return next((spot[0] for spot in rest if spot[0] is not None), frame.f_code.co_firstlineno)


def home_file(frame: FrameType) -> str:
    """Return the file whose code this frame runs; for generated code, that of its module."""
    name = frame.f_code.co_filename
    if name != "<string>":
        return name
    file = frame.f_globals.get("__file__", name)
    return file if isinstance(file, str) else name


class Record:
    """The notebook of one recording call; the models of opcodes and calls write into it.

    `fresh` are objects made during the call: reading and changing them needs no guard. `owned`
    are the call's arguments, whose content the caller compares itself: reading needs no guard.
    Both keep what they name alive, so an id in them names one object until the call ends.
    """

    __slots__ = (
        "hooks", "guards", "reasons", "fresh", "owned", "stored", "resolved", "frame", "alive", "building",
        "muted", "generators",
    )  # fmt: skip

    def __init__(self, hooks: Hooks, owned: Iterable[object] = ()):
        self.hooks = hooks
        self.guards: dict[tuple, Guard] = {}
        self.reasons: dict[tuple[str, int, str], LazyReason] = {}
        self.fresh: dict[int, object] = {}
        self.owned: dict[int, object] = {id(value): value for value in owned}
        self.stored: set[tuple[int, object]] = set()
        self.resolved: set[tuple] = set()  # (id, attribute) of guarded objects: already looked at
        self.generators: dict[int, tuple] = {}  # id of frame -> (generator made here, its Place and trace)
        self.frame: FrameType | None = None
        self.alive: list[object] = []
        self.muted = False  # whether a call whose inside need not be watched is running
        self.building: type | None = None  # the class just called, until its __init__ starts

    def made(self, value: object) -> None:
        """Note that `value` was created during the call."""
        self.fresh[id(value)] = value

    def is_fresh(self, value: object) -> bool:
        return id(value) in self.fresh

    def needs_guard(self, value: object) -> bool:
        return id(value) not in self.fresh and id(value) not in self.owned

    def where(self) -> Where:
        frame = self.frame or self._caller()
        return Where(frame.f_code, frame.f_lasti)

    def read(self, kind: Kind, holder: object, key: object = None, text: str = "") -> object:
        """Return what is at this place now, and guard it unless the call made the holder."""
        found = READ[kind](holder, key)
        if self.needs_guard(holder):
            name = _place(kind, holder, key)
            if name not in self.guards and name[1:] not in self.stored:
                self.guards[name] = Guard(kind, holder, key, found, self.where(), text)
        return found

    def knows(self, kind: Kind, holder: object, key: object) -> bool:
        """Tell whether this place is guarded already, or needs no guard."""
        return _place(kind, holder, key) in self.guards or not self.needs_guard(holder)

    def store(self, holder: object, key: object) -> None:
        """Note that the framework itself wrote this entry of the dict, and will again on replay."""
        self.stored.add((id(holder), _key(key)))
        self.alive.append(holder)

    def lazy(self, text: str) -> None:
        """Note that the user's code at the present line did what a replay cannot do again."""
        frame = self.user_frame()
        file, line = (frame.f_code.co_filename, line_of(frame)) if frame else ("<unknown>", 0)
        key = (file, line, text)
        if len(self.reasons) < MOST_REASONS:
            self.reasons.setdefault(key, LazyReason(file, line, text))

    def user_frame(self) -> FrameType | None:
        """Return the innermost frame of the user's own files, else the innermost traced one."""
        return self._outward(self.frame) or self.frame

    def _caller(self) -> FrameType:
        frame = sys._getframe()
        return self._outward(frame) or frame

    def _outward(self, frame: FrameType | None) -> FrameType | None:
        while frame is not None:
            filename = home_file(frame)
            if not is_library_file(filename) and not self.hooks.is_framework_file(filename):
                return frame
            frame = frame.f_back
        return None

    def close(self) -> None:
        """Let go of everything that was only kept alive for the time of the call."""
        self.frame = self.building = None
        self.fresh.clear()
        self.owned.clear()
        self.alive.clear()
        self.stored.clear()
        self.generators.clear()
        self.resolved.clear()


def _key(key: object) -> object:
    """Return a hashable name of `key` that runs no user code; keys equal to a dict fall together."""
    if key is None or type(key) in (str, int, bool):
        return key
    if type(key) is tuple:
        return tuple(map(_key, key))
    return ("id", id(key)) if not is_primitive(key) else (type(key), repr(key))


def _place(kind: Kind, holder: object, key: object) -> tuple:
    plain = key is None or type(key) is str
    return (kind, id(holder), key if plain else _key(key))


__all__ = ["ABSENT", "MOST_REASONS", "Record", "is_library_file"]
