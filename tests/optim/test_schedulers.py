"""Schedulers against PyTorch's stored learning rates, their states, warnings and errors."""

from __future__ import annotations

import importlib
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import treadle

sys.path.insert(0, str(Path(__file__).parent))
from optim_cases import SCHEDULERS, STORED, optimizer_for, schedule


@pytest.fixture(scope="module")
def stored():
    with np.load(STORED) as file:
        return {name: file[name] for name in file.files}


@pytest.fixture(params=["treadle", pytest.param("torch", marks=pytest.mark.torch)])
def T(request):
    return importlib.import_module(request.param)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_are_torchs(name, kind, stored):
    assert np.array_equal(schedule(treadle, name, kind), stored[f"{name} {kind}"])


@pytest.mark.parametrize("name", SCHEDULERS)
def test_state_continues(T, name):
    rates = []
    for stop in (5, None):
        opt = optimizer_for(T, lr=0.1, momentum=0.9)
        s = SCHEDULERS[name](T.optim.lr_scheduler, opt)
        found = []
        for step in range(10):
            if step == stop:
                kept, groups = s.state_dict(), opt.state_dict()
                opt = optimizer_for(T, lr=0.1, momentum=0.9)
                s = SCHEDULERS[name](T.optim.lr_scheduler, opt)
                s.load_state_dict(kept)
                opt.load_state_dict(groups)
            opt.step()
            s.step()
            found.append(s.get_last_lr())
        rates.append(found)
    assert rates[0] == rates[1]


def test_plateau(T):
    for options in ({"patience": 2}, {"mode": "max", "patience": 1, "threshold_mode": "abs", "cooldown": 2,
                                      "min_lr": [0.15, 0.25]}):
        opt = optimizer_for(T, lr=0.1)
        s = T.optim.lr_scheduler.ReduceLROnPlateau(opt, **options)
        for value in (1.0, 0.5, 0.6, 0.7, 0.8, T.tensor(0.9), 0.4):
            s.step(value)
        assert s.get_last_lr() == [g["lr"] for g in opt.param_groups]
        if "mode" not in options:
            assert np.allclose(s.get_last_lr(), [0.02, 0.03]) and s.best == 0.4
        else:
            assert s.get_last_lr() == [0.15, 0.25]


def test_warnings(T):
    opt = optimizer_for(T, lr=0.1)
    s = T.optim.lr_scheduler.StepLR(opt, 2)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step"):
        s.step()
    with pytest.warns(UserWarning, match="To get the last learning rate computed by the scheduler"):
        s.get_lr()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        s.step(3)
    assert s.last_epoch == 3
    opt = optimizer_for(T, lr=0.1)
    s = T.optim.lr_scheduler.StepLR(opt, 2)
    opt.step = lambda: None
    with pytest.warns(UserWarning, match="Seems like `optimizer.step.*overridden"):
        s.step()


ERRORS = [
    (lambda L, o: L.StepLR(3, 1), TypeError, "int is not an Optimizer"),
    (lambda L, o: L.StepLR(o, 1, last_epoch=3), KeyError, "param 'initial_lr' is not specified in param_groups"),
    (lambda L, o: L.LambdaLR(o, [lambda e: 1]), ValueError, "Expected 2 lr_lambdas, but got 1"),
    (lambda L, o: L.MultiplicativeLR(o, 3), TypeError, "lr_lambda should be a function, but got int"),
    (lambda L, o: L.ConstantLR(o, 2), ValueError, "Constant multiplicative factor expected to be between 0 and 1"),
    (lambda L, o: L.LinearLR(o, 0), ValueError, "Starting multiplicative factor expected to be greater than 0"),
    (lambda L, o: L.CosineAnnealingWarmRestarts(o, 0), ValueError, "Expected positive integer T_0, but got 0"),
    (lambda L, o: L.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0"),
    (lambda L, o: L.ReduceLROnPlateau(o, mode="x"), ValueError, "mode x is unknown"),
    (lambda L, o: L.CyclicLR(o, 0.1, 1.0, mode="x"), ValueError, "mode is invalid and scale_fn is None"),
    (lambda L, o: L.CyclicLR(o, [0.1], 1.0), ValueError, "base_lr must have the same length as"),
    (lambda L, o: L.OneCycleLR(o, 0.1), ValueError, "You must define either total_steps OR"),
    (lambda L, o: L.OneCycleLR(o, 0.1, 10, anneal_strategy="x"), ValueError, "anneal_strategy must be one of"),
    (lambda L, o: L.SequentialLR(o, [], []), ValueError, "SequentialLR expects at least one scheduler"),
    (lambda L, o: L.SequentialLR(o, [L.StepLR(o, 1)], [3]), ValueError, "Sequential Schedulers expects number of"),
    (lambda L, o: L.ChainedScheduler([L.ReduceLROnPlateau(o)]), ValueError, "does not support `ReduceLROnPlateau`"),
]


@pytest.mark.parametrize("row", range(len(ERRORS)))
def test_errors(T, row):
    act, kind, words = ERRORS[row]
    with pytest.raises(kind, match=words), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        act(T.optim.lr_scheduler, optimizer_for(T, lr=0.1, momentum=0.9))
