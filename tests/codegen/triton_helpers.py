"""Running graphs as Triton programs, interpreted, and comparing them with the NumPy interpreter."""

from __future__ import annotations

import numpy as np
from treadle.codegen import generate
from treadle.ir.program import Program

from .helpers import address, layout_of, run_numpy, same_bits, trace, type_of, ulps


def program_of(graph, arrays, donated=None) -> Program:
    return generate(graph, donated=donated or {}, layouts=tuple(map(layout_of, arrays)), target="triton")


def launcher_of(graph, arrays, donated=None):
    from treadle.runtime.gpu.fake import FakeDriver
    from treadle.runtime.gpu.launch import Launcher

    types = [p.type for p in graph.placeholders]
    return Launcher(program_of(graph, arrays, donated), FakeDriver(), types, tuple(map(layout_of, arrays)))


def run(graph, arrays, donated=None) -> list:
    """The outputs of the interpreted graph; a donated output is the array written over."""
    out = launcher_of(graph, arrays, donated)([address(a) for a in arrays])
    return [arrays[donated[k]] if o is None else o for k, o in enumerate(out)]


def check(fn, *arrays, most_ulps=0.0, donated=None):
    """fn as Triton kernels equals the interpreter on these arrays; the launcher."""
    graph = trace(fn, *map(type_of, arrays))
    with np.errstate(all="ignore"):
        want = run_numpy(graph, [np.array(a) for a in arrays])
    launcher = launcher_of(graph, arrays, donated)
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
