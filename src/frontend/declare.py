"""What framework code read of Python's state during a recorded call, said by the framework itself.

Framework frames are not traced, so each place whose change must make a recorded call stale is declared
here. Without a sink (nothing is being recorded) a declaration costs a few tens of nanoseconds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Protocol


class Sink(Protocol):
    """Whoever turns declarations into guards."""

    def declare_attr(self, obj: Any, name: str) -> None: ...

    def declare_item(self, mapping: dict, key: Any) -> None: ...

    def declare_content(self, container: Any) -> None: ...


class _State(threading.local):
    sink: Sink | None = None


state = _State()


def declare_attr(obj: Any, name: str) -> None:
    """Attribute `name` of `obj` (its own dict, then its class) was read."""
    sink = state.sink
    if sink is not None:
        sink.declare_attr(obj, name)


def declare_attrs(obj: Any, names: Iterable[str]) -> None:
    """Several attributes of `obj` were read."""
    sink = state.sink
    if sink is not None:
        for name in names:
            sink.declare_attr(obj, name)


def declare_item(mapping: dict, key: Any) -> None:
    """`mapping[key]`, or its absence, was read."""
    sink = state.sink
    if sink is not None:
        sink.declare_item(mapping, key)


def declare_content(container: Any) -> None:
    """All elements of a list, dict or set were read, in order."""
    sink = state.sink
    if sink is not None:
        sink.declare_content(container)
