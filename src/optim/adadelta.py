"""Adadelta."""

from __future__ import annotations

from typing import Any

from ..frontend.tensor import Tensor
from .checking import check_at_least_zero, check_lr
from .rule import STEP, Slot, make_rule
from .ruled import RuledOptimizer, nonzero, switches


def _adadelta(m, p, g, s, c, *, decay, maximize):
    s.step = s.step + 1
    g = -g if maximize else g
    g = g + p * c.weight_decay if decay else g
    s.square_avg = s.square_avg * c.rho + g * (1 - c.rho) * g
    delta = m.sqrt(s.acc_delta + c.eps) / m.sqrt(s.square_avg + c.eps) * g
    s.acc_delta = s.acc_delta * c.rho + delta * (1 - c.rho) * delta
    return p + delta * -c.lr


RULE = make_rule("adadelta_step", (STEP, Slot("square_avg"), Slot("acc_delta")),
                 ("lr", "rho", "eps", "weight_decay"), _adadelta)


class Adadelta(RuledOptimizer):
    """Adadelta: gradients scaled by the ratio of running means of squared updates and gradients."""

    def __init__(self, params, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_at_least_zero("epsilon value", eps)
        check_at_least_zero("weight_decay value", weight_decay)
        super().__init__(params, dict(
            lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable,
            foreach=foreach, differentiable=differentiable))

    def plan(self, group: dict[str, Any]):
        return RULE, {"decay": nonzero(group, "weight_decay"), **switches(group, "maximize")}
