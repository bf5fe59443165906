"""Movement, gathers, products, host ops, memory written in place: compiled equals the interpreter."""

import numpy as np
import pytest
from treadle.ir import dtype as dt
from treadle.ir import ops
from treadle.ir.program import CopyStep, DotStep, HostStep, KernelStep

from .helpers import address, check, compiled, run, run_numpy, same_bits, trace, type_of

rng = np.random.default_rng(5)


def f(*shape):
    return rng.standard_normal(shape).astype(np.float32)


# movement -----------------------------------------------------------------------------------------
MOVES = {
    "reshape": (lambda x: ops.reshape(x, shape=(6, 20)) + 1.0, (4, 5, 6)),
    "permute": (lambda x: ops.permute(x, dims=(2, 0, 1)) * 2.0, (4, 5, 6)),
    "permute_reshape": (lambda x: ops.reshape(ops.permute(x, dims=(0, 2, 1, 3)), shape=(2, 5, 21)) + 1.0, (2, 3, 5, 7)),
    "reshape_permute": (lambda x: ops.permute(ops.reshape(x, shape=(8, 5, 3, 2)), dims=(0, 2, 1, 3)) + 1.0, (8, 30)),
    "odd_reshape": (lambda x: ops.reshape(ops.permute(x, dims=(1, 0)), shape=(5, 7)) + 1.0, (5, 7)),
    "expand": (lambda x: ops.expand(x, shape=(4, 5, 6)) + 1.0, (4, 1, 6)),
    "slice": (lambda x: ops.slice(x, starts=(1, 0, 1), stops=(4, 5, 6), steps=(1, 2, 3)) + 0.0, (4, 5, 6)),
    "flip": (lambda x: ops.flip(x, dims=(0, 2)) * 1.0, (4, 5, 6)),
    "pad": (lambda x: ops.pad(x, before=(1, 0), after=(2, 3), value=7.0) + 1.0, (4, 5)),
    "crop": (lambda x: ops.pad(x, before=(-1, 2), after=(1, -2), value=7.0) + 1.0, (4, 5)),
    "window": (lambda x: ops.window(x, kernel=(3, 2), stride=(2, 1), dilation=(1, 2)) * 1.0, (2, 9, 8)),
    "unwindow": (lambda x: ops.unwindow(x, size=(9,), kernel=(3,), stride=(2,), dilation=(1,)) * 1.0, (2, 4, 3)),
    "cat": (lambda x: ops.cat(x, x * 2.0, x, dim=1), (3, 4)),
    "put": (lambda x: ops.slice_put(x, ops.slice(x, starts=(0, 0), stops=(2, 2), steps=(1, 1)) * 9.0,
                                    starts=(1, 0), stops=(5, 4), steps=(2, 2)), (6, 4)),
    "strided": (lambda x: ops.as_strided(x, shape=(3, 4), strides=(2, 3), offset=1) + 1.0, (40,)),
    "moved_pad": (lambda x: ops.permute(ops.pad(x, before=(1, 1), after=(0, 0), value=0.0), dims=(1, 0)) + x_t(x), (4, 4)),
}


def x_t(x):
    return ops.pad(ops.permute(x, dims=(1, 0)), before=(0, 0), after=(1, 1), value=-1.0)


@pytest.mark.parametrize("name", MOVES)
def test_movement_is_inlined(name):
    fn, shape = MOVES[name]
    launcher = check(fn, f(*shape))
    assert len(launcher.program.steps) == 1


def test_views_as_outputs_are_copied():
    x = f(4, 6)
    check(lambda x: [ops.reshape(x, shape=(24,)), ops.permute(x, dims=(1, 0)), x], x)


def test_inputs_with_strides():
    x, y = f(8, 6).T, f(12, 8)[::2, :]
    check(lambda x, y: [x + y, ops.reduce_sum(x * y, dims=(0,))], x, y, most_ulps=2)


def test_a_large_transposed_operand():
    x, y = f(130, 200), f(200, 130)
    check(lambda x, y: ops.maximum(x + ops.permute(y, dims=(1, 0)), 0.0), x, y)


