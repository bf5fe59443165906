"""Every rule of ir/rules.py: it fires, and both sides are the same bits for every kind of value."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from treadle.ir import dtype as dt
from treadle.ir.device import CPU
from treadle.ir.dispatch import using
from treadle.ir.graph import Graph
from treadle.ir.interpret import run_numpy
from treadle.ir.op import Kind
from treadle.ir.ops import TABLE, create, elementwise as e, movement as m, reduce as r
from treadle.ir.rewrite import rewrite
from treadle.ir.rules import IDENTITIES, RULES, STRUCTURE
from treadle.ir.verify import verify

from .values import NumberBuilder, kind_of, products, same_bits, specials


def trace(function, *arrays) -> Graph:
    """The graph of `function` for arrays of these types."""
    builder = NumberBuilder()
    with using(builder):
        inputs = [builder.placeholder(kind_of(a)) for a in arrays]
        out = function(*inputs)
    return builder.graph(out if isinstance(out, tuple) else (out,))


def check(graph: Graph, arrays, rules=RULES) -> list[str]:
    """The names of the rules that fired; fails if the graph's values changed."""
    fired: list[str] = []
    result = verify(rewrite(graph, rules, lambda rule: fired.append(rule.name)))
    with np.errstate(all="ignore"):
        for want, got in zip(run_numpy(graph, arrays), run_numpy(result, arrays), strict=True):
            assert same_bits(np.asarray(want), np.asarray(got)), (str(graph), str(result), want, got)
    return fired


CASES = [pytest.param(rule, dtype, id=f"{rule.name}-{dtype.name}")
         for rule in IDENTITIES for dtype in dt.ALL if dtype.kind in rule.kinds]


@pytest.mark.parametrize("rule, dtype", CASES)
def test_identity(rule, dtype):
    names = list(inspect.signature(rule.lhs).parameters)
    vectors = [specials(dt.bool_ if n == "c" else dtype) for n in names]
    arrays = products(*vectors)
    assert rule.name in check(trace(rule.lhs, *arrays), arrays, (rule,))
    for shape in ((), (0,), (1, 3)):  # the rule asks for no shape
        small = [np.resize(a, shape).astype(a.dtype) for a in arrays]
        assert rule.name in check(trace(rule.lhs, *small), small, (rule,))


def full(shape, value, dtype=dt.float32):
    return create.full(shape=shape, value=value, dtype=dtype, device=CPU)


def cut(x, *spans):
    starts, stops, steps = zip(*spans, strict=True)
    return m.slice_(x, starts=starts, stops=stops, steps=steps)


def put(x, v, *spans):
    starts, stops, steps = zip(*spans, strict=True)
    return m.slice_put(x, v, starts=starts, stops=stops, steps=steps)


X = np.arange(24, dtype=np.float32).reshape(4, 6)
X[0, :4] = [np.nan, np.inf, -0.0, -np.inf]
Y = X[::-1] * np.float32(0.5)
EMPTY = np.zeros((0, 6), np.float32)
I = np.arange(24).reshape(4, 6)
CONDITION = I % 3 == 0
SPECIALS = specials(dt.float32)


def _conversions():
    """x -> a -> b for every triple of dtypes."""
    for first in dt.ALL:
        x = specials(first)
        if first.kind == "c":
            continue
        for middle in dt.ALL:
            for last in dt.ALL:
                if not (first.kind == "f" and middle.kind in "ui" or middle.kind == "f" and last.kind in "ui"):
                    yield lambda v, a=middle, b=last: e.convert(e.convert(v, dtype=a), dtype=b), x


