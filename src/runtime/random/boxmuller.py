"""The Box-Muller transform as PyTorch's vector path rounds it, for float32 and float64.

PyTorch fills 16 float32 normals at a time with single-precision polynomials (Cephes' logf, sinf and
cosf) and fused multiply-adds. NumPy has no fused multiply-add, so each is done in float64, where
the product of two float32 numbers is exact, and rounded to float32: the same bits but for a second
rounding about once in 2**29 operations, which moves a result by one ulp.
Arrays named `*64` hold float32 values in float64 storage.
"""

from __future__ import annotations

import math

import numpy as np

from treadle.runtime.random.arith import by_libm, fma64


def _rounded(*values: float) -> tuple[float, ...]:
    return tuple(float(np.float32(v)) for v in values)


_LOG = _rounded(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LN2_LOW, _LN2_HIGH, _SQRT_HALF = _rounded(-2.12194440e-4, 0.693359375, math.sqrt(0.5))
_SIN = _rounded(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _rounded(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_MINUS_QUARTER_PI = _rounded(-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
_FOUR_OVER_PI, _TWO_PI = np.float32(4 / math.pi), np.float32(2 * math.pi)


def normals32(uniforms: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Float32 normals from as many float32 uniforms in [0, 1); the size is a multiple of 16.

    In each group of 16 the first 8 uniforms give radii, the last 8 angles.
    """
    group = uniforms.reshape(-1, 2, 8)
    radius = np.sqrt(np.float32(-2.0) * _log(np.float32(1.0) - group[:, 0]))
    sine, cosine = _sincos(_TWO_PI * group[:, 1])
    mean, std = _rounded(mean, std)
    out = np.empty_like(group)
    _scaled(radius, cosine, std, mean, out[:, 0])
    _scaled(radius, sine, std, mean, out[:, 1])
    return out.reshape(-1)


def normals64(uniforms: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Float64 normals from as many float64 uniforms in [0, 1); the size is a multiple of 16."""
    group = uniforms.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * by_libm(math.log, 1.0 - group[:, 0]))
    angle = (2.0 * math.pi) * group[:, 1]
    out = np.empty_like(group)
    out[:, 0] = fma64(radius * np.cos(angle), std, mean)
    out[:, 1] = fma64(radius * np.sin(angle), std, mean)
    return out.reshape(-1)


def _scaled(radius, direction, std: float, mean: float, out: np.ndarray) -> None:
    scaled = (radius * direction).astype(np.float64)
    scaled *= std
    scaled += mean
    out[...] = scaled


def _log(x: np.ndarray) -> np.ndarray:
    """Float32 logarithm of float32 numbers in (0, 1]."""
    bits = x.view(np.int32)
    exponent64 = ((bits >> 23) - 126).astype(np.float64)
    mantissa = ((bits & 0x007FFFFF) | 0x3F000000).view(np.float32)  # in [0.5, 1)
    small = mantissa < _SQRT_HALF
    exponent64 -= small
    x64 = np.where(small, mantissa + mantissa, mantissa).astype(np.float64)
    x64 -= 1.0
    narrow = np.empty_like(x)
    z64 = _round(x64 * x64, narrow)
    y64 = _horner(x64, _LOG, narrow)
    y64 *= x64
    _round(y64, narrow)
    y64 *= z64
    y64 += _round(exponent64 * _LN2_LOW, narrow)
    _round(y64, narrow)
    z64 *= 0.5
    y64 -= z64
    _round(y64, narrow)
    y64 += x64
    _round(y64, narrow)
    exponent64 *= _LN2_HIGH
    y64 += exponent64
    return y64.astype(np.float32)


def _sincos(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Float32 sine and cosine of float32 angles in [0, 2 pi)."""
    octant = (angle * _FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= ~1
    octant64 = octant.astype(np.float64)
    narrow = np.empty_like(angle)
    x64 = angle.astype(np.float64)
    for part in _MINUS_QUARTER_PI:
        x64 += octant64 * part
        _round(x64, narrow)
    z64 = _round(x64 * x64, narrow)
    cosine = _cosine(z64, narrow)
    sine = _sine(x64, z64, narrow)
    swapped = (octant & 2) != 0
    sine, cosine = np.where(swapped, cosine, sine), np.where(swapped, sine, cosine)
    sine.view(np.int32)[...] ^= (octant & 4) << 29
    cosine.view(np.int32)[...] ^= (~(octant - 2) & 4) << 29
    return sine, cosine


def _cosine(z64: np.ndarray, narrow: np.ndarray) -> np.ndarray:
    y64 = _horner(z64, _COS, narrow)
    y64 *= z64
    _round(y64, narrow)
    y64 *= z64
    y64 -= 0.5 * z64
    _round(y64, narrow)
    y64 += 1.0
    return y64.astype(np.float32)


def _sine(x64: np.ndarray, z64: np.ndarray, narrow: np.ndarray) -> np.ndarray:
    y64 = _horner(z64, _SIN, narrow)
    y64 *= z64
    _round(y64, narrow)
    y64 *= x64
    y64 += x64
    return y64.astype(np.float32)


def _horner(x64: np.ndarray, coefficients: tuple[float, ...], narrow: np.ndarray) -> np.ndarray:
    y64 = np.full_like(x64, coefficients[0])
    for coefficient in coefficients[1:]:
        y64 *= x64
        y64 += coefficient
        _round(y64, narrow)
    return y64


def _round(values64: np.ndarray, narrow: np.ndarray) -> np.ndarray:
    """Rounds to float32 in place; `narrow` is float32 room of the same shape."""
    np.copyto(narrow, values64, casting="same_kind")
    np.copyto(values64, narrow)
    return values64
