"""Compiled equals eager over sequences of calls, and is compiled indeed (an identity decorator fails)."""

from __future__ import annotations

import copy
import gc
import weakref

import numpy as np
import pytest
from stepping import check

import treadle as T
from treadle import nn
from treadle.nn import functional as F


def plain(f):
    """A build without state."""
    return lambda compile: (compile(f), lambda: None)


def repeat(make, n=4):
    return [lambda fn, k: fn(*make(k)) for _ in range(n)]


def rand(*shape, seed=0):
    return T.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


# one graph ----------------------------------------------------------------------------------------
PURE = {
    "chain": lambda x: T.sigmoid(x) * T.tanh(x * 1.7) + T.exp(-x * x),
    "softmax": lambda x: T.softmax(x * 0.5, -1),
    "transpose": lambda x: T.relu(x + x.t()) * 2.0,
    "colsum": lambda x: (x * x + x).sum(0),
    "norm": lambda x: F.gelu(F.layer_norm(x, (8,))).square().mean(),
    "product": lambda x: (x @ x.t()).relu() @ x,
    "views": lambda x: x.view(4, 16)[:, 3:9].transpose(0, 1).reshape(-1) + 1,
    "same tensor twice": lambda x: (x, x),
    "input and view": lambda x: (x, x[0], x.t()),
    "constant": lambda x: (T.ones(3), x.sum(), T.arange(4)),
    "nested": lambda x: {"a": [x + 1, (x - 1, None)], "b": 3},
    "empty": lambda x: x[:0].sum() + x[:0].exp().sum(),
    "int": lambda x: (x * 3).to(T.int32) // 2 + (x > 0),
    "where": lambda x: T.where(x > 0, x, -x).max(1),
}


@pytest.mark.parametrize("name", PURE)
def test_pure_function(name):
    check(plain(PURE[name]), repeat(lambda k: (rand(8, 8, seed=k),)), graphs=1, lazy=0)


def test_new_shape_is_a_new_graph():
    fn = check(plain(lambda x: x.exp().sum(-1)), repeat(lambda k: (rand(2 + k % 2, 5, seed=k),), 6), graphs=2)
    assert fn.explain().counts["recordings"] == 2


def train_step(make_model, make_opt, inside=None, clip=None, set_to_none=True):
    def build(compile):
        model = make_model()
        opt = make_opt(model.parameters())
        extra = inside(opt) if inside else None

        def step(x, y):
            opt.zero_grad(set_to_none=set_to_none)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()
            if extra:
                extra.step()
            return loss

        def state():
            return [list(model.parameters()), [p.grad for p in model.parameters()],
                    list(model.buffers()), opt.param_groups[0]["lr"]]

        return compile(step), state

    return build


def mlp():
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))


def normed():
    return nn.Sequential(nn.Linear(6, 16, bias=False), nn.BatchNorm1d(16), nn.GELU(), nn.Dropout(0.3), nn.Linear(16, 4))


def batch(k, n=10):
    rng = np.random.default_rng(k)
    return (T.from_numpy(rng.standard_normal((n, 6)).astype(np.float32)), T.from_numpy(rng.integers(0, 4, n)))


OPTIMIZERS = {
    "sgd": lambda p: T.optim.SGD(p, 0.1),
    "momentum": lambda p: T.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: T.optim.Adam(p, 1e-2),
    "adamw": lambda p: T.optim.AdamW(p, 1e-2, amsgrad=True),
}


@pytest.mark.parametrize("opt", OPTIMIZERS)
@pytest.mark.parametrize("model", [mlp, normed])
def test_whole_step(opt, model):
    fn = check(train_step(model, OPTIMIZERS[opt]), repeat(batch, 8), graphs=1, lazy=0, rtol=2e-5)
    assert fn.explain().counts["recordings"] <= 3


def test_step_with_clipping_and_scheduler():
    check(train_step(mlp, OPTIMIZERS["adam"], lambda o: T.optim.lr_scheduler.StepLR(o, 2, 0.5), clip=0.5),
          repeat(batch, 8), graphs=1, lazy=0, rtol=2e-5)


def test_step_that_keeps_grads_zeroed():
    check(train_step(mlp, OPTIMIZERS["sgd"], set_to_none=False), repeat(batch, 6), lazy=0, rtol=2e-5)