SAMPLES = {
    "copy of x": [(lambda x: e.neg(e.copy(x)), X)],
    "conversion to the same dtype": [(lambda x: e.neg(e.convert(x, dtype=dt.float32)), X)],
    "conversion of a conversion": list(_conversions()),
    "choice known or of constants": [
        (lambda x, y: e.where(full((4, 6), True, dt.bool_), x, y), X, Y),
        (lambda x, y: e.where(full((4, 6), False, dt.bool_), x, y), X, Y),
        (lambda c, x: e.where(c, full((4, 6), -0.0), x), CONDITION, X),
        (lambda c, x: e.where(c, x, full((4, 6), 0.1)), CONDITION, X),
        (lambda c: e.where(c, full((4, 6), float("nan")), full((4, 6), 0.1)), CONDITION),
        (lambda c: e.where(c, full((4, 6), 300, dt.int16), full((4, 6), -1, dt.int16)), CONDITION),
    ],
    "x / 2**k": [
        *[(lambda x, c=c: e.div(x, c), SPECIALS) for c in (2.0, 0.25, -8.0, 2.0**90, 2.0**-90)],
        *[(lambda x, c=c: e.div(x, c), specials(d)) for c in (2.0, -1024.0, 2.0**-10)
          for d in (dt.float16, dt.bfloat16, dt.float64)],
    ],
    "elementwise of constants": [
        (lambda: e.add(full((3,), 0.1), full((3,), 0.2)),),
        (lambda: e.div(full((0,), 1.0), full((0,), 0.0)),),
        (lambda: e.convert(full((2,), 2.5), dtype=dt.int8),),
        (lambda: e.convert(full((2,), 0.1), dtype=dt.bfloat16),),
        (lambda: e.lt(full((), 1, dt.int64), full((), 2, dt.int64)),),
        (lambda: e.mul(full((2,), 1j, dt.complex64), full((2,), 1j, dt.complex64)),),
        (lambda x: e.mul(x, full((4, 6), 0.1)), X),
        (lambda x: e.lt(full((4, 6), 0.1), x), X),
    ],
    "reshape of a constant": [(lambda: m.reshape(full((4, 6), 0.1), shape=(24,)),)],
    "expand of a constant": [(lambda: m.expand(full((1, 6), 3, dt.uint8), shape=(4, 6)),)],
    "permute of a constant": [(lambda: m.permute(full((1, 6), -0.0), dims=(1, 0)),)],
    "slice of a constant": [(lambda: cut(full((5, 6), True, dt.bool_), (1, 4, 2), (0, 6, 1)),)],
    "flip of a constant": [(lambda: m.flip(full((5, 6), 2.0), dims=(0,)),)],
    "pad of a constant by itself": [
        (lambda: m.pad(full((2,), 0.0), before=(1,), after=(2,), value=0),),
        (lambda: m.pad(full((0,), 5.0), before=(1,), after=(2,), value=1.5),),
    ],
    "sum of zeros": [(lambda: r.reduce_sum(full((2, 3), 0, d), dims=(1,)),)
                     for d in (dt.float32, dt.int64, dt.bfloat16)],
    "reshape of a reshape": [
        (lambda x: m.reshape(m.reshape(x, shape=(3, 8)), shape=(2, 12)), X),
        (lambda x: m.reshape(m.reshape(x, shape=(3, 8)), shape=(4, 6)), X),
        (lambda x: m.reshape(m.reshape(x, shape=(6, 0)), shape=(0, 2)), EMPTY),
    ],
    "expand of an expand": [
        (lambda x: m.expand(m.expand(x, shape=(1, 4, 6)), shape=(3, 4, 6)), X[None]),
        (lambda x: e.neg(m.expand(x, shape=(4, 6))), X),
    ],
    "permute of a permute": [
        (lambda x: m.permute(m.permute(x, dims=(2, 0, 1)), dims=(1, 0, 2)), X.reshape(2, 3, 4)),
        (lambda x: m.permute(m.permute(x, dims=(2, 0, 1)), dims=(1, 2, 0)), X.reshape(2, 3, 4)),
    ],
    "flip of a flip": [
        (lambda x: m.flip(m.flip(x, dims=(0, 1)), dims=(0,)), X),
        (lambda x: m.flip(m.flip(x, dims=(0,)), dims=(0,)), X),
        (lambda x: m.flip(x, dims=(0, 1)), X[:1]),
        (lambda x: m.flip(x, dims=(0,)), EMPTY),
    ],
    "slice of a slice, of a put or of a cat's piece": [
        (lambda x: cut(cut(x, (1, 4, 1), (0, 6, 2)), (0, 3, 2), (1, 3, 1)), X),
        (lambda x: cut(cut(x, (1, 4, 2), (0, 5, 3)), (1, 2, 1), (0, 2, 2)), X),
        (lambda x: cut(cut(x, (1, 4, 1), (0, 6, 2)), (2, 2, 1), (1, 3, 1)), X),
        (lambda x: cut(x, (0, 4, 1), (0, 6, 1)), X),
        (lambda x, y: cut(put(x, y, (1, 3, 1), (0, 6, 2)), (1, 3, 1), (0, 6, 2)), X, Y[:2, ::2].copy()),
        (lambda x, y: cut(m.cat(x, y, dim=0), (4, 8, 2), (1, 5, 1)), X, Y),
        (lambda x, y: cut(m.cat(x, y, dim=1), (0, 4, 1), (6, 12, 1)), X, Y),
        (lambda x, y: cut(m.cat(x, y, dim=1), (0, 4, 1), (1, 6, 2)), X, Y),
    ],
    "put over everything, or over a put": [
        (lambda x, y: put(x, y, (0, 4, 1), (0, 6, 1)), X, Y),
        (lambda x, y, z: put(put(x, y, (0, 4, 2), (0, 6, 1)), z, (0, 4, 2), (0, 6, 1)), X, Y[:2], X[:2]),
    ],
    "pad by nothing": [(lambda x: m.pad(x, before=(0, 0), after=(0, 0), value=1.0), X)],
    "cat of one, or of empty pieces": [
        (lambda x: m.cat(x, dim=0), X),
        (lambda x, y, z: m.cat(x, y, z, dim=0), EMPTY, X, Y),
    ],
}


