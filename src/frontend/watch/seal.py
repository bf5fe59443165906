"""What a guard expects, kept without keeping alive what should be free to die."""

import weakref
from collections.abc import Callable
from types import CellType

from .places import LISTS, is_primitive, same
from .records import ABSENT


def weakly(value: object, died: Callable | None = None) -> weakref.ref | None:
    """Return a weak reference to `value`, or None where its type does not allow one."""
    try:
        return weakref.ref(value, died)
    except TypeError:
        return None


class Data:
    """Immutable data, kept; compared by type and value."""

    __slots__ = ("value",)

    def __init__(self, value: object):
        self.value = value

    def match(self, found: object) -> bool:
        return same(self.value, found)


class Kept:
    """An object that can only be kept alive; compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: object):
        self.value = value

    def match(self, found: object) -> bool:
        return found is self.value


class Weak:
    """An object held weakly; once it died, nothing matches."""

    __slots__ = ("reference",)

    def __init__(self, reference: weakref.ref):
        self.reference = reference

    def match(self, found: object) -> bool:
        return found is not None and self.reference() is found


class Address:
    """A container that its holder keeps alive; what was read in it has guards of its own.

    Another container that came to lie at the same address matches too, and is then told apart by
    those guards of its content.
    """

    __slots__ = ("address", "kind")

    def __init__(self, value: object):
        self.address, self.kind = id(value), type(value)

    def match(self, found: object) -> bool:
        return id(found) == self.address and type(found) is self.kind


class Tuple:
    """A tuple, compared element by element."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple):
        self.parts = parts

    def match(self, found: object) -> bool:
        if type(found) is not tuple or len(found) != len(self.parts):
            return False
        return all(part.match(one) for part, one in zip(self.parts, found, strict=True))


Sealed = Data | Kept | Weak | Address | Tuple


def seal(value: object, died: Callable) -> Sealed:
    """Return what matches `value` later on; `died` is called when a weakly held part dies."""
    if value is ABSENT or _all_data(value):
        return Data(value)
    if type(value) is tuple:
        return Tuple(tuple(seal(part, died) for part in value))
    reference = weakly(value, died)
    if reference is not None:
        return Weak(reference)
    return Address(value) if is_anchored(value) else Kept(value)


def _all_data(value: object) -> bool:
    return is_primitive(value) or (type(value) is tuple and all(map(_all_data, value)))


def is_anchored(value: object) -> bool:
    """Tell whether `value` is a container that cannot be referred to weakly, or a cell."""
    return isinstance(value, (dict, CellType, *LISTS)) and weakly(value) is None
