"""Packing and padding of sequences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...frontend.functions.create import as_tensor, full, from_numpy
from ...frontend.functions.join import cat, stack
from ...frontend.tensor import Tensor
from .packing import PackedSequence as PackedSequence, Padded, invert_permutation as invert_permutation


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:
    """Returns padded sequences (time, batch, *) packed; `lengths` are read.

    >>> import treadle
    >>> x = treadle.tensor([[1, 4], [2, 5], [3, 0]])
    >>> pack_padded_sequence(x, [3, 2]).data
    tensor([1, 4, 2, 5, 3])
    """
    sizes = np.asarray(lengths.nd if isinstance(lengths, Tensor) else lengths, np.int64)
    sorted_indices = None
    if not enforce_sorted:
        order = np.argsort(-sizes, kind="stable")
        sizes, sorted_indices = sizes[order], from_numpy(order)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    _check_lengths(input, sizes, batch_first)
    x = input.transpose(0, 1) if batch_first else input
    steps = int(sizes.max())
    batch_sizes = (sizes[None, :] > np.arange(steps)[:, None]).sum(1)
    padded = Padded.of(from_numpy(batch_sizes))
    return PackedSequence(padded.gathered(x[:steps]), from_numpy(batch_sizes), sorted_indices, None)


def _check_lengths(input: Tensor, sizes: np.ndarray, batch_first: bool) -> None:
    batch = input.shape[0 if batch_first else 1]
    if sizes.ndim != 1 or sizes.size != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {sizes.size} (batch_size="
                           f"{batch})")
    if (sizes <= 0).any():
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that "
                           "is <= 0")
    if (sizes[1:] > sizes[:-1]).any():
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
                           "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep "
                           "this requirement if you do not need ONNX exportability.")
    steps = input.shape[1 if batch_first else 0]
    if sizes.max() > steps:
        raise RuntimeError(f"Expected lengths of at most {steps}, got {sizes.max()}")


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """Returns (padded sequences, lengths), in the order the sequences had before packing."""
    padded = Padded.of(sequence.batch_sizes)
    steps, batch = padded.rows.shape
    if total_length is not None:
        if total_length < steps:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but "
                             f"got total_length={total_length} and max sequence length being {steps}")
    data = sequence.data
    there = from_numpy(padded.there.reshape(steps, batch, *[1] * (data.ndim - 1)))
    out = padded.spread(data).masked_fill(there.logical_not(), padding_value)
    if total_length is not None and total_length > steps:
        out = cat([out, full((total_length - steps, batch, *data.shape[1:]), padding_value, dtype=data.dtype)])
    lengths = from_numpy(padded.there.sum(0))
    out = out.transpose(0, 1) if batch_first else out
    if sequence.unsorted_indices is not None:
        out = out.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    return out, lengths


def pad_sequence(sequences: Tensor | list[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """Returns sequences (length, *) stacked, the shorter ones padded: (time, batch, *).

    >>> import treadle
    >>> pad_sequence([treadle.ones(1), treadle.ones(3)], batch_first=True)
    tensor([[1., 0., 0.],
            [1., 1., 1.]])
    """
    if not isinstance(sequences, (Tensor, Iterable)):
        raise RuntimeError("pad_sequence: Expected iterable for input sequences, but got arg of type: "
                           f"{type(sequences)}")
    if padding_side not in ("right", "left"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    given = [as_tensor(s) for s in (sequences.unbind(0) if isinstance(sequences, Tensor) else sequences)]
    if not given:
        raise RuntimeError("received an empty list of sequences")
    longest = max(s.shape[0] for s in given)
    rows = []
    for s in given:
        missing = longest - s.shape[0]
        if missing:
            filling = full((missing, *s.shape[1:]), padding_value, dtype=s.dtype, device=s.device)
            s = cat([s, filling] if padding_side == "right" else [filling, s])
        rows.append(s)
    return stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Returns the sequences of a padded tensor, cut to their lengths."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(x.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Returns sequences (length, *) packed."""
    lengths = [s.shape[0] for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Returns the sequences of a packed one."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