# gathers ------------------------------------------------------------------------------------------
def test_embedding_and_pick():
    table, at, rows = f(11, 20), rng.integers(0, 11, (3, 7)), rng.integers(0, 20, (11, 1))
    check(lambda t, i, r: [ops.index(t, i) * 2.0, ops.gather(t, r, dim=1) + 1.0, ops.exp(ops.index(t, i))],
          table, at, rows, most_ulps=2)


@pytest.mark.parametrize("bad", [-1, 11, 1 << 40])
def test_an_index_out_of_range_is_an_error(bad):
    at = rng.integers(0, 11, (3, 7))
    at[1, 2] = bad
    graph = trace(lambda t, i: ops.index(t, i) * 2.0, type_of(f(11, 20)), type_of(at))
    with pytest.raises(IndexError, match=f"index {bad} is out of bounds for dimension 0 with size 11"):
        run(graph, [f(11, 20), at])


def test_division_by_zero_of_integers_is_an_error():
    a, b = np.arange(40).reshape(5, 8), np.ones((5, 8), np.int64)
    fn = lambda a, b: ops.floordiv(a, b)
    check(fn, a, b)
    b[3, 3] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run(trace(fn, type_of(a), type_of(b)), [a, b])


def test_scatter():
    x, src, at = f(11, 20), f(3, 7, 20), rng.integers(0, 11, (3, 7))
    check(lambda x, s, i: ops.index_add(x, s, i), x, src, at, most_ulps=64)
    along = rng.integers(0, 20, (11, 4))
    check(lambda x, s, i: ops.scatter_add(x, i, s, dim=1) + 1.0, x, f(11, 4), along, most_ulps=8)
    check(lambda x, s, i: ops.scatter(x, i, s, dim=1), x, f(11, 1), rng.integers(0, 20, (11, 1)))


def test_indexed_puts():
    x, src, at = f(11, 20), f(4, 20), np.array([3, 1, 7, 10])
    check(lambda x, s, i: ops.index_set(x, s, i) * 1.0, x, src, at)


