"""Kernels compiled without a GPU: what they cost, and that the disk cache keeps them."""

import re

import numpy as np
import pytest
from codegen.helpers import trace, type_of
from codegen.test_reduce import softmax
from codegen.triton_helpers import program_of, sources
from treadle.ir import dtype as dt
from treadle.ir import ops

pytestmark = pytest.mark.triton


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def reports(fn, *arrays, capability=90):
    from treadle.runtime.gpu.compile import report

    found = sources(program_of(trace(fn, *map(type_of, arrays)), arrays))
    return [report(s, capability) for s in found], found


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_pointwise_kernels_load_16_bytes_at_a_time(dtype):
    a, b = (ones(1000, 1000, dtype=dt.by_name(dtype).np) for _ in "ab")
    (found,), _ = reports(lambda a, b: a * b + a, a, b)
    assert found.stack == 0 and found.shared == 0 and found.loads == found.wide_loads > 0
    assert found.parameters == 3 + 2


def test_a_size_that_does_not_divide_has_a_path_without_masks():
    a, b = ones(999, 1001), ones(999, 1001)
    (found,), _ = reports(lambda a, b: a * b + 1.0, a, b)
    assert found.wide_loads >= 4 and found.stack == 0


@pytest.mark.parametrize("shape", [(512, 1024), (64, 30000)])
def test_row_kernels_spill_nothing(shape):
    (found,), _ = reports(softmax, ones(*shape))
    assert found.stack == 0 and found.loads == found.wide_loads


def test_opposite_orders_are_turned_in_shared_memory():
    (found,), _ = reports(lambda a, b: a + ops.permute(b, dims=(1, 0)), ones(512, 512), ones(512, 512))
    assert found.shared > 0 and found.loads == found.wide_loads


def test_half_products_use_tensor_cores():
    a, b = (ones(512, 512, dtype=dt.bfloat16.np) for _ in "ab")
    (found,), _ = reports(lambda a, b: ops.dot(a, b), a, b)
    assert found.wgmma > 0 and found.stack == 0 and found.shared <= 232448
    (found,), _ = reports(lambda a, b: ops.dot(a, b), a, b, capability=80)
    assert found.mma > 0


def test_float32_is_computed_as_ieee_says():
    """No flush of subnormals, no approximations, no fused multiply and add that is not asked for, no tf32."""
    from treadle.runtime.gpu.compile import _compiled

    a, b = ones(64, 64), ones(64, 64)
    graph = trace(lambda a, b: [a * b + a, a / b, ops.sqrt(a), ops.floor(a), ops.dot(a, b)], *map(type_of, (a, b)))
    for source in sources(program_of(graph, [a, b])):
        ptx = _compiled(source, 90).asm["ptx"]
        assert not re.search(r"\.ftz|\.approx|tf32", ptx)
        assert "tl.dot" in source.kernel.text or "fma." not in ptx


def test_machine_code_is_kept_on_disk(monkeypatch):
    from treadle.runtime.gpu import binaries

    (source,) = sources(program_of(trace(lambda a: a * 3.0 - 1.0, type_of(ones(777))), [ones(777)]))
    first = binaries.binary_of(source, 90)
    binaries.binary_of.cache_clear()
    monkeypatch.setattr(binaries, "compile_source", lambda *_: pytest.fail("compiled again"))
    assert binaries.binary_of(source, 90) == first
    assert first.cubin.startswith(b"\x7fELF") and first.warps == source.kernel.meta.warps


def test_what_triton_refuses_is_told_with_the_text():
    from dataclasses import replace

    from treadle.runtime.gpu.compile import compile_source
    from treadle.runtime.gpu.errors import GpuError

    (source,) = sources(program_of(trace(lambda a: a * 3.0, type_of(ones(5))), [ones(5)]))
    kernel = source.kernel
    bad = replace(source, kernel=replace(kernel, text=kernel.text.replace("tl.load", "tl.lode")))
    with pytest.raises(GpuError, match="could not compile it for compute capability 9.0"):
        compile_source(bad, 90)
