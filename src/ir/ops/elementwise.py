"""Elementwise primitives: same shape and dtype in, one value out; numbers are weak operands.

They neither broadcast nor promote; `ir.arith` inserts expand and convert.
"""

from __future__ import annotations

from math import inf, log, pi, sqrt as _root

import numpy as np

from .. import dtype as dt
from .. import special
from ..buffer import LARGE, empty_like
from ..errors import DTypeError, ShapeError, UnsupportedDTypeError
from ..op import Kind, make_op
from ..type import TensorType


def _first(operands) -> TensorType:
    for t in operands:
        if isinstance(t, TensorType):
            return t
    raise TypeError("an elementwise op needs at least one tensor operand")


def same(name, kinds="buifc"):
    """Infer: all tensor operands have one type, which is the result's; its kind must be in `kinds`."""

    def infer(*operands, **_attrs):
        first = _first(operands)
        for t in operands:
            if isinstance(t, TensorType) and t is not first and (
                t.shape != first.shape or t.dtype is not first.dtype
            ):
                raise ShapeError(f"{name}: expected operands of one type, got {first} and {t}")
        if first.dtype.kind not in kinds:
            raise UnsupportedDTypeError(f'"{name}_cpu" not implemented for \'{first.dtype.scalar_name}\'')
        return first

    return infer


def compares(name):
    check = same(name)
    return lambda *operands: check(*operands).with_dtype(dt.bool_)


def wide(fn, infer=None):
    """A NumPy function, without its warnings; float16 and bfloat16 are computed in float32, then rounded."""
    same_type = infer is None and isinstance(fn, np.ufunc)

    def run(*xs, **attrs):
        like = next(x for x in xs if isinstance(x, np.ndarray))
        d = like.dtype
        with np.errstate(all="ignore"):
            if d.itemsize == 2 and d.kind not in "iu":
                xs = [x.astype(np.float32) if isinstance(x, np.ndarray) else x for x in xs]
                return np.asarray(fn(*xs, **attrs)).astype(d)
            if same_type and like.nbytes >= LARGE and d.kind == "f":
                return fn(*xs, out=empty_like(like), **attrs)
            return fn(*xs, **attrs)

    return run


def unary(name, fn, vjp, domain=(-inf, inf), kinds="fc", emit=None, infer=None):
    return make_op(name, Kind.ELEMENTWISE, infer or same(name, kinds), wide(fn, infer), (vjp,),
                   emit or (lambda s, x: s.verb(name, (x,))), domain=domain)


def binary(name, fn, vjp, kinds="buifc", emit=None, infer=None, domain=(-inf, inf)):
    return make_op(name, Kind.ELEMENTWISE, infer or same(name, kinds), wide(fn, infer), vjp,
                   emit or (lambda s, a, b: s.verb(name, (a, b))), domain=domain)


def compare(name, fn):
    return make_op(name, Kind.ELEMENTWISE, compares(name), fn, (None, None),
                   lambda s, a, b: s.verb(name, (a, b)))


def conj_of(x):
    """x's complex conjugate; x itself when real (gradients of holomorphic ops are conjugated)."""
    return conj(x) if x.dtype.kind == "c" else x


# arithmetic ---------------------------------------------------------------------------------------
def _sub_infer(*operands):
    first = same("sub")(*operands)
    if first.dtype is dt.bool_:
        raise DTypeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use "
                         "the `^` or `logical_xor()` operator instead.")
    return first


def _emit_logic(verb, on_bool):
    return lambda s, a, b: s.verb(on_bool if s.dtype(a) is dt.bool_ else verb, (a, b))


add = binary("add", np.add, (lambda g, _y, _a, _b: g, lambda g, _y, _a, _b: g),
             emit=_emit_logic("add", "or_"))
