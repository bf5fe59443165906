"""Learns, while a compiled function runs Python once, all that its user code read and did.

In: a call to record. Out: guards on everything read (`compile_guards` makes of them one cheap
check), and a `LazyReason` for each thing that a replay without Python could not do again.
Framework code is not watched; it declares what it reads itself by the `declare_*` functions.
"""

from .declare import (
    declare_attr as declare_attr,
)
from .declare import (
    declare_content as declare_content,
)
from .declare import (
    declare_item as declare_item,
)
from .declare import (
    declare_lazy as declare_lazy,
)
from .declare import (
    declare_store as declare_store,
)
from .declare import (
    suspended as suspended,
)
from .guardset import GuardSet as GuardSet
from .guardset import compile_guards as compile_guards
from .records import (
    ABSENT as ABSENT,
)
from .records import (
    Guard as Guard,
)
from .records import (
    Hooks as Hooks,
)
from .records import (
    Kind as Kind,
)
from .records import (
    LazyReason as LazyReason,
)
from .records import (
    Where as Where,
)
from .watch import Watch as Watch
