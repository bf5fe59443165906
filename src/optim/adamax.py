"""Adamax."""

from __future__ import annotations

from typing import Any

from ..frontend.tensor import Tensor
from .checking import check_at_least_zero, check_betas, check_lr
from .rule import STEP, Slot, make_rule
from .ruled import RuledOptimizer, nonzero, switches


def _adamax(m, p, g, s, c, *, decay, maximize):
    s.step = s.step + 1
    g = -g if maximize else g
    g = g + p * c.weight_decay if decay else g
    s.exp_avg = s.exp_avg + (g - s.exp_avg) * (1 - c.beta1)
    s.exp_inf = m.maximum(s.exp_inf * c.beta2, m.abs(g) + c.eps)
    rate = c.lr / (1 - c.beta1**s.step)
    return p + s.exp_avg * -rate / s.exp_inf


RULE = make_rule("adamax_step", (STEP, Slot("exp_avg"), Slot("exp_inf")),
                 ("lr", "beta1", "beta2", "eps", "weight_decay"), _adamax)


class Adamax(RuledOptimizer):
    """Adamax: Adam with a decaying largest gradient in the place of the mean square."""

    def __init__(self, params, lr: float | Tensor = 2e-3, betas: tuple = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_lr(lr)
        check_at_least_zero("epsilon value", eps)
        betas = check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable))

    def plan(self, group: dict[str, Any]):
        return RULE, {"decay": nonzero(group, "weight_decay"), **switches(group, "maximize")}
