"""Fused multiply-add: one rounding, checked against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from treadle.runtime.random.arith import affine32, fma64


def nearest32(value: Fraction) -> np.float32:
    """The float32 nearest to a rational, ties to even."""
    guess = np.float32(float(value))
    lower, upper = (np.nextafter(guess, np.float32(limit)) for limit in (-np.inf, np.inf))
    return min(
        (lower, guess, upper),
        key=lambda f: (abs(Fraction(float(f)) - value), int(f.view(np.int32)) & 1),
    )


def test_fma64_rounds_once():
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-300, 1e290):
        for _ in range(20):
            a = rng.random(50)
            b, c = (float(v) * scale for v in rng.normal(size=2))
            if scale == 1.0:
                c = -b * float(a[0])  # the first element cancels
            expected = [float(Fraction(x) * Fraction(b) + Fraction(c)) for x in a.tolist()]
            assert fma64(a, b, c).tolist() == expected


# (b, c); in those with a tiny c, float64 hides it and many a sum lands on a tie of float32.
AFFINE = [
    (0.0714, -0.0357), (1.4, 0.3), (0.0, 1.0), (1.0, 1e6), (1e-7, 0.1), (3e38, 0.0),
    (5e-38, -3e-38), (1e-40, 1e-45), (7.5, -7.5), (3.0, 1e-30), (3.0, -1e-30), (-3.0, 1e-30),
    (-3.0, -1e-30),
]  # fmt: skip


@pytest.mark.parametrize(("b", "c"), AFFINE)
def test_affine32_rounds_once(b, c):
    counts = np.random.default_rng(1).integers(0, 1 << 24, 400)
    b, c = float(np.float32(b)), float(np.float32(c))
    expected = [nearest32(Fraction(int(k), 1 << 24) * Fraction(b) + Fraction(c)) for k in counts]
    assert affine32(counts, b, c).tolist() == expected


def test_special_values():
    a = np.array([0.0, -0.0, 1.0, np.inf, np.nan])
    for b, c in ((2.0, 3.0), (1.0, 0.0), (0.0, 1.0), (np.inf, 1.0), (2.0, -np.inf)):
        with np.errstate(invalid="ignore"):
            expected = a * b + c
        np.testing.assert_array_equal(fma64(a, b, c), expected)
    assert np.signbit(fma64(np.array([-0.0]), 2.0, -0.0))[0]
