"""RAdam."""

from __future__ import annotations

from typing import Any

from ..frontend.tensor import Tensor
from .checking import check_at_least_zero, check_betas, check_lr
from .rule import STEP, Slot, make_rule
from .ruled import RuledOptimizer, nonzero, switches


def _radam(m, p, g, s, c, *, decay, decoupled, maximize):
    s.step = s.step + 1
    g = -g if maximize else g
    if decay and decoupled:
        p = p * (1 - c.lr * c.weight_decay)
    elif decay:
        g = g + p * c.weight_decay
    s.exp_avg = s.exp_avg + (g - s.exp_avg) * (1 - c.beta1)
    s.exp_avg_sq = s.exp_avg_sq * c.beta2 + g * (1 - c.beta2) * g
    correction = 1 - c.beta2**s.step
    plain = s.exp_avg / (1 - c.beta1**s.step) * c.lr
    longest = 2 / (1 - c.beta2) - 1  # of the running mean's effective length
    length = longest - 2 * s.step * c.beta2**s.step / correction

    def rectified():
        rect = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
        return plain * (correction**0.5 / (m.sqrt(s.exp_avg_sq) + c.eps)) * rect

    return p - m.choose(length > 5.0, rectified, lambda: plain)


RULE = make_rule("radam_step", (STEP, Slot("exp_avg"), Slot("exp_avg_sq")),
                 ("lr", "beta1", "beta2", "eps", "weight_decay"), _radam)


class RAdam(RuledOptimizer):
    """RAdam: Adam that leaves the mean square out until it is estimated well enough."""

    later_options = {**RuledOptimizer.later_options, "decoupled_weight_decay": False}

    def __init__(self, params, lr: float | Tensor = 1e-3, betas: tuple = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        check_lr(lr)
        check_at_least_zero("epsilon value", eps)
        betas = check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
            capturable=capturable, decoupled_weight_decay=decoupled_weight_decay,
            differentiable=differentiable))

    def plan(self, group: dict[str, Any]):
        flags = switches(group, "maximize", "decoupled_weight_decay")
        return RULE, {"decay": nonzero(group, "weight_decay"), "maximize": flags["maximize"],
                      "decoupled": flags["decoupled_weight_decay"]}
