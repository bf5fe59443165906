"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frontend.tensor import Tensor
from .checking import check_at_least_zero, check_betas, check_fused, check_lr
from .rule import STEP, Slot, make_rule
from .ruled import RuledOptimizer, nonzero, switches


def _adam(m, p, g, s, c, *, decay, decoupled, maximize):
    return _update(m, p, g, s, c, decay, decoupled, maximize, False)


def _adam_amsgrad(m, p, g, s, c, *, decay, decoupled, maximize):
    return _update(m, p, g, s, c, decay, decoupled, maximize, True)


def _update(m, p, g, s, c, decay, decoupled, maximize, amsgrad):
    s.step = s.step + 1
    if maximize:
        g = -g
    if decay:
        if decoupled:
            p = p * (1 - c.lr * c.weight_decay)
        else:
            g = g + p * c.weight_decay
    s.exp_avg = s.exp_avg + (g - s.exp_avg) * (1 - c.beta1)
    s.exp_avg_sq = s.exp_avg_sq * c.beta2 + g * (1 - c.beta2) * g
    largest = s.exp_avg_sq
    if amsgrad:
        largest = s.max_exp_avg_sq = m.maximum(s.max_exp_avg_sq, s.exp_avg_sq)
    step_size = c.lr / (1 - c.beta1**s.step)
    root_correction = (1 - c.beta2**s.step) ** 0.5
    denominator = m.sqrt(largest) / root_correction + c.eps
    return p + s.exp_avg * -step_size / denominator


def _fast(p, g, s, c, buffers, *, decay, decoupled, maximize):
    """The update without amsgrad, each result in memory that is there."""
    t, u = buffers
    s.step = s.step + 1
    if maximize:
        g = np.negative(g)
    if decay:
        if decoupled:
            np.multiply(p, 1 - c.lr * c.weight_decay, out=p)
        else:
            np.multiply(p, c.weight_decay, out=u)
            g = np.add(g, u)
    np.subtract(g, s.exp_avg, out=t)
    np.multiply(t, 1 - c.beta1, out=t)
    np.add(s.exp_avg, t, out=s.exp_avg)
    np.multiply(s.exp_avg_sq, c.beta2, out=s.exp_avg_sq)
    np.multiply(g, 1 - c.beta2, out=t)
    np.multiply(t, g, out=t)
    np.add(s.exp_avg_sq, t, out=s.exp_avg_sq)
    np.sqrt(s.exp_avg_sq, out=t)
    np.divide(t, (1 - c.beta2**s.step) ** 0.5, out=t)
    np.add(t, c.eps, out=t)
    np.multiply(s.exp_avg, -(c.lr / (1 - c.beta1**s.step)), out=u)
    np.divide(u, t, out=u)
    np.add(p, u, out=p)


_NUMBERS = ("lr", "beta1", "beta2", "eps", "weight_decay")
_SLOTS = (STEP, Slot("exp_avg"), Slot("exp_avg_sq"))
ADAM = make_rule("adam_step", _SLOTS, _NUMBERS, _adam, fast=_fast)
AMSGRAD = make_rule("adam_amsgrad_step", (*_SLOTS, Slot("max_exp_avg_sq")), _NUMBERS, _adam_amsgrad)


class Adam(RuledOptimizer):
    """Adam: steps along a running mean of gradients over the root of a running mean of their squares.

    >>> import treadle
    >>> w = treadle.ones(2, requires_grad=True)
    >>> opt = Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([0.9000, 0.9000], requires_grad=True)
    """

    later_options = {**RuledOptimizer.later_options, "amsgrad": False, "decoupled_weight_decay": False,
                     "fused": None}

    def __init__(self, params, lr: float | Tensor = 1e-3, betas: tuple = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        check_at_least_zero("epsilon value", eps)
        betas = check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                        maximize=maximize, foreach=foreach, capturable=capturable,
                        differentiable=differentiable, fused=fused,
                        decoupled_weight_decay=decoupled_weight_decay)
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def plan(self, group: dict[str, Any]):
        flags = switches(group, "maximize", "decoupled_weight_decay", "amsgrad")
        rule = AMSGRAD if flags["amsgrad"] else ADAM
        return rule, {"decay": nonzero(group, "weight_decay"), "maximize": flags["maximize"],
                      "decoupled": flags["decoupled_weight_decay"]}


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters directly instead of adding to the gradient."""

    def __init__(self, params, lr: float | Tensor = 1e-3, betas: tuple = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused,
                         decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
