"""RuledOptimizer: the step of every optimizer whose update of one parameter is a `Rule`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..frontend.declare import active, declare_attr, declare_elements, declare_item
from ..frontend.functions.create import full
from ..frontend.grad_mode import enable_grad, set_grad_enabled
from ..frontend.interpreter import current
from ..frontend.mutation import assign
from ..frontend.tensor import Tensor, from_array
from ..ir import dtype as dt
from .optimizer import Optimizer
from .rule import Rule, run_in_place

UNWRITABLE = ("unsupported operation: more than one element of the written-to tensor refers to a single "
              "memory location. Please clone() the tensor before performing the operation.")


class RuledOptimizer(Optimizer):
    """An optimizer that says by `plan` which rule updates a group's parameters, with which flags."""

    def plan(self, group: dict[str, Any]) -> tuple[Rule, dict[str, bool]]:
        """The rule and its flags; only options that `switches` and `nonzero` read may decide."""
        raise NotImplementedError

    def step(self, closure: Callable[[], Any] | None = None):
        """Updates the parameters once; returns the loss if a closure computes it anew."""
        loss = None
        with set_grad_enabled(self.defaults["differentiable"]):
            if closure is not None:
                with enable_grad():
                    loss = closure()
            for group in self.declared_groups():
                self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        rule, flags = self.plan(group)
        declare_attr(self, "state")
        if active:
            declare_elements(self.state)
        recorded = current.recorder is not None or group["differentiable"]
        numbers = None
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if numbers is None:
                take = _value if recorded else _number
                numbers = [take(group, name) for name in rule.numbers]
            state, first = self._state_of(rule, group, p)
            chosen = {**flags, "first": first} if rule.fresh else flags
            if recorded:
                _record(rule, p, grad, state, numbers, chosen)
            else:
                _run(rule, p, grad, state, numbers, chosen)

    def _state_of(self, rule: Rule, group: dict, p: Tensor) -> tuple[list[Tensor], bool]:
        """The parameter's state, made now if it is not there, and whether it was made now."""
        if not rule.slots:
            return [], False
        state = self.state[p]
        if active:
            declare_elements(state)
        first = state.get(rule.slots[-1].name) is None
        if first:
            for slot in rule.slots:
                if state.get(slot.name) is None:
                    state[slot.name] = made(p, slot.start(group), slot.number)
        return [state[slot.name] for slot in rule.slots], first

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.later_options.items():
                group.setdefault(name, value)
            for p in group["params"]:
                _numbers_to_tensors(self.state.get(p) or {})

    later_options: dict[str, Any] = {"foreach": None, "maximize": False, "differentiable": False,
                                     "capturable": False}


def made(like: Tensor, value: float, number: bool) -> Tensor:
    """A state tensor with memory of its own, never pending even while ops are recorded."""
    shape, dtype = ((), dt.float32) if number else (like.type.shape, like.type.dtype)
    value = complex(value, value) if dtype.kind == "c" else value  # pairs of independent reals
    return from_array(np.full(shape, value, dtype.np), like.type.device)


def _numbers_to_tensors(state: dict) -> None:
    """Old checkpoints hold Python numbers where tensors stand today."""
    for name in ("step", "mu_product", "eta", "mu"):
        if name in state and not isinstance(state[name], Tensor):
            state[name] = from_array(np.array(float(state[name]), np.float32))


# options ---------------------------------------------------------------------------------------------
def switches(group: dict[str, Any], *names: str) -> dict[str, bool]:
    """Options that choose between ways to compute; a change makes a recorded step stale."""
    for name in names:
        declare_item(group, name)
    return {name: bool(group[name]) for name in names}


def nonzero(group: dict[str, Any], name: str) -> bool:
    """Whether a number takes part at all; once it does, its value may change."""
    value = group[name]
    if isinstance(value, Tensor):
        return True
    if value == 0:
        declare_item(group, name)
    return value != 0


_PAIRS = {"beta1": ("betas", 0), "beta2": ("betas", 1), "etaminus": ("etas", 0), "etaplus": ("etas", 1),
          "step_size_min": ("step_sizes", 0), "step_size_max": ("step_sizes", 1)}


def _raw(group: dict[str, Any], name: str) -> Any:
    key, place = _PAIRS.get(name, (name, None))
    return group[key] if place is None else group[key][place]


def _number(group: dict[str, Any], name: str) -> float:
    value = _raw(group, name)
    return float(value.item()) if isinstance(value, Tensor) else float(value)


def _value(group: dict[str, Any], name: str) -> Tensor:
    """The number as a 0-d float64 tensor, read anew at each replay."""
    value = _raw(group, name)
    if isinstance(value, Tensor):
        return value.to(dt.float64).reshape(())
    if current.recorder is None:
        return full((), float(value), dtype=dt.float64)
    return current.recorder.scalar(partial(_number, group, name), float(value))


# one parameter ---------------------------------------------------------------------------------------
def _record(rule: Rule, p: Tensor, grad: Tensor, state: list, numbers: list, flags: dict) -> None:
    outs = rule.op(p, grad, *state, *numbers, **flags)
    for target, value in zip((p, *state), outs if isinstance(outs, tuple) else (outs,), strict=True):
        assign(target, value)


def _run(rule: Rule, p: Tensor, grad: Tensor, state: list, numbers: list, flags: dict) -> None:
    arrays = [t.nd for t in state]
    target = p.nd
    if not target.flags.writeable:
        raise RuntimeError(UNWRITABLE)
    run_in_place(rule, target, grad.nd, arrays, numbers, flags)
    p.storage.version += 1
    for t in state:
        t.storage.version += 1