def test_every_rule_has_samples():
    assert list(SAMPLES) == [rule.name for rule in STRUCTURE]
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", SAMPLES)
def test_structure(name):
    fired = []
    for function, *arrays in SAMPLES[name]:
        names = check(trace(function, *arrays), arrays)
        fired += names
        if name != "conversion of a conversion":  # the samples there are all triples, exact or not
            assert name in names, inspect.getsource(function)
    assert name in fired


PAIRS = [op for op in TABLE.values() if op.kind is Kind.ELEMENTWISE and len(op.vjp) == 2]


@pytest.mark.parametrize("row", PAIRS, ids=lambda o: o.name)
@pytest.mark.parametrize("dtype", dt.ALL, ids=lambda d: d.name)
def test_number_operand_is_a_constant_operand(row, dtype):
    """A row gives the same for a number as for a tensor full of it: `fold` relies on it."""
    if dtype.kind == "c":
        return
    x = specials(dtype)
    values = [1, 3] if dtype.kind in "ui" else [True] if dtype.kind == "b" else [0.5, -0.0, 3.0, float("nan")]
    for value in values:
        for place in (0, 1):
            graph = _with_full(row, x, value, place)
            if graph is not None:
                check(graph, [x])


def _with_full(row, x, value, place):
    def function(v):
        constant = full(x.shape, value, dt.from_numpy(x.dtype))
        return row(constant, v) if place == 0 else row(v, constant)

    try:
        graph = trace(function, x)
        with np.errstate(all="ignore"):
            run_numpy(graph, [x])
    except (RuntimeError, TypeError):  # not an op of two such operands, or an error of data
        return None
    return graph


@pytest.mark.parametrize("function", [
    lambda x: e.add(x, 0.0), lambda x: e.mul(x, 0.0), lambda x: e.sub(x, x), lambda x: e.div(x, x),
    lambda x: e.neg(e.sub(x, 1.5)), lambda x: e.div(x, 3.0), lambda x: e.sub(x, -0.0),
    lambda x: e.convert(e.convert(x, dtype=dt.float16), dtype=dt.float32),
    lambda x: e.convert(e.convert(x, dtype=dt.int64), dtype=dt.float32),
])
def test_left_alone(function):
    """What would not be exact."""
    graph = trace(function, X)
    assert rewrite(graph, RULES) is graph


def test_division_by_zero_is_left_to_the_run():
    graph = trace(lambda: e.floordiv(full((2,), 1, dt.int64), full((2,), 0, dt.int64)))
    assert any(n.target is e.floordiv for n in rewrite(graph, RULES).nodes)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run_numpy(rewrite(graph, RULES), [])
