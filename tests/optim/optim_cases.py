"""Optimizers and schedulers to be compared with PyTorch, for any module with torch's API.

Run as a script, with torch installed, it writes the reference values of `stored_optim.npz`:
    python tests/optim/optim_cases.py
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

STORED = Path(__file__).with_name("stored_optim.npz")
STEPS = 6
SHAPES = ((3, 4), (5,), (), (0,))

OPTIMIZERS: list[tuple[str, dict]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "betas": (0.7, 0.95), "eps": 1e-4, "weight_decay": 0.1}),
    ("Adam", {"amsgrad": True, "maximize": True}),
    ("Adam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.2, "amsgrad": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"weight_decay": 0.1}),
    ("NAdam", {}),
    ("NAdam", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "betas": (0.9, 0.8)}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.4, 1.5), "step_sizes": (0.005, 0.02), "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"t0": 2, "weight_decay": 0.1, "lambd": 0.01}),
]


def key(case: tuple[str, dict]) -> str:
    """The name of a case."""
    return "-".join([case[0], *(f"{k}={v}" for k, v in case[1].items())])


def start(dtype: np.dtype) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    """Parameters, and gradients of each step; one step's gradients are zeros."""
    rng = np.random.default_rng(0)

    def arrays() -> list[np.ndarray]:
        return [np.asarray(rng.standard_normal(s)).astype(dtype) for s in SHAPES]

    params, grads = arrays(), [arrays() for _ in range(STEPS)]
    grads[3] = [np.zeros_like(g) for g in grads[3]]
    return params, grads


def run(torch: Any, case: tuple[str, dict], dtype: Any = np.float64) -> dict[str, np.ndarray]:
    """Parameters and state after each step; the last parameter has a learning rate of its own."""
    arrays, grads = start(np.dtype(dtype))
    params = [torch.nn.Parameter(torch.from_numpy(a.copy())) for a in arrays]
    groups = [{"params": params[:2]}, {"params": params[2:], "lr": 0.03}]
    optimizer = getattr(torch.optim, case[0])(groups, **case[1])
    found = {}
    for step in range(STEPS):
        for p, g in zip(params, grads[step], strict=True):
            p.grad = torch.from_numpy(g.copy())
        if step == 2:
            params[1].grad = None
        optimizer.step()
        for i, p in enumerate(params):
            found[f"{step}.{i}"] = p.detach().numpy().copy()
            for name, value in optimizer.state[p].items():
                found[f"{step}.{i}.{name}"] = np.array(value.numpy() if value is not None else np.nan)
    return found


def flat(found: dict[str, np.ndarray]) -> np.ndarray:
    """All values one after the other."""
    return np.concatenate([np.asarray(v, np.float64).reshape(-1) for v in found.values()])


SCHEDULERS: dict[str, Any] = {
    "StepLR": lambda L, o: L.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda L, o: L.MultiStepLR(o, [2, 4, 4, 7], 0.5),
    "LambdaLR": lambda L, o: L.LambdaLR(o, lambda e: 0.9**e),
    "LambdaLR each": lambda L, o: L.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
    "MultiplicativeLR": lambda L, o: L.MultiplicativeLR(o, lambda e: 0.9 + 0.01 * e),
    "ExponentialLR": lambda L, o: L.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda L, o: L.CosineAnnealingLR(o, 5, 0.01),
    "CosineAnnealingWarmRestarts": lambda L, o: L.CosineAnnealingWarmRestarts(o, 4, 2, 0.01),
    "LinearLR": lambda L, o: L.LinearLR(o, 0.1, 0.9, 6),
    "ConstantLR": lambda L, o: L.ConstantLR(o, 0.3, 4),
    "PolynomialLR": lambda L, o: L.PolynomialLR(o, 7, 1.5),
    "OneCycleLR": lambda L, o: L.OneCycleLR(o, 0.5, total_steps=25),
    "OneCycleLR three": lambda L, o: L.OneCycleLR(o, [0.5, 0.4], epochs=5, steps_per_epoch=5, three_phase=True,
                                                 anneal_strategy="linear"),
    "CyclicLR": lambda L, o: L.CyclicLR(o, 0.01, 0.1, 3, 4, mode="triangular2"),
    "CyclicLR range": lambda L, o: L.CyclicLR(o, [0.01, 0.02], 0.1, 3, mode="exp_range", gamma=0.95),
    "CyclicLR own": lambda L, o: L.CyclicLR(o, 0.01, 0.1, 3, scale_fn=lambda x: 0.5, scale_mode="iterations"),
    "SequentialLR": lambda L, o: L.SequentialLR(
        o, [L.ConstantLR(o, 0.1, 3), L.LinearLR(o, 0.5, 1.0, 4), L.ExponentialLR(o, 0.9)], [4, 9]),
    "SequentialLR warm": lambda L, o: L.SequentialLR(
        o, [L.LinearLR(o, 0.01, total_iters=5), L.CosineAnnealingLR(o, 15)], [5]),
    "ChainedScheduler": lambda L, o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 3), L.ExponentialLR(o, 0.9)]),
}


def optimizer_for(torch: Any, name: str = "SGD", **more: Any) -> Any:
    """An optimizer of two groups whose parameters have gradients."""
    groups = []
    for lr in (0.2, 0.3):
        p = torch.nn.Parameter(torch.ones(2))
        p.grad = torch.ones(2)
        groups.append({"params": [p], "lr": lr})
    return getattr(torch.optim, name)(groups, **more)


def schedule(torch: Any, name: str, kind: str = "SGD") -> np.ndarray:
    """Learning rate and momentum of both groups before each of 22 steps."""
    more = {"momentum": 0.9} if kind == "SGD" else {}
    optimizer = optimizer_for(torch, kind, lr=0.1, **more)
    scheduler = SCHEDULERS[name](torch.optim.lr_scheduler, optimizer)
    rows = []
    for _ in range(22):
        rows.append([v for g in optimizer.param_groups
                     for v in (g["lr"], g["momentum"] if kind == "SGD" else g["betas"][0])])
        assert scheduler.get_last_lr() == [g["lr"] for g in optimizer.param_groups]
        optimizer.step()
        scheduler.step()
    return np.array(rows)


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    found = {key(case): flat(run(torch, case)) for case in OPTIMIZERS}
    for name in SCHEDULERS:
        for kind in ("SGD", "Adam"):
            found[f"{name} {kind}"] = schedule(torch, name, kind)
    np.savez_compressed(STORED, **found)


if __name__ == "__main__":
    main()