sub = binary("sub", np.subtract, (lambda g, _y, _a, _b: g, lambda g, _y, _a, _b: -g), infer=_sub_infer)
mul = binary("mul", np.multiply,
             (lambda g, _y, _a, b: g * conj_of_any(b), lambda g, _y, a, _b: g * conj_of_any(a)),
             emit=_emit_logic("mul", "and_"))


def conj_of_any(b):
    return b if isinstance(b, (int, float, complex)) else conj_of(b)


def _quiet(fn):
    def run(*xs):
        with np.errstate(all="ignore"):
            return fn(*xs)

    return run


div = binary("div", _quiet(np.true_divide),
             (lambda g, _y, _a, b: g / conj_of_any(b), lambda g, y, _a, b: -g * conj_of(y / b)),
             kinds="fc")


def _check_zero(a, b):
    if np.any(np.equal(b, 0)) and np.asarray(a).dtype.kind in "iub":
        raise RuntimeError("ZeroDivisionError")


def _floordiv(a, b):
    _check_zero(a, b)
    with np.errstate(all="ignore"):
        return np.floor_divide(a, b)


def _mod(a, b):
    _check_zero(a, b)
    with np.errstate(all="ignore"):
        return np.remainder(a, b)


def _fmod(a, b):
    _check_zero(a, b)
    with np.errstate(all="ignore"):
        return np.fmod(a, b)


floordiv = binary("floordiv", _floordiv, (
    lambda g, _y, _a, _b: full_as(_a, 0), lambda g, _y, _a, _b: full_as(_b, 0)), kinds="uif")
mod = binary("mod", _mod, (lambda g, _y, _a, _b: g, lambda g, _y, a, b: -g * floor(a / b)),
             kinds="uif")
fmod = binary("fmod", _fmod, (lambda g, _y, _a, _b: g, lambda g, _y, a, b: -g * trunc(a / b)),
              kinds="uif")


def _pow(a, b):
    with np.errstate(all="ignore"):
        if isinstance(b, np.ndarray) and b.dtype.kind in "iu" and np.any(b < 0):
            # NumPy refuses negative integer powers; PyTorch gives the truncated quotient
            b, negative = np.maximum(b, 0), b < 0
            unit = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
            return np.where(negative, unit, np.power(a, b)).astype(b.dtype)
        return np.power(a, b)


def _pow_base(g, _y, a, b):
    if isinstance(b, (int, float, complex)):
        return full_as(a, 0) if b == 0 else g * conj_of(b * pow(a, b - 1)) if b != 2 else g * (2 * conj_of(a))
    return where(eq(b, 0), full_as(a, 0), g * conj_of(b * pow(a, b - 1)))


def _pow_exponent(g, y, a, b):
    if isinstance(a, (int, float, complex)):
        return g * conj_of(y * log_number(a)) if a != 0 else where(ge(b, 0), full_as(b, 0), g * y * -inf)
    return where(bit_and(eq(a, 0), ge(b, 0)), full_as(b, 0), g * conj_of(y * ln(a)))


def log_number(a):
    return log(a) if not isinstance(a, complex) and a > 0 else complex(np.log(complex(a))) \
        if isinstance(a, complex) else float("nan")


def _emit_pow(s, a, b):
    value = s.value(b)
    if value == 2:  # exact in eager too: NumPy squares
        return s.mul(a, a)
    if value == 1:
        return a
    return s.pow(a, b)


def _pow_infer(a, b):
    t = same("pow", "uifc")(a, b)
    if t.dtype.kind in "ui" and isinstance(b, int) and b < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return t


pow = binary("pow", _pow, (_pow_base, _pow_exponent), infer=_pow_infer, emit=_emit_pow, domain=(0.1, 4))
neg = unary("neg", np.negative, lambda g, _y, _x: -g, kinds="uifc")
abs = unary("abs", np.abs, lambda g, _y, x: g * sign(x), kinds="uifc",
            infer=lambda t: same("abs", "uifc")(t).with_dtype(t.dtype.to_real()))

