"""Elementwise maths of several operands: arithmetic, comparison, bits, choice."""

from __future__ import annotations

import math

from ...ir import dtype as dt
from ...ir import ops
from ...ir.arith import (broadcast_shape, cast, elementwise, expand_to, floating, is_number,
                         number_as, result_dtype)
from ..composites.clamp import clamp as clamp_op
from .support import dtype_name, give


def _type_of(v):
    return v.type if hasattr(v, "type") else v


def _scaled(other, alpha, dtype):
    """alpha * other, where integer results refuse a fractional alpha."""
    if alpha == 1 and type(alpha) is not bool:
        return other
    if isinstance(alpha, float) and dtype.kind in "bui":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, bool) and dtype.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if is_number(other):
        return other * alpha
    return elementwise(ops.mul, cast(other, dtype), alpha)


def add(input, other, *, alpha=1, out=None):
    """Returns input + alpha * other, broadcast and promoted.

    >>> import treadle
    >>> add(treadle.tensor([1, 2]), 10)
    tensor([11, 12])
    """
    if alpha != 1:
        other = _scaled(other, alpha, result_dtype(input, other))
    return give(elementwise(ops.add, input, other), out)


def sub(input, other, *, alpha=1, out=None):
    """Returns input - alpha * other, broadcast and promoted.

    >>> import treadle
    >>> sub(treadle.tensor([1, 2]), treadle.tensor([3, 5]), alpha=2)
    tensor([-5, -8])
    """
    if alpha != 1:
        other = _scaled(other, alpha, result_dtype(input, other))
    return give(elementwise(ops.sub, input, other), out)


def rsub(input, other, *, alpha=1):
    """Returns other - alpha * input."""
    return elementwise(ops.sub, other, _scaled(input, alpha, result_dtype(input, other)))


def mul(input, other, *, out=None):
    """Returns input * other, broadcast and promoted.

    >>> import treadle
    >>> mul(treadle.tensor([[1.], [2.]]), treadle.tensor([1., 10.]))
    tensor([[ 1., 10.],
            [ 2., 20.]])
    """
    return give(elementwise(ops.mul, input, other), out)


def div(input, other, *, rounding_mode=None, out=None):
    """Returns input / other; rounding_mode 'trunc' or 'floor' rounds the quotient.

    Integers give the default float unless rounded; an integer division by zero is a RuntimeError.

    >>> import treadle
    >>> div(treadle.tensor([7, -7]), 2), div(treadle.tensor([7, -7]), 2, rounding_mode='floor')
    (tensor([ 3.5000, -3.5000]), tensor([ 3, -4]))
    """
    if rounding_mode is None:
        return give(elementwise(ops.div, input, other, dtype=floating(input, other)), out)
    if rounding_mode == "floor":
        return floor_divide(input, other, out=out)
    if rounding_mode != "trunc":
        raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                           f"'{rounding_mode}'")
    d = result_dtype(input, other)
    if d.kind == "f":
        return give(ops.trunc(elementwise(ops.div, input, other, dtype=d)), out)
    a, b = (cast(v, d) if not is_number(v) else v for v in (input, other))
    rest = elementwise(ops.fmod, a, b)
    return give(elementwise(ops.floordiv, elementwise(ops.sub, a, rest), b), out)


def floor_divide(input, other, *, out=None):
    """Returns floor(input / other) in the promoted dtype.

    >>> import treadle
    >>> floor_divide(treadle.tensor([7, -7]), 2)
    tensor([ 3, -4])
    """
    return give(elementwise(ops.floordiv, input, other), out)


def remainder(input, other, *, out=None):
    """Returns the remainder with the divisor's sign, as Python's %.

    >>> import treadle
    >>> remainder(treadle.tensor([-3, 3]), 2)
    tensor([1, 1])
    """
    return give(elementwise(ops.mod, input, other), out)


def fmod(input, other, *, out=None):
    """Returns the remainder with the dividend's sign, as C's fmod."""
    return give(elementwise(ops.fmod, input, other), out)


def pow(input, exponent, *, out=None):
    """Returns input ** exponent; RuntimeError for an integer tensor to a negative integer number.

    >>> import treadle
    >>> pow(treadle.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    """
    d = result_dtype(input, exponent)
    if d.kind in "bui" and isinstance(exponent, int) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return give(elementwise(ops.pow, input, exponent), out)


