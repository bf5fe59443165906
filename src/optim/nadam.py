"""NAdam."""

from __future__ import annotations

from typing import Any

from ..frontend.tensor import Tensor
from .checking import check_at_least_zero, check_betas, check_lr
from .rule import STEP, Slot, make_rule
from .ruled import RuledOptimizer, nonzero, switches


def _nadam(m, p, g, s, c, *, decay, decoupled, maximize):
    s.step = s.step + 1
    g = -g if maximize else g
    if decay and decoupled:
        p = p * (1 - c.lr * c.weight_decay)
    elif decay:
        g = g + p * c.weight_decay
    mu = c.beta1 * (1.0 - 0.5 * 0.96 ** (s.step * c.momentum_decay))
    mu_next = c.beta1 * (1.0 - 0.5 * 0.96 ** ((s.step + 1) * c.momentum_decay))
    s.mu_product = m.single(s.mu_product * m.single(mu))
    s.exp_avg = s.exp_avg + (g - s.exp_avg) * (1 - c.beta1)
    s.exp_avg_sq = s.exp_avg_sq * c.beta2 + g * (1 - c.beta2) * g
    denominator = m.sqrt(s.exp_avg_sq / (1 - c.beta2**s.step)) + c.eps
    p = p + g * (-c.lr * (1.0 - mu) / (1.0 - s.mu_product)) / denominator
    return p + s.exp_avg * (-c.lr * mu_next / (1.0 - s.mu_product * mu_next)) / denominator


RULE = make_rule(
    "nadam_step", (STEP, Slot("mu_product", lambda _group: 1.0, number=True), Slot("exp_avg"),
                   Slot("exp_avg_sq")),
    ("lr", "beta1", "beta2", "eps", "weight_decay", "momentum_decay"), _nadam)


class NAdam(RuledOptimizer):
    """NAdam: Adam with Nesterov momentum."""

    later_options = {**RuledOptimizer.later_options, "decoupled_weight_decay": False}

    def __init__(self, params, lr: float | Tensor = 2e-3, betas: tuple = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check_at_least_zero("epsilon value", eps)
        betas = check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        check_at_least_zero("momentum_decay value", momentum_decay)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach,
            capturable=capturable, differentiable=differentiable))

    def plan(self, group: dict[str, Any]):
        flags = switches(group, "maximize", "decoupled_weight_decay")
        return RULE, {"decay": nonzero(group, "weight_decay"), "maximize": flags["maximize"],
                      "decoupled": flags["decoupled_weight_decay"]}