def test_learning_rate_changed_between_calls():
    def build(compile):
        model = mlp()
        opt = T.optim.Adam(model.parameters(), 1e-2)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            return loss

        fn = compile(step)

        def call(x, y, lr):
            opt.param_groups[0]["lr"] = lr
            return fn(x, y)

        call.explain = getattr(fn, "explain", None)
        return call, lambda: list(model.parameters())

    fn = check(build, [lambda f, k: f(*batch(k), 0.1 / (1 + k)) for _ in range(8)], graphs=1, rtol=2e-5)
    assert fn.explain().counts["recordings"] <= 3


def test_real_loop_last_batch_evaluation_resume():
    def build(compile):
        model = normed()
        opt = T.optim.AdamW(model.parameters(), 1e-2)
        sched = T.optim.lr_scheduler.CosineAnnealingLR(opt, 10)

        @compile
        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            sched.step()
            return loss

        def epoch(k):
            losses = [step(*batch(10 * k + i, 10 if i < 3 else 7)) for i in range(4)]
            model.eval()
            with T.no_grad():
                out = model(batch(99)[0])
            model.train()
            if k == 1:
                kept = copy.deepcopy(model.state_dict()), copy.deepcopy(opt.state_dict())
                model.load_state_dict(kept[0])
                opt.load_state_dict(kept[1])
            return losses, out

        epoch.explain = getattr(step, "explain", None)
        return epoch, lambda: list(model.parameters())

    from treadle.frontend.compile import compiles

    before = compiles[0]
    fn = check(build, [lambda f, k: f(k) for _ in range(4)], rtol=5e-5)
    assert compiles[0] - before <= 3, str(fn.explain())


# effects ------------------------------------------------------------------------------------------
def test_input_written_in_place():
    def f(x):
        x.mul_(2)
        x[0] += 1
        return x.sum()

    check(plain(f), [lambda fn, k: (lambda t: (fn(t), t))(rand(3, 4, seed=k)) for _ in range(4)], graphs=1)


def test_view_of_input_written():
    def f(x):
        x[:, 1].add_(5)
        x.t()[0].zero_()
        return x * 1

    check(plain(f), [lambda fn, k: (lambda t: (fn(t), t))(rand(3, 4, seed=k)) for _ in range(4)], graphs=1)


def test_returned_view_shares_memory():
    fn = T.compile(lambda x: (x[1:], x + 0))
    for k in range(3):
        x = rand(4, seed=k)
        view, fresh = fn(x)
        x.zero_()
        assert float(view.abs().sum()) == 0 and float(fresh.abs().sum()) > 0


def test_outputs_are_fresh_each_call():
    fn = T.compile(lambda x: x + 1)
    x = rand(4)
    outs = [fn(x) for _ in range(5)]
    outs[0].zero_()
    for o in outs[1:]:
        np.testing.assert_array_equal(o.numpy(), x.numpy() + 1)


def test_output_fed_back():
    check(plain(lambda x: x * 0.5 + 1), [lambda fn, k: fn(fn(fn(rand(5, seed=k)))) for _ in range(3)], graphs=1)


def test_closure_tensor_swapped_data():
    def build(compile):
        w = T.ones(4)
        fn = compile(lambda x: x * w)

        def call(x, k):
            if k == 2:
                w.data = T.full((4,), 3.0)
            if k == 4:
                w.fill_(7)
            return fn(x)

        call.explain = getattr(fn, "explain", None)
        return call, lambda: w

    check(build, [lambda f, k: f(rand(4, seed=k), k) for _ in range(6)])


def test_python_state_is_guarded():
    def build(compile):
        config = {"scale": 2.0, "flag": True}

        def f(x):
            y = x * config["scale"]
            return y.relu() if config["flag"] else y

        fn = compile(f)

        def call(k):
            if k == 2:
                config["scale"] = 3.0
            if k == 4:
                config["flag"] = False
            return fn(rand(4, seed=k))

        call.explain = getattr(fn, "explain", None)
        return call, lambda: None

    check(build, [lambda f, k: f(k) for _ in range(7)], lazy=0)


def test_data_dependent_branch_takes_both_ways():
    def f(x):
        if x.sum() > 0:
            return T.relu(x)
        return F.leaky_relu(x)

    check(plain(f), [lambda fn, k: fn(rand(8, seed=k)) for _ in range(8)])


def test_item_and_python_numbers():
    def f(x):
        n = int(x.abs().sum().item())
        return x * n, n

    check(plain(f), repeat(lambda k: (rand(4, seed=k),), 5))


def test_python_effect_runs_each_call():
    def build(compile):
        log = []

        def f(x):
            log.append(len(log))
            return x + len(log)

        return compile(f), lambda: list(log)

    check(build, repeat(lambda k: (rand(3, seed=k),), 5))