def float_power(input, exponent, *, out=None):
    """Returns input ** exponent in float64 (complex128 for complex)."""
    d = result_dtype(input, exponent)
    return give(elementwise(ops.pow, input, exponent, dtype=dt.complex128 if d.kind == "c" else dt.float64), out)


def maximum(input, other, *, out=None):
    """Returns the larger of each pair; NaN if either is.

    >>> import treadle
    >>> maximum(treadle.tensor([1, 5]), treadle.tensor([3, 2]))
    tensor([3, 5])
    """
    return give(elementwise(ops.maximum, input, other), out)


def minimum(input, other, *, out=None):
    """Returns the smaller of each pair; NaN if either is."""
    return give(elementwise(ops.minimum, input, other), out)


def fmax(input, other, *, out=None):
    """Returns the larger of each pair, the other one where one is NaN."""
    a, b = promoted(input, other)
    return give(ops.where(ops.ne(a, a), b, ops.where(ops.ne(b, b), a, ops.maximum(a, b))), out)


def fmin(input, other, *, out=None):
    """Returns the smaller of each pair, the other one where one is NaN."""
    a, b = promoted(input, other)
    return give(ops.where(ops.ne(a, a), b, ops.where(ops.ne(b, b), a, ops.minimum(a, b))), out)


def promoted(*values, dtype=None):
    """Tensors of the common dtype and shape; at least one value is a tensor."""
    d = dtype or result_dtype(*values)
    shape = broadcast_shape(*[v.type.shape for v in values if not is_number(v)])
    first = next(v for v in values if not is_number(v))
    full = first.type.with_shape(shape).with_dtype(d)
    return tuple(ops.full(shape=shape, value=number_as(v, d), dtype=d, device=full.device) if is_number(v)
                 else expand_to(cast(v, d), shape) for v in values)


def atan2(input, other, *, out=None):
    """Returns the angle of the point (other, input) in radians."""
    return give(elementwise(ops.atan2, input, other, dtype=floating(input, other)), out)


def copysign(input, other, *, out=None):
    """Returns input with the sign of other."""
    return give(elementwise(ops.copysign, input, other, dtype=floating(input, other)), out)


def hypot(input, other, *, out=None):
    """Returns sqrt(input^2 + other^2) without overflow inside."""
    a, b = promoted(input, other)
    a, b = ops.abs(a), ops.abs(b)
    big, small = ops.maximum(a, b), ops.minimum(a, b)
    safe = ops.where(ops.eq(big, 0), 1.0, big)
    ratio = small / safe
    plain = big * ops.sqrt(ratio * ratio + 1)
    return give(ops.where(ops.eq(big, math.inf), math.inf, plain), out)


def logaddexp(input, other, *, out=None):
    """Returns log(exp(input) + exp(other)) without overflow."""
    a, b = promoted(input, other, dtype=floating(input, other))
    top = ops.maximum(a, b)
    plain = top + ops.log1p(ops.exp(-ops.abs(a - b)))
    return give(ops.where(ops.bit_and(ops.eq(a, b), ops.eq(ops.abs(a), math.inf)), a, plain), out)


def logaddexp2(input, other, *, out=None):
    """Returns log2(2^input + 2^other) without overflow."""
    a, b = promoted(input, other, dtype=floating(input, other))
    top = ops.maximum(a, b)
    plain = top + ops.log1p(ops.exp2(-ops.abs(a - b))) * (1 / math.log(2))
    return give(ops.where(ops.bit_and(ops.eq(a, b), ops.eq(ops.abs(a), math.inf)), a, plain), out)


def xlogy(input, other, *, out=None):
    """Returns input * log(other), 0 where input is 0 (NaN where other is NaN)."""
    a, b = promoted(input, other, dtype=floating(input, other))
    zero = ops.bit_and(ops.eq(a, 0), ops.eq(b, b))
    return give(ops.where(zero, 0.0, a * ops.log(ops.where(zero, 1.0, b))), out)


def ldexp(input, other, *, out=None):
    """Returns input * 2 ** other."""
    two = pow(2.0, other)
    return give(elementwise(ops.mul, input, two), out)