# products -----------------------------------------------------------------------------------------
def near(graph, arrays, tolerance=1e-4):
    want = run_numpy(graph, arrays)
    launcher = compiled(graph, arrays)
    for g, w in zip(launcher([address(a) for a in arrays]), want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        assert np.allclose(g.astype(np.float64), np.asarray(w).astype(np.float64), rtol=tolerance, atol=tolerance)
    return launcher.program


def swap(x):
    return ops.permute(x, dims=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


PRODUCTS = {
    "plain": (lambda a, b: ops.dot(a, b), (5, 7), (7, 9)),
    "transposed": (lambda a, b: ops.dot(swap(a), swap(b)), (7, 5), (9, 7)),
    "result_transposed": (lambda a, b: swap(ops.dot(a, b)) + 1.0, (5, 7), (7, 9)),
    "batch": (lambda a, b: ops.dot(a, b), (3, 5, 7), (3, 7, 9)),
    "heads": (lambda a, b: ops.reshape(ops.permute(ops.dot(heads(a), swap(heads(b))), dims=(0, 2, 1, 3)),
                                       shape=(2, 6, 24)) + 1.0, (2, 6, 12), (2, 6, 12)),
    "sliced": (lambda a, b: ops.dot(ops.slice(a, starts=(1, 0), stops=(5, 7), steps=(2, 1)), b), (5, 7), (7, 9)),
    "computed": (lambda a, b: ops.exp(ops.dot(a * 2.0, b + 1.0)) * 0.001, (5, 7), (7, 9)),
    "vector": (lambda a, b: ops.dot(a, b), (1, 7), (7, 1)),
    "empty": (lambda a, b: ops.dot(a, b), (3, 0), (0, 4)),
    "flipped": (lambda a, b: ops.dot(ops.flip(a, dims=(0,)), b), (5, 7), (7, 9)),
    "expanded": (lambda a, b: ops.dot(ops.expand(ops.reshape(a, shape=(1, 5, 7)), shape=(3, 5, 7)), b),
                 (5, 7), (3, 7, 9)),
    "five": (lambda a, b: ops.dot(ops.permute(a, dims=(2, 0, 1, 3, 4)), b), (2, 3, 4, 5, 6), (4, 2, 3, 6, 5)),
}


def heads(x):
    return ops.permute(ops.reshape(x, shape=(*x.shape[:2], 4, 3)), dims=(0, 2, 1, 3))


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    fn, a, b = PRODUCTS[name]
    arrays = [f(*a), f(*b)]
    near(trace(fn, *map(type_of, arrays)), arrays)


def test_products_read_and_write_permuted_memory_in_place():
    fn, a, b = PRODUCTS["heads"]
    arrays = [f(*a), f(*b)]
    program = near(trace(fn, *map(type_of, arrays)), arrays)
    assert [type(s) for s in program.steps] == [DotStep, KernelStep]


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int64", "int32", "complex64"])
def test_product_dtypes(dtype):
    d = dt.by_name(dtype)
    arrays = [(np.arange(35).reshape(5, 7) % 5).astype(d.np), (np.arange(63).reshape(7, 9) % 7).astype(d.np)]
    graph = trace(lambda a, b: ops.dot(a, b), *map(type_of, arrays))
    (got,) = run(graph, arrays)
    (want,) = run_numpy(graph, arrays)
    assert got.dtype == want.dtype and np.array_equal(got, want)


# host ops, random ---------------------------------------------------------------------------------
def test_complex_numbers_run_on_the_host():
    x = (f(4, 5) + 1j * f(4, 5)).astype(np.complex64)
    launcher = check(lambda x: [ops.real(x * x) + 1.0, ops.imag(x)], x, most_ulps=2)
    assert any(isinstance(s, HostStep) for s in launcher.program.steps)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_random_draws_are_the_same_bits(dtype):
    seed = np.array(12345, np.int64)
    d = dt.by_name(dtype)
    check(lambda s: [ops.philox_uniform(s, shape=(5, 33), dtype=d),
                     ops.permute(ops.philox_uniform(s, shape=(5, 33), dtype=d), dims=(1, 0)) + 0.0], seed)


# written in place ---------------------------------------------------------------------------------
def test_an_update_is_written_over_its_input():
    p, g = f(9, 11), f(9, 11)
    before = p.copy()
    graph = trace(lambda p, g: [p - g * 0.1, ops.reduce_sum(p, dims=(1,))], type_of(p), type_of(g))
    want = run_numpy(graph, [before, g])
    launcher = compiled(graph, [p, g], {0: 0})
    out = launcher([address(p), address(g)])
    assert out[0] is None and same_bits(p, want[0]) and np.allclose(out[1], want[1], rtol=1e-5)
    assert not any(isinstance(s, CopyStep) for s in launcher.program.steps)


def test_a_write_waits_for_readers_of_the_old_value():
    p = f(6, 6)
    before = p.copy()
    graph = trace(lambda p: [ops.permute(p, dims=(1, 0)) * 2.0, ops.flip(p, dims=(0,))], type_of(p))
    want = run_numpy(graph, [before])
    out = compiled(graph, [p], {0: 0})([address(p)])
    assert same_bits(p, want[0]) and same_bits(out[1], want[1])


def test_writes_over_strided_inputs():
    base = f(6, 8)
    p, g = base.T, f(8, 6)
    before = np.array(p)
    graph = trace(lambda p, g: [p + g, ops.permute(ops.permute(p, dims=(1, 0)), dims=(1, 0)) * 3.0],
                  type_of(p), type_of(g))
    want = run_numpy(graph, [before, g])
    out = compiled(graph, [p, g], {0: 0})([address(p), address(g)])
    assert same_bits(np.ascontiguousarray(p), np.ascontiguousarray(want[0])) and same_bits(out[1], want[1])


def test_swapped_inputs():
    a, b = f(5), f(5)
    first, second = a.copy(), b.copy()
    graph = trace(lambda a, b: [b, a], type_of(a), type_of(b))
    compiled(graph, [a, b], {0: 0, 1: 1})([address(a), address(b)])
    assert same_bits(a, second) and same_bits(b, first)
