"""Fits the polynomials of the scalar prelude and of `ir/special.py` (needs mpmath).

    python tools/fit_polynomials.py            # every table
    python tools/fit_polynomials.py exp_f      # one

Each fit is a minimax (Remez) polynomial for a weighted error, on a fixed grid of Chebyshev points.
Coefficients are rounded to the target precision one after the other, lowest first, and the rest is
fitted again after each, so that rounding costs almost nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
import numpy as np

mp.mp.dps = 50


@dataclass(frozen=True, slots=True)
class Fit:
    """Approximate f on [lo, hi] by a polynomial of `count` coefficients; |error| * weight is levelled."""

    f: Callable
    lo: object
    hi: object
    count: int
    weight: Callable = lambda x: mp.mpf(1)
    kind: type = np.float64  # coefficients are rounded to this


def grid(lo, hi, points: int) -> list:
    """Chebyshev points of [lo, hi], ends included."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    half, mid = (hi - lo) / 2, (hi + lo) / 2
    return [mid - half * mp.cos(mp.pi * i / (points - 1)) for i in range(points)]


def solve(xs, fs, ws, start: int, count: int) -> list:
    """Coefficients of x**start .. x**(start+count-1) that level the error on count + 1 points."""
    size = count + 1
    a = mp.matrix(size, size)
    b = mp.matrix(size, 1)
    for i, (x, f, w) in enumerate(zip(xs, fs, ws, strict=True)):
        power = x**start
        for j in range(count):
            a[i, j] = power
            power *= x
        a[i, count] = (-1) ** i / w
        b[i] = f
    return list(mp.lu_solve(a, b))[:count]


def horner(c, x):
    total = mp.mpf(0)
    for a in reversed(c):
        total = total * x + a
    return total


def extrema(errors: list, count: int) -> list[int]:
    """Indices of `count` alternating extrema of the error, the largest run of them."""
    peaks: list[int] = []
    for i, e in enumerate(errors):
        if peaks and (e > 0) == (errors[peaks[-1]] > 0):
            if abs(e) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > count:
        del peaks[0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1]
    return peaks


def remez(xs, fs, ws, start: int, count: int) -> list:
    """The minimax coefficients of x**start.. over the grid."""
    size = count + 1
    at = [round(i * (len(xs) - 1) / (size - 1)) for i in range(size)]
    best = None
    for _ in range(30):
        c = solve([xs[i] for i in at], [fs[i] for i in at], [ws[i] for i in at], start, count)
        errors = [(horner(c, x) * x**start - f) * w for x, f, w in zip(xs, fs, ws, strict=True)]
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[0]:
            best = (worst, c)
        new = extrema(errors, size)
        level = min(abs(errors[i]) for i in new)
        if len(new) < size or new == at or worst < level * mp.mpf("1.001"):
            break
        at = new
    return best[1]


def fit(task: Fit) -> tuple[list, float]:
    """Rounded coefficients, lowest first, and the largest weighted error."""
    xs = grid(task.lo, task.hi, max(200, 24 * task.count))
    xs = [x for x in xs if x != 0]
    ws = [mp.mpf(task.weight(x)) for x in xs]
    target = [mp.mpf(task.f(x)) for x in xs]
    rest, done = list(target), []
    for k in range(task.count):
        c = remez(xs, rest, ws, k, task.count - k)[0]
        c = mp.mpf(float(task.kind(float(c)))) if task.kind else c
        done.append(c)
        rest = [f - c * x**k for f, x in zip(rest, xs, strict=True)]
    worst = max(abs(e * w) for e, w in zip(rest, ws, strict=True))
    return done, float(worst)


LN2 = mp.log(2)
ROOT2 = mp.sqrt(2)
F, D = np.float32, np.float64


def exp_tail(r):
    """(exp(r) - 1 - r) / r**2, without cancellation."""
    return mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 40]) if abs(r) < 1e-3 else (
        (mp.expm1(r) - r) / r**2)


def log_tail(f):
    """(log1p(f) - f + f**2 / 2) / f**3."""
    return (mp.log1p(f) - f + f * f / 2) / f**3


def atanh_tail(z):
    """(2 atanh(s) - 2 s) / s**3 at z = s**2."""
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / (s * z)


def sin_tail(z):
    r = mp.sqrt(z)
    return (mp.sin(r) - r) / (r * z)


def cos_tail(z):
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / (z * z)


def erf_tail(z):
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def erfc_exponent(x):
    return -mp.log(mp.erfc(x))


R3, QUARTER = mp.mpf(1) / 3, mp.pi / 4 * mp.mpf("1.02")
S2 = ((ROOT2 - 1) / (ROOT2 + 1)) ** 2 * mp.mpf("1.0001")

FITS: dict[str, Fit] = {
    "exp_f": Fit(exp_tail, -LN2 / 2 * 1.001, LN2 / 2 * 1.001, 5, lambda r: r * r / mp.exp(r), F),
    "exp_d": Fit(exp_tail, -LN2 / 2 * 1.001, LN2 / 2 * 1.001, 10, lambda r: r * r / mp.exp(r), D),
    "exp_fd": Fit(exp_tail, -LN2 / 2 * 1.001, LN2 / 2 * 1.001, 6, lambda r: r * r / mp.exp(r), D),
    "log_f": Fit(log_tail, 1 / ROOT2 - 1, ROOT2 - 1, 9, lambda f: f**3 / mp.log1p(f), F),
    "log_d": Fit(atanh_tail, 0, S2, 7, lambda z: z, D),
    "log_fd": Fit(atanh_tail, 0, S2, 5, lambda z: z, D),
    "sin_fd": Fit(sin_tail, 0, QUARTER**2, 4, lambda z: z, D),
    "cos_fd": Fit(cos_tail, 0, QUARTER**2, 4, lambda z: z * z, D),
    "sin_d": Fit(sin_tail, 0, QUARTER**2, 6, lambda z: z, D),
    "cos_d": Fit(cos_tail, 0, QUARTER**2, 6, lambda z: z * z, D),
    "erf_small_f": Fit(erf_tail, 0, 1, 7, lambda z: 1 / (erf_tail(z) + 1), F),
    "erf_large_f": Fit(erfc_exponent, 0.9, 4.0, 8, lambda x: mp.erfc(x) / mp.erf(x), F),
    "erf_small_d": Fit(erf_tail, 0, 1, 12, lambda z: 1 / (erf_tail(z) + 1), D),
}


def show(name: str) -> None:
    c, worst = fit(FITS[name])
    suffix = "f" if FITS[name].kind is F else ""
    print(f"{name}: error 2^{float(mp.log(worst, 2)):.1f}")
    print("    " + ", ".join(float(a).hex().replace("0000000p", "p") + suffix for a in c))


if __name__ == "__main__":
    for wanted in sys.argv[1:] or FITS:
        show(wanted)