# comparison ---------------------------------------------------------------------------------------
def _comparison(name: str, text: str, aliases: str):
    row = getattr(ops, name)

    def function(input, other, *, out=None):
        return give(elementwise(row, input, other), out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"Returns whether input {text} other, elementwise, as bools.\n\n"
                        f"    >>> import treadle\n    >>> {name}(treadle.tensor([1, 2, 3]), 2)\n    {aliases}\n    ")
    return function


eq = _comparison("eq", "==", "tensor([False,  True, False])")
ne = _comparison("ne", "!=", "tensor([ True, False,  True])")
lt = _comparison("lt", "<", "tensor([ True, False, False])")
le = _comparison("le", "<=", "tensor([ True,  True, False])")
gt = _comparison("gt", ">", "tensor([False, False,  True])")
ge = _comparison("ge", ">=", "tensor([False,  True,  True])")
not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge


# logic and bits -----------------------------------------------------------------------------------
def truth(v):
    """v as bools: whether each element is not zero."""
    return v if v.type.dtype.kind == "b" else ops.ne(v, 0)


def logical_and(input, other, *, out=None):
    """Returns whether both elements are not zero."""
    return give(elementwise(ops.bit_and, truth(input), truth(other)), out)


def logical_or(input, other, *, out=None):
    """Returns whether either element is not zero."""
    return give(elementwise(ops.bit_or, truth(input), truth(other)), out)


def logical_xor(input, other, *, out=None):
    """Returns whether just one element is not zero."""
    return give(elementwise(ops.bit_xor, truth(input), truth(other)), out)


