"""The algebraic rules, as named rows; each is exact for every value, NaN, inf and -0.0 included.

Exact is: the same bits, or NaN for NaN (whose sign and payload no program should read). Not here, since
they are not exact: x + 0.0 (-0.0 becomes 0.0), x * 0 (NaN, inf), x - x, x / x, -(x - y) (the sign of a
zero), products of complex numbers (inf * 0 in the cross terms).
"""

from __future__ import annotations

from math import frexp, isfinite

import numpy as np

from . import dtype as dt
from .graph import Node
from .op import Kind
from .ops.create import full
from .ops.elementwise import (abs as abs_, add, bit_and, bit_not, bit_or, bit_xor, conj, convert, copy,
                              div, maximum, minimum, mul, neg, pow as pow_, sub, where)
from .ops.movement import cat, expand, flip, pad, permute, reshape, slice_, slice_put
from .ops.reduce import reduce_sum
from .rewrite import Call, Rule, constant, identity

# values -------------------------------------------------------------------------------------------
IDENTITIES = (
    identity("x * 1", lambda x: mul(x, 1), lambda x: x, "buif"),
    identity("1 * x", lambda x: mul(1, x), lambda x: x, "buif"),
    identity("x / 1", lambda x: div(x, 1), lambda x: x, "f"),
    identity("x ** 1", lambda x: pow_(x, 1), lambda x: x, "uif"),
    identity("x + -0.0", lambda x: add(x, -0.0), lambda x: x, "f"),
    identity("-0.0 + x", lambda x: add(-0.0, x), lambda x: x, "f"),
    identity("x + 0", lambda x: add(x, 0), lambda x: x, "bui"),
    identity("0 + x", lambda x: add(0, x), lambda x: x, "bui"),
    identity("x - 0.0", lambda x: sub(x, 0.0), lambda x: x, "uif"),
    identity("-(-x)", lambda x: neg(neg(x)), lambda x: x, "uifc"),
    identity("x + (-y)", lambda x, y: add(x, neg(y)), lambda x, y: sub(x, y), "uifc"),
    identity("(-x) + y", lambda x, y: add(neg(x), y), lambda x, y: sub(y, x), "uifc"),
    identity("x - (-y)", lambda x, y: sub(x, neg(y)), lambda x, y: add(x, y), "uifc"),
    identity("(-x) * (-y)", lambda x, y: mul(neg(x), neg(y)), lambda x, y: mul(x, y), "uif"),
    identity("(-x) / (-y)", lambda x, y: div(neg(x), neg(y)), lambda x, y: div(x, y), "f"),
    identity("x * -1", lambda x: mul(x, -1), lambda x: neg(x), "if"),
    identity("-1 * x", lambda x: mul(-1, x), lambda x: neg(x), "if"),
    identity("abs(-x)", lambda x: abs_(neg(x)), lambda x: abs_(x), "if"),
    identity("abs(abs(x))", lambda x: abs_(abs_(x)), lambda x: abs_(x), "uif"),
    identity("conj(conj(x))", lambda x: conj(conj(x)), lambda x: x, "c"),
    identity("~~x", lambda x: bit_not(bit_not(x)), lambda x: x, "bui"),
    identity("x & x", lambda x: bit_and(x, x), lambda x: x, "bui"),
    identity("x | x", lambda x: bit_or(x, x), lambda x: x, "bui"),
    identity("x & True", lambda x: bit_and(x, True), lambda x: x, "b"),
    identity("True & x", lambda x: bit_and(True, x), lambda x: x, "b"),
    identity("x & -1", lambda x: bit_and(x, -1), lambda x: x, "i"),
    identity("x | 0", lambda x: bit_or(x, 0), lambda x: x, "bui"),
    identity("0 | x", lambda x: bit_or(0, x), lambda x: x, "bui"),
    identity("x ^ 0", lambda x: bit_xor(x, 0), lambda x: x, "bui"),
    identity("minimum(x, x)", lambda x: minimum(x, x), lambda x: x, "buif"),
    identity("maximum(x, x)", lambda x: maximum(x, x), lambda x: x, "buif"),
    identity("where(c, x, x)", lambda c, x: where(c, x, x), lambda c, x: x, "buifc"),
    identity("where(~c, x, y)", lambda c, x, y: where(bit_not(c), x, y),
             lambda c, x, y: where(c, y, x), "buifc"),
    identity("where(c, where(c, x, y), z)", lambda c, x, y, z: where(c, where(c, x, y), z),
             lambda c, x, y, z: where(c, x, z), "buifc"),
    identity("where(c, x, where(c, y, z))", lambda c, x, y, z: where(c, x, where(c, y, z)),
             lambda c, x, y, z: where(c, x, z), "buifc"),
)


def _copy(node: Node):
    return node.args[0]


