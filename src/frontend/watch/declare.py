"""How framework code, which is not watched, tells the running watch what it read itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING

from .attribute import read_attribute
from .operate import deep_content, item
from .places import instance_dict

if TYPE_CHECKING:
    from .watch import Watch

# The innermost watch of each thread that records; empty nearly always, so a declaration is cheap.
active: dict[int, "Watch"] = {}


def declare_attr(obj: object, name: str) -> None:
    """Note that the framework read `obj.name`; does nothing when no call is being recorded."""
    if active:
        watch = active.get(get_ident())
        if watch is not None and not watch.pauses:
            read_attribute(watch.record, obj, name)


def declare_item(mapping: dict, key: object) -> None:
    """Note that the framework read `mapping[key]`, or looked for it in vain."""
    if active:
        watch = active.get(get_ident())
        if watch is not None and not watch.pauses:
            item(watch.record, mapping, key)


def declare_content(container: object) -> None:
    """Note that the framework read all of a list, dict or set, with the containers inside."""
    if active:
        watch = active.get(get_ident())
        if watch is not None and not watch.pauses:
            deep_content(watch.record, container)


def declare_store(obj: object, name: str) -> None:
    """Note that the framework wrote `obj.name` and will again on replay: later reads are its own."""
    if active:
        watch = active.get(get_ident())
        names = instance_dict(obj)
        if watch is not None and names is not None:
            watch.record.store(names, name)


def declare_lazy(text: str) -> None:
    """Note that the framework did something that a replay cannot do again."""
    if active:
        watch = active.get(get_ident())
        if watch is not None and not watch.pauses:
            watch.record.lazy(text)


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
