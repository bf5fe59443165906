"""What C++ kernels must do, Triton kernels must: the same tests, interpreted, and the kernels compiled for sm_90."""

import numpy as np
import pytest
from treadle.ir import dtype as dt
from treadle.ir import ops
from treadle.ir.ops.gather import scatter_amax

from . import helpers, test_elementwise, test_programs, test_reduce, test_steps
from .helpers import address, compiled, run_numpy, same_bits, trace, type_of, ulps, wide
from .test_elementwise import EXACT, ROWS, operand_count, operands, takes
from .triton_helpers import compile_new, compiled_too, launcher_of, program_of

pytestmark = pytest.mark.triton
MODULES = (helpers, test_elementwise, test_programs, test_reduce, test_steps)


@pytest.fixture
def interpreted(monkeypatch):
    for module in MODULES:
        monkeypatch.setattr(module, "compiled", launcher_of)


@pytest.fixture
def both(monkeypatch):
    for module in MODULES:
        monkeypatch.setattr(module, "compiled", compiled_too)


# rows of the table --------------------------------------------------------------------------------
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_elementwise_row(row, interpreted):
    test_elementwise.test_row(row)


def every_row(dtype, shape, rng, wanted=lambda row: True):
    """A graph of all rows that take the dtype, and its operands."""
    rows = [r for r in ROWS if takes(r, dtype) and wanted(r)]
    arrays = [operands(r, rng, shape, dtype) for r in rows]

    def fn(*nodes):
        left = list(nodes)
        return [row(*[left.pop(0) for _ in range(operand_count(row))]) for row in rows]

    flat = [a for each in arrays for a in each]
    return rows, trace(fn, *map(type_of, flat)), flat


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool"])
def test_every_elementwise_row_compiles(dtype):
    """One graph of all rows over the same operands: few kernels, which is faster to compile."""
    d, shape = dt.by_name(dtype), (3, 50)
    rows = [r for r in ROWS if takes(r, d)]
    a, b = (np.ones(shape, d.np) for _ in "ab")

    def fn(a, b, c):
        return [r(*((c, a, b) if operand_count(r) == 3 else (a, b)[:operand_count(r)])) for r in rows]

    arrays = [a, b, np.ones(shape, bool)]
    compile_new(program_of(trace(fn, *map(type_of, arrays)), arrays))


def test_rows_agree_with_cpp():
    rng = np.random.default_rng(6)
    rows, graph, arrays = every_row(dt.float32, (5, 41), rng)
    addresses = [address(a) for a in arrays]
    for row, got, want in zip(rows, launcher_of(graph, arrays)(addresses), compiled(graph, arrays)(addresses), strict=True):
        if row.name in EXACT or want.dtype.kind != "f":
            assert same_bits(got, want), row.name
        else:
            assert ulps(got, want) <= 2.0, (row.name, ulps(got, want))


@pytest.mark.parametrize("row", test_reduce.ROWS, ids=lambda r: r.name)
def test_reduction_row(row, interpreted):
    test_reduce.test_rows(row)


@pytest.mark.parametrize("row", test_reduce.ROWS, ids=lambda r: r.name)
def test_reduction_row_compiles(row):
    for dtype in (dt.float32, dt.int64, dt.bool_):
        x = np.ones((3, 4, 40), dtype.np)
        try:
            graph = trace(lambda x: [y for d in (0, 2) for y in _all(row(x, dims=(d,)))], type_of(x))
        except RuntimeError:
            continue
        compile_new(program_of(graph, [x]))


def _all(y):
    return y if isinstance(y, tuple) else (y,)


# kernels of several rows of the table -------------------------------------------------------------
LONG = [((1 << 17,), (0,)), ((300, 500), (0, 1)), ((3000, 50), (0,)), ((70, 3, 1000), (0, 2)), ((2, 100000), (1,)),
        ((1000, 3), (0,)), ((64, 5000), (0,))]


@pytest.mark.parametrize("shape, dims", LONG)
def test_long_sums_are_accurate(shape, dims, both):
    test_reduce.test_long_sums_are_accurate(shape, dims)


def test_nan_infinities_and_nothing(both):
    test_reduce.test_nan_and_infinities()
    test_reduce.test_empty_operands_give_the_identity()
    test_reduce.test_reduction_of_a_half_adds_in_float32()


@pytest.mark.parametrize("shape", [(3, 7), (33, 64), (5, 6000), (300, 10)])
def test_softmax_is_one_kernel(shape, both):
    test_reduce.test_softmax_is_one_kernel(shape)


