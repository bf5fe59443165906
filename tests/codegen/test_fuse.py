"""What fuses: the shapes of deep learning as few kernels, the same for any depth; and stated reasons."""

import numpy as np
from treadle.codegen import generate
from treadle.ir import dtype as dt
from treadle.ir import ops
from treadle.ir.autograd import pullback
from treadle.ir.interpret import evaluate
from treadle.ir.passes import optimize
from treadle.ir.program import DotStep, HostStep, KernelStep

from .helpers import address, compiled, run_numpy, trace, type_of
from .test_reduce import expand_row, norm, softmax

F32 = dt.float32


def steps(fn, *types, **more):
    return [type(s) for s in generate(optimize(trace(fn, *types)), **more).steps]


def test_a_chain_is_one_kernel():
    assert steps(lambda x: ops.tanh(x * 2.0) / (ops.exp(x) + 1.0), ((64, 64), F32)) == [KernelStep]


def test_a_sum_over_rows_is_two_and_carries_its_producer():
    assert steps(lambda x: ops.reduce_sum(x * x + x, dims=(0,)), ((8192, 64), F32)) == [KernelStep] * 2


def test_a_loss_is_two():
    fn = lambda x: ops.reduce_sum(ops.exp(x) - x, dims=(0, 1)) / x.type.numel
    assert steps(fn, ((512, 512), F32)) == [KernelStep] * 2


def test_softmax_over_any_dim_is_one():
    def over(x):
        return ops.permute(softmax(ops.permute(x, dims=(0, 2, 3, 1))), dims=(0, 3, 1, 2)) * 2.0

    assert steps(over, ((4, 8, 5, 6), F32)) == [KernelStep]


def test_batch_norm_of_a_channel_is_one():
    def fn(x):
        n, c, h, w = x.shape
        mean = ops.reduce_sum(x, dims=(0, 2, 3)) / (n * h * w)
        centred = x - ops.expand(ops.reshape(mean, shape=(1, c, 1, 1)), shape=x.shape)
        var = ops.reduce_sum(centred * centred, dims=(0, 2, 3)) / (n * h * w)
        return [centred * ops.expand(ops.reshape(ops.rsqrt(var + 1e-5), shape=(1, c, 1, 1)), shape=x.shape), mean, var]

    assert steps(fn, ((4, 16, 8, 8), F32)) == [KernelStep]


def test_cross_entropy_reads_its_logits_in_one_kernel_without_a_table_of_logs():
    def fn(x, y):
        shifted = x - expand_row(ops.reduce_max(x, dims=(1,)), x)
        logs = shifted - expand_row(ops.log(ops.reduce_sum(ops.exp(shifted), dims=(1,))), x)
        picked = ops.gather(logs, ops.reshape(y, shape=(*y.shape, 1)), dim=1)
        return ops.reduce_sum(ops.reshape(picked, shape=y.shape), dims=(0,)) / -y.shape[0]

    program = generate(optimize(trace(fn, ((64, 100), F32), ((64,), dt.int64))))
    assert [type(s) for s in program.steps] == [KernelStep] * 2
    assert program.fusions[0].written < 64 * 100


def test_scalars_are_computed_where_they_are_used():
    def fn(p, g, t):
        rate = 0.1 / (1.0 - ops.pow(t * 0.0 + 0.9, t))
        return p - g * ops.expand(ops.reshape(rate, shape=(1, 1)), shape=p.shape)

    assert steps(fn, ((30, 30), F32), ((30, 30), F32), ((), F32)) == [KernelStep]


def test_an_epilogue_reads_the_product_and_a_host_op_stands_alone():
    kinds = steps(lambda a, b: ops.tanh(ops.dot(a, b) + 1.0), ((8, 8), F32), ((8, 8), F32))
    assert kinds == [DotStep, KernelStep]
    assert HostStep in steps(lambda z: ops.real(z * z) + 1.0, ((8,), dt.complex64))


def test_refusals_state_their_reason():
    fn = lambda x: ops.permute(ops.reduce_sum(ops.exp(x), dims=(1,)), dims=(1, 0)) * 2.0
    fusions = generate(optimize(trace(fn, ((4, 8, 5), F32)))).fusions
    assert len(fusions) == 1 or all(f.reason for f in fusions[1:])


# a deep model -------------------------------------------------------------------------------------
def linear(x, w, b):
    y = ops.dot(x, ops.permute(w, dims=(1, 0)))
    return y + ops.expand(ops.reshape(b, shape=(1, *b.shape)), shape=y.shape)


def deep(depth):
    """Loss and updated parameters of a stack of residual blocks, and their types."""
    shapes = [(24,), (24,), (48, 24), (48,), (24, 48), (24,)] * depth
    types = [((40, 24), F32), *((s, F32) for s in shapes)]

    def loss(x, *p):
        for k in range(0, 6 * depth, 6):
            h = ops.tanh(linear(norm(x, p[k], p[k + 1]), p[k + 2], p[k + 3]))
            x = x + linear(h, p[k + 4], p[k + 5])
        return ops.reduce_sum(x * x, dims=(0, 1)) / x.type.numel

    def step(x, *p):
        graph = trace(loss, *types)
        back = pullback(graph, tuple(range(1, len(types))))
        one = ops.full(shape=(), value=1.0, dtype=F32, device=x.type.device)
        grads = evaluate(back, [x, *p, one])
        return [evaluate(graph, [x, *p])[graph.outputs[0]],
                *(v - grads[o] * 0.1 for v, o in zip(p, back.outputs, strict=True))]

    return optimize(trace(step, *types)), types


def test_depth_adds_steps_but_no_kernels():
    counts = []
    for depth in (2, 4):
        graph, types = deep(depth)
        program = generate(graph, donated={k: k for k in range(1, len(types))})
        counts.append((len(program.kernels), len(program.steps)))
    assert counts[0][0] == counts[1][0] <= 20 and counts[0][1] < counts[1][1]


def test_a_step_of_a_deep_model_is_right():
    graph, types = deep(3)
    rng = np.random.default_rng(0)
    arrays = [(rng.standard_normal(s) * 0.3).astype(np.float32) for s, _ in types]
    want = run_numpy(graph, [a.copy() for a in arrays])
    donated = {k: k for k in range(1, len(types))}
    out = compiled(graph, arrays, donated)([address(a) for a in arrays])
    assert np.allclose(out[0], want[0], rtol=1e-5)
    for k in donated:
        assert np.allclose(arrays[k], want[k], rtol=1e-4, atol=1e-5)


def test_programs_are_the_same_text_each_time():
    graph, _ = deep(2)
    assert repr(generate(graph)) == repr(generate(graph))


def test_type_of_is_exact():
    assert type_of(np.zeros((2, 3), np.float32)) == ((2, 3), F32)


def test_a_very_long_chain_is_cut_and_not_recursed_into():
    def fn(x):
        for _ in range(1500):
            x = ops.sin(x)
        return x

    program = generate(trace(fn, ((5,), F32)))
    assert 2 <= len(program.steps) <= 20
