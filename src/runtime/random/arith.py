"""Arithmetic that NumPy rounds otherwise than C: fused multiply-add, the C library's functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

_SPLIT = float(2**27 + 1)
_TIE = np.uint64(1 << 28)  # the bits below a float32 in a float64, when they are exactly one half
_BELOW = np.uint64((1 << 29) - 1)


def by_libm(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    """Float64 values through a function of `math`: the C library's bits, at 50 ns each.

    NumPy's own vector functions are within an ulp of them.

    >>> by_libm(math.log, np.array([1.0, 10.0]))
    array([0.        , 2.30258509])
    """
    flat = map(function, values.reshape(-1).tolist())
    return np.fromiter(flat, np.float64, values.size).reshape(values.shape)


def affine32(counts: np.ndarray, b: float, c: float) -> np.ndarray:
    """The float32 nearest to counts * 2**-24 * b + c, for whole counts in [0, 2**24].

    `b` and `c` are float32 values.

    >>> affine32(np.array([0, 1 << 23]), 0.5, 1.0)
    array([1.  , 1.25], dtype=float32)
    """
    unit = b * 2.0**-24
    product = counts * unit  # exact in float64: 24 bits by 24 bits
    if unit == 0.0 or _sum_is_exact(_lowest_bit(unit), b, c):
        product += c
        return product.astype(np.float32)
    total = product + c
    # A second rounding errs only where the first one fell on the middle of two float32 numbers.
    tied = np.flatnonzero((total.view(np.uint64) & _BELOW) == _TIE)
    if tied.size:
        error = _sum_error(product[tied], c, total[tied])
        nudged = np.nextafter(total[tied], np.copysign(np.inf, error))
        total[tied] = np.where(error == 0.0, total[tied], nudged)
    return total.astype(np.float32)


def _sum_is_exact(step: float, b: float, c: float) -> bool:
    """Whether any multiple of `step` up to b, plus c, fits the 53 bits of a float64."""
    grain = min(step, _lowest_bit(c)) if c else step
    return abs(b) + abs(c) < grain * 2.0**53


def _lowest_bit(x: float) -> float:
    numerator, denominator = x.as_integer_ratio()
    return (numerator & -numerator) / denominator


def fma64(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """The float64 nearest to a * b + c, for a float64 array and numbers b and c.

    >>> fma64(np.array([0.1]), 10.0, -1.0)
    array([5.55111512e-17])
    """
    with np.errstate(all="ignore"):  # inf and nan are values here
        plain = a * b + c
        if b in (0.0, 1.0) or c == 0.0:  # one of the two roundings is exact
            return plain
        scale = _scale(b, c)
        exact = _fma64_scaled(a, b * scale, c * scale) / scale
        return np.where(np.isfinite(exact), exact, plain)


def _scale(b: float, c: float) -> float:
    """A power of two that keeps the halves of the products of `_fma64_scaled` in range."""
    largest = max(abs(b), abs(c))
    if not math.isfinite(largest):
        return 1.0
    return 2.0**-100 if largest > 2.0**900 else 2.0**200 if largest < 2.0**-600 else 1.0


def _fma64_scaled(a: np.ndarray, b: float, c: float) -> np.ndarray:
    product = a * b
    total = product + c
    return total + (_sum_error(product, c, total) + _product_error(a, b, product))


def _sum_error(a, b, total):
    """What the rounded sum `total` of a and b lacks (Knuth's two-sum)."""
    b_part = total - a
    return (a - (total - b_part)) + (b - b_part)


def _product_error(a: np.ndarray, b: float, product: np.ndarray) -> np.ndarray:
    """What the rounded product of a and b lacks (Dekker's two-product)."""
    a_high = _SPLIT * a - (_SPLIT * a - a)
    b_high = _SPLIT * b - (_SPLIT * b - b)
    a_low, b_low = a - a_high, b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