# choice -------------------------------------------------------------------------------------------


def _where_infer(c, a, b):
    t = same("where")(a, b)
    if c.dtype is not dt.bool_ or c.shape != t.shape:
        raise ShapeError(f"where expected condition to be a boolean tensor of shape {t.shape}, got {c}")
    return t


def full_as(x, value):
    """A tensor like x (tensor or type) filled with `value`."""
    from .create import full

    t = x if isinstance(x, TensorType) else x.type
    return full(shape=t.shape, value=value, dtype=t.dtype, device=t.device)


def _where_numpy(c, a, b):
    """np.where, a number taking the other operand's dtype."""
    d = a.dtype if isinstance(a, np.ndarray) else b.dtype
    return np.where(c, np.asarray(a, d), np.asarray(b, d))


where = make_op(
    "where", Kind.ELEMENTWISE, _where_infer, _where_numpy,
    (None, lambda g, _y, c, _a, _b: where(c, g, 0.0), lambda g, _y, c, _a, _b: where(c, 0.0, g)),
    lambda s, c, a, b: s.select(c, a, b),
)


def _tie(g, a, b, mine, other):
    return where(mine, g, where(other, 0.0, g * 0.5))


minimum = binary("minimum", np.minimum, (
    lambda g, _y, a, b: _tie(g, a, b, lt(a, b), gt(a, b)),
    lambda g, _y, a, b: _tie(g, a, b, gt(a, b), lt(a, b))), kinds="buif",
    emit=_emit_logic("minimum", "and_"))
maximum = binary("maximum", np.maximum, (
    lambda g, _y, a, b: _tie(g, a, b, gt(a, b), lt(a, b)),
    lambda g, _y, a, b: _tie(g, a, b, lt(a, b), gt(a, b))), kinds="buif",
    emit=_emit_logic("maximum", "or_"))
eq, ne = compare("eq", np.equal), compare("ne", np.not_equal)
lt, le = compare("lt", np.less), compare("le", np.less_equal)
gt, ge = compare("gt", np.greater), compare("ge", np.greater_equal)

# bits and logic -----------------------------------------------------------------------------------


def _bits(name, fn, verb):
    return binary(name, fn, (None, None), kinds="bui", emit=lambda s, a, b: s.verb(verb, (a, b)))


bit_and = _bits("bit_and", np.bitwise_and, "and_")
bit_or = _bits("bit_or", np.bitwise_or, "or_")
bit_xor = _bits("bit_xor", np.bitwise_xor, "xor")
bit_not = unary("bit_not", np.invert, None, kinds="bui", emit=lambda s, x: s.not_(x))


def _shift(fn, full_result):
    """Counts outside 0..bits-1 give what PyTorch gives: all bits shifted out."""

    def run(a, b):
        d = next(x.dtype for x in (a, b) if isinstance(x, np.ndarray))
        a, b = np.asarray(a, d), np.asarray(b, d)
        bits = 8 * d.itemsize
        bad = (b < 0) | (b >= bits)
        return np.where(bad, full_result(a), fn(a, np.where(bad, 0, b))).astype(d)

    return run


shl = binary("shl", _shift(np.left_shift, lambda a: 0), (None, None), kinds="ui")
shr = binary("shr", _shift(np.right_shift, lambda a: np.where(a < 0, -1, 0)), (None, None), kinds="ui")


# conversion ---------------------------------------------------------------------------------------
def _convert(x, *, dtype):
    with np.errstate(all="ignore"):
        if x.dtype.kind == "c" and dtype.kind != "c":
            x = x.real if dtype.kind != "b" else x != 0
        return x.astype(dtype.np)


def _convert_vjp(g, _y, _x, *, dtype):
    if _x.dtype.kind not in "fc":
        return None
    return convert(g, dtype=_x.dtype) if _x.dtype is not g.dtype else g


