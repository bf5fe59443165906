"""Triton's interpreter as the GPU would compute: arithmetic, memory, and that all patches are taken back."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from codegen.helpers import address

pytestmark = pytest.mark.triton

ADD = """@triton.jit
def {name}(a, b, c, o, n: tl.constexpr, X: tl.constexpr):
    pid = tl.program_id(0)
    x = pid * X + tl.arange(0, X)
    on = x < n
    va = tl.load(a + x, mask=on, other=0)
    vb = tl.load(b + x, mask=on, other=0)
    vc = tl.load(c + x, mask=on, other=0)
    tl.store(o + x, {value}, mask=on)
"""
KINDS = {"float32": "fp32", "float64": "fp64", "int32": "i32", "bfloat16": "bf16", "int64": "i64"}


def interpret(value, arrays, out, n=None, grid=1, races=False, hidden=()):
    """Runs o = value of va, vb, vc on arrays; those in `hidden` are not known memory."""
    from treadle.runtime.gpu import compat, kernels
    from treadle.runtime.gpu.regions import Regions

    kernel = kernels.load("", ADD.format(name="k", value=value), "k")
    regions = Regions(races)
    given = [*arrays, out]
    for k, a in enumerate(given):
        if k not in hidden:
            regions.add(address(a), a.nbytes)
    pointers = [(address(a), KINDS[a.dtype.name]) for a in given]
    with compat.interpreting(regions):
        compat.interpret(kernel, grid, [*(compat.pointer(*p) for p in pointers), n or out.size, 64])
    return out


def three(rng, n=64, dtype=np.float32):
    return [rng.standard_normal(n).astype(dtype) for _ in range(3)]


def exact(a, b, c) -> np.ndarray:
    return np.array([float(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)))
                     for x, y, z in zip(a, b, c, strict=True)])


def test_fma_rounds_once():
    a, b, c = three(np.random.default_rng(0))
    for added in (c, -(a * b)):
        got = interpret("tl.fma(va, vb, vc)", [a, b, added], np.zeros(64, np.float32))
        assert np.array_equal(got, exact(a, b, added).astype(np.float32))


def test_fma_of_doubles_gives_what_rounding_cut_off():
    a, b, _ = three(np.random.default_rng(1), dtype=np.float64)
    a[0], b[0] = 1e300, 1e5
    got = interpret("tl.fma(va, vb, vc)", [a, b, -(a * b)], np.zeros(64))
    assert np.array_equal(got, exact(a, b, -(a * b))) and got.any()


def test_bfloat16_rounds_to_nearest_even():
    x = np.array([1.00390625, 1.01171875, -3.3, 1e-40, np.inf, np.nan, 3.39e38, 0.1] * 8, np.float32)
    got = interpret("va.to(tl.bfloat16)", [x, x, x], np.zeros(64, ml_dtypes.bfloat16))
    assert np.array_equal(got.view(np.uint16), x.astype(ml_dtypes.bfloat16).view(np.uint16))


def test_integers_wrap():
    x = np.full(64, 2**31 - 1, np.int32)
    got = interpret("va + vb", [x, x, x], np.zeros(64, np.int32))
    assert (got == -2).all()


def test_a_lane_outside_known_memory_is_an_error():
    from treadle.runtime.gpu.errors import WildAccess

    arrays = three(np.random.default_rng(2))
    with pytest.raises(WildAccess, match="64 of 64 lanes lie outside"):
        interpret("va", arrays, np.zeros(64, np.float32), hidden=(1,))
    with pytest.raises(WildAccess, match="36 of 64 lanes|36 lanes"):
        interpret("va", arrays, np.zeros(28, np.float32), n=64)


def test_two_programs_that_write_one_place_are_an_error():
    from treadle.runtime.gpu.errors import WildAccess

    arrays = three(np.random.default_rng(3))
    out = np.zeros(64, np.float32)
    interpret("va", arrays, out, grid=2, races=True)  # the second program's lanes are all off
    with pytest.raises(WildAccess, match="programs 0 and 1 both write"):
        _overlapping(arrays, out)


def _overlapping(arrays, out):
    from treadle.runtime.gpu import compat, kernels
    from treadle.runtime.gpu.regions import Regions

    text = ADD.format(name="k", value="va").replace("pid * X + ", "")
    kernel, regions = kernels.load("", text, "k"), Regions(races=True)
    for a in [*arrays, out]:
        regions.add(address(a), a.nbytes)
    with compat.interpreting(regions):
        compat.interpret(kernel, 2, [*(compat.pointer(address(a), "fp32") for a in [*arrays, out]), 64, 64])


def test_all_is_put_back():
    import triton.language as tl
    from triton.runtime import interpreter
    from triton.runtime.jit import JITFunction

    def state():
        builder = interpreter.InterpreterBuilder
        return (JITFunction.__call__, tl.load, tl.core.load, tl.tensor.__add__, interpreter._convert_float,
                builder.create_masked_load, builder.create_dot, builder.create_fma, interpreter.interpreter_builder.options,
                interpreter.ReduceOps.generic_reduce)

    before = state()
    interpret("va * vb", three(np.random.default_rng(4)), np.zeros(64, np.float32))
    assert state() == before
    with pytest.raises(Exception, match="no_such_thing"):
        interpret("tl.no_such_thing(va)", three(np.random.default_rng(4)), np.zeros(64, np.float32))
    assert state() == before


def test_compiling_before_and_after_interpreting_gives_the_same():
    from codegen.helpers import trace, type_of
    from codegen.triton_helpers import program_of, run_interpreted, sources
    from treadle.ir import ops
    from treadle.runtime.gpu.compile import _compiled, compile_source

    x = np.ones((3, 70), np.float32)
    graph = trace(lambda x: ops.reduce_max(ops.tanh(x), dims=(1,)), type_of(x))
    (source,) = sources(program_of(graph, [x]))
    first = compile_source(source, 90)
    run_interpreted(graph, [x])
    _compiled.cache_clear()
    assert compile_source(source, 90) == first


def test_versions_that_nobody_has_tried_are_refused(monkeypatch):
    import triton
    from treadle.runtime.gpu import compat
    from treadle.runtime.gpu.errors import GpuError

    monkeypatch.setattr(triton, "__version__", "3.5.1")
    with pytest.raises(GpuError, match=r"expected a version from 3.6 to 3.9, got 3.5.1.*pip install"):
        compat.version()
