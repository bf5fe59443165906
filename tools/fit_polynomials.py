"""Fits the polynomials of the scalar prelude and of `ir/special.py` (needs mpmath).

    python tools/fit_polynomials.py            # every table
    python tools/fit_polynomials.py exp_f      # one

Each fit is a minimax (Remez) polynomial for a weighted error, on a fixed grid of Chebyshev points.
Coefficients are rounded to the target precision, either all at once or one after the other, lowest
first, with the rest fitted again after each; the better of the two is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
import numpy as np

mp.mp.dps = 50
F, D = np.float32, np.float64


@dataclass(frozen=True, slots=True)
class Fit:
    """Approximate f on [lo, hi] by a polynomial of `count` coefficients; |error| * weight is levelled."""

    f: Callable
    lo: object
    hi: object
    count: int
    weight: Callable = lambda x: mp.mpf(1)
    kind: type = np.float64  # coefficients are rounded to this
    pair: bool = False  # the first coefficient is the sum of two doubles


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
    xs = [x for x in grid(task.lo, task.hi, max(200, 12 * task.count)) if abs(x) > 1e-20]
    ws = [mp.mpf(task.weight(x)) for x in xs]
    target = [mp.mpf(task.f(x)) for x in xs]
    exact = remez(xs, target, ws, 0, task.count)
    at_once = [rounded(c, task.kind) for c in exact]
    if task.pair:
        at_once[0] += rounded(exact[0] - at_once[0], task.kind)
    found = [at_once]
    if not task.pair and (task.lo >= 0 or task.kind is F):
        found.append(one_by_one(task, xs, ws, target))

    def worst(c):
        return max(abs((horner(c, x) - f) * w) for x, f, w in zip(xs, target, ws, strict=True))

    best = min(found, key=worst)
    return best, float(worst(best))


def rounded(c, kind):
    return mp.mpf(float(kind(float(c))))


def one_by_one(task: Fit, xs, ws, target) -> list:
    rest, done = list(target), []
    for k in range(task.count):
        c = rounded(remez(xs, rest, ws, k, task.count - k)[0], task.kind)
        done.append(c)
        rest = [f - c * x**k for f, x in zip(rest, xs, strict=True)]
    return done


LN2 = mp.log(2)
ROOT2 = mp.sqrt(2)


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


def log_pair_rest(z):
    """(atanh_tail - 2/3) / z."""
    return (atanh_tail(z) - mp.mpf(2) / 3) / z


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


def erfcx_curve(u):
    """exp(x**2) erfc(x) (1 + 2 x) at u = (x - 3) / (x + 3) - 1/16."""
    t = u + mp.mpf(1) / 16
    x = 3 * (1 + t) / (1 - t)
    if x < 60:
        return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)
    return mp.nsum(lambda k: (-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k, [0, 12]) * (1 + 2 * x) / (
        x * mp.sqrt(mp.pi))


def erfinv_central(u):
    """erfinv(x) / x at u = -log(1 - x**2)."""
    x = mp.sqrt(-mp.expm1(-u))
    return mp.erfinv(x) / x if x > 1e-20 else mp.sqrt(mp.pi) / 2


def erfinv_tail(center):
    """erfinv(x) / x at u = sqrt(-log(1 - x**2)) - center."""
    def f(u):
        w = (u + center) ** 2
        with mp.workdps(80):
            x = mp.sqrt(-mp.expm1(-w))
            return +(mp.erfinv(x) / x)
    return f


def lgamma_curve(t):
    """lgamma(2 + t) / t."""
    return mp.loggamma(2 + t) / t


def lgamma_half(t):
    """lgamma(x) / (x - 1) at t = x - 3/4."""
    x = t + mp.mpf("0.75")
    return mp.loggamma(x) / (x - 1) if x != 1 else -mp.euler


def lgamma_one(t):
    """lgamma(x) / ((x - 1) (x - 2)) at t = x - 3/2."""
    x = t + mp.mpf("1.5")
    if x == 1:
        return mp.euler
    return mp.loggamma(x) / ((x - 1) * (x - 2)) if x != 2 else 1 - mp.euler


def stirling_tail(w):
    """x (lgamma(x) - Stirling's formula) at w = 1 / x**2."""
    x = 1 / mp.sqrt(w)
    return x * (mp.loggamma(x) - ((x - mp.mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2))


def digamma_root():
    return mp.findroot(mp.digamma, mp.mpf("1.4616321449683623"))


def digamma_curve(t):
    """digamma(x) / (x - root) at t = x - 1.5."""
    return mp.digamma(t + mp.mpf("1.5")) / (t + mp.mpf("1.5") - ROOT)


def digamma_tail(w):
    """x**2 (log x - 1 / (2 x) - digamma(x)) at w = 1 / x**2."""
    x = 1 / mp.sqrt(w)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / w


def odd_tail(f):
    """(f(x) / x - 1) / z at z = x**2."""
    return lambda z: (f(mp.sqrt(z)) / mp.sqrt(z) - 1) / z


ROOT = digamma_root()
R3, QUARTER = mp.mpf(1) / 3, mp.pi / 4 * mp.mpf("1.02")
S2 = ((ROOT2 - 1) / (ROOT2 + 1)) ** 2 * mp.mpf("1.0001")

FITS: dict[str, Fit] = {
    "exp_f": Fit(exp_tail, -LN2 / 2 * 1.001, LN2 / 2 * 1.001, 5, lambda r: r * r / mp.exp(r), F),
    "exp_short_f": Fit(exp_tail, -LN2 / 2 * 1.001, LN2 / 2 * 1.001, 4, lambda r: r * r / mp.exp(r), F),
    "exp_d": Fit(exp_tail, -LN2 / 2 * 1.001, LN2 / 2 * 1.001, 10, lambda r: r * r / mp.exp(r), D),
    "exp_fd": Fit(exp_tail, -LN2 / 2 * 1.001, LN2 / 2 * 1.001, 6, lambda r: r * r / mp.exp(r), D),
    "log_f": Fit(log_tail, 1 / ROOT2 - 1, ROOT2 - 1, 9, lambda f: f**3 / mp.log1p(f), F),
    "log_d": Fit(atanh_tail, 0, S2, 7, lambda z: z, D),
    "log_fd": Fit(atanh_tail, 0, S2, 5, lambda z: z, D),
    "log_pair": Fit(log_pair_rest, 0, S2, 8, lambda z: z * z / 2, D),
    "sin_fd": Fit(sin_tail, 0, QUARTER**2, 4, lambda z: z, D),
    "cos_fd": Fit(cos_tail, 0, QUARTER**2, 4, lambda z: z * z, D),
    "sin_d": Fit(sin_tail, 0, QUARTER**2, 6, lambda z: z, D),
    "cos_d": Fit(cos_tail, 0, QUARTER**2, 6, lambda z: z * z, D),
    "erf_small_f": Fit(erf_tail, 0, mp.mpf("0.811"), 6, lambda z: 1 / (erf_tail(z) + 1), F),
    "erf_large_f": Fit(erfc_exponent, 0.9, 4.0, 7, lambda x: mp.erfc(x) / mp.erf(x), F),
    "tanh_f": Fit(odd_tail(mp.tanh), 0, mp.mpf("0.36"), 5, lambda z: z, F),
    "tanh_d": Fit(odd_tail(mp.tanh), 0, mp.mpf("0.36"), 11, lambda z: z, D),
    "sinh_d": Fit(odd_tail(mp.sinh), 0, 1, 8, lambda z: z, D),
    "sinh_fd": Fit(odd_tail(mp.sinh), 0, 1, 4, lambda z: z, D),
    "asin_d": Fit(odd_tail(mp.asin), 0, mp.mpf("0.2501"), 13, lambda z: z, D),
    "asin_fd": Fit(odd_tail(mp.asin), 0, mp.mpf("0.2501"), 6, lambda z: z, D),
    "atan_d": Fit(odd_tail(mp.atan), 0, mp.mpf("0.1717"), 11, lambda z: z, D),
    "atan_fd": Fit(odd_tail(mp.atan), 0, mp.mpf("0.1717"), 5, lambda z: z, D),
    "erfcx_d": Fit(erfcx_curve, -0.78, 0.746, 24, lambda t: 1, D, True),
    "erfcx_fd": Fit(erfcx_curve, -0.78, 0.746, 13, lambda t: 1, D),
    "erfinv_0": Fit(erfinv_central, 0, 5, 23, lambda u: 1, D, True),
    "erfinv_1": Fit(erfinv_tail(3), -0.764, 0.743, 23, lambda u: mp.mpf(1) / 2, D, True),
    "erfinv_2": Fit(erfinv_tail(mp.mpf("4.875")), -1.135, 1.135, 23, lambda u: mp.mpf(1) / 4, D, True),
    "lgamma_d": Fit(lgamma_curve, -0.51, 0.51, 19, lambda t: 1 / lgamma_curve(t), D, True),
    "lgamma_half": Fit(lgamma_half, -0.25, 0.25, 22, lambda t: 1, D),
    "lgamma_one": Fit(lgamma_one, -0.5, 0.5, 22, lambda t: 2, D),
    "stirling_d": Fit(stirling_tail, mp.mpf(10) ** -7, mp.mpf(1) / 62, 7, lambda w: mp.mpf(1) / 80, D),
    "digamma_d": Fit(digamma_curve, -0.51, 0.51, 23, lambda t: 1 / digamma_curve(t), D, True),
    "digamma_half": Fit(lambda t: mp.digamma(t + mp.mpf("0.75")), -0.25, 0.25, 22, lambda t: 1, D),
    "digamma_mid": Fit(lambda t: mp.digamma(t + 3), -1, 1, 23, lambda t: 2, D),
    "digamma_tail": Fit(digamma_tail, mp.mpf(10) ** -7, mp.mpf(1) / 62, 7, lambda w: w, D),
    "erf_small_fd": Fit(erf_tail, 0, mp.mpf("0.26"), 5, lambda z: 1 / (erf_tail(z) + 1), D),
    "erf_small_d": Fit(erf_tail, 0, 1, 13, lambda z: 1 / (erf_tail(z) + 1), D),
}


def show(name: str) -> None:
    c, worst = fit(FITS[name])
    suffix = "f" if FITS[name].kind is F else ""
    print(f"{name}: error 2^{float(mp.log(worst, 2)):.1f}")
    print("    " + ", ".join(float(a).hex().replace("0000000p", "p") + suffix for a in c))
    if FITS[name].pair:
        print("    first, low part: " + float(c[0] - mp.mpf(float(c[0]))).hex())


if __name__ == "__main__":
    for wanted in sys.argv[1:] or FITS:
        show(wanted)
