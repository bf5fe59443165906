"""LRScheduler: counts epochs and sets the groups' learning rates, as torch's."""

from __future__ import annotations

import functools
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any
from weakref import ref

from ...frontend.declare import declare_attr, suspended
from ...frontend.interpreter import current
from ...frontend.tensor import Tensor
from ..optimizer import Optimizer

OVERRIDDEN = ("Seems like `optimizer.step()` has been overridden after learning rate scheduler "
              "initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. See "
              "more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate")
TOO_EARLY = ("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
             "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure "
             "to do this will result in PyTorch skipping the first value of the learning rate schedule. See "
             "more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate")
EPOCH_GIVEN = ("The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
               "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if epoch "
               "is different from None, the closed form is used instead of the new chainable form, where "
               "available.")
NO_INITIAL = ("param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= "
              "0.\nThis typically happens when:\n1. You're trying to resume training from a checkpoint but haven't "
              "properly loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh training run (not "
              "recommended)")


def check_optimizer(optimizer: Any) -> None:
    """TypeError unless it is an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    """A tensor's copy; other values are immutable."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> list:
    """One option of each group."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Sets a number; a tensor keeps its identity and is filled."""
    if not isinstance(group[key], Tensor):
        group[key] = value
        return
    if current.recorder is not None:
        current.recorder.leaves_graph("a scheduler writes a learning rate that is a tensor")
    group[key].fill_(value.item() if isinstance(value, Tensor) else value)


def per_group(name: str, optimizer: Optimizer, value: Any) -> list:
    """One value for each group, from one or from a list."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * count
    elif len(value) != count:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has "
                         f"{len(value)} values, param_groups has {count}.")
    return [copied(v) for v in value]


def _track_steps(optimizer: Optimizer) -> None:
    """Makes the optimizer note that its step was called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function, owner = optimizer.step.__func__, ref(optimizer)

    @functools.wraps(function)
    def step(*args, **kwargs):
        optimizer = owner()
        optimizer._opt_called = True
        return function(optimizer, *args, **kwargs)

    step._wrapped_by_lr_sched = True
    optimizer.step = step


class LRScheduler:
    """The base class of schedulers: subclasses define `get_lr` for the epoch `last_epoch`."""

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        if current.recorder is not None:
            current.recorder.leaves_graph("a scheduler is made")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(NO_INITIAL.format(i))
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _track_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """The step that sets the learning rates of epoch 0."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Returns all attributes but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the attributes that `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list:
        """Returns the learning rates set last, one for each group."""
        declare_attr(self, "_last_lr")
        return self._last_lr

    def get_lr(self) -> list:
        """Returns the learning rates of epoch `last_epoch`; subclasses define it."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Goes to the next epoch (or to `epoch`) and sets its learning rates.

        Within a recorded call this is one effect, run again in its place at each replay.
        """
        run_as_effect(lambda: self._step_now(epoch))

    def _step_now(self, epoch: int | None) -> None:
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(OVERRIDDEN, UserWarning, stacklevel=4)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(TOO_EARLY, UserWarning, stacklevel=4)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_GIVEN, UserWarning, stacklevel=4)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
            values = self.get_lr() if closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        self._set(values)

    def _set(self, values: list) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = values_of(self.optimizer, "lr")

    # for get_lr of subclasses ---------------------------------------------------------------------
    def _current(self) -> list:
        return values_of(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use "
                          "`get_last_lr()`.", UserWarning, stacklevel=3)


class _LRScheduler(LRScheduler):
    """The name LRScheduler had before."""


class _Inside(threading.local):
    effect = False


_inside = _Inside()


def run_as_effect(run: Callable[[], None]) -> None:
    """Runs `run`, which changes Python state only; within a recorded call, again at each replay."""
    if current.recorder is None or _inside.effect:
        run()
        return
    _inside.effect = True
    try:
        with suspended():
            current.recorder.python_effect(run)
    finally:
        _inside.effect = False


def function_state(fn: Any) -> dict | None:
    """What state_dict keeps of a callable: an object's attributes, nothing of a function."""
    return None if isinstance(fn, types.FunctionType) else fn.__dict__.copy()
