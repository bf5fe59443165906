"""Random permutations: PyTorch's Fisher-Yates shuffles, whose exchanges depend on each other.

Small ones run as a Python loop. In a large one, runs of about sqrt(n) exchanges meet no place
twice; each run is found by stamping the places it touches and is made by array operations.
"""

from __future__ import annotations

import numpy as np

from treadle.ir import dtype as dt
from treadle.ir.dtype import DType
from treadle.runtime.random.dtypes import DIGITS, SCALAR_NAME, as_dtype, narrowed, not_implemented
from treadle.runtime.random.generator import Generator
from treadle.runtime.random.uniforms import blocks

LARGE = ((1 << 32) - 1) // 20  # from here on one word, modulo n, would be visibly skewed
_LOOP = 1 << 15  # up to here the Python loop is the faster


def randperm(n: int, dtype, generator: Generator) -> np.ndarray:
    """The integers below n in random order, as torch.randperm.

    RuntimeError if n is negative or too large for the dtype.

    >>> randperm(5, np.int64, Generator().manual_seed(0))
    array([4, 0, 1, 3, 2])
    """
    dtype, n = as_dtype(dtype), int(n)
    _check(n, dtype)
    with generator.lock:
        if n >= LARGE:
            return _cast(_inside_out(n, generator), dtype)
        targets = np.empty(max(n - 1, 0), np.uint32)
        for part in blocks(targets.size):
            left = np.arange(n - part.start, n - part.stop, -1, dtype=np.uint32)
            np.remainder(generator.words(left.size), left, out=targets[part])
    return _cast(_exchanged(n, targets), dtype)


def _exchanged(n: int, targets: np.ndarray) -> np.ndarray:
    """range(n) after exchanging place i with place i + targets[i], for each i in order."""
    if n > _LOOP:
        targets += np.arange(n - 1, dtype=np.uint32)
        return _exchanged_in_runs(n, targets.view(np.int32))
    order = list(range(n))
    for i, target in enumerate((targets + np.arange(targets.size, dtype=np.uint32)).tolist()):
        order[i], order[target] = order[target], order[i]
    return np.array(order, np.int64)


def _exchanged_in_runs(n: int, targets: np.ndarray) -> np.ndarray:
    order = np.arange(n, dtype=np.int32)
    stamps = np.full(n, -1, np.int32)
    start = 0
    while start < n - 1:
        stop = min(start + 1 + int(1.5 * (n - start) ** 0.5), n - 1)
        places = np.arange(start, stop, dtype=np.int32)
        target = targets[start:stop]
        stamps[target[::-1]] = places[::-1]  # of equal targets the first keeps its stamp
        met = stamps[target] != places  # a target that an earlier exchange of the run took
        own = stamps[start:stop]
        met |= (own >= start) & (own < places)  # a place that was a target before its turn
        run = int(met.argmax()) if met.any() else stop - start
        target = target[:run]
        moved = order[target]
        order[target] = order[start : start + run]
        order[start : start + run] = moved
        start += run
    return order


def _inside_out(n: int, generator: Generator) -> np.ndarray:
    """Fills place i from place z, and place z with i, for z drawn from [0, i], for each i."""
    kind = np.int32 if n <= 1 << 31 else np.int64
    order = np.arange(n, dtype=kind)
    stamps = np.full(n, -1, kind)
    for part in blocks(n):
        seen = np.arange(part.start + 1, part.stop + 1, dtype=np.uint64)
        source = (generator.words64(seen.size) % seen).astype(kind)
        _fill_in_runs(order, stamps, source, part.start)
    return order


def _fill_in_runs(order: np.ndarray, stamps: np.ndarray, source: np.ndarray, first: int) -> None:
    start, end = first, first + source.size
    while start < end:
        stop = min(start + 1 + int(1.5 * start**0.5), end)
        places = np.arange(start, stop, dtype=order.dtype)
        target = source[start - first : stop - first]
        stamps[target[::-1]] = places[::-1]
        met = stamps[target] != places
        met |= (target >= start) & (target < places)
        run = int(met.argmax()) if met.any() else stop - start
        places, target = places[:run], target[:run]
        order[start : start + run] = order[target]
        order[target] = places
        start += run


def _cast(order: np.ndarray, dtype: DType) -> np.ndarray:
    if dtype.is_floating_point:
        return narrowed(order.astype(np.int64), dtype)
    return order.astype(dtype.np, copy=False)


def _check(n: int, dtype: DType) -> None:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype is dt.bool_ or dtype.is_complex:
        raise not_implemented(dtype, "randperm")
    if dtype.is_floating_point:
        limit = (1 << DIGITS[dtype]) + 1
        if n > limit and dtype is not dt.bfloat16:
            raise RuntimeError(f"n cannot be greater than {limit} for {SCALAR_NAME[dtype]} type.")
        return
    limit = int(np.iinfo(dtype.np).max)
    if n > limit + 1:
        raise RuntimeError(
            f"value cannot be converted to type {dtype.name}_t without overflow: randperm of {n} "
            f"needs numbers up to {n - 1}, the dtype ends at {limit}"
        )