def test_random_numbers_are_drawn_anew():
    def f(x):
        return F.dropout(x, 0.5), T.rand(3), T.randn(2, 2), T.randint(0, 9, (4,))

    check(plain(f), repeat(lambda k: (rand(16, seed=k),), 5), graphs=1)


def test_exception_leaves_effects_before_it():
    def build(compile):
        table = T.zeros(4)

        def f(x, i):
            table.add_(1)
            y = F.embedding(i, x)
            table.add_(1)
            return y

        return compile(f), lambda: table

    good, bad = T.tensor([0, 2]), T.tensor([0, 9])
    check(build, [lambda fn, k: fn(rand(4, 3), bad if k in (0, 4) else good) for _ in range(6)], errors=2)


# backward outside ---------------------------------------------------------------------------------
def test_compiled_forward_with_backward_outside():
    def build(compile):
        model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))
        opt = T.optim.SGD(model.parameters(), 0.1)
        forward = compile(lambda x: model(x))

        def step(k):
            x, y = batch(k)
            x.requires_grad_()
            opt.zero_grad()
            loss = F.cross_entropy(forward(x), y)
            loss.backward()
            opt.step()
            return loss, x.grad

        step.explain = getattr(forward, "explain", None)
        return step, lambda: list(model.parameters())

    check(build, [lambda f, k: f(k) for _ in range(6)], graphs=1, rtol=2e-5)


def test_backward_twice_and_changed_input_raise_as_eager():
    w = T.ones(3, requires_grad=True)
    fn = T.compile(lambda x: (x * w * w).exp().sum())
    for _ in range(3):
        y = fn(rand(3))
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()
    y = fn(rand(3))
    with T.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


# a compiled module --------------------------------------------------------------------------------
def test_compiled_module_is_that_module():
    T.manual_seed(0)
    model = normed()
    twin = T.compile(model)
    assert isinstance(twin, nn.Sequential) and list(twin.state_dict()) == list(model.state_dict())
    x = batch(0)[0]
    model.eval()
    np.testing.assert_allclose(twin(x).detach().numpy(), model(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    twin.train()
    assert model.training
    other = copy.deepcopy(twin)
    with T.no_grad():
        next(other.parameters()).zero_()
    assert float(next(model.parameters()).abs().sum()) > 0


def test_caches_do_not_hold_models():
    model = mlp()
    fn = T.compile(model)
    for k in range(3):
        fn(batch(k)[0])
    ref = weakref.ref(next(model.parameters()))
    del fn, model
    gc.collect()
    assert ref() is None


def test_unknown_options_are_refused():
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        T.compile(lambda x: x, mode="fastest")
    with pytest.raises(RuntimeError, match="Invalid backend"):
        T.compile(lambda x: x, backend="tpu")


# generators made in the call are part of it -----------------------------------------------------------
def test_generator_expressions_are_captured_and_guarded():
    def build(compile):
        scales = [1, 2, 3]
        fn = compile(lambda x: sum(x * s for s in scales))

        def call(k):
            if k == 3:
                scales.append(7)
            return fn(rand(4, seed=k))

        call.explain = getattr(fn, "explain", None)
        return call, lambda: None

    fn = check(build, [lambda f, k: f(k) for _ in range(6)], graphs=2, lazy=0)
    assert fn.explain().counts["recordings"] == 2


def test_generators_from_outside_and_returned_ones_run_each_time():

    def build(compile):
        source = (i * 1.0 for i in range(50))

        def f(x):
            return x * next(source), list(x + i for i in range(2))  # noqa: C400 - a generator is what is tested

        return compile(f), lambda: None

    check(build, repeat(lambda k: (rand(3, seed=k),), 4), graphs=0, lazy=1)
    fn = T.compile(lambda x: (x * i for i in range(2)))
    for k in range(3):
        assert len(list(fn(rand(3, seed=k)))) == 2


def test_split_heads_under_autocast_go_back_compiled():
    """The gradient of a chunked projection is a cat of reshaped pieces, each read at its own place."""
    def build(compile):
        qkv = nn.Linear(8, 24)

        def step(x):
            qkv.zero_grad()
            with T.autocast("cpu", dtype=T.bfloat16):
                q, k, v = (t.view(2, 4, 2, 4).transpose(1, 2) for t in qkv(x).chunk(3, -1))
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                loss = y.transpose(1, 2).reshape(2, 4, 8).float().sum()
            loss.backward()
            return loss

        return compile(step), lambda: qkv.weight.grad

    check(build, repeat(lambda k: (rand(2, 4, 8, seed=k),), 5), graphs=1, lazy=0, rtol=4e-2)
