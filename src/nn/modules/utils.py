"""Sizes given as one number or one for each dim."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any


def ntuple(n: int):
    """A function that makes an n-tuple of a number, and a tuple of an iterable."""

    def parse(x: Any) -> tuple:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    return parse


_single, _pair, _triple, _quadruple = map(ntuple, (1, 2, 3, 4))


def reversed_twice(sizes: tuple[int, ...]) -> list[int]:
    """Symmetric sizes of each dim as `pad` wants them: last dim first, before and after.

    >>> reversed_twice((1, 2))
    [2, 2, 1, 1]
    """
    return [n for size in reversed(sizes) for n in (size, size)]
