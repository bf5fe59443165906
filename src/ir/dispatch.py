"""`bind`: every operator of every value ends here, and runs or is recorded by the current interpreter."""

from __future__ import annotations

import threading
from typing import Any, Protocol


class Interpreter(Protocol):
    """One meaning of the ops: run them, record them, print them."""

    def process(self, op, values: tuple, attrs: dict) -> Any: ...


class _State(threading.local):
    stack: tuple[Interpreter, ...] = ()


_state = _State()
_default: list[Interpreter] = []  # the eager interpreter, set once by the frontend


def set_default(interpreter: Interpreter) -> None:
    _default[:] = [interpreter]


def bind(op, values: tuple, attrs: dict):
    stack = _state.stack
    return (stack[-1] if stack else _default[0]).process(op, values, attrs)


class using:
    """Makes `interpreter` the current one of this thread inside a `with` block."""

    __slots__ = ("interpreter", "saved")

    def __init__(self, interpreter: Interpreter):
        self.interpreter = interpreter

    def __enter__(self):
        self.saved = _state.stack
        _state.stack = (*self.saved, self.interpreter)
        return self.interpreter

    def __exit__(self, *exc):
        _state.stack = self.saved
