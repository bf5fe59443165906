"""Poisson and gamma numbers by rejection: as many uniforms per element as it takes, in Python."""

from __future__ import annotations

import math

import numpy as np

from treadle.ir import dtype as dt
from treadle.runtime.random.dtypes import as_dtype, narrowed, not_implemented, require_floating
from treadle.runtime.random.generator import Generator
from treadle.runtime.random.uniforms import floats64

_AHEAD = 4096  # uniforms drawn at once at most; what is left over goes back


class _Uniforms:
    """Float64 uniforms one by one; on leaving, the stream stands after the last one taken."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        self._values = iter(())
        self._ahead = 16
        self._taken = 0

    def __enter__(self) -> _Uniforms:
        self.generator.lock.acquire()
        self._mark = self.generator.mark()
        return self

    def __exit__(self, *_error) -> None:
        self.generator.rewind(self._mark, 2 * self._taken)
        self.generator.lock.release()

    def take(self) -> float:
        self._taken += 1
        value = next(self._values, None)
        if value is None:
            self._values = iter(floats64(self.generator, self._ahead).tolist())
            self._ahead = min(2 * self._ahead, _AHEAD)
            value = next(self._values)
        return value

    def normal(self) -> float:
        """A standard normal by the pairwise path, from or into the generator's half pair."""
        kept = self.generator.next_normal
        if kept is not None:
            self.generator.next_normal = None
            return kept
        angle = 2.0 * math.pi * self.take()
        radius = math.sqrt(-2.0 * math.log1p(-self.take()))
        self.generator.next_normal = radius * math.sin(angle)
        return radius * math.cos(angle)


def poisson(rates: np.ndarray, generator: Generator) -> np.ndarray:
    """Poisson numbers of the given rates, in their floating dtype, as torch.poisson.

    RuntimeError for a negative or NaN rate.

    >>> poisson(np.float32([0.0, 2.0, 100.0]), Generator().manual_seed(0))
    array([ 0.,  6., 96.], dtype=float32)
    """
    dtype = as_dtype(rates.dtype)
    require_floating(dtype, "poisson_cpu")
    flat = rates.astype(np.float64).reshape(-1)
    if not (flat >= 0).all():
        raise RuntimeError(
            f"invalid Poisson rate, expected rate to be non-negative, got {flat[~(flat >= 0)][0]:g}"
        )
    with _Uniforms(generator) as uniforms:
        drawn = [_poisson(rate, uniforms) for rate in flat.tolist()]
    return narrowed(np.array(drawn, np.int64), dtype).reshape(rates.shape)


def _poisson(rate: float, uniforms: _Uniforms) -> int:
    if rate >= 10.0:
        return _poisson_by_rejection(rate, uniforms)
    if rate == 0.0:
        return 0
    limit, product, count = math.exp(-rate), uniforms.take(), 0
    while product > limit:
        product *= uniforms.take()
        count += 1
    return count


def _poisson_by_rejection(rate: float, uniforms: _Uniforms) -> int:
    """Hoermann's transformed rejection (1993)."""
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = uniforms.take() - 0.5
        v = uniforms.take()
        near = 0.5 - abs(u)
        k = math.floor((2.0 * a / near + b) * u + rate + 0.43)
        if near >= 0.07 and v <= squeeze:
            return k
        if k < 0 or (near < 0.013 and v > near):
            continue
        left = _log(v) + log_inverse_alpha - math.log(a / (near * near) + b)
        if left <= -rate + k * log_rate - math.lgamma(k + 1.0):
            return k


def standard_gamma(alpha: np.ndarray, generator: Generator) -> np.ndarray:
    """Gamma numbers of shape parameter alpha and rate 1, in alpha's dtype (float32, float64).

    Never below the dtype's smallest normal number. NotImplementedError for other dtypes.

    >>> standard_gamma(np.float64([0.5, 3.0]), Generator().manual_seed(0)).shape
    (2,)
    """
    dtype = as_dtype(alpha.dtype)
    if dtype is not dt.float32 and dtype is not dt.float64:
        raise not_implemented(dtype, "gamma_cpu")
    kind = dtype.np.type
    with _Uniforms(generator) as uniforms:
        drawn = [_gamma(a, kind, uniforms) for a in alpha.reshape(-1)]
    return np.maximum(np.array(drawn, dtype.np), np.finfo(kind).tiny).reshape(alpha.shape)


def _gamma(alpha, kind: type, uniforms: _Uniforms) -> float:
    """Marsaglia and Tsang (2000); `kind` is the precision of the steps taken on alpha itself."""
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1.0 - uniforms.take()) ** float(kind(1) / alpha)
        alpha = alpha + kind(1)
    d = float(alpha - kind(np.float32(1) / np.float32(3)))
    c = 1.0 / math.sqrt(9.0 * d)
    squeeze = float(np.float32(0.0331))
    while True:
        x = uniforms.normal()
        y = 1.0 + c * x
        while y <= 0.0:
            x = uniforms.normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - uniforms.take()
        square = x * x
        if u < 1.0 - squeeze * square * square:
            return scale * d * v
        if _log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf
