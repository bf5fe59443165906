"""Special functions made of others: entropy terms, the normal distribution, the multivariate gamma."""

from __future__ import annotations

import math

from ...ir import ops
from ...ir.arith import cast, defaults, floating
from .binary import promoted
from .support import give


def _float(x):
    return x if x.type.dtype.kind == "f" else cast(x, defaults.dtype)


def entr(input, *, out=None):
    """Returns -x log(x): 0 at 0, -inf below."""
    x = _float(input)
    zero = ops.eq(x, 0)
    plain = -x * ops.log(ops.where(ops.gt(x, 0), x, 1.0))
    return give(ops.where(ops.lt(x, 0), -math.inf, ops.where(zero, 0.0, ops.where(ops.ne(x, x), x, plain))), out)


def ndtr(input, *, out=None):
    """Returns the normal distribution function."""
    x = _float(input)
    return give(ops.erfc(x * -math.sqrt(0.5)) * 0.5, out)


def log_ndtr(input, *, out=None):
    """Returns the logarithm of the normal distribution function, by an asymptotic series far below 0."""
    x = _float(input)
    far = ops.lt(x, -5.0)
    near = ops.log(ops.erfc(ops.where(far, 0.0, x) * -math.sqrt(0.5)) * 0.5)
    y = ops.where(far, x, -6.0)
    w = 1 / (y * y)
    series = 1 - w * (1 - w * (3 - w * (15 - w * (105 - w * 945))))
    tail = y * y * -0.5 - ops.log(-y) - 0.5 * math.log(2 * math.pi) + ops.log(series)
    return give(ops.where(far, tail, near), out)


def ndtri(input, *, out=None):
    """Returns the inverse of the normal distribution function."""
    x = _float(input)
    return give(ops.erfinv(x * 2 - 1) * math.sqrt(2), out)


def xlog1py(input, other, *, out=None):
    """Returns input * log(1 + other), 0 where input is 0 (NaN where other is NaN)."""
    a, b = promoted(input, other, dtype=floating(input, other))
    zero = ops.bit_and(ops.eq(a, 0), ops.eq(b, b))
    return give(ops.where(zero, 0.0, a * ops.log1p(ops.where(zero, 0.0, b))), out)


def multigammaln(input, p: int, *, out=None):
    """Returns the logarithm of the multivariate gamma function of dimension p."""
    x = _float(input)
    total = ops.lgamma(x)
    for k in range(1, p):
        total = total + ops.lgamma(x - k / 2)
    return give(total + p * (p - 1) / 4 * math.log(math.pi), out)


mvlgamma = multigammaln
