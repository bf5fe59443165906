"""The watch as `compile` uses it: what is ours, what is a value, what is managed."""

from __future__ import annotations

from dataclasses import is_dataclass

from .recorder import PACKAGE
from .tensor import Tensor
from .watch import Hooks, Watch, compile_guards


def _is_framework_file(name: str) -> bool:
    return name.startswith((PACKAGE, "<frozen "))


def _is_value(obj) -> bool:
    return isinstance(obj, Tensor)


def _is_managed(obj) -> bool:
    return False


class Watched:
    """One watched call."""

    def __init__(self, fn, owned=()):
        self.watch = Watch(fn, Hooks(is_framework_file=_is_framework_file, is_value=_is_value,
                                     is_managed=_is_managed, known_calls=frozenset()), owned)

    def __enter__(self):
        self.watch.__enter__()
        return self

    def __exit__(self, *exc):
        return self.watch.__exit__(*exc)

    @property
    def lazy(self):
        return self.watch.lazy

    def found(self) -> list:
        """The tensors and containers that the call found where its guards look."""
        out: list = []
        for guard in self.watch.guards:
            out += guard.expected if type(guard.expected) is tuple else (guard.expected,)
            if isinstance(guard.holder, (list, dict)):
                out.append(guard.holder)
        return [o for o in out if isinstance(o, (Tensor, list, dict)) or is_dataclass(o)]

    def compile_guards(self):
        return compile_guards(self.watch.guards)


watch = Watched
