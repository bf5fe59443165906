"""Keys under which equal things are one thing: 1, 1.0 and True differ, 0.0 and -0.0 differ, nan equals nan."""

from __future__ import annotations


def exact_key(value):
    """A hashable that is equal for two attribute values or numbers only if they are the same value.

    >>> exact_key(1) == exact_key(1.0), exact_key(0.0) == exact_key(-0.0)
    (False, False)
    >>> exact_key((2, float("nan"))) == exact_key((2, float("nan")))
    True
    """
    kind = type(value)
    if kind is int or kind is str:
        return value
    if kind is tuple:
        return tuple(map(exact_key, value)) if set(map(type, value)) != _INTS else value
    if kind is float or kind is bool or kind is complex:
        return kind, repr(value)
    return value


_INTS = {int}


def attrs_key(attrs: tuple):
    """The key of a node's attributes: sorted (name, value) pairs."""
    return tuple((name, exact_key(value)) for name, value in attrs) if attrs else ()
