"""How framework code, which is not watched, tells the running watch what it read itself."""

import sys
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING

from .attribute import read_attribute
from .calls import call
from .operate import ALL, content, deep_content, item
from .places import instance_dict
from .record import Record

if TYPE_CHECKING:
    from .watch import Watch

# The innermost watch of each thread that records; empty nearly always, so a declaration is cheap.
active: dict[int, "Watch"] = {}


def declare_attr(obj: object, name: str) -> None:
    """Note that the framework read `obj.name`; does nothing when no call is being recorded."""
    if active:
        _note((id(obj), name), read_attribute, obj, name)


def declare_item(mapping: dict, key: object) -> None:
    """Note that the framework read `mapping[key]`, or looked for it in vain."""
    if active:
        _note(None, item, mapping, key)


def declare_content(container: object) -> None:
    """Note that the framework read all of a list, dict or set, with the containers inside."""
    if active:
        _note((id(container), ALL), deep_content, container)


def declare_elements(container: object) -> None:
    """Note that the framework read the elements of a list, dict or set, not what is inside them."""
    if active:
        _note((id(container), ALL), content, container)


def declare_call(function: Callable, *args: object) -> None:
    """Note that the framework is about to call what a user gave it, such as a hook."""
    if active:
        _note(None, _call, function, args)


def declare_store(obj: object, name: str) -> None:
    """Note that the framework wrote `obj.name` and will again on replay: later reads are its own."""
    if active:
        _note(None, _store, obj, name)


def declare_lazy(text: str) -> None:
    """Note that the framework did something that a replay cannot do again."""
    if active:
        _note(None, Record.lazy, text)


def _call(record: Record, function: Callable, args: tuple) -> None:
    call(record, function, list(args), {})


def _store(record: Record, obj: object, name: str) -> None:
    names = instance_dict(obj)
    if names is not None:
        record.store(names, name)


def _note(resolved: tuple | None, model: Callable[..., object], *args: object) -> None:
    """Apply a model to this thread's record, untraced: tracing our own frames would cost most."""
    watch = active.get(get_ident())
    if watch is None or watch.pauses or resolved in watch.record.resolved:
        return
    if sys.gettrace() is not watch.trace:
        model(watch.record, *args)
        return
    sys.settrace(None)
    try:
        model(watch.record, *args)
    finally:
        sys.settrace(watch.trace)


class suspended:  # noqa: N801, used like a function
    """A stretch of framework code that calls nothing of the user's: not recorded, at full speed.

    Even where nothing of it is watched, traced code runs at half its speed.
    """

    __slots__ = ("traced", "watch")

    def __enter__(self) -> None:
        self.watch = watch = active.get(get_ident()) if active else None
        if watch is None:
            return
        watch.pauses += 1
        self.traced = sys.gettrace() is watch.trace
        if self.traced:
            sys.settrace(None)

    def __exit__(self, *_exc: object) -> None:
        if self.watch is None:
            return
        self.watch.pauses -= 1
        if self.traced and sys.gettrace() is None:
            sys.settrace(self.watch.trace)
