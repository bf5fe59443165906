"""LBFGS and averaged models, on treadle and on torch alike."""

from __future__ import annotations

import importlib

import numpy as np
import pytest


@pytest.fixture(params=["treadle", pytest.param("torch", marks=pytest.mark.torch)])
def T(request):
    importlib.import_module(f"{request.param}.optim.swa_utils")
    return importlib.import_module(request.param)


# options, then (loss at the start, evaluations, iterations) of the first three steps
SEARCHES = [
    ({}, [28.620811743307314, 20, 20, 0.8559140904877, 40, 40, 0.713627924725, 52, 51]),
    ({"lr": 0.01, "max_iter": 5}, [28.620811743307314, 5, 5, 24.713083715268063, 10, 10, 22.860852016306456, 15, 15]),
    ({"line_search_fn": "strong_wolfe"},
     [28.620811743307314, 22, 20, 0.7499226084266, 42, 40, 0.70711352980077, 43, 41]),
    ({"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 3},
     [28.620811743307314, 5, 3, 3.4770636005732, 11, 7, 1.23628876215866, 16, 10]),
    ({"line_search_fn": "strong_wolfe", "max_eval": 4},
     [28.620811743307314, 4, 2, 3.566295557500, 8, 5, 2.83979989180708, 12, 8]),
]


@pytest.mark.parametrize("row", range(len(SEARCHES)))
def test_lbfgs(T, row):
    options, want = SEARCHES[row]
    matrix = T.from_numpy(np.random.default_rng(0).standard_normal((6, 4)))
    goal = T.from_numpy(np.random.default_rng(1).standard_normal(6))
    x = T.nn.Parameter(T.zeros(4, dtype=T.float64))
    y = T.nn.Parameter(T.ones(2, 1, dtype=T.float64))
    opt = T.optim.LBFGS([x, y], **options)

    def closure():
        opt.zero_grad()
        valley = (100 * (y[1] - y[0] ** 2 * 1.5) ** 2 + (1 - y[0]) ** 2).sum()
        loss = ((matrix @ x - goal) ** 2).sum() + (x**4).sum() + valley
        loss.backward()
        return loss

    found = []
    for _ in range(3):
        found += [opt.step(closure).item(), opt.state[x]["func_evals"], opt.state[x]["n_iter"]]
    np.testing.assert_allclose(found, want, rtol=1e-9)
    assert opt.state_dict()["state"][0]["n_iter"] == want[-1]


def test_lbfgs_errors(T):
    p = T.nn.Parameter(T.ones(1))
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        T.optim.LBFGS([{"params": [p]}, {"params": [T.nn.Parameter(T.ones(1))]}])
    opt = T.optim.LBFGS([p], line_search_fn="x")
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        opt.step(lambda: (p * p).sum().backward() or (p * p).sum())


def test_averages(T):
    S = T.optim.swa_utils
    layer = T.nn.Linear(1, 1)
    moving = S.AveragedModel(layer, multi_avg_fn=S.get_ema_multi_avg_fn(0.5))
    mean = S.AveragedModel(layer)
    own = S.AveragedModel(layer, avg_fn=lambda a, p, n: a + p)
    for value in (1.0, 2.0, 4.0):
        with T.no_grad():
            layer.weight.fill_(value)
        for model in (moving, mean, own):
            model.update_parameters(layer)
    assert moving.module.weight.item() == 2.75 and own.module.weight.item() == 7
    assert abs(mean.module.weight.item() - 7 / 3) < 1e-6 and int(mean.n_averaged) == 3
    assert list(mean.state_dict()) == ["n_averaged", "module.weight", "module.bias"]


def test_batch_statistics_anew(T):
    model = T.nn.Sequential(T.nn.BatchNorm1d(2))
    model.eval()
    data = T.arange(12.0).reshape(6, 2)
    T.optim.swa_utils.update_bn([data[:3], (data[3:], None)], model)
    assert model[0].running_mean.tolist() == [5.0, 6.0] and model[0].momentum == 0.1 and not model.training


def test_schedule(T):
    p = T.nn.Parameter(T.ones(2))
    p.grad = T.ones(2)
    opt = T.optim.SGD([p], 0.5)
    s, found = T.optim.swa_utils.SWALR(opt, 0.05, 4), []
    for _ in range(6):
        opt.step()
        s.step()
        found.append(opt.param_groups[0]["lr"])
    np.testing.assert_allclose(found, [0.4340990257669732, 0.275, 0.11590097423302682, 0.05, 0.05, 0.05], rtol=1e-12)
    assert abs(s.state_dict()["last_epoch"] - 6) == 0
