"""Elementwise maths of one operand."""

from __future__ import annotations

import math

from ...ir import arith
from ...ir import ops
from ...ir.arith import cast, defaults, unary_float
from ...ir.ops.elementwise import full_as
from ..composites.activation import relu as relu_op
from .support import give


def _doc(text: str, name: str, example: tuple[str, str] | None) -> str:
    shown = f"\n\n    >>> import treadle\n    >>> {name}(treadle.tensor({example[0]}))\n    {example[1]}\n    " \
        if example else ""
    return f"Returns {text}.{shown}"


def _floats(row, name: str, text: str, example=None):
    """A function whose integer and bool inputs become the default float."""

    def function(input, *, out=None):
        return give(unary_float(row, input), out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _doc(text, name, example)
    return function


def _keeps(row, name: str, text: str, example=None):
    """A function that keeps the dtype; integers are left as they are."""

    def function(input, *, out=None):
        d = input.type.dtype
        if d.kind == "b":
            raise NotImplementedError(f'"{name}_vml_cpu" not implemented for \'Bool\'')
        return give(row(input) if d.kind in "fc" else ops.copy(input), out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _doc(text, name, example)
    return function


exp = _floats(ops.exp, "exp", "e to the power of each element", ("[0., 1.]", "tensor([1.0000, 2.7183])"))
exp2 = _floats(ops.exp2, "exp2", "2 to the power of each element", ("[0., 3.]", "tensor([1., 8.])"))
expm1 = _floats(ops.expm1, "expm1", "exp(x) - 1, exact near 0")
log = _floats(ops.log, "log", "the natural logarithm of each element", ("[1., 10.]", "tensor([0.0000, 2.3026])"))
log2 = _floats(ops.log2, "log2", "the base-2 logarithm of each element", ("[1., 8.]", "tensor([0., 3.])"))
log10 = _floats(ops.log10, "log10", "the base-10 logarithm of each element", ("[1., 10.]", "tensor([0., 1.])"))
log1p = _floats(ops.log1p, "log1p", "log(1 + x), exact near 0")
sqrt = _floats(ops.sqrt, "sqrt", "the square root of each element", ("[4., 9.]", "tensor([2., 3.])"))
rsqrt = _floats(ops.rsqrt, "rsqrt", "1 / sqrt(x) of each element", ("[4., 16.]", "tensor([0.5000, 0.2500])"))
sin = _floats(ops.sin, "sin", "the sine of each element")
cos = _floats(ops.cos, "cos", "the cosine of each element")
tan = _floats(ops.tan, "tan", "the tangent of each element")
asin = _floats(ops.asin, "asin", "the arc sine of each element")
acos = _floats(ops.acos, "acos", "the arc cosine of each element")
atan = _floats(ops.atan, "atan", "the arc tangent of each element")
sinh = _floats(ops.sinh, "sinh", "the hyperbolic sine of each element")
cosh = _floats(ops.cosh, "cosh", "the hyperbolic cosine of each element")
tanh = _floats(ops.tanh, "tanh", "the hyperbolic tangent of each element", ("[0., 1.]", "tensor([0.0000, 0.7616])"))
asinh = _floats(ops.asinh, "asinh", "the inverse hyperbolic sine of each element")
acosh = _floats(ops.acosh, "acosh", "the inverse hyperbolic cosine of each element")
atanh = _floats(ops.atanh, "atanh", "the inverse hyperbolic tangent of each element")
erf = _floats(ops.erf, "erf", "the error function of each element", ("[0., 1.]", "tensor([0.0000, 0.8427])"))
erfc = _floats(ops.erfc, "erfc", "1 - erf(x), exact for large x")
erfinv = _floats(ops.erfinv, "erfinv", "the inverse of the error function of each element")
lgamma = _floats(ops.lgamma, "lgamma", "the logarithm of the gamma function's absolute value")
digamma = _floats(ops.digamma, "digamma", "the derivative of lgamma")
sigmoid = _floats(ops.sigmoid, "sigmoid", "1 / (1 + exp(-x)) of each element", ("[0., 1.]", "tensor([0.5000, 0.7311])"))
floor = _keeps(ops.floor, "floor", "the largest integer not above each element", ("[1.5, -1.5]", "tensor([ 1., -2.])"))
ceil = _keeps(ops.ceil, "ceil", "the smallest integer not below each element", ("[1.5, -1.5]", "tensor([ 2., -1.])"))
trunc = _keeps(ops.trunc, "trunc", "each element without its fraction", ("[1.5, -1.5]", "tensor([ 1., -1.])"))
arcsin, arccos, arctan, fix = asin, acos, atan, trunc
arcsinh, arccosh, arctanh = asinh, acosh, atanh


def neg(input, *, out=None):
    """Returns -x of each element; RuntimeError for bools.

    >>> import treadle
    >>> neg(treadle.tensor([1, -2]))
    tensor([-1,  2])
    """
    if input.type.dtype.kind == "b":
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
                           "to invert a mask, use the `~` or `logical_not()` operator instead.")
    return give(ops.neg(input), out)


def positive(input):
    """Returns the input itself; RuntimeError for bools."""
    if input.type.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def abs(input, *, out=None):
    """Returns the absolute value of each element (the magnitude of complex ones).

    >>> import treadle
    >>> abs(treadle.tensor([-1.5, 2.0]))
    tensor([1.5000, 2.0000])
    """
    return give(ops.abs(input), out)


def sign(input, *, out=None):
    """Returns -1, 0 or 1 by the sign of each element; NaN gives 0.

    >>> import treadle
    >>> sign(treadle.tensor([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """
    if input.type.dtype.kind == "c":
        raise RuntimeError("Unlike NumPy, torch.sign doesn't allow complex input. Use torch.sgn instead.")
    if input.type.dtype.kind == "f":
        return give(ops.where(ops.ne(input, input), 0.0, ops.sign(input)), out)
    return give(ops.sign(input), out)


def sgn(input, *, out=None):
    """Returns sign(x), and x / |x| for complex elements."""
    if input.type.dtype.kind != "c":
        return sign(input, out=out)
    size = cast(ops.abs(input), input.type.dtype)
    return give(ops.where(ops.eq(size, 0), full_as(input, 0), input / size), out)


def signbit(input, *, out=None):
    """Returns whether the sign bit of each element is set (true of -0.0)."""
    if input.type.dtype.kind != "f":
        return give(ops.lt(input, 0) if input.type.dtype.kind == "i" else full_as(
            input.type.with_dtype(arith.dt.bool_), False), out)
    return give(ops.lt(ops.copysign(full_as(input, 1.0), input), 0.0), out)


def square(input, *, out=None):
    """Returns x * x of each element.

    >>> import treadle
    >>> square(treadle.tensor([1., -3.]))
    tensor([1., 9.])
    """
    return give(ops.pow(input if input.type.dtype.kind != "b" else cast(input, arith.dt.int64), 2), out)


def reciprocal(input, *, out=None):
    """Returns 1 / x of each element, in a float dtype."""
    return give(1 / input, out)


def relu(input):
    """Returns max(x, 0) of each element.

    >>> import treadle
    >>> relu(treadle.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return relu_op(input)


def round(input, *, decimals: int = 0, out=None):
    """Returns each element rounded half to even, to `decimals` places.

    >>> import treadle
    >>> round(treadle.tensor([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])
    """
    if decimals and input.type.dtype.kind in "fc":
        scale = 10.0 ** decimals if decimals > 0 else 10.0 ** -decimals
        raised = input * scale if decimals > 0 else input / scale
        whole = ops.round(raised)
        return give(whole / scale if decimals > 0 else whole * scale, out)
    return give(ops.round(input) if input.type.dtype.kind == "f" else ops.copy(input), out)


def frac(input, *, out=None):
    """Returns the fraction of each element, with its sign."""
    return give(input - trunc(input), out)


def logit(input, eps=None, *, out=None):
    """Returns log(x / (1 - x)), x first clamped to [eps, 1 - eps] if eps is given."""
    from .binary import clamp

    x = input if input.type.dtype.kind in "fc" else cast(input, defaults.dtype)
    x = x if eps is None else clamp(x, eps, 1 - eps)
    return give(ops.log(x / (1 - x)), out)


def sinc(input, *, out=None):
    """Returns sin(pi x) / (pi x), 1 at 0."""
    x = input if input.type.dtype.kind in "fc" else cast(input, defaults.dtype)
    angle = x * math.pi
    zero = ops.eq(x, 0)
    return give(ops.where(zero, 1.0, ops.sin(angle) / ops.where(zero, 1.0, angle)), out)


def deg2rad(input, *, out=None):
    """Returns degrees as radians."""
    return give(input * (math.pi / 180), out)


def rad2deg(input, *, out=None):
    """Returns radians as degrees."""
    return give(input * (180 / math.pi), out)


def nan_to_num(input, nan=None, posinf=None, neginf=None, *, out=None):
    """Returns the input with NaN, inf and -inf replaced (by 0, the largest and the lowest value).

    >>> import treadle
    >>> nan_to_num(treadle.tensor([float('nan'), 1.0]), nan=5.0)
    tensor([5., 1.])
    """
    d = input.type.dtype
    if d.kind != "f":
        return give(ops.copy(input), out)
    from .info import finfo

    top = finfo(d).max
    x = ops.where(ops.ne(input, input), 0.0 if nan is None else float(nan), input)
    x = ops.where(ops.eq(x, math.inf), top if posinf is None else float(posinf), x)
    return give(ops.where(ops.eq(x, -math.inf), -top if neginf is None else float(neginf), x), out)


def logical_not(input, *, out=None):
    """Returns whether each element is zero.

    >>> import treadle
    >>> logical_not(treadle.tensor([0, 2]))
    tensor([ True, False])
    """
    return give(ops.eq(input, 0) if input.type.dtype.kind != "b" else ops.bit_not(input), out)


def bitwise_not(input, *, out=None):
    """Returns the bits of each integer or bool inverted."""
    return give(ops.bit_not(input), out)


def isnan(input):
    """Returns whether each element is NaN.

    >>> import treadle
    >>> isnan(treadle.tensor([1.0, float('nan')]))
    tensor([False,  True])
    """
    return ops.ne(input, input)


def isinf(input):
    """Returns whether each element is inf or -inf."""
    d = input.type.dtype
    if d.kind == "c":
        return ops.bit_or(isinf(ops.real(input)), isinf(ops.imag(input)))
    if d.kind != "f":
        return full_as(input.type.with_dtype(arith.dt.bool_), False)
    return ops.eq(ops.abs(input), math.inf)


def isposinf(input, *, out=None):
    """Returns whether each element is inf."""
    return give(ops.eq(input, math.inf) if input.type.dtype.kind == "f" else isinf(input), out)


def isneginf(input, *, out=None):
    """Returns whether each element is -inf."""
    return give(ops.eq(input, -math.inf) if input.type.dtype.kind == "f" else isinf(input), out)


def isfinite(input):
    """Returns whether each element is neither NaN nor infinite.

    >>> import treadle
    >>> isfinite(treadle.tensor([1.0, float('inf')]))
    tensor([ True, False])
    """
    d = input.type.dtype
    if d.kind == "c":
        return ops.bit_and(isfinite(ops.real(input)), isfinite(ops.imag(input)))
    if d.kind != "f":
        return full_as(input.type.with_dtype(arith.dt.bool_), True)
    return ops.lt(ops.abs(input), math.inf)


def isreal(input):
    """Returns whether each element has no imaginary part."""
    if input.type.dtype.kind != "c":
        return full_as(input.type.with_dtype(arith.dt.bool_), True)
    return ops.eq(ops.imag(input), 0)


absolute, negative = abs, neg
