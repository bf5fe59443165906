"""Where tensors lie in memory: whether some of them overlap unknown to each other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import numpy as np

from ..ir.type import TensorType
from ..runtime.storage import Storage


class Ranges:
    """The memory of the storages seen so far."""

    __slots__ = ("_seen", "_spans", "_starts")

    def __init__(self):
        self._seen: set[Storage] = set()
        self._starts: list[int] = []
        self._spans: list[tuple[int, int, Storage]] = []  # by start

    def add(self, storage: Storage) -> list[Storage]:
        """Notes a storage; returns those seen before that overlap it."""
        if storage in self._seen or storage.array is None or not storage.array.size:
            return []
        self._seen.add(storage)
        low, high = np.lib.array_utils.byte_bounds(storage.array)
        upto = bisect_left(self._starts, high)
        others = [s for _, end, s in self._spans[:upto] if end > low]
        place = bisect_right(self._starts, low)
        self._starts.insert(place, low)
        self._spans.insert(place, (low, high, storage))
        return others


def overlapping(storages: Iterable[Storage]) -> set[Storage]:
    """The storages whose memory overlaps that of another one."""
    ranges, found = Ranges(), set()
    for s in storages:
        others = ranges.add(s)
        if others:
            found.update(others, (s,))
    return found


def span(address: int, type: TensorType, strides) -> tuple[int, int]:
    """The bytes that a tensor at `address` covers: (start, end)."""
    if not type.numel:
        return address, address
    if strides is None:
        return address, address + type.numel * type.dtype.itemsize
    reach = sum((n - 1) * s for n, s in zip(type.shape, strides, strict=True))
    return address, address + (reach + 1) * type.dtype.itemsize


class Union:
    """The union of spans, to ask whether another one touches it."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, spans: Iterable[tuple[int, int]]):
        self._starts: list[int] = []
        self._ends: list[int] = []
        for low, high in sorted(s for s in spans if s[0] < s[1]):
            if self._ends and low < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], high)
            else:
                self._starts.append(low)
                self._ends.append(high)

    def touches(self, low: int, high: int) -> bool:
        k = bisect_left(self._starts, high)
        return k > 0 and low < high and self._ends[k - 1] > low


def clash(spans: list[tuple[int, int, bool]]) -> bool:
    """Whether some written span (start, end, written) overlaps another one."""
    most = written = 0
    for low, high, writes in sorted(s for s in spans if s[0] < s[1]):
        if low < written or (writes and low < most):
            return True
        most = max(most, high)
        if writes:
            written = max(written, high)
    return False
