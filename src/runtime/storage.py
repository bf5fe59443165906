"""Storage: the memory behind tensors, shared by views, with its version and what is still to be computed."""

from __future__ import annotations

import numpy as np


class Storage:
    """Memory of a known size, or a promise of it while a recorder holds its value.

    array    the ndarray that owns the bytes (None while it is yet to be computed)
    version  grows with each write
    pending  the recorder that will write `array` at its flush, else None
    root     what the last recorder that touched it knows of it
    """

    __slots__ = ("__weakref__", "_address", "array", "pending", "root", "version")

    def __init__(self, array: np.ndarray | None, pending=None, address: int = 0):
        self.array, self.version, self.pending, self._address = array, 0, pending, address
        self.root = None

    def ready(self) -> np.ndarray:
        """The bytes' owner, computed now if it was pending."""
        if self.pending is not None:
            self.pending.flush()
        return self.array

    @property
    def address(self) -> int:
        """The address of the first byte; asked once, memory does not move."""
        if not self._address or self.pending is not None:
            self._address = self.ready().__array_interface__["data"][0]
        return self._address