# conversions --------------------------------------------------------------------------------------
def _holds(a: dt.DType, b: dt.DType) -> bool:
    """Whether every value of dtype a is a value of dtype b."""
    if a is b:
        return True
    kinds = a.kind + b.kind
    if a.kind == "b":
        return True
    if kinds in ("ui", "ii"):
        return b.itemsize > a.itemsize
    if kinds in ("uf", "if"):
        return 8 * a.itemsize - (a.kind == "i") <= _PRECISION[b.name]
    if kinds == "ff":
        return a.itemsize < b.itemsize
    if kinds == "fc":
        return a.itemsize * 2 <= b.itemsize
    return kinds == "cc" and a.itemsize <= b.itemsize


_PRECISION = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}


def _convert_same(node: Node):
    return node.args[0] if node.args[0].type.dtype is node.type.dtype else None


def _convert_twice(node: Node):
    """x -> a -> b is x -> b where a holds every x, or where integers only lose high bits."""
    inner = node.args[0]
    if inner.target is not convert:
        return None
    x, middle, last = inner.args[0], inner.type.dtype, node.type.dtype
    first = x.type.dtype
    if first.kind in "fc" and last.kind in "ui":
        return None  # what a float out of range becomes depends on its width
    narrowing = first.kind in "ui" and middle.kind in "ui" and last.kind in "ui" and \
        last.itemsize <= middle.itemsize
    if not narrowing and not _holds(first, middle):
        return None
    return Call(convert, (x,), node.attrs)


# constants ----------------------------------------------------------------------------------------
def _value(node: Node):
    """The number a full holds, rounded to its dtype."""
    attrs = dict(node.attrs)
    return np.full((), attrs["value"], attrs["dtype"].np).item()


def _is_full(a) -> bool:
    return type(a) is Node and a.target is full


def _elementwise_full(node: Node):
    """An op of constants is a constant; a constant operand is a number."""
    args = node.args
    for a in args:
        if type(a) is Node and a.target is full:
            break
    else:
        return None
    if all(type(a) is not Node or a.target is full for a in args):
        return _evaluate(node)
    return _with_numbers(node)


def _evaluate(node: Node):
    args = [np.full((1,), _value(a), a.type.dtype.np) if type(a) is Node else a for a in node.args]
    try:
        with np.errstate(all="ignore"):
            result = node.target.eager(*args, **dict(node.attrs))
    except (RuntimeError, OverflowError, ZeroDivisionError):
        return None  # the error belongs to the run
    return constant(node.type, np.asarray(result, node.type.dtype.np).item())


def _with_numbers(node: Node):
    """`node` of two operands with a constant one as a number.

    Not pow: NumPy has other bits for a number (x ** 0.5 is its sqrt). Not complex results: a real
    factor is no complex one.
    """
    if len(node.args) != 2 or node.target is pow_ or node.type.dtype.kind == "c":
        return None
    args = tuple(_value(a) if _is_full(a) else a for a in node.args)
    return Call(node.target, args, node.attrs)


def _where_full(node: Node):
    """A choice known beforehand, or between numbers and values."""
    condition, a, b = node.args
    if _is_full(condition):
        return a if _value(condition) else b
    if _is_full(b) and type(a) is Node:
        return Call(where, (condition, a, _value(b)))
    if _is_full(a) and type(b) is Node:
        return Call(where, (condition, _value(a), b))
    return None


def _div_power(node: Node):
    """x / 2**k is x * 2**-k, which is as exact and much faster."""
    x, c = node.args
    if type(c) is Node or node.type.dtype.kind != "f" or not isfinite(c) or c == 0:
        return None
    mantissa, exponent = frexp(c)
    limit = 12 if node.type.dtype is dt.float16 else 100
    if mantissa not in (0.5, -0.5) or not -limit < exponent < limit:
        return None
    return Call(mul, (x, 1.0 / c))


def _move_full(node: Node):
    """A moved constant is a constant."""
    x = node.args[0]
    return constant(node.type, _value(x)) if x.target is full else None


def _pad_full(node: Node):
    x = node.args[0]
    if x.target is not full:
        return None
    fill = np.full((), dict(node.attrs)["value"], x.type.dtype.np).item()
    same = repr(fill) == repr(_value(x))
    return constant(node.type, fill) if same or x.type.numel == 0 else None


def _sum_zero(node: Node):
    x = node.args[0]
    if x.target is not full or node.type.dtype.kind == "b":
        return None
    value = _value(x)
    return constant(node.type, value) if repr(value) in ("0", "0.0") else None


# movement -----------------------------------------------------------------------------------------
def _attrs(**attrs):
    return tuple(sorted(attrs.items()))


def _reshape(node: Node):
    x = node.args[0]
    if x.type.shape == node.type.shape:
        return x
    return Call(reshape, x.args, node.attrs) if x.target is reshape else None


def _expand(node: Node):
    x = node.args[0]
    if x.type.shape == node.type.shape:
        return x
    return Call(expand, x.args, node.attrs) if x.target is expand else None