convert = make_op(
    "convert", Kind.ELEMENTWISE, lambda t, *, dtype: t.with_dtype(dtype), _convert, (_convert_vjp,),
    lambda s, x, *, dtype: s.convert(x, dtype),
)

# the same values in memory of their own
copy = make_op("copy", Kind.ELEMENTWISE, lambda t: t, lambda x: np.array(x, order="C"),
               (lambda g, _y, _x: g,), lambda s, x: x)

# functions of one float ---------------------------------------------------------------------------
exp = unary("exp", _quiet(np.exp), lambda g, y, _x: g * conj_of(y))
exp2 = unary("exp2", _quiet(np.exp2), lambda g, y, _x: g * y * log(2), kinds="f")
expm1 = unary("expm1", _quiet(np.expm1), lambda g, y, _x: g * (y + 1), kinds="f")
ln = unary("log", _quiet(np.log), lambda g, _y, x: g / conj_of(x), domain=(0, inf))
log2 = unary("log2", _quiet(np.log2), lambda g, _y, x: g / (x * log(2)), domain=(0, inf), kinds="f")
log10 = unary("log10", _quiet(np.log10), lambda g, _y, x: g / (x * log(10)), domain=(0, inf), kinds="f")
log1p = unary("log1p", _quiet(np.log1p), lambda g, _y, x: g / (x + 1), domain=(-1, inf), kinds="f")
sqrt = unary("sqrt", _quiet(np.sqrt), lambda g, y, _x: g / conj_of(y + y), domain=(0, inf))


def _rsqrt(x):
    with np.errstate(all="ignore"):
        return np.reciprocal(np.sqrt(x))


rsqrt = unary("rsqrt", _rsqrt, lambda g, y, _x: g * -0.5 * (y * y * y), domain=(0, inf), kinds="f")
sin = unary("sin", _quiet(np.sin), lambda g, _y, x: g * conj_of(cos(x)))
cos = unary("cos", _quiet(np.cos), lambda g, _y, x: -g * conj_of(sin(x)))
tan = unary("tan", _quiet(np.tan), lambda g, y, _x: g * conj_of(y * y + 1))
asin = unary("asin", _quiet(np.arcsin), lambda g, _y, x: g * conj_of(1 / sqrt(1 - x * x)), domain=(-1, 1))
acos = unary("acos", _quiet(np.arccos), lambda g, _y, x: -g * conj_of(1 / sqrt(1 - x * x)), domain=(-1, 1))
atan = unary("atan", _quiet(np.arctan), lambda g, _y, x: g / conj_of(x * x + 1))
sinh = unary("sinh", _quiet(np.sinh), lambda g, _y, x: g * conj_of(cosh(x)))
cosh = unary("cosh", _quiet(np.cosh), lambda g, _y, x: g * conj_of(sinh(x)))
tanh = unary("tanh", _quiet(np.tanh), lambda g, y, _x: g * conj_of(1 - y * y))
asinh = unary("asinh", _quiet(np.arcsinh), lambda g, _y, x: g * conj_of(1 / sqrt(x * x + 1)))
acosh = unary("acosh", _quiet(np.arccosh), lambda g, _y, x: g * conj_of(1 / (sqrt(x - 1) * sqrt(x + 1))),
              domain=(1, inf))
atanh = unary("atanh", _quiet(np.arctanh), lambda g, _y, x: g / conj_of(1 - x * x), domain=(-1, 1))


def _sigmoid(x):
    with np.errstate(all="ignore"):
        return 1 / (1 + np.exp(-x))


sigmoid = unary("sigmoid", _sigmoid, lambda g, y, _x: g * conj_of(y * (1 - y)),
                emit=lambda s, x: s.div(s.one(x), s.add(s.one(x), s.exp(s.neg(x)))))
