"""Uniform integers, in integer and floating dtypes: one word, or two, modulo the range."""

from __future__ import annotations

import math
import warnings

import numpy as np

from treadle.ir import dtype as dt
from treadle.ir.dtype import DType
from treadle.runtime.random.dtypes import (
    C_NAME,
    DIGITS,
    as_dtype,
    largest,
    narrowed,
    not_implemented,
)
from treadle.runtime.random.generator import Generator
from treadle.runtime.random.uniforms import blocks

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1
_WIDE = 1 << 28  # from this range on two words are drawn: the modulo's skew stays small
_FULL_RANGE = (dt.int64, dt.float64, dt.float32, dt.bfloat16)


def randint(shape: tuple[int, ...], dtype, generator: Generator, low: int, high: int) -> np.ndarray:
    """Integers in [low, high), as torch.randint: a new array of any dtype but the complex ones.

    RuntimeError if low >= high or the bounds do not fit the dtype.

    >>> randint((4,), np.int64, Generator().manual_seed(0), 0, 10)
    array([4, 9, 3, 0])
    """
    return random_from(shape, dtype, generator, low, high)


def random(shape: tuple[int, ...], dtype, generator: Generator) -> np.ndarray:
    """Integers from 0 to the dtype's largest, as Tensor.random_(); to 2**digits for floats.

    >>> random((2,), np.int8, Generator().manual_seed(0))
    array([44, 47], dtype=int8)
    """
    dtype = as_dtype(dtype)
    if dtype.is_complex:
        raise not_implemented(dtype, "random_kernel_cpu")
    modulus = (1 << DIGITS[dtype]) + 1 if dtype.is_floating_point else _largest_int(dtype) + 1
    wide = dtype is dt.int64 or dtype is dt.float64
    return _drawn(shape, dtype, generator, modulus, 0, wide)


def random_from(
    shape: tuple[int, ...], dtype, generator: Generator, low: int, high: int | None = None
) -> np.ndarray:
    """Integers in [low, high), as Tensor.random_(from, to); without `high` to the largest.

    For a floating dtype the bounds move inwards to numbers it holds. RuntimeError if low >= high
    or the bounds do not fit the dtype; a UserWarning where a floating dtype skips integers.

    >>> random_from((2,), np.float32, Generator().manual_seed(0), -3, 3)
    array([-1.,  0.], dtype=float32)
    """
    dtype, low = as_dtype(dtype), int(low)
    for bound in (low, low if high is None else int(high)):
        if not _INT64_MIN <= bound <= _INT64_MAX:
            raise ValueError(f"Overflow when unpacking long long: {bound} needs more than 64 bits")
    if high is None and low == _INT64_MIN:
        return _full_range(shape, dtype, generator)
    if high is not None and low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if dtype.is_complex:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    low, last = _bounds(dtype, low, high)
    _check_bounds(dtype, low, last)
    span = last - low + 1
    return _drawn(shape, dtype, generator, span, low, span >= _WIDE)


def _bounds(dtype: DType, low: int, high: int | None) -> tuple[int, int]:
    """The first and the last integer to be drawn."""
    if not dtype.is_floating_point:
        return low, _largest_int(dtype) if high is None else int(high) - 1
    inner = _inward(dtype, low, up=True)
    last = 1 << DIGITS[dtype] if high is None else _inward(dtype, int(high), up=False) - 1
    if inner > last or (high is None and inner == last):
        raise RuntimeError(
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
            f"from={inner} >= to={last + 1}"
        )
    return inner, last


def _inward(dtype: DType, bound: int, up: bool) -> int:
    """The bound moved to where rounding to the dtype cannot leave the interval.

    Needed where the integer next to it, inside, rounds to or past it.
    """
    neighbour = bound + 1 if up else bound - 1
    with np.errstate(over="ignore"):
        rounded = float(narrowed(np.array([neighbour], np.int64), dtype)[0])
    if math.isinf(rounded) or not (rounded < bound if up else rounded >= bound):
        return bound
    step = 1 << max(abs(neighbour).bit_length() - DIGITS[dtype], 0)
    return int(rounded) + step if up else int(rounded) - step


def _check_bounds(dtype: DType, low: int, last: int) -> None:
    if dtype.is_floating_point:
        least, most = -largest(dtype), largest(dtype)
    else:
        most = _largest_int(dtype)
        least = 0 if dtype.kind in "bu" else -most - 1
    for name, bound in (("from", low), ("to - 1", last)):
        if not least <= bound <= most:
            raise RuntimeError(f"{name} is out of bounds for {C_NAME[dtype]}, got {bound}")
        if dtype.is_floating_point and abs(bound) > 1 << DIGITS[dtype]:
            digits = DIGITS[dtype]
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision "
                f"limitations {C_NAME[dtype]} can support discrete uniform distribution only "
                "within this range: other integers in it are never drawn",
                UserWarning,
                stacklevel=4,
            )


def _largest_int(dtype: DType) -> int:
    return 1 if dtype is dt.bool_ else int(np.iinfo(dtype.np).max)


def _full_range(shape: tuple[int, ...], dtype: DType, generator: Generator) -> np.ndarray:
    if dtype not in _FULL_RANGE:
        raise RuntimeError(
            "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16, "
            f"got {C_NAME[dtype]}"
        )
    return _drawn(shape, dtype, generator, 1 << 64, 0, True)


def _drawn(
    shape: tuple[int, ...], dtype: DType, generator: Generator, span: int, low: int, wide: bool
) -> np.ndarray:
    out = np.empty(math.prod(shape), dtype.np)
    draw = generator.words64 if wide else generator.words
    narrow = not wide and low >= -(1 << 31) and low + span <= 1 << 31
    with generator.lock:
        for part in blocks(out.size):
            words = _modulo(draw(part.stop - part.start), span)
            words = words.astype(np.uint32 if narrow else np.uint64, copy=False)
            words += words.dtype.type(low % (1 << 8 * words.itemsize))  # wraps, as in C
            signed = words.view(np.int32 if narrow else np.int64)
            out[part] = narrowed(signed, dtype)
    return out.reshape(shape)


def _modulo(words: np.ndarray, span: int) -> np.ndarray:
    if span >> 8 * words.itemsize:
        return words
    divisor = words.dtype.type(span)
    if span & (span - 1) == 0:
        words &= words.dtype.type(span - 1)
        return words
    multiples = words // divisor  # SIMD in NumPy, unlike the remainder
    multiples *= divisor
    words -= multiples
    return words
