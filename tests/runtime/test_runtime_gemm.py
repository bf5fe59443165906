"""Our matrix product against NumPy's in float64: sizes, strides, batches, NaN, bits, vector widths."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest
from runtime.native_cases import run_steps
from treadle.runtime import support
from treadle.runtime.build import address_of, compile_library, load_library
from treadle.runtime.plan import GemmStep, Matrix, Ref, gemm_record
from treadle.runtime.toolchain import simd_level

DTYPES = ("float32", "float64")
LAYOUTS = ("nn", "nt", "tn", "tt")
EDGES = (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 49, 63, 97, 100)


def matrix(array: np.ndarray, slot: int) -> Matrix:
    strides = tuple(stride // array.itemsize for stride in array.strides)
    rows, columns = array.shape[-2:]
    return Matrix(Ref(slot), rows, columns, strides[-2:], strides[:-2])


def gemm_step(a, b, c, accumulate: bool = False) -> GemmStep:
    parts = (matrix(a, 0), matrix(b, 1), matrix(c, 2))
    return GemmStep(str(c.dtype), *parts, batch=c.shape[:-2], accumulate=accumulate)


def multiply(a, b, c, accumulate: bool = False):
    run_steps([gemm_step(a, b, c, accumulate)], a, b, c)
    return c


def draw(shape, dtype, layout="n"):
    """Random numbers; layout t stores the last two dimensions turned."""
    if layout == "t":
        return draw((*shape[:-2], shape[-1], shape[-2]), dtype).swapaxes(-1, -2)
    return np.random.uniform(-1, 1, shape).astype(dtype)


def check(a, b, c, before=None):
    """c is a @ b (+ before) within a bound that grows with k as rounding does."""
    wide = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    if before is not None:
        wide, size = wide + before, size + np.abs(before)
    bound = np.finfo(c.dtype).eps * (2 + np.sqrt(a.shape[-1])) * (size + 1e-300)
    assert (np.abs(c - wide) <= bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_edges_of_tiles(dtype, layout):
    random = np.random.default_rng(1)
    sizes = [tuple(random.choice(EDGES, 3)) for _ in range(150)]
    for m, n, k in [*sizes, (3, 5, 0), (0, 4, 4), (4, 0, 4), (0, 0, 0), (1, 1, 1)]:
        a, b = draw((m, k), dtype, layout[0]), draw((k, n), dtype, layout[1])
        check(a, b, multiply(a, b, np.full((m, n), np.nan, dtype)))
        before = draw((m, n), dtype)
        check(a, b, multiply(a, b, before.copy(), accumulate=True), before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "shape",
    [(333, 257, 555), (1, 700, 900), (2, 700, 900), (700, 1, 900), (5, 300, 3000), (40, 30, 7001)],
)
def test_large_odd_shapes(dtype, layout, shape):
    m, n, k = shape
    a, b = draw((m, k), dtype, layout[0]), draw((k, n), dtype, layout[1])
    check(a, b, multiply(a, b, np.empty((m, n), dtype)))


def test_more_columns_and_k_than_one_packing_holds():
    a, b = draw((17, 3100), "float32"), draw((3100, 1501), "float32")
    check(a, b, multiply(a, b, np.empty((17, 1501), "float32")))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(20, 50, 30), (3, 70, 40), (70, 3, 40), (1, 65, 20), (65, 1, 20)])
def test_any_strides(dtype, shape):
    m, n, k = shape
    whole_a, whole_b = draw((2 * m, 3 * k), dtype), draw((3 * k, 2 * n), dtype)
    rows = [whole_a[:m, :k], whole_a[::2, ::3], whole_a[m - 1 :: -1, k - 1 :: -1]]
    rows.append(np.broadcast_to(whole_a[:1, :k], (m, k)))
    columns = [whole_b[:k, :n], whole_b[::3, ::2], whole_b[k - 1 :: -1, n - 1 :: -1]]
    columns += [np.broadcast_to(whole_b[:k, :1], (k, n)), np.broadcast_to(whole_b[:1, :n], (k, n))]
    columns.append(draw((2 * n, 3 * k), dtype).T[::3, ::2])
    for a, b in itertools.product(rows, columns):
        target = np.full((m, n + 5), 77, dtype)
        check(a, b, multiply(a, b, target[:, 2 : n + 2]))
        assert (target[:, :2] == 77).all() and (target[:, n + 2 :] == 77).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("batch", [(5,), (3, 4), (0,), (64,)])
@pytest.mark.parametrize("shape", [(12, 20, 8), (1, 33, 17), (33, 1, 17), (60, 50, 40)])
def test_batches(dtype, layout, batch, shape):
    m, n, k = shape
    a, b = draw((*batch, m, k), dtype, layout[0]), draw((*batch, k, n), dtype, layout[1])
    check(a, b, multiply(a, b, np.empty((*batch, m, n), dtype)))


def test_batches_that_share_or_interleave():
    a, b = draw((6, 40, 50), "float32"), draw((50, 30), "float32")
    shared = np.broadcast_to(b, (6, 50, 30))
    check(a, shared, multiply(a, shared, np.empty((6, 40, 30), "float32")))
    heads = draw((2, 40, 3, 16), "float32").transpose(0, 2, 1, 3)  # heads stand side by side
    turned = heads.swapaxes(-1, -2)
    check(heads, turned, multiply(heads, turned, np.empty((2, 3, 40, 40), "float32")))
    out = np.empty((2, 40, 3, 16), "float32").transpose(0, 2, 1, 3)
    weights = draw((2, 3, 40, 40), "float32")
    check(weights, heads, multiply(weights, heads, out))


def test_a_few_large_matrices():
    a, b = draw((2, 300, 280), "float32", "t"), draw((2, 280, 310), "float32", "t")
    check(a, b, multiply(a, b, np.empty((2, 300, 310), "float32")))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(20, 60, 40), (1, 40, 40), (40, 1, 40), (3, 9, 33), (100, 100, 400)])
def test_nan_and_inf_spread_and_go_nowhere_else(dtype, layout, shape):
    m, n, k = shape
    for row in (0, m - 1):
        a, b = np.zeros((m, k), dtype), np.zeros((k, n), dtype)
        a[row, k // 2] = np.nan
        b[k - 1, n - 1] = np.inf  # times zero: NaN
        a, b = (x.T.copy().T if way == "t" else x for x, way in zip((a, b), layout, strict=True))
        want = np.zeros((m, n), bool)
        want[row, :] = True
        want[:, n - 1] = True
        c = multiply(a, b, np.full((m, n), np.nan, dtype))
        assert (np.isnan(c) == want).all() and (c[~want] == 0).all()
        b[:] = 0
        a[:] = np.finfo(dtype).max
        b[0, :] = 2
        assert np.isposinf(multiply(a, b, c)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bits_do_not_depend_on_threads_or_alignment(dtype, layout):
    before = support.get_num_threads()
    try:
        for m, n, k in [(200, 150, 900), (1, 900, 900), (7, 500, 4000), (64, 96, 64), (30, 64, 5000)]:
            a, b = draw((m, k), dtype, layout[0]), draw((k, n), dtype, layout[1])
            moved = np.empty(b.size + 1, dtype)[1:]
            moved = moved.reshape(b.T.shape).T if layout[1] == "t" else moved.reshape(b.shape)
            moved[:] = b
            results = []
            for count, operand in itertools.product((1, 2, 5), (b, moved)):
                support.set_num_threads(count)
                results.append(multiply(a, operand, np.empty((m, n), dtype)).tobytes())
            assert len(set(results)) == 1
    finally:
        support.set_num_threads(before)


def test_a_batch_gives_the_bits_of_its_parts():
    a, b = draw((40, 70, 300), "float32"), draw((40, 300, 90), "float32")
    whole = multiply(a, b, np.empty((40, 70, 90), "float32"))
    parts = [multiply(x, y, np.empty((70, 90), "float32")) for x, y in zip(a, b, strict=True)]
    assert (whole == np.stack(parts)).all()


WIDTHS = {"avx512": ("haswell", "x86-64"), "avx2": ("x86-64",)}


@pytest.mark.parametrize("target", WIDTHS.get(simd_level(), ()))
@pytest.mark.parametrize("dtype", DTYPES)
def test_narrower_vectors(target, dtype):
    """The same text serves processors with less: it is built for them and run here."""
    library = load_library(compile_library(support._gemm_library(dtype, f"-march={target}")))
    names = ("td_parallel_for", "td_get_threads")
    core = support.core().library
    library.td_gemm_init(*(ctypes.c_void_p(address_of(core, name)) for name in names))
    random = np.random.default_rng(2)
    shapes = [tuple(random.choice(EDGES[1:], 3)) for _ in range(40)]
    for (m, n, k), layout in itertools.product([*shapes, (100, 90, 500), (3, 300, 1000)], LAYOUTS):
        a, b = draw((m, k), dtype, layout[0]), draw((k, n), dtype, layout[1])
        c = np.full((m, n), np.nan, dtype)
        record = np.array(gemm_record(gemm_step(a, b, c)), np.int64)
        library.td_gemm_run(*(ctypes.c_void_p(x.ctypes.data) for x in (record, a, b, c)))
        check(a, b, c)
