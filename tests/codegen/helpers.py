"""Building graphs, running programs on NumPy arrays, and comparing them with the interpreter."""

from __future__ import annotations

import numpy as np
from treadle.codegen import generate
from treadle.ir import dtype as dt
from treadle.ir.dispatch import using
from treadle.ir.graph import Builder, Graph
from treadle.ir.interpret import run_numpy
from treadle.ir.type import tensor_type
from treadle.runtime.launch import Launcher


def trace(fn, *types, name="graph") -> Graph:
    """The graph of fn(*nodes) for (shape, dtype) pairs; fn gives a node or several."""
    builder = Builder()
    with using(builder):
        out = fn(*[builder.placeholder(tensor_type(tuple(s), d)) for s, d in types])
    return builder.graph(out if isinstance(out, (tuple, list)) else (out,), name)


def type_of(array: np.ndarray):
    return array.shape, dt.from_numpy(array.dtype)


def layout_of(array: np.ndarray):
    """Strides in elements, None where contiguous."""
    if array.flags.c_contiguous:
        return None
    return tuple(s // array.itemsize for s in array.strides)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def compiled(graph: Graph, arrays, donated=None) -> Launcher:
    return Launcher(generate(graph, donated=donated or {}, layouts=tuple(map(layout_of, arrays))))


def run(graph: Graph, arrays, donated=None) -> list:
    """The outputs of the compiled graph; a donated output is the array written over."""
    out = compiled(graph, arrays, donated)([address(a) for a in arrays])
    return [arrays[donated[k]] if o is None else o for k, o in enumerate(out)]


def wide(array: np.ndarray) -> np.ndarray:
    """The array in a dtype NumPy's own functions know."""
    return array.astype(np.float32) if array.dtype.itemsize == 2 and array.dtype.kind not in "iu" else array


def ulps(a: np.ndarray, b: np.ndarray) -> float:
    """The largest distance in units in the last place of b; places of NaN and inf must agree."""
    precision = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23}.get(b.dtype.name, 2.0**-52)
    x, y = wide(a).astype(np.float64), wide(b).astype(np.float64)
    assert np.array_equal(np.isnan(x), np.isnan(y)), "places of NaN differ"
    special = ~np.isfinite(x) | ~np.isfinite(y)
    assert np.array_equal(x[special & ~np.isnan(x)], y[special & ~np.isnan(y)]), "places of inf differ"
    x, y = x[~special], y[~special]
    if not x.size:
        return 0.0
    tiny = 2.0**-24 if b.dtype.name == "float16" else 2.0**-126 if b.dtype.itemsize < 8 else 2.0**-1022
    return float(np.max(np.abs(x - y) / (np.maximum(np.abs(y), tiny) * precision)))


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal values, NaN equal to NaN, 0.0 not equal to -0.0."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    x, y = wide(a), wide(b)
    if x.dtype.kind != "f":
        return np.array_equal(x, y)
    nan = np.isnan(x)
    return np.array_equal(nan, np.isnan(y)) and np.array_equal(x[~nan], y[~nan]) and np.array_equal(
        np.signbit(x[~nan]), np.signbit(y[~nan]))


def check(fn, *arrays, most_ulps=0.0, donated=None) -> Launcher:
    """fn traced, compiled and run equals the interpreter on these arrays; the launcher."""
    graph = trace(fn, *map(type_of, arrays))
    with np.errstate(all="ignore"):
        want = run_numpy(graph, [np.array(a) for a in arrays])
    launcher = compiled(graph, arrays, donated)
    out = launcher([address(a) for a in arrays])
    for k, (got, expected) in enumerate(zip(out, want, strict=True)):
        if got is None:
            got = arrays[donated[k]]
        expected = np.asarray(expected)
        assert got.dtype == expected.dtype and got.shape == expected.shape
        if most_ulps and expected.dtype.kind not in "biu":
            assert ulps(got, expected) <= most_ulps, (k, ulps(got, expected))
        else:
            assert same_bits(got, expected), (k, got, expected)
    return launcher
