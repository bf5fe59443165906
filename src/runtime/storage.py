"""Storage: the memory behind tensors, shared by views, with its version and what is still to be computed."""

from __future__ import annotations

import numpy as np


class Storage:
    """Memory of a known size, or a promise of it while a recorder holds its value.

    array    the ndarray that owns the bytes (None while pending)
    version  grows with each write
    pending  the recorder that will fill `array` at its flush, else None
    """

    __slots__ = ("__weakref__", "array", "pending", "version")

    def __init__(self, array: np.ndarray | None, pending=None):
        self.array, self.version, self.pending = array, 0, pending

    def ready(self) -> np.ndarray:
        """The bytes' owner, computed now if it was pending."""
        if self.pending is not None:
            self.pending.flush()
        return self.array

    @property
    def ptr(self) -> int:
        """The address of the first byte."""
        return self.ready().__array_interface__["data"][0]
