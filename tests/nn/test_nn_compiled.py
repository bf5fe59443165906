"""Layers within compiled functions: equal to eager, and every change of a module is seen."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import treadle as T
from treadle import nn

sys.path.insert(0, str(Path(__file__).parents[1] / "frontend"))
from stepping import check


def rand(*shape, seed=0):
    return T.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def program(make, *shape, train=True, change=None, at=3):
    """build(compile), calls: forward and backward of one module, `change`d before call `at`."""
    things = {}

    def build(compile):
        model = make()

        def step(x):
            model.zero_grad()
            out = model(x)
            out = out[0] if isinstance(out, tuple) else out
            if train:
                out.square().mean().backward()
            return out

        fn = compile(step)
        things[id(fn)] = (fn, model)
        return fn, lambda: [list(model.parameters()), [p.grad for p in model.parameters()], list(model.buffers())]

    def call(fn, k):
        if change is not None and k == at:
            change(things[id(fn)][1])
        return fn(rand(*shape, seed=k))

    return build, [call] * 7


class Attention(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, **options)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


LAYERS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 2)), (5, 4)),
    "conv": (lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                   nn.Linear(12, 2)), (2, 2, 4, 4)),
    "batch norm": (lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)), (2, 2, 4, 4)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (3, 4, 2)),
    "LSTM": (lambda: nn.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3)),
    "GRU": (lambda: nn.GRU(3, 4), (5, 2, 3)),
    "RNN": (lambda: nn.RNN(3, 4, nonlinearity="relu"), (5, 2, 3)),
    "LSTMCell": (lambda: nn.LSTMCell(3, 4), (2, 3)),
    "attention": (Attention, (5, 2, 8)),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2),
                (2, 5, 8)),
    "list": (lambda: Listed(), (2, 3)),
    "weight norm": (lambda: nn.utils.weight_norm(nn.Linear(3, 2)), (2, 3)),
}


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
        self.named = nn.ModuleDict({"a": nn.Tanh(), "b": nn.ReLU()})
        self.scales = nn.ParameterList([nn.Parameter(T.ones(3)), nn.Parameter(T.ones(3) * 2)])

    def forward(self, x):
        for layer, scale in zip(self.layers, [*self.scales, 3], strict=True):
            x = layer(x) * scale
        for name in self.named:
            x = self.named[name](x)
        return x


@pytest.mark.filterwarnings("ignore:.*weight_norm.*deprecated")
@pytest.mark.parametrize("name", LAYERS)
def test_layer(name):
    make, shape = LAYERS[name]
    build, calls = program(make, *shape)
    lazy = 1 if name == "weight norm" else 0  # its hook sets an attribute at every call
    check(build, calls, lazy=lazy, rtol=3e-5)


def _replace(module, name, value):
    setattr(module, name, value)


CHANGES = {
    "dropout probability": (lambda: nn.Dropout(0.0), (3, 4), lambda m: _replace(m, "p", 1.0)),
    "evaluation": (lambda: nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), (3, 4), lambda m: m.eval()),
    "negative slope": (lambda: nn.Sequential(nn.Linear(4, 4), nn.LeakyReLU(0.1)), (3, 4),
                       lambda m: _replace(m[1], "negative_slope", 0.5)),
    "eps": (lambda: nn.LayerNorm(4), (3, 4), lambda m: _replace(m, "eps", 1.0)),
    "batch norm momentum": (lambda: nn.BatchNorm1d(4), (3, 4), lambda m: _replace(m, "momentum", 0.9)),
    "stride": (lambda: nn.Conv1d(4, 2, 1), (3, 4, 6), lambda m: _replace(m, "stride", (2,))),
    "pool": (lambda: nn.Sequential(nn.Conv1d(4, 2, 1), nn.AvgPool1d(2)), (3, 4, 6),
             lambda m: _replace(m, "1", nn.MaxPool1d(3))),
    "layer appended": (lambda: nn.Sequential(nn.Linear(4, 4)), (3, 4), lambda m: m.append(nn.Linear(4, 4))),
    "layer taken out": (Listed, (2, 3), lambda m: m.named.pop("a")),
    "list reordered": (Listed, (2, 3), lambda m: m.layers.insert(0, m.layers.pop(2))),
    "parameter replaced": (lambda: nn.Linear(4, 2), (3, 4),
                           lambda m: _replace(m, "weight", nn.Parameter(T.ones(2, 4)))),
    "parameter emptied": (lambda: nn.Linear(4, 2), (3, 4), lambda m: _replace(m, "bias", None)),
    "data swapped": (lambda: nn.Linear(4, 2), (3, 4), lambda m: _replace(m.weight, "data", T.ones(2, 4))),
    "state loaded": (lambda: nn.Linear(4, 2), (3, 4),
                     lambda m: m.load_state_dict({"weight": T.ones(2, 4), "bias": T.zeros(2)})),
    "state assigned": (lambda: nn.Linear(4, 2), (3, 4),
                       lambda m: m.load_state_dict({"weight": T.ones(2, 4), "bias": T.zeros(2)}, assign=True)),
    "frozen": (lambda: nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 2)), (3, 4),
               lambda m: m[1].requires_grad_(False)),
    "hook": (lambda: nn.Linear(4, 2), (3, 4),
             lambda m: m.register_forward_hook(lambda mod, args, out: out * 3)),
    "global hook": (lambda: nn.Linear(4, 2), (3, 4), None),
    "forward replaced": (lambda: nn.Linear(4, 2), (3, 4),
                         lambda m: _replace(m, "forward", lambda x: x * m.weight.sum())),
    "reduction": (lambda: Loss(), (3, 4), lambda m: _replace(m.loss, "reduction", "sum")),
    "double": (lambda: Cast(), (3, 4), lambda m: m.double()),
    "buffer written": (lambda: nn.BatchNorm1d(4).eval(), (3, 4), lambda m: m.running_mean.fill_(2)),
}


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.loss = nn.Linear(4, 2), nn.MSELoss()

    def forward(self, x):
        return self.loss(self.linear(x), x[:, :2])


class Cast(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, x):
        return self.linear(x.to(self.linear.weight.dtype))


@pytest.mark.parametrize("name", CHANGES)
def test_change_is_seen(name):
    make, shape, change = CHANGES[name]
    trains = name not in ("dropout probability",)
    handles = []
    if name == "global hook":
        def change(m):
            handles.append(nn.modules.module.register_module_forward_hook(lambda mod, args, out: out * 3))
    build, calls = program(make, *shape, train=trains, change=change)

    def clean(fn, k):
        while k == 0 and handles:
            handles.pop().remove()
        return calls[0](fn, k)

    try:
        fn = check(build, [clean] * 7, lazy=0, rtol=1e-5)
    finally:
        while handles:
            handles.pop().remove()
    if name not in ("state loaded", "data swapped", "buffer written"):  # these need no new recording
        assert fn.explain().counts["graphs"] >= 2 or fn.explain().counts["recordings"] >= 3


def test_modes_set_inside():
    def build(compile):
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

        @compile
        def step(x):
            model.train()
            a = model(x)
            model.eval()
            return a.sum() + model(x).sum()

        return step, lambda: [model.training, list(model.buffers())]

    def call(fn, k):
        return fn(rand(3, 4, seed=k))

    check(build, [call] * 6, rtol=1e-5)


def test_backward_hooks_run_at_each_call():
    seen = []

    def make():
        m = nn.Linear(4, 2)
        m.register_full_backward_hook(lambda mod, gi, go: seen.append(1))
        return nn.Sequential(nn.Linear(4, 4), m)

    build, calls = program(make, 3, 4)
    check(build, calls, rtol=1e-5)
    assert len(seen) == 14


def test_assignment_of_a_buffer_inside_is_never_stale():
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", T.zeros(4))

        def forward(self, x):
            self.mean = self.mean * 0.5 + x.mean(0)
            return x - self.mean

    build, calls = program(Mean, 3, 4, train=False)
    check(build, calls)


def test_module_compiled_in_place():
    m = nn.Linear(4, 2)
    x = rand(3, 4)
    want = m(x)
    m.compile()
    for _ in range(4):
        assert T.allclose(m(x), want)
    assert "_compiled_call_impl" not in m.__getstate__()
