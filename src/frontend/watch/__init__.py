"""Learns, while a compiled function runs Python once, all that its user code read and did.

In: a call to record. Out: guards on everything read (`compile_guards` makes of them one cheap
check), and a `LazyReason` for each thing that a replay without Python could not do again.
Framework code is not watched; it declares what it reads itself by the `declare_*` functions.
"""

from .declare import (
    declare_attr as declare_attr,
    declare_content as declare_content,
    declare_item as declare_item,
    declare_lazy as declare_lazy,
    declare_store as declare_store,
    suspended as suspended,
)
from .records import (
    ABSENT as ABSENT,
    Guard as Guard,
    Hooks as Hooks,
    Kind as Kind,
    LazyReason as LazyReason,
    Where as Where,
)
from .guardset import GuardSet as GuardSet, compile_guards as compile_guards
from .watch import Watch as Watch
