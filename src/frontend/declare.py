"""What framework code read of Python's state during a recorded call, said by the framework itself.

Framework frames are not traced, so each place whose change must make a recorded call stale is declared.
While nothing is recorded `active` is empty and a declaration costs a few tens of nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import get_ident
from typing import Any

from .watch.declare import (
    active as active,
    declare_attr as declare_attr,
    declare_content as declare_content,
    declare_item as declare_item,
    declare_lazy as declare_lazy,
    declare_store as declare_store,
    suspended as suspended,
)
from .watch.operate import content


def declare_attrs(obj: Any, names: Iterable[str]) -> None:
    """Several attributes of `obj` were read."""
    if active:
        for name in names:
            declare_attr(obj, name)


def declare_elements(container: Any) -> None:
    """The elements of a container by identity, not what they hold."""
    if active:
        watch = active.get(get_ident())
        if watch is not None and not watch.pauses:
            content(watch.record, container)
