"""Random graphs of exact ops (the same bits from any order of evaluation), with composites, constants, waste."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from treadle.ir import dtype as dt
from treadle.ir.composite import composite
from treadle.ir.device import CPU
from treadle.ir.graph import Graph, Line, Node
from treadle.ir.ops import create, elementwise as e, movement as m, reduce as r
from treadle.ir.type import tensor_type

from .values import NumberBuilder, specials

SHAPES = [(), (0,), (1,), (3,), (2, 3), (3, 1, 2)]
DTYPES = [dt.bool_, dt.uint8, dt.int32, dt.int64, dt.bfloat16, dt.float32, dt.float64]
NUMBERS = {"b": [True, False], "u": [0, 1, 7], "i": [0, 1, -1, 5],
           "f": [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 0.1, float("nan"), float("inf")]}

doubled = composite("doubled", lambda x: e.add(x, x))
centred = composite("centred", lambda x: e.where(e.gt(x, e.mul(x, 1)), x, e.neg(e.neg(doubled(x)))))
parts = composite("parts", lambda x, *, k: (e.mul(x, k), x), outputs=2)


def kind(shape, dtype):
    return tensor_type(shape, dtype, CPU)


def _pick(draw, builder, same_as: Node | None = None, arithmetic=False) -> Node:
    nodes = [n for n in builder.nodes if not isinstance(n.type, tuple)]
    if same_as is not None:
        nodes = [n for n in nodes if n.type is same_as.type]
    if arithmetic:
        nodes = [n for n in nodes if n.type.dtype.kind != "b"] or \
            [builder.placeholder(kind((3,), dt.float32))]
    return draw(st.sampled_from(nodes))


def _operand(draw, builder, like: Node):
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(NUMBERS[like.type.dtype.kind]))
    return _pick(draw, builder, like)


def _arithmetic(draw, builder):
    x = _pick(draw, builder, arithmetic=True)
    names = ["add", "sub", "mul", "minimum", "maximum", "lt", "eq"]
    names += ["div"] if x.type.dtype.kind == "f" else []
    row = {**vars(e)}[draw(st.sampled_from(names))]
    pair = (x, _operand(draw, builder, x))
    return row(*(pair if draw(st.booleans()) else pair[::-1]))


def _unary(draw, builder):
    x = _pick(draw, builder, arithmetic=True)
    return draw(st.sampled_from([e.neg, e.abs, e.copy, doubled, centred]))(x)


def _logic(draw, builder):
    flags = [n for n in builder.nodes if not isinstance(n.type, tuple) and n.type.dtype is dt.bool_]
    if not flags:
        return None
    c = draw(st.sampled_from(flags))
    fitting = [n for n in builder.nodes if not isinstance(n.type, tuple) and n.type.shape == c.type.shape]
    x = draw(st.sampled_from(fitting))
    if draw(st.booleans()):
        return e.bit_not(c) if draw(st.booleans()) else e.bit_and(c, _operand(draw, builder, c))
    pair = (x, _operand(draw, builder, x))
    return e.where(c, *(pair if draw(st.booleans()) else pair[::-1]))


def _convert(draw, builder):
    x = _pick(draw, builder)
    to = DTYPES if x.type.dtype.kind != "f" else [d for d in DTYPES if d.kind not in "ui"]
    return e.convert(x, dtype=draw(st.sampled_from(to)))


def _constant(draw, builder):
    dtype = draw(st.sampled_from(DTYPES))
    return create.full(shape=draw(st.sampled_from(SHAPES)), dtype=dtype, device=CPU,
                       value=draw(st.sampled_from(NUMBERS[dtype.kind])))


def _move(draw, builder):
    x = _pick(draw, builder)
    n = x.type.ndim
    which = draw(st.integers(0, 5))
    if which == 0:
        return m.reshape(x, shape=draw(st.sampled_from([(x.type.numel,), (1, x.type.numel), x.type.shape])))
    if which == 1:
        return m.permute(x, dims=tuple(draw(st.permutations(range(n)))))
    if which == 2:
        return m.expand(m.reshape(x, shape=(1, *x.type.shape)), shape=(draw(st.integers(0, 3)), *x.type.shape))
    if which == 3:
        return m.flip(x, dims=tuple(sorted(draw(st.sets(st.integers(0, n - 1)))))) if n else None
    if which == 4:
        fill = draw(st.sampled_from(NUMBERS[x.type.dtype.kind]))
        width = st.lists(st.integers(0, 2), min_size=n, max_size=n)
        return m.pad(x, before=tuple(draw(width)), after=tuple(draw(width)), value=fill)
    if n == 0:
        return None
    return m.cat(*[_pick(draw, builder, x) for _ in range(draw(st.integers(1, 3)))], dim=draw(st.integers(0, n - 1)))


def _span(draw, shape):
    starts = [draw(st.integers(0, n)) for n in shape]
    stops = [draw(st.integers(a, n)) for a, n in zip(starts, shape, strict=True)]
    return {"starts": tuple(starts), "stops": tuple(stops), "steps": tuple(draw(st.integers(1, 2)) for _ in shape)}


def _slice(draw, builder):
    x = _pick(draw, builder)
    span = _span(draw, x.type.shape)
    if draw(st.booleans()):
        return m.slice_(x, **span)
    part = m.slice_(_pick(draw, builder, x), **span)
    return m.slice_put(x, part, **span)


def _reduce(draw, builder):
    x = _pick(draw, builder, arithmetic=True)
    dims = tuple(d for d, n in enumerate(x.type.shape) if n)
    return r.reduce_max(x, dims=dims) if len(dims) == x.type.ndim else None


def _parts(draw, builder):
    x = _pick(draw, builder, arithmetic=True)
    return parts(x, k=draw(st.sampled_from(NUMBERS[x.type.dtype.kind])))


STEPS = [_arithmetic, _arithmetic, _unary, _logic, _convert, _constant, _move, _move, _slice, _reduce, _parts]


@st.composite
def graphs(draw) -> tuple[Graph, list[np.ndarray]]:
    """A verified-to-be random graph and arrays for its placeholders."""
    from treadle.ir.dispatch import using

    count = [0]

    def line():
        count[0] += 1
        return Line("program.py", count[0] // 2 + 1, "step", "...")

    builder = NumberBuilder(line)
    with using(builder):
        for _ in range(draw(st.integers(1, 3))):
            builder.placeholder(kind(draw(st.sampled_from(SHAPES)), draw(st.sampled_from(DTYPES))))
        for _ in range(draw(st.integers(1, 14))):
            draw(st.sampled_from(STEPS))(draw, builder)
    values = [n for n in builder.nodes if not isinstance(n.type, tuple)]
    outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
    graph = builder.graph(outputs)
    return graph, [np.resize(specials(p.type.dtype), p.type.shape) for p in graph.placeholders]
