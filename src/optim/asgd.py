"""ASGD."""

from __future__ import annotations

from typing import Any

from ..frontend.tensor import Tensor
from .checking import check_at_least_zero, check_lr
from .rule import STEP, Slot, make_rule
from .ruled import RuledOptimizer, nonzero, switches


def _asgd(m, p, g, s, c, *, decay, maximize):
    s.step = s.step + 1
    g = -g if maximize else g
    g = g + p * c.weight_decay if decay else g
    p = p * (1 - c.lambd * s.eta) + g * -s.eta
    s.ax = m.choose(s.mu < 1, lambda: s.ax + (p - s.ax) * s.mu, lambda: p)
    s.eta = m.single(c.lr / (1 + c.lambd * c.lr * s.step) ** c.alpha)
    s.mu = m.single(1 / m.larger(s.step - c.t0, 1))
    return p


RULE = make_rule(
    "asgd_step", (STEP, Slot("eta", lambda group: float(group["lr"]), number=True),
                  Slot("mu", lambda _group: 1.0, number=True), Slot("ax")),
    ("lr", "lambd", "t0", "alpha", "weight_decay"), _asgd)


class ASGD(RuledOptimizer):
    """ASGD: gradient descent that also keeps the mean of the parameters since step t0."""

    def __init__(self, params, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False, capturable: bool = False) -> None:
        check_lr(lr)
        check_at_least_zero("weight_decay value", weight_decay)
        super().__init__(params, dict(
            lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach,
            maximize=maximize, differentiable=differentiable, capturable=capturable))

    def plan(self, group: dict[str, Any]):
        return RULE, {"decay": nonzero(group, "weight_decay"), **switches(group, "maximize")}
