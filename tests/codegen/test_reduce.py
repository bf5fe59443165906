"""Reductions: every row over inner, outer, middle and all dims, alone and fused, long and empty."""

import numpy as np
import pytest
from treadle.ir import dtype as dt
from treadle.ir import ops
from treadle.ir.op import Kind
from treadle.ir.ops import TABLE

from .helpers import address, check, compiled, run_numpy, same_bits, trace, type_of, ulps, wide

ROWS = [r for r in TABLE.values() if r.kind is Kind.REDUCE]
FLOAT_SUM = frozenset(["reduce_sum", "reduce_prod"])
CASES = [
    ((7,), (0,)), ((1,), (0,)), ((3, 5), (1,)), ((3, 5), (0,)), ((3, 5), (0, 1)), ((2, 3, 37), (1,)),
    ((2, 3, 37), (0, 2)), ((2, 33, 70), (2,)), ((5, 129), (0,)), ((4, 1, 6), (1,)), ((3, 4, 5, 6), (0, 2)),
    ((3, 4, 5, 6), (1, 3)), ((), ()),
]


def sample(rng, shape, dtype):
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.3)
    if dtype.kind in "ui":
        return np.asarray(rng.integers(0, 5, shape)).astype(dtype.np)
    return np.asarray(rng.uniform(0.5, 1.5, shape)).astype(dtype.np)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_rows(row):
    rng = np.random.default_rng(1)
    for dtype in (dt.bool_, dt.uint8, dt.int32, dt.int64, dt.float16, dt.bfloat16, dt.float32, dt.float64):
        cases = [(sample(rng, s, dtype), d) for s, d in CASES if row.outputs == 1 or len(d) == 1]
        arrays = [a for a, _ in cases]

        def fn(*xs, cases=cases):
            out = []
            for x, (_, dims) in zip(xs, cases, strict=True):
                y = row(x, dims=dims)
                out += y if isinstance(y, tuple) else (y,)
            return out

        try:
            graph = trace(fn, *map(type_of, arrays))
        except RuntimeError:
            continue
        want = run_numpy(graph, arrays)
        got = compiled(graph, arrays)([address(a) for a in arrays])
        for g, w in zip(got, want, strict=True):
            w = np.asarray(w)
            if row.name in FLOAT_SUM and dtype.kind == "f":
                assert ulps(g, w) <= (1.0 if dtype.itemsize == 2 else 8.0), (row.name, dtype.name, g, w)
            else:
                assert same_bits(g, w), (row.name, dtype.name, g, w)


@pytest.mark.parametrize("shape, dims", [
    ((1 << 17,), (0,)), ((300, 500), (0, 1)), ((3000, 50), (0,)), ((3000, 50), (1,)), ((70, 3, 1000), (0, 2)),
    ((2, 100000), (1,)), ((40, 50, 60), (0, 1)), ((2, 3, 4, 5000), (1, 3)), ((1000, 3), (0,)), ((64, 20000), (0,)),
])
def test_long_sums_are_accurate(shape, dims):
    """The error against float64 is at most twice NumPy's (plus one unit for luck with small errors)."""
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32) + 1
    graph = trace(lambda x: ops.reduce_sum(x, dims=dims), type_of(x))
    (got,) = compiled(graph, [x])([address(x)])
    exact = x.astype(np.float64).sum(dims)
    ours, numpys = np.abs(got - exact).max(), np.abs(x.sum(dims) - exact).max()
    assert ours <= 2 * numpys + np.spacing(np.float32(np.abs(exact).max()))


def test_nan_and_infinities():
    x = np.array([[1, np.nan, 3], [np.inf, -np.inf, 0], [-0.0, 0.0, -0.0], [np.nan, np.nan, np.inf]], np.float32)
    x = np.tile(x, (1, 40))
    check(lambda x: [ops.reduce_max(x, dims=(1,)), ops.reduce_min(x, dims=(1,)), ops.reduce_max(x, dims=(0,)),
                     *ops.max_with_index(x, dims=(1,)), *ops.min_with_index(x, dims=(0,))], x)


def test_empty_operands_give_the_identity():
    x = np.zeros((3, 0, 4), np.float32)
    check(lambda x: [ops.reduce_sum(x, dims=(1,)), ops.reduce_prod(x, dims=(1,)), ops.reduce_sum(x, dims=(0, 1, 2)),
                     ops.reduce_sum(x, dims=(0,)) + 1.0], x)


def expand_row(v, x):
    return ops.expand(ops.reshape(v, shape=(*v.shape, 1)), shape=x.shape)


def softmax(x):
    e = ops.exp(x - expand_row(ops.reduce_max(x, dims=(x.ndim - 1,)), x))
    return e / expand_row(ops.reduce_sum(e, dims=(x.ndim - 1,)), x)


@pytest.mark.parametrize("shape", [(3, 7), (33, 64), (5, 3000), (2, 3, 100), (4096, 10)])
def test_softmax_is_one_kernel(shape):
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    launcher = check(softmax, x, most_ulps=6)
    assert len(launcher.program.steps) == 1


def norm(x, w, b):
    n = x.shape[-1]
    centred = x - expand_row(ops.reduce_sum(x, dims=(x.ndim - 1,)) / n, x)
    scale = ops.rsqrt(ops.reduce_sum(centred * centred, dims=(x.ndim - 1,)) / n + 1e-5)
    spread = [ops.expand(ops.reshape(v, shape=(1,) * (x.ndim - 1) + v.shape), shape=x.shape) for v in (w, b)]
    return centred * expand_row(scale, x) * spread[0] + spread[1]


def test_layer_norm_and_its_gradient():
    from treadle.ir.autograd import pullback
    from treadle.ir.passes import optimize

    rng = np.random.default_rng(4)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((16, 40, 96), (96,), (96,)))
    forward = trace(norm, *map(type_of, (x, w, b)))
    backward = optimize(pullback(forward, (0, 1, 2)))
    for graph, arrays in ((forward, [x, w, b]), (backward, [x, w, b, np.ones_like(x)])):
        want = run_numpy(graph, [a.astype(np.float32) for a in arrays])
        launcher = compiled(graph, arrays)
        assert len(launcher.program.steps) <= 3
        for g, e in zip(launcher([address(a) for a in arrays]), want, strict=True):
            assert np.allclose(g, wide(e), rtol=1e-4, atol=1e-4)


def test_reduction_of_a_half_adds_in_float32():
    x = np.full((4, 5000), 0.001, np.float16)
    check(lambda x: [ops.reduce_sum(x, dims=(1,)), ops.reduce_sum(x, dims=(0, 1))], x, most_ulps=1)
