"""RemovableHandle: what registering a hook returns."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from typing import Any

from .tensor import rebinds

_ids = itertools.count()


class RemovableHandle:
    """Takes a hook out of its dict, once, by `remove()` or at the end of a `with` block.

    >>> hooks = OrderedDict()
    >>> with RemovableHandle(hooks) as handle:
    ...     hooks[handle.id] = print
    ...     len(hooks)
    1
    >>> len(hooks)
    0
    """

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(_ids)
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        extras = extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extras if d is not None)

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        rebinds[0] += 1
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state) -> None:
        hooks, self.id, extras = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extras if d is not None)
        _skip_past(self.id)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc) -> None:
        self.remove()


def _skip_past(used: int) -> None:
    """Ids of unpickled handles are not given again."""
    global _ids
    following = next(_ids)
    _ids = itertools.count(max(following, used + 1))


def register(hooks: OrderedDict, hook: Any, *, prepend: bool = False, extra_dict: Any = None) -> RemovableHandle:
    """Puts `hook` last (or first) into the OrderedDict `hooks`; returns its handle."""
    handle = RemovableHandle(hooks, extra_dict=extra_dict)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle
