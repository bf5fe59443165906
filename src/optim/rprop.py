"""Rprop."""

from __future__ import annotations

from typing import Any

from ..frontend.tensor import Tensor
from .checking import check_lr
from .rule import STEP, Slot, make_rule
from .ruled import RuledOptimizer, switches


def _rprop(m, p, g, s, c, *, maximize):
    s.step = s.step + 1
    g = -g if maximize else g
    turn = m.sign(g * s.prev)
    shrinks = turn < 0
    still = turn * 0 + 1  # 1, or NaN where the gradient is none
    factor = m.where(turn > 0, still * c.etaplus, m.where(shrinks, still * c.etaminus, still))
    s.step_size = m.minimum(m.maximum(s.step_size * factor, still * c.step_size_min),
                            still * c.step_size_max)
    s.prev = m.where(shrinks, 0.0, g)
    return p - m.sign(s.prev) * s.step_size


def _lr(group: dict) -> float:
    return float(group["lr"])


RULE = make_rule("rprop_step", (STEP, Slot("prev"), Slot("step_size", _lr)),
                 ("etaminus", "etaplus", "step_size_min", "step_size_max"), _rprop)


class Rprop(RuledOptimizer):
    """Rprop: steps by the sign of the gradient, longer while it stays and shorter when it turns."""

    def __init__(self, params, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(
            lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable))

    def plan(self, group: dict[str, Any]):
        return RULE, switches(group, "maximize")
