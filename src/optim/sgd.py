"""SGD, with momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frontend.tensor import Tensor
from .checking import check_fused, check_lr
from .rule import Slot, make_rule
from .ruled import RuledOptimizer, nonzero, switches


def _gradient(p, g, c, decay, maximize):
    if maximize:
        g = -g
    return g + p * c.weight_decay if decay else g


def _sgd(m, p, g, s, c, *, decay, maximize):
    return p + _gradient(p, g, c, decay, maximize) * -c.lr


def _momentum(m, p, g, s, c, *, decay, maximize, nesterov, first):
    g = _gradient(p, g, c, decay, maximize)
    s.momentum_buffer = g if first else s.momentum_buffer * c.momentum + g * (1 - c.dampening)
    if nesterov:
        g = g + s.momentum_buffer * c.momentum
    else:
        g = s.momentum_buffer
    return p + g * -c.lr


def _fast_sgd(p, g, s, c, buffers, *, decay, maximize):
    t, _ = buffers
    g = _gradient(p, g, c, decay, maximize)
    np.multiply(g, -c.lr, out=t)
    np.add(p, t, out=p)


def _fast_momentum(p, g, s, c, buffers, *, decay, maximize, nesterov, first):
    t, u = buffers
    g = _gradient(p, g, c, decay, maximize)
    buffer = s.momentum_buffer
    if first:
        np.copyto(buffer, g)
    else:
        np.multiply(buffer, c.momentum, out=buffer)
        np.multiply(g, 1 - c.dampening, out=t)
        np.add(buffer, t, out=buffer)
    if nesterov:
        np.multiply(buffer, c.momentum, out=t)
        np.add(g, t, out=t)
    else:
        t = buffer
    np.multiply(t, -c.lr, out=u)
    np.add(p, u, out=p)


SGD_PLAIN = make_rule("sgd_step", (), ("lr", "weight_decay"), _sgd, fast=_fast_sgd)
SGD_MOMENTUM = make_rule("sgd_momentum_step", (Slot("momentum_buffer"),),
                         ("lr", "weight_decay", "momentum", "dampening"), _momentum, fresh=True,
                         fast=_fast_momentum)


class SGD(RuledOptimizer):
    """Stochastic gradient descent, optionally with (Nesterov) momentum.

    >>> import treadle
    >>> w = treadle.ones(2, requires_grad=True)
    >>> opt = SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([0.8000, 0.8000], requires_grad=True)
    """

    later_options = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False,
                     "fused": False}

    def __init__(self, params, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        check_lr(lr)
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        defaults = dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                        nesterov=nesterov, maximize=maximize, foreach=foreach,
                        differentiable=differentiable, fused=fused)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def plan(self, group: dict[str, Any]):
        flags = {"decay": nonzero(group, "weight_decay"), **switches(group, "maximize")}
        if not nonzero(group, "momentum"):
            return SGD_PLAIN, flags
        return SGD_MOMENTUM, {**flags, **switches(group, "nesterov")}