def test_layer_norm_and_its_gradient(both):
    test_reduce.test_layer_norm_and_its_gradient()


@pytest.mark.parametrize("shape", [(40, 96), (70, 5000)])
def test_normalised_rows_agree_with_cpp(shape):
    """The gradient leaves sums across the rows; in long rows they are kept in memory."""
    from treadle.ir.autograd import pullback
    from treadle.ir.passes import optimize

    rng = np.random.default_rng(7)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in (shape, shape[1:], shape[1:]))
    graph = optimize(pullback(trace(test_reduce.norm, *map(type_of, (x, w, b))), (0, 1, 2)))
    arrays = [x, w, b, rng.standard_normal(shape).astype(np.float32)]
    addresses = [address(a) for a in arrays]
    for got, want in zip(compiled_too(graph, arrays)(addresses), compiled(graph, arrays)(addresses), strict=True):
        assert np.allclose(got, want, rtol=2e-5, atol=2e-5 * max(1, np.abs(want).max()))


@pytest.mark.parametrize("name", test_steps.MOVES)
def test_movement_is_inlined(name, both):
    test_steps.test_movement_is_inlined(name)


OTHERS = [n for n in dir(test_steps) if n.startswith("test_") and not hasattr(getattr(test_steps, n), "pytestmark")]


@pytest.mark.parametrize("name", [n for n in OTHERS if "products_read" not in n and n != "test_scatter"])
def test_step(name, both):
    getattr(test_steps, name)()


def test_scatters_agree_with_cpp():
    """Both write in order: the same bits, however many elements go to one place."""
    rng = np.random.default_rng(9)
    x, src = (rng.standard_normal(s).astype(np.float32) for s in ((11, 20), (3, 7, 20)))
    at, along = rng.integers(0, 11, (3, 7)), rng.integers(0, 20, (11, 4))
    rows = rng.standard_normal((11, 4)).astype(np.float16)

    def fn(x, s, i, a, r):
        return [ops.index_add(x, s, i), ops.scatter(x, a, ops.convert(r, dtype=dt.float32), dim=1),
                ops.scatter_add(ops.convert(x, dtype=dt.float16), a, r, dim=1),
                scatter_amax(x, a, ops.convert(r, dtype=dt.float32), dim=1)]

    arrays = [x, src, at, along, rows]
    graph = trace(fn, *map(type_of, arrays))
    addresses = [address(a) for a in arrays]
    for got, want in zip(compiled_too(graph, arrays)(addresses), compiled(graph, arrays)(addresses), strict=True):
        assert same_bits(got, want)


@pytest.mark.parametrize("bad", [-1, 11, 1 << 40])
def test_an_index_out_of_range_is_an_error(bad, both):
    test_steps.test_an_index_out_of_range_is_an_error(bad)


@pytest.mark.parametrize("name", test_steps.PRODUCTS)
def test_products(name, both):
    test_steps.test_products(name)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int64", "complex64"])
def test_product_dtypes(dtype, both):
    test_steps.test_product_dtypes(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_random_draws_are_the_same_bits(dtype, both):
    test_steps.test_random_draws_are_the_same_bits(dtype)


@pytest.mark.parametrize("seed", range(12))
def test_random_program(seed, interpreted):
    test_programs.test_random_program(seed)


@pytest.mark.parametrize("seed", (13,))
def test_kernels_of_random_programs_compile(seed, both):
    test_programs.test_random_program(seed)


# products -----------------------------------------------------------------------------------------
def test_products_of_several_blocks():
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((2, 130, 90)).astype(np.float32), rng.standard_normal((2, 90, 70)).astype(np.float32)
    graph = trace(lambda a, b: ops.dot(a, b), type_of(a), type_of(b))
    (got,) = compiled_too(graph, [a, b])([address(a), address(b)])
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(got - exact).max() <= 2 * np.abs(a @ b - exact).max() + 1e-6


def test_a_second_call_replays_the_first():
    x = np.linspace(-1, 1, 3000, dtype=np.float32).reshape(60, 50)
    graph = trace(lambda x: [ops.reduce_sum(ops.tanh(x), dims=(0,)), ops.exp(x)], type_of(x))
    launcher = launcher_of(graph, [x])
    want = [wide(w) for w in run_numpy(graph, [x])]
    for scale in (1.0, 1.0, 0.5):
        x *= np.float32(scale)
        want = run_numpy(graph, [x])
        for g, w in zip(launcher([address(x)]), want, strict=True):
            assert np.allclose(g, w, rtol=1e-5, atol=1e-5)
