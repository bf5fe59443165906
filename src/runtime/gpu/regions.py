"""Known memory: where interpreted kernels may read and write, and which program wrote what."""

from __future__ import annotations

import bisect

import numpy as np

from .errors import WildAccess


class Regions:
    """Allocations by address. With `races`, a place written by two programs of one launch is an error."""

    def __init__(self, races: bool = False) -> None:
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}
        self._races = races
        self._writers: dict[int, int] = {}

    def add(self, address: int, nbytes: int) -> None:
        bisect.insort(self._starts, address)
        self._sizes[address] = nbytes

    def remove(self, address: int) -> None:
        self._starts.remove(address)
        del self._sizes[address]

    def new_launch(self) -> None:
        """Programs of the next launch may write what those of the last one wrote."""
        self._writers.clear()

    def check_read(self, addresses: np.ndarray, itemsize: int) -> None:
        """WildAccess unless every element lies in a region."""
        if not addresses.size:
            return
        low, high = int(addresses.min()), int(addresses.max()) + itemsize
        if self._holds(low, high):
            return
        outside = [a for a in addresses.ravel().tolist() if not self._holds(a, a + itemsize)]
        if outside:
            raise WildAccess(f"{len(outside)} of {addresses.size} lanes lie outside the kernel's memory, "
                             f"the first at {outside[0]:#x}")

    def check_write(self, addresses: np.ndarray, itemsize: int, program: int) -> None:
        """As for a read; with `races`, also that no other program has written there."""
        self.check_read(addresses, itemsize)
        if not self._races:
            return
        for address in addresses.ravel().tolist():
            if self._writers.setdefault(address, program) != program:
                raise WildAccess(f"programs {self._writers[address]} and {program} both write {address:#x}")

    def _holds(self, low: int, high: int) -> bool:
        place = bisect.bisect_right(self._starts, low) - 1
        if place < 0:
            return False
        start = self._starts[place]
        return high <= start + self._sizes[start]
