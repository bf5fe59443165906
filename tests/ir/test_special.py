"""The special functions NumPy lacks: accuracy against mpmath, special values, shapes and dtypes."""

from __future__ import annotations

import math

import ml_dtypes
import mpmath as mp
import numpy as np
import pytest

from treadle.ir import special

NAMES = ("erf", "erfc", "erfinv", "lgamma", "digamma")
INF, NAN = math.inf, math.nan


def exact(name: str, x: float) -> mp.mpf:
    v = mp.mpf(x)
    if name == "lgamma":
        return mp.log(abs(mp.gamma(v))) if v < 0 else mp.loggamma(v)
    return {"erf": mp.erf, "erfc": mp.erfc, "erfinv": mp.erfinv, "digamma": mp.digamma}[name](v)


def ulps(got: np.ndarray, name: str, x: np.ndarray) -> np.ndarray:
    """Errors in units of the last place of the exact values, or of 1 at the left of 0, where terms cancel."""
    info = np.finfo(got.dtype)
    errors = []
    with mp.workdps(40):
        for value, y in zip(x.tolist(), got.tolist(), strict=True):
            right = exact(name, value)
            size = max(abs(float(right)), float(info.smallest_normal))
            if name in ("lgamma", "digamma") and value < 0:
                size = max(size, abs(math.log(abs(value))) * abs(value), 4)
            unit = math.ldexp(1, math.frexp(size)[1] - 1 - info.nmant)
            errors.append(float(abs(mp.mpf(y) - right) / unit))
    return np.array(errors)


def samples(name: str) -> np.ndarray:
    r = np.random.default_rng(11)
    if name == "erfinv":
        tail = 1 - np.exp(r.uniform(-36, -1, 150))
        return np.concatenate([r.uniform(-1, 1, 150), tail, -tail[:50], r.uniform(-1e-8, 1e-8, 30)])
    if name in ("erf", "erfc"):
        return np.concatenate([r.uniform(-6, 6, 200), r.uniform(0, 27, 150), np.exp(r.uniform(-40, 0, 50))])
    around = [c + s * np.exp(r.uniform(-20, -1, 12)) for c in (1, 2, 1.4616321449683623, 7.5, 8) for s in (1, -1)]
    return np.concatenate([r.uniform(0, 10, 200), np.exp(r.uniform(-30, 60, 80)), *around, r.uniform(-9, 0, 60)])


@pytest.mark.parametrize("name", NAMES)
def test_float64(name):
    x = samples(name)
    error = ulps(getattr(special, name)(x), name, x)
    assert error.max() <= 2, x[np.argmax(error)]


@pytest.mark.parametrize("name", NAMES)
def test_float32(name):
    """From float64, so to half a unit; erf has its own polynomials."""
    x = samples(name).astype(np.float32)
    x = x[(np.abs(x) < 1) | (name != "erfinv")]
    got = getattr(special, name)(x)
    assert got.dtype == np.float32
    error = ulps(got, name, x)
    assert error.max() <= (1.5 if name == "erf" else 0.501), x[np.argmax(error)]


def test_erf_of_every_third_float():
    """Against the float64 version, from where erf is linear to where it is 1."""
    x = np.arange(0x38000000, 0x40900000, 3, dtype=np.uint32)[::37].view(np.float32)
    right = special.erf(x.astype(np.float64))
    got = special.erf(np.concatenate([x, -x]))
    assert (got[: x.size] == -got[x.size :]).all()
    assert (np.abs(got[: x.size] - right) <= 1.5 * np.spacing(right.astype(np.float32))).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("name", "x", "want"), [
    ("erf", [0.0, -0.0, INF, -INF, NAN], [0.0, -0.0, 1, -1, NAN]),
    ("erfc", [0.0, -0.0, INF, -INF, NAN, 300], [1, 1, 0, 2, NAN, 0]),
    ("erfinv", [0.0, -0.0, 1, -1, 1.5, -INF, NAN], [0.0, -0.0, INF, -INF, NAN, NAN, NAN]),
    ("lgamma", [1, 2, 0.0, -0.0, -1, -7, INF, -INF, NAN], [0.0, 0.0, INF, INF, INF, INF, INF, INF, NAN]),
    ("digamma", [0.0, -0.0, -1, -30, INF, -INF, NAN], [-INF, INF, NAN, NAN, INF, NAN, NAN]),
])  # fmt: skip
def test_special_values(name, x, want, dtype):
    got = getattr(special, name)(np.array(x).astype(dtype))
    assert got.dtype == dtype
    got, want = got.astype(np.float64), np.array(want, np.float64)
    assert np.array_equal(got, want, equal_nan=True)
    zero = want == 0
    assert (np.signbit(got) == np.signbit(want))[zero].all()


def test_far_ends():
    assert special.lgamma(np.array(3e305)) == INF and special.lgamma(np.array(2.5e305)) < INF
    assert special.lgamma(np.array([5e-324, -5e-324])).tolist() == [744.4400719213812] * 2
    assert special.digamma(np.array([1e-300, -1e-300, 1e300])).tolist() == [-1 / 1e-300, 1 / 1e-300, math.log(1e300)]
    assert special.erfinv(np.array(1e-310)) == pytest.approx(8.86226925452758e-311)
    assert 0 < special.erfc(np.array(27.2)) < 1e-320 and special.erfc(np.array(-27.2)) == 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_shapes(name, dtype):
    """0-d, empty, strided and longer than a block; the operand is left alone."""
    f = getattr(special, name)
    assert f(np.array(0.5, dtype)).shape == () and f(np.empty((0,), dtype)).shape == (0,)
    assert f(np.empty((3, 0, 2), dtype)).shape == (3, 0, 2)
    x = np.linspace(0.01, 0.99, 2 * special.BLOCK + 7).astype(dtype)
    before = x.copy()
    whole = f(x)
    assert whole.dtype == dtype and (x == before).all()
    assert (f(x[::-3]) == whole[::-3]).all()
    square = x[: 7 * 11].reshape(7, 11)
    assert (f(square.T) == whole[: 7 * 11].reshape(7, 11).T).all() and f(square.T).flags.c_contiguous


def test_warns_of_nothing():
    """NaN and overflow are results, not accidents: this suite turns warnings into errors."""
    x = np.array([-1.0, 0.0, INF, -INF, NAN, 1e308, -1e308])
    for name in NAMES:
        getattr(special, name)(x)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_through_double(dtype):
    x = np.linspace(0.1, 5, 300).astype(dtype)
    got = special.through_double(np.log, x)
    single = np.log(x.astype(np.float64)).astype(np.float32)
    assert got.dtype == dtype and (got == single.astype(dtype)).all()
