"""How framework code, which is not watched, tells the running watch what it read itself."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING

from .attribute import read_attribute
from .calls import call
from .operate import content, deep_content, item
from .places import instance_dict
from .record import Record

if TYPE_CHECKING:
    from .watch import Watch

# The innermost watch of each thread that records; empty nearly always, so a declaration is cheap.
active: dict[int, "Watch"] = {}


def declare_attr(obj: object, name: str) -> None:
    """Note that the framework read `obj.name`; does nothing when no call is being recorded."""
    if active:
        _note(read_attribute, obj, name)


def declare_item(mapping: dict, key: object) -> None:
    """Note that the framework read `mapping[key]`, or looked for it in vain."""
    if active:
        _note(item, mapping, key)


def declare_content(container: object) -> None:
    """Note that the framework read all of a list, dict or set, with the containers inside."""
    if active:
        _note(deep_content, container)


def declare_elements(container: object) -> None:
    """Note that the framework read the elements of a list, dict or set, not what is inside them."""
    if active:
        _note(content, container)


def declare_call(function: Callable, *args: object) -> None:
    """Note that the framework is about to call what a user gave it, such as a hook."""
    if active:
        _note(_call, function, args)


def _call(record: Record, function: Callable, args: tuple) -> None:
    call(record, function, list(args), {})


def declare_store(obj: object, name: str) -> None:
    """Note that the framework wrote `obj.name` and will again on replay: later reads are its own."""
    if active:
        _note(_store, obj, name)


def declare_lazy(text: str) -> None:
    """Note that the framework did something that a replay cannot do again."""
    if active:
        _note(Record.lazy, text)


def _store(record: Record, obj: object, name: str) -> None:
    names = instance_dict(obj)
    if names is not None:
        record.store(names, name)


def _note(model: Callable[..., object], *args: object) -> None:
    """Apply a model to this thread's record, untraced: tracing our own frames would cost most."""
    watch = active.get(get_ident())
    if watch is None or watch.pauses:
        return
    if sys.gettrace() is not watch.trace:
        model(watch.record, *args)
        return
    sys.settrace(None)
    try:
        model(watch.record, *args)
    finally:
        sys.settrace(watch.trace)


@contextmanager
def suspended() -> Iterator[None]:
    """Return a context in which nothing is recorded on this thread."""
    watch = active.get(get_ident()) if active else None
    if watch is None:
        yield
        return
    watch.pauses += 1
    try:
        yield
    finally:
        watch.pauses -= 1
