"""Special functions NumPy lacks: erf, erfc, erfinv, lgamma, digamma over arrays of any float dtype."""

from __future__ import annotations

import math

import numpy as np


def _elementwise(f, x: np.ndarray) -> np.ndarray:
    x = np.asarray(x)
    flat = [f(v) for v in x.astype(np.float64).ravel().tolist()]
    return np.array(flat, np.float64).reshape(x.shape).astype(x.dtype)


def erf(x):
    return _elementwise(math.erf, x)


def erfc(x):
    return _elementwise(math.erfc, x)


def _lgamma(v: float) -> float:
    if math.isinf(v) or (v <= 0 and v == math.floor(v)):
        return math.inf
    return math.lgamma(v)


def lgamma(x):
    return _elementwise(_lgamma, x)


def _digamma(v: float) -> float:
    if v == 0:
        return -math.copysign(math.inf, v)
    if v == math.inf or v != v:
        return v
    if v < 0:
        if v == math.floor(v):
            return math.nan
        return _digamma(1 - v) - math.pi / math.tan(math.pi * math.fmod(v, 1.0))
    low = 0.0
    while v < 10:
        low -= 1 / v
        v += 1
    w = 1 / (v * v)
    tail = w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w * (1 / 132 - w * 691 / 32760)))))
    return low + math.log(v) - 0.5 / v - tail


def digamma(x):
    return _elementwise(_digamma, x)


def _erfinv(v: float) -> float:
    if not -1 <= v <= 1:
        return math.nan
    if abs(v) == 1 or v == 0:
        return math.copysign(math.inf, v) if v else v
    w = -math.log((1 - v) * (1 + v))
    a = 2 / (math.pi * 0.147) - w / 2
    y = math.copysign(math.sqrt(math.sqrt(a * a + w / 0.147) - a), v)
    for _ in range(6):
        error = math.erf(y) - v if abs(v) < 0.5 else math.copysign(1, v) * (1 - abs(v) - math.erfc(abs(y)))
        y -= error / (2 / math.sqrt(math.pi) * math.exp(-y * y) + y * error)
    return y


def erfinv(x):
    return _elementwise(_erfinv, x)
