"""Adagrad."""

from __future__ import annotations

from typing import Any

from ..frontend.tensor import Tensor
from .checking import check_at_least_zero, check_fused, check_lr
from .rule import STEP, Slot, make_rule
from .ruled import RuledOptimizer, nonzero, switches


def _adagrad(m, p, g, s, c, *, decay, maximize):
    s.step = s.step + 1
    g = -g if maximize else g
    g = g + p * c.weight_decay if decay else g
    rate = c.lr / (1 + (s.step - 1) * c.lr_decay)
    s.sum = s.sum + g * g
    return p + g * -rate / (m.sqrt(s.sum) + c.eps)


RULE = make_rule(
    "adagrad_step", (STEP, Slot("sum", lambda group: group["initial_accumulator_value"])),
    ("lr", "lr_decay", "eps", "weight_decay"), _adagrad)


class Adagrad(RuledOptimizer):
    """Adagrad: steps along gradients over the root of the sum of their squares so far."""

    later_options = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(self, params, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        check_lr(lr)
        for what, value in (("lr_decay value", lr_decay), ("weight_decay value", weight_decay),
                            ("initial_accumulator_value value", initial_accumulator_value),
                            ("epsilon value", eps)):
            check_at_least_zero(what, value)
        super().__init__(params, dict(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
            differentiable=differentiable, fused=fused))
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self._state_of(RULE, group, p)

    def share_memory(self) -> None:
        """Moves the sums to memory shared between processes."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def plan(self, group: dict[str, Any]):
        return RULE, {"decay": nonzero(group, "weight_decay"), **switches(group, "maximize")}
