"""PackedSequence: sequences of different lengths, step by step, without padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...frontend.functions.create import from_numpy
from ...frontend.tensor import Tensor


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Returns the permutation that undoes `permutation`."""
    if permutation is None:
        return None
    order = permutation.nd
    out = np.empty_like(order)
    out[order] = np.arange(order.size, dtype=order.dtype)
    return from_numpy(out)


class PackedSequence(_Packed):
    """The steps of all sequences, longest sequence first: (sum of lengths, *), and the batch of each step.

    Made by `pack_padded_sequence` and `pack_sequence`.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                             "created manually. They should be instantiated by functions like pack_sequence and "
                             "pack_padded_sequences in nn.utils.rnn.")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Returns the sequence with its data moved or cast."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [None if t is None else t.to(data.device) for t in self[2:]]
        return type(self)(data, self.batch_sizes, *moved)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Returns the sequence on the GPU."""
        return self.to("cuda" if not args and "device" not in kwargs else args[0])

    def cpu(self) -> PackedSequence:
        """Returns the sequence on the CPU."""
        return self.to("cpu")

    def pin_memory(self) -> PackedSequence:
        """Returns the sequence in page-locked memory."""
        pinned = [None if t is None else t.pin_memory() for t in self[2:]]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *pinned)

    def is_pinned(self) -> bool:
        """Returns whether the data is in page-locked memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.device.type == "cuda"


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    def _cast(self, _name=_name):
        return PackedSequence(getattr(self.data, _name)(), *self[1:])

    _cast.__name__, _cast.__doc__ = _name, f"Returns the sequence with its data as {_name}."
    setattr(PackedSequence, _name, _cast)


@dataclass(frozen=True, slots=True)
class Padded:
    """How packed data lies in (time, batch, *): the row of each place, and the places in packed order."""

    rows: np.ndarray  # (time, batch): row of the packed data, 0 where there is none
    there: np.ndarray  # (time, batch): whether there is one
    places: np.ndarray  # (rows,): place in time * batch

    @staticmethod
    def of(batch_sizes: Tensor) -> Padded:
        """From the batch of each step; this reads data."""
        sizes = batch_sizes.nd.astype(np.int64)
        batch = int(sizes[0]) if sizes.size else 0
        there = np.arange(batch) < sizes[:, None]
        places = np.flatnonzero(there.reshape(-1))
        rows = np.zeros(there.shape, np.int64)
        rows.reshape(-1)[places] = np.arange(places.size)
        return Padded(rows, there, places)

    def spread(self, data: Tensor) -> Tensor:
        """Packed data (rows, *) as (time, batch, *); places without data hold the first row."""
        flat = data.index_select(0, from_numpy(self.rows.reshape(-1)))
        return flat.reshape(*self.rows.shape, *data.shape[1:])

    def mask(self, like: Tensor) -> Tensor:
        """(time, batch, 1): 1 where there is data, else 0, in the dtype of `like`."""
        return from_numpy(self.there[..., None].astype(like.dtype.np))

    def gathered(self, padded: Tensor) -> Tensor:
        """(time, batch, *) as packed data."""
        flat = padded.reshape(self.rows.size, *padded.shape[2:])
        return flat.index_select(0, from_numpy(self.places))
