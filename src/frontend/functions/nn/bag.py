"""embedding_bag: sums, means or maxima of looked-up rows, bag by bag."""

from __future__ import annotations

import numpy as np

from ....ir import dtype as dt
from ....ir import ops
from ....ir.arith import cast
from ..reads import data, made
from .linear import embedding


def _bags(input, offsets, include_last_offset):
    """(flat places, the bag of each, the number of bags)."""
    if input.type.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
                             f"fixed length sequences. However, found offsets of type {type(offsets)}")
        n, length = input.type.shape
        bag = ops.iota(size=n, dtype=dt.int64, device=input.type.device)
        bag = ops.expand(ops.reshape(bag, shape=(n, 1)), shape=(n, length))
        return ops.reshape(input, shape=(n * length,)), ops.reshape(bag, shape=(n * length,)), n
    if input.type.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.type.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    starts = data(offsets)
    ends = starts[1:] if include_last_offset else np.append(starts[1:], input.type.numel)
    starts = starts[:-1] if include_last_offset else starts
    if len(starts) and starts[0] != 0:
        raise ValueError(f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                         f"position 0. However, got {starts[0]}")
    return input, made(np.repeat(np.arange(len(starts)), ends - starts)), len(starts)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type: float = 2,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights=None,
                  include_last_offset: bool = False, padding_idx=None):
    """Returns for each bag of places the sum, mean or max of weight's rows there; 0 for an empty bag."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                  f"supported for mode='sum' (got mode='{mode}').")
    flat, bag, count = _bags(input, offsets, include_last_offset)
    rows = embedding(flat, weight, padding_idx, max_norm, norm_type)
    t = rows.type
    keep = None
    if padding_idx is not None:
        keep = ops.ne(flat, padding_idx % weight.type.shape[0])
    if per_sample_weights is not None:
        rows = rows * ops.reshape(per_sample_weights, shape=(flat.type.numel, 1))
    zeros = ops.full(shape=(count, t.shape[1]), value=0, dtype=t.dtype, device=t.device)
    if mode == "max":
        return _largest(rows, bag, zeros, keep)
    if keep is not None:
        rows = rows * ops.reshape(cast(keep, t.dtype), shape=(flat.type.numel, 1))
    total = ops.index_add(zeros, rows, bag)
    if mode == "sum":
        return total
    ones = ops.full(shape=(flat.type.numel,), value=1, dtype=t.dtype, device=t.device) if keep is None else cast(
        keep, t.dtype)
    sizes = ops.index_add(ops.full(shape=(count,), value=0, dtype=t.dtype, device=t.device), ones, bag)
    return total / ops.reshape(ops.maximum(sizes, 1), shape=(count, 1))


def _largest(rows, bag, zeros, keep):
    from ..select import scatter_reduce

    if keep is not None:
        rows = ops.where(ops.expand(ops.reshape(keep, shape=(*keep.type.shape, 1)), shape=rows.type.shape), rows,
                         float("-inf"))
    place = ops.expand(ops.reshape(bag, shape=(*bag.type.shape, 1)), shape=rows.type.shape)
    y = scatter_reduce(zeros, 0, place, rows, "amax", include_self=False)
    return ops.where(ops.eq(y, float("-inf")), 0, y)
