"""Kernels as they are printed, one of each form: read the diff when they change."""

import pytest
from treadle.codegen import generate
from treadle.ir import dtype as dt
from treadle.ir import ops
from treadle.ir.passes import optimize

from .helpers import trace
from .test_reduce import softmax

F32, I64 = dt.float32, dt.int64


def turned(x, y):
    return x + ops.permute(y, dims=(1, 0))


KERNELS = {
    "flat": (lambda x: ops.tanh(x) * 2.0, [((1000, 7), F32)]),
    "softmax": (softmax, [((64, 1024), F32)]),
    "softmax_rows": (softmax, [((4096, 10), F32)]),
    "column_sum": (lambda x: ops.reduce_sum(x * x, dims=(0,)), [((4096, 256), F32)]),
    "mean": (lambda x: ops.reduce_sum(x, dims=(0, 1)) / x.type.numel, [((512, 512), F32)]),
    "turned": (turned, [((256, 192), F32), ((192, 256), F32)]),
    "embedding": (lambda t, i: ops.index(t, i) * 2.0, [((512, 64), F32), ((8, 16), I64)]),
    "embedding_grad": (lambda t, g, i: ops.index_add(t * 0.0, g, i), [((512, 64), F32), ((8, 16, 64), F32),
                                                                     ((8, 16), I64)]),
    "cat": (lambda a, b: ops.cat(a, b, dim=1) + 1.0, [((64, 96), F32), ((64, 32), F32)]),
    "half": (lambda x: ops.exp(x) + 1.0, [((999,), dt.bfloat16)]),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel(name, golden):
    fn, types = KERNELS[name]
    program = generate(optimize(trace(fn, *types)))
    golden.check(f"kernels/{name}.cpp", "\n".join(k.text for k in program.kernels))
