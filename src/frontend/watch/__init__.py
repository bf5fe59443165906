"""Learns, while a compiled function runs Python once, all that its user code read and did.

In: a call to record. Out: guards on everything read (`compile_guards` makes of them one cheap
check), and a `LazyReason` for each thing that a replay without Python could not do again.
Framework code is not watched; it declares what it reads itself by the `declare_*` functions.
"""

from .build import compile_guards
from .declare import (
    declare_attr,
    declare_call,
    declare_content,
    declare_elements,
    declare_item,
    declare_lazy,
    declare_store,
    suspended,
)
from .guardset import GuardSet
from .records import ABSENT, Guard, Hooks, Kind, LazyReason, Where
from .watch import Watch

__all__ = [
    "ABSENT",
    "Guard",
    "GuardSet",
    "Hooks",
    "Kind",
    "LazyReason",
    "Watch",
    "Where",
    "compile_guards",
    "declare_attr",
    "declare_call",
    "declare_content",
    "declare_elements",
    "declare_item",
    "declare_lazy",
    "declare_store",
    "suspended",
]
