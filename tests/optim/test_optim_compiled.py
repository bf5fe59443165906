"""Whole training steps compiled: every optimizer, schedulers inside, and what may change between calls."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle as T
from treadle import nn, optim

sys.path.insert(0, str(Path(__file__).parents[1] / "frontend"))
from stepping import check


def data(seed):
    rng = np.random.default_rng(seed)
    return T.from_numpy(rng.standard_normal((6, 4)).astype(np.float32))


def build(make_optimizer, make_scheduler=None, clip=None, closure=False):
    """build(compile) -> (step, state); `step.optimizer`, `step.model` let a call change things."""

    def program(compile):
        model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
        optimizer = make_optimizer(model)
        scheduler = make_scheduler(optimizer) if make_scheduler else None

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            if scheduler:
                scheduler.step()
            return loss

        fn = compile(step)
        things[id(fn)] = (fn, model, optimizer, scheduler)

        def state():
            kept = [optimizer.state[p] for p in model.parameters()]
            return [list(model.parameters()), kept, [g["lr"] for g in optimizer.param_groups],
                    scheduler.get_last_lr() if scheduler else None]

        return fn, state

    things: dict = {}
    program.things = things
    return program


def steps(n=5):
    return [lambda fn, k: fn(data(k)) for _ in range(n)]


OPTIMIZERS = {
    "SGD": lambda m: optim.SGD(m.parameters(), 0.1, weight_decay=0.01),
    "momentum": lambda m: optim.SGD(m.parameters(), 0.1, momentum=0.9, nesterov=True),
    "Adam": lambda m: optim.Adam(m.parameters(), 0.1),
    "amsgrad": lambda m: optim.Adam(m.parameters(), 0.1, amsgrad=True, weight_decay=0.1),
    "AdamW groups": lambda m: optim.AdamW([{"params": m[0].parameters(), "weight_decay": 0.0},
                                           {"params": m[2].parameters(), "lr": 0.01}], 0.1),
    "RMSprop": lambda m: optim.RMSprop(m.parameters(), centered=True, momentum=0.5),
    "Adagrad": lambda m: optim.Adagrad(m.parameters(), lr_decay=0.1),
    "Adadelta": lambda m: optim.Adadelta(m.parameters()),
    "Adamax": lambda m: optim.Adamax(m.parameters()),
    "NAdam": lambda m: optim.NAdam(m.parameters()),
    "RAdam": lambda m: optim.RAdam(m.parameters(), betas=(0.9, 0.5)),
    "Rprop": lambda m: optim.Rprop(m.parameters()),
    "ASGD": lambda m: optim.ASGD(m.parameters(), t0=2),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer(name):
    check(build(OPTIMIZERS[name]), steps(), graphs=1, lazy=0, rtol=1e-5)


SCHEDULERS = {
    "StepLR": lambda o: optim.lr_scheduler.StepLR(o, 2, 0.5),
    "LambdaLR": lambda o: optim.lr_scheduler.LambdaLR(o, lambda e: 1 / (1 + e)),
    "Cosine": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 4),
    "Restarts": lambda o: optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
    "OneCycle": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.2, 10),
    "Sequential": lambda o: optim.lr_scheduler.SequentialLR(
        o, [optim.lr_scheduler.LinearLR(o, 0.1, total_iters=2), optim.lr_scheduler.ExponentialLR(o, 0.9)], [3]),
    "Chained": lambda o: optim.lr_scheduler.ChainedScheduler(
        [optim.lr_scheduler.ConstantLR(o, 0.1, 2), optim.lr_scheduler.ExponentialLR(o, 0.9)]),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_scheduler_inside(name):
    program = build(lambda m: optim.SGD(m.parameters(), 0.1, momentum=0.9), SCHEDULERS[name])
    check(program, steps(7), graphs=1, lazy=0, rtol=1e-5)


def test_plateau_inside_is_lazy_and_right():
    def program(compile):
        p = nn.Parameter(T.ones(3))
        opt = optim.SGD([p], 0.1)
        plateau = optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)

        @compile
        def step(x):
            opt.zero_grad()
            loss = (p * x).sum()
            loss.backward()
            opt.step()
            plateau.step(loss)
            return loss

        return step, lambda: [p, opt.param_groups[0]["lr"]]

    check(program, [lambda fn, k: fn(T.ones(3) * (-1) ** k) for _ in range(6)], lazy=1)


def test_clipping_inside():
    check(build(OPTIMIZERS["Adam"], clip=0.1), steps(), graphs=1, lazy=0, rtol=1e-5)


def changed(change, opt=OPTIMIZERS["AdamW groups"], n=8, at=4):
    """Steps with a change of the optimizer or the model in between."""
    program = build(opt)

    def call(fn, k):
        _, model, optimizer, _ = program.things[id(fn)]
        if k == at:
            change(model, optimizer)
        return fn(data(k))

    return program, [call] * n


def _new_group(model, optimizer):
    model.extra = nn.Parameter(T.ones(2))
    optimizer.add_param_group({"params": [model.extra], "lr": 0.5})


def _set(optimizer, **options):
    for group in optimizer.param_groups:
        group.update(options)


def _reload(model, optimizer):
    state = copy.deepcopy(optimizer.state_dict())
    for entry in state["state"].values():
        entry["exp_avg"].mul_(2)
    optimizer.load_state_dict(state)


NUMBERS = {
    "lr": lambda m, o: _set(o, lr=0.02),
    "betas": lambda m, o: _set(o, betas=(0.5, 0.9)),
    "eps": lambda m, o: _set(o, eps=0.1),
}
REBUILDS = {
    "weight decay from zero": lambda m, o: _set(o, weight_decay=0.3),
    "amsgrad": lambda m, o: (_set(o, amsgrad=True), [o.state.pop(p) for p in m.parameters()]),
    "maximize": lambda m, o: _set(o, maximize=True),
    "new group": _new_group,
    "load_state_dict": _reload,
    "state cleared": lambda m, o: o.state.clear(),
    "parameter taken out": lambda m, o: o.param_groups[0]["params"].pop(),
    "parameter replaced": lambda m, o: setattr(m[0], "bias", nn.Parameter(T.ones(5))),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_inputs(name):
    """No new recording: the same graph runs with other numbers."""
    program, calls = changed(NUMBERS[name])
    check(program, calls, graphs=1, lazy=0, rtol=1e-5)


@pytest.mark.parametrize("name", REBUILDS)
def test_changes_are_seen(name):
    program, calls = changed(REBUILDS[name])
    fn = check(program, calls, lazy=0, rtol=1e-5)
    assert fn.explain().counts["recordings"] > 2


def test_momentum_may_come_and_go():
    program, calls = changed(lambda m, o: _set(o, momentum=0.9), OPTIMIZERS["SGD"])
    check(program, calls, lazy=0, rtol=1e-5)
    program, calls = changed(lambda m, o: _set(o, momentum=0.5), OPTIMIZERS["momentum"])
    check(program, calls, graphs=1, lazy=0, rtol=1e-5)


def test_step_hooks_run_at_each_call():
    seen = []

    def with_hook(m):
        opt = optim.SGD(m.parameters(), 0.1)
        opt.register_step_post_hook(lambda o, a, k: seen.append(1))
        return opt

    check(build(with_hook), steps())
    assert len(seen) == 10  # five eager calls and five compiled ones


def test_learning_rate_as_tensor():
    program, calls = changed(lambda m, o: o.param_groups[0]["lr"].fill_(0.01),
                             lambda m: optim.Adam(m.parameters(), T.tensor(0.1)))
    check(program, calls, lazy=0, rtol=1e-5)