def _bits(row, name: str, text: str):
    def function(input, other, *, out=None):
        return give(elementwise(row, input, other), out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Returns {text} of integers or bools."
    return function


bitwise_and = _bits(ops.bit_and, "bitwise_and", "the bitwise and")
bitwise_or = _bits(ops.bit_or, "bitwise_or", "the bitwise or")
bitwise_xor = _bits(ops.bit_xor, "bitwise_xor", "the bitwise exclusive or")
bitwise_left_shift = _bits(ops.shl, "bitwise_left_shift", "input << other")
bitwise_right_shift = _bits(ops.shr, "bitwise_right_shift", "input >> other")


# fused forms --------------------------------------------------------------------------------------
def addcmul(input, tensor1, tensor2, *, value=1, out=None):
    """Returns input + value * tensor1 * tensor2."""
    product = elementwise(ops.mul, tensor1, tensor2)
    return give(elementwise(ops.add, input, product if value == 1 else elementwise(ops.mul, product, value)), out)


def addcdiv(input, tensor1, tensor2, *, value=1, out=None):
    """Returns input + value * tensor1 / tensor2; RuntimeError for integers."""
    if all(t.type.dtype.kind in "bui" for t in (tensor1, tensor2)):
        raise RuntimeError("Integer division with addcdiv is no longer supported, and in a future  release "
                           "addcdiv will perform a true division of tensor1 and tensor2.")
    ratio = elementwise(ops.div, tensor1, tensor2, dtype=floating(tensor1, tensor2))
    return give(elementwise(ops.add, input, ratio if value == 1 else elementwise(ops.mul, ratio, value)), out)


def lerp(input, end, weight, *, out=None):
    """Returns input + weight * (end - input), from the nearer end.

    >>> import treadle
    >>> lerp(treadle.tensor([0., 10.]), treadle.tensor([10., 20.]), 0.25)
    tensor([ 2.5000, 12.5000])
    """
    if input.type.dtype is not end.type.dtype:
        raise RuntimeError(f"expected dtype {dtype_name(input.type.dtype).lower()} for `end` but got dtype "
                           f"{dtype_name(end.type.dtype).lower()}")
    span = elementwise(ops.sub, end, input)
    if is_number(weight):
        if abs(weight) < 0.5:
            return give(elementwise(ops.add, input, span * weight), out)
        return give(elementwise(ops.sub, end, span * (1 - weight)), out)
    near = elementwise(ops.add, input, elementwise(ops.mul, weight, span))
    far = elementwise(ops.sub, end, elementwise(ops.mul, span, 1 - weight))
    return give(where(elementwise(ops.lt, ops.abs(weight), 0.5), near, far), out)


# choice -------------------------------------------------------------------------------------------
def where(condition, input=None, other=None, *, out=None):
    """Returns input where condition holds, else other; with condition alone, the places of its trues.

    >>> import treadle
    >>> x = treadle.tensor([-1.0, 2.0])
    >>> where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if input is None and other is None:
        from .search import nonzero

        return nonzero(condition, as_tuple=True)
    if condition.type.dtype.kind != "b":
        if condition.type.dtype is not dt.uint8:
            raise RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                               f"{dtype_name(condition.type.dtype)}")
        condition = truth(condition)
    d = result_dtype(input, other)
    tensors = [v for v in (condition, input, other) if not is_number(v)]
    shape = broadcast_shape(*[v.type.shape for v in tensors], op="where")
    pair = [number_as(v, d) if is_number(v) else expand_to(cast(v, d), shape) for v in (input, other)]
    if is_number(input) and is_number(other):
        pair[1] = ops.full(shape=shape, value=pair[1], dtype=d, device=condition.type.device)
    return give(ops.where(expand_to(condition, shape), *pair), out)


def masked_fill(input, mask, value):
    """Returns input with `value` where the bool mask holds.

    >>> import treadle
    >>> masked_fill(treadle.tensor([1., 2.]), treadle.tensor([True, False]), 0)
    tensor([0., 2.])
    """
    if mask.type.dtype.kind != "b":
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype "
                           f"{dtype_name(mask.type.dtype).lower()}")
    d = input.type.dtype
    if not is_number(value):
        if value.type.ndim:
            raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                               f"{value.type.ndim} dimension(s).")
    elif isinstance(value, complex) and d.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {d.name} without overflow")
    shape = broadcast_shape(input.type.shape, mask.type.shape, op="masked_fill")
    value = number_as(value, d) if is_number(value) else expand_to(cast(value, d), shape)
    return ops.where(expand_to(mask, shape), value, expand_to(input, shape))


def clamp(input, min=None, max=None, *, out=None):
    """Returns input limited to [min, max]; a bound may be a number, a tensor or None.

    >>> import treadle
    >>> clamp(treadle.tensor([-2., 0.5, 3.]), -1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if all(v is None or is_number(v) for v in (min, max)):
        d = result_dtype(*[v for v in (input, min, max) if v is not None])
        low, high = (v if v is None else number_as(v, d) for v in (min, max))
        return give(clamp_op(cast(input, d), low=low, high=high), out)
    x = input
    if min is not None:
        a, b = promoted(x, min)
        x = ops.where(ops.bit_or(ops.lt(a, b), ops.ne(b, b)), b, a)
    if max is not None:
        a, b = promoted(x, max)
        x = ops.where(ops.bit_or(ops.gt(a, b), ops.ne(b, b)), b, a)
    return give(x, out)


def clamp_min(input, min, *, out=None):
    """Returns input limited from below."""
    return clamp(input, min, None, out=out)


def clamp_max(input, max, *, out=None):
    """Returns input limited from above."""
    return clamp(input, None, max, out=out)


def heaviside(input, values, *, out=None):
    """Returns 0, `values` or 1 where input is negative, zero or positive."""
    a, b = promoted(input, values)
    y = ops.where(ops.eq(a, 0), b, cast(ops.gt(a, 0), a.type.dtype))
    return give(y, out)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Returns whether |input - other| <= atol + rtol * |other|, elementwise.

    >>> import treadle
    >>> isclose(treadle.tensor([1.0, 2.0]), treadle.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    if input.type.dtype is not other.type.dtype:
        raise RuntimeError(f"{dtype_name(input.type.dtype)} did not match {dtype_name(other.type.dtype)}")
    a, b = promoted(input, other)
    same = ops.eq(a, b)
    if equal_nan and a.type.dtype.kind in "fc":
        same = ops.bit_or(same, ops.bit_and(ops.ne(a, a), ops.ne(b, b)))
    if a.type.dtype.kind == "b" or (rtol == 0 and atol == 0):
        return same
    if a.type.dtype.kind in "ui":
        a, b = cast(a, dt.float64), cast(b, dt.float64)
    allowed = ops.abs(b) * rtol + atol
    from .pointwise import isfinite

    error = ops.abs(a - b)
    return ops.bit_or(same, ops.bit_and(isfinite(error), ops.le(error, allowed)))


subtract, multiply, divide, true_divide, clip = sub, mul, div, div, clamp
arctan2 = atan2