def _permute(node: Node):
    x, dims = node.args[0], node.attrs[0][1]
    if dims == tuple(range(len(dims))):
        return x
    if x.target is not permute:
        return None
    inner = x.attrs[0][1]
    return Call(permute, x.args, _attrs(dims=tuple(inner[d] for d in dims)))


def _flip(node: Node):
    x, dims = node.args[0], set(node.attrs[0][1])
    live = {d for d in dims if x.type.shape[d] > 1}
    if x.target is flip:
        return Call(flip, x.args, _attrs(dims=tuple(sorted(live ^ set(x.attrs[0][1])))))
    if not live:
        return x
    return Call(flip, (x,), _attrs(dims=tuple(sorted(live)))) if live != dims else None


def _spans(attrs) -> tuple:
    span = dict(attrs)
    return span["starts"], span["stops"], span["steps"]


def _covers(attrs, shape) -> bool:
    """Whether a slice takes every element."""
    starts, stops, steps = _spans(attrs)
    return all(a == 0 and b >= n and (k == 1 or n <= 1)
               for a, b, k, n in zip(starts, stops, steps, shape, strict=True))


def _slice(node: Node):
    x = node.args[0]
    if _covers(node.attrs, x.type.shape):
        return x
    if x.target is slice_:
        return _slice_twice(node, x)
    if x.target is slice_put and x.attrs == node.attrs:
        return x.args[1]
    return _slice_of_cat(node, x) if x.target is cat else None


def _slice_twice(node: Node, x: Node):
    starts, stops, steps = [], [], []
    for a, k, a2, k2, n in zip(*_spans(x.attrs)[::2], *_spans(node.attrs)[::2], node.type.shape, strict=True):
        starts.append(a + a2 * k)
        steps.append(k * k2)
        stops.append(starts[-1] + (n - 1) * steps[-1] + 1 if n else starts[-1])
    return Call(slice_, x.args, _attrs(starts=tuple(starts), stops=tuple(stops), steps=tuple(steps)))


def _slice_of_cat(node: Node, x: Node):
    """A slice that stays within one piece reads that piece only."""
    dim = x.attrs[0][1]
    starts, stops, steps = _spans(node.attrs)
    low, count = starts[dim], node.type.shape[dim]
    if count == 0:
        return None
    high, at = low + (count - 1) * steps[dim] + 1, 0
    for piece in x.args:
        size = piece.type.shape[dim]
        if at <= low and high <= at + size:
            return Call(slice_, (piece,), _attrs(
                starts=(*starts[:dim], low - at, *starts[dim + 1:]),
                stops=(*stops[:dim], high - at, *stops[dim + 1:]), steps=steps))
        at += size
    return None


def _slice_put(node: Node):
    x, value = node.args
    if _covers(node.attrs, x.type.shape):
        return value
    if x.target is slice_put and x.attrs == node.attrs:
        return Call(slice_put, (x.args[0], value), node.attrs)
    return None


def _pad_nothing(node: Node):
    attrs = dict(node.attrs)
    return None if any(attrs["before"]) or any(attrs["after"]) else node.args[0]


def _cat(node: Node):
    """Empty pieces add nothing; one piece is itself."""
    dim = node.attrs[0][1]
    if len(node.args) == 1:
        return node.args[0]
    rest = tuple(a for a in node.args if a.type.shape[dim] != 0)
    if rest and len(rest) < len(node.args):
        return Call(cat, rest, node.attrs)
    return None


STRUCTURE = (
    Rule("copy of x", copy, _copy),
    Rule("conversion to the same dtype", convert, _convert_same),
    Rule("conversion of a conversion", convert, _convert_twice),
    Rule("choice known or of constants", where, _where_full),
    Rule("x / 2**k", div, _div_power),
    Rule("elementwise of constants", Kind.ELEMENTWISE, _elementwise_full),
    Rule("reshape of a constant", reshape, _move_full),
    Rule("expand of a constant", expand, _move_full),
    Rule("permute of a constant", permute, _move_full),
    Rule("slice of a constant", slice_, _move_full),
    Rule("flip of a constant", flip, _move_full),
    Rule("pad of a constant by itself", pad, _pad_full),
    Rule("sum of zeros", reduce_sum, _sum_zero),
    Rule("reshape of a reshape", reshape, _reshape),
    Rule("expand of an expand", expand, _expand),
    Rule("permute of a permute", permute, _permute),
    Rule("flip of a flip", flip, _flip),
    Rule("slice of a slice, of a put or of a cat's piece", slice_, _slice),
    Rule("put over everything, or over a put", slice_put, _slice_put),
    Rule("pad by nothing", pad, _pad_nothing),
    Rule("cat of one, or of empty pieces", cat, _cat),
)
RULES = (*STRUCTURE, *IDENTITIES)
