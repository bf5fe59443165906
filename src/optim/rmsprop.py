"""RMSprop."""

from __future__ import annotations

from typing import Any

from ..frontend.tensor import Tensor
from .checking import check_at_least_zero, check_lr
from .rule import STEP, Slot, make_rule
from .ruled import RuledOptimizer, nonzero, switches

_NUMBERS = ("lr", "alpha", "eps", "weight_decay", "momentum")


def _rmsprop(momentum: bool, centered: bool):
    def body(m, p, g, s, c, *, decay, maximize):
        s.step = s.step + 1
        g = -g if maximize else g
        g = g + p * c.weight_decay if decay else g
        s.square_avg = s.square_avg * c.alpha + g * (1 - c.alpha) * g
        spread = s.square_avg
        if centered:
            s.grad_avg = s.grad_avg + (g - s.grad_avg) * (1 - c.alpha)
            spread = spread - s.grad_avg * s.grad_avg
        root = m.sqrt(spread) + c.eps
        if not momentum:
            return p + g * -c.lr / root
        s.momentum_buffer = s.momentum_buffer * c.momentum + g / root
        return p + s.momentum_buffer * -c.lr

    words = ["rmsprop", *["centered"] * centered, *["momentum"] * momentum, "step"]
    slots = (STEP, Slot("square_avg"), *[Slot("momentum_buffer")] * momentum, *[Slot("grad_avg")] * centered)
    return make_rule("_".join(words), slots, _NUMBERS, body)


RULES = {(momentum, centered): _rmsprop(momentum, centered)
         for momentum in (False, True) for centered in (False, True)}


class RMSprop(RuledOptimizer):
    """RMSprop: steps along gradients over the root of a running mean of their squares."""

    later_options = {**RuledOptimizer.later_options, "momentum": 0, "centered": False}

    def __init__(self, params, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False,
                 capturable: bool = False, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False) -> None:
        check_lr(lr)
        for what, value in (("epsilon value", eps), ("momentum value", momentum),
                            ("weight_decay value", weight_decay), ("alpha value", alpha)):
            check_at_least_zero(what, value)
        super().__init__(params, dict(
            lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay,
            capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable))

    def plan(self, group: dict[str, Any]):
        flags = switches(group, "maximize", "centered")
        rule = RULES[nonzero(group, "momentum"), flags["centered"]]
        return rule, {"decay": nonzero(group, "weight_decay"), "maximize": flags["maximize"]}
