"""Every elementwise row: compiled equals the interpreter, for each dtype it takes, shape and layout."""

import numpy as np
import pytest
from treadle.ir import dtype as dt
from treadle.ir.op import Kind
from treadle.ir.ops import TABLE
from treadle.ir.type import tensor_type

from .helpers import compiled, address, run_numpy, same_bits, trace, type_of, ulps

REAL = (dt.bool_, dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64, dt.float16, dt.bfloat16, dt.float32, dt.float64)
SHAPES = ((), (0,), (1,), (7,), (3, 5), (2, 3, 37))
EXACT = frozenset("""add sub mul div neg abs where minimum maximum eq ne lt le gt ge bit_and bit_or bit_xor bit_not
shl shr convert copy sqrt floor ceil trunc round sign copysign floordiv mod fmod""".split())
NEAR_ZEROS = frozenset(["lgamma", "digamma"])  # relative to 1 near their zeros
ROWS = [r for r in TABLE.values() if r.kind is Kind.ELEMENTWISE and r.emit is not None and r.name != "convert"]


def operand_count(row) -> int:
    return len(row.vjp) if isinstance(row.vjp, tuple) else 1


def sample(rng, shape, dtype, domain):
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "ui":
        low, high = (0, 200) if dtype.kind == "u" else (-100, 100)
        return rng.integers(low, high, shape).astype(dtype.np)
    low, high = max(domain[0], -6.0), min(domain[1], 6.0)
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype.np)


def operands(row, rng, shape, dtype):
    arrays = [sample(rng, shape, dtype, row.domain) for _ in range(operand_count(row))]
    if row.name == "where":
        arrays[0] = rng.random(shape) < 0.5
    if row.name in ("floordiv", "mod", "fmod") and dtype.kind in "uib":
        arrays[1] = np.asarray(np.where(arrays[1] == 0, 1, arrays[1]).astype(dtype.np))
    if row.name == "pow" and dtype.kind in "ui":
        arrays[1] = np.abs(arrays[1]) % 4
        arrays[1] = arrays[1].astype(dtype.np)
    return [np.asarray(a) for a in arrays]


def takes(row, dtype) -> bool:
    types = [tensor_type((2,), dtype)] * operand_count(row)
    if row.name == "where":
        types[0] = tensor_type((2,), dt.bool_)
    try:
        out = row.infer(*types)
    except RuntimeError:
        return False
    return out.dtype.kind != "c"


def graph_and_arrays(row, rng, dtype):
    """One graph that holds the row at every shape, so that one build serves all."""
    cases = [operands(row, rng, shape, dtype) for shape in SHAPES]
    cases.append([np.asarray(a).T for a in operands(row, rng, (5, 9), dtype)])
    arrays = [a for case in cases for a in case]
    width = len(cases[0])

    def fn(*nodes):
        return [row(*nodes[i:i + width]) for i in range(0, len(nodes), width)]

    return trace(fn, *map(type_of, arrays)), arrays


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_row(row):
    rng = np.random.default_rng(0)
    for dtype in REAL:
        if not takes(row, dtype):
            continue
        graph, arrays = graph_and_arrays(row, rng, dtype)
        want = run_numpy(graph, arrays)
        got = compiled(graph, arrays)([address(a) for a in arrays])
        for g, w in zip(got, want, strict=True):
            w = np.asarray(w)
            assert g.dtype == w.dtype and g.shape == w.shape
            if row.name in EXACT or w.dtype.kind not in "f" and w.dtype.itemsize != 2:
                assert same_bits(g, w), (row.name, dtype.name, g, w)
            elif row.name in NEAR_ZEROS and dtype is dt.float64:
                assert np.allclose(g, w, rtol=4e-15, atol=2e-15)
            else:
                assert ulps(g, w) <= 2.0, (row.name, dtype.name, ulps(g, w))