erf = unary("erf", special.erf, lambda g, _y, x: g * (2 / _root(pi)) * exp(-(x * x)), kinds="f")
erfc = unary("erfc", special.erfc, lambda g, _y, x: g * (-2 / _root(pi)) * exp(-(x * x)), kinds="f")
erfinv = unary("erfinv", special.erfinv, lambda g, y, _x: g * (_root(pi) / 2) * exp(y * y),
               domain=(-1, 1), kinds="f")
lgamma = unary("lgamma", special.lgamma, lambda g, _y, x: g * digamma(x), domain=(0, inf), kinds="f")


def _trigamma(x):
    """The derivative of digamma: upward steps, then its asymptotic series; reflected for x < 0.5."""
    turned = lt(x, 0.5)
    z = where(turned, 1 - x, x)
    total = 1 / (z * z)
    for k in range(1, 8):
        total = total + 1 / ((z + k) * (z + k))
    w = 1 / (z + 8)
    w2 = w * w
    tail = w * (w * 0.5 + 1 + w2 * (1 / 6 - w2 * (1 / 30 - w2 * (1 / 42 - w2 * (1 / 30 - w2 * (5 / 66))))))
    plain = total + tail
    sine = sin(x * pi)
    return where(turned, (pi * pi) / (sine * sine) - plain, plain)


digamma = unary("digamma", special.digamma, lambda g, _y, x: g * _trigamma(x), domain=(0, inf), kinds="f")


def _zero(g, _y, _x):
    return full_as(_x, 0)


floor = unary("floor", np.floor, _zero, kinds="uif")
ceil = unary("ceil", np.ceil, _zero, kinds="uif")
trunc = unary("trunc", np.trunc, _zero, kinds="uif")
round = unary("round", np.round, _zero, kinds="uif")


def _sign(x):
    return np.sign(x) if x.dtype.kind != "b" else x


def _emit_sign(s, x):
    if s.dtype(x).kind == "b":
        return x
    zero = s.zero(x)
    positive = s.convert(s.gt(x, zero), s.dtype(x))
    return s.select(s.ne(x, x), x, s.sub(positive, s.convert(s.lt(x, zero), s.dtype(x)))) \
        if s.dtype(x).kind == "f" else s.sub(positive, s.convert(s.lt(x, zero), s.dtype(x)))


def _sign_vjp(g, _y, _x):
    return full_as(_x, 0)


sign = unary("sign", _sign, _sign_vjp, kinds="buifc", emit=_emit_sign)
copysign = binary("copysign", np.copysign, (
    lambda g, _y, a, b: g * copysign(sign(a), b) * sign(a), lambda g, _y, _a, _b: full_as(_b, 0)),
    kinds="f")
atan2 = binary("atan2", np.arctan2, (
    lambda g, _y, a, b: g * (b / (a * a + b * b)), lambda g, _y, a, b: g * (-a / (a * a + b * b))),
    kinds="f")


# complex ------------------------------------------------------------------------------------------
def _complex_part(name, fn, vjp):
    return make_op(name, Kind.ELEMENTWISE, lambda t: t.with_dtype(t.dtype.to_real()), fn, (vjp,), None)


conj = make_op("conj", Kind.ELEMENTWISE, same("conj"), np.conj, (lambda g, _y, _x: conj(g),), None)
real = _complex_part("real", np.real, lambda g, _y, _x: convert(g, dtype=_x.dtype))
imag = _complex_part("imag", np.imag, lambda g, _y, _x: make_complex(full_as(g, 0), g))


def _complex_infer(a, b):
    t = same("complex", "f")(a, b)
    return t.with_dtype(t.dtype.to_complex())


def _make_complex(a, b):
    out = np.empty(a.shape, np.result_type(a.dtype, np.complex64))
    out.real, out.imag = a, b
    return out


make_complex = make_op("complex", Kind.ELEMENTWISE, _complex_infer, _make_complex,
                       (lambda g, _y, _a, _b: real(g), lambda g, _y, _a, _b: imag(g)), None)
