"""Averages of models: running means of parameters, and the schedule that goes with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from ..frontend.functions.create import tensor
from ..frontend.grad_mode import no_grad
from ..frontend.tensor import Tensor
from ..ir import dtype as dt
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from .lr_scheduler.base import LRScheduler, per_group
from .optimizer import Optimizer


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """Returns the function of an exponential moving average of one tensor."""
    _check_decay(decay)
    return lambda averaged, now, _count: decay * averaged + (1 - decay) * now


def get_swa_avg_fn() -> Callable:
    """Returns the function of the mean of all values of one tensor."""
    return lambda averaged, now, count: averaged + (now - averaged) / (count + 1)


def _for_lists(fn: Callable) -> Callable:
    def update(averaged: Iterable[Tensor], current: Iterable[Tensor], count: Any) -> None:
        with no_grad():
            for a, p in zip(averaged, current, strict=True):
                a.copy_(fn(a, p, count))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """Returns the function of an exponential moving average of lists of tensors, in place."""
    return _for_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable:
    """Returns the function of the mean of all values of lists of tensors, in place."""
    return _for_lists(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose parameters are averages, the mean of all by default.

    >>> import treadle
    >>> model = treadle.nn.Linear(1, 1)
    >>> average = AveragedModel(model, avg_fn=get_ema_avg_fn(0.9))
    >>> average.update_parameters(model)
    >>> int(average.n_averaged)
    1
    """

    def __init__(self, model: Module, device: Any = None, avg_fn: Callable | None = None,
                 multi_avg_fn: Callable | None = None, use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=dt.int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the model's parameters into the average; buffers are copied, or averaged if asked."""
        def members(m: Module) -> list[Tensor]:
            return [t.detach() for t in chain(m.parameters(), m.buffers() if self.use_buffers else ())]

        averaged, now = members(self.module), members(model)
        with no_grad():
            if int(self.n_averaged) == 0:
                for a, p in zip(averaged, now, strict=True):
                    a.copy_(p)
            elif self.multi_avg_fn is not None:
                self.multi_avg_fn(averaged, now, self.n_averaged)
            else:
                fn = get_swa_avg_fn() if self.avg_fn is None else self.avg_fn
                for a, p in zip(averaged, now, strict=True):
                    a.copy_(fn(a, p, self.n_averaged))
            if not self.use_buffers:
                for a, p in zip(self.module.buffers(), model.buffers(), strict=True):
                    a.copy_(p)
            self.n_averaged.add_(1)


def update_bn(loader: Iterable, model: Module, device: Any = None) -> None:
    """Computes the running statistics of the model's BatchNorms anew from one pass over the data."""
    momenta = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


def _linear(t: float) -> float:
    return t


def _cosine(t: float) -> float:
    return (1 - math.cos(math.pi * t)) / 2


class SWALR(LRScheduler):
    """The learning rate moved to `swa_lr` in `anneal_epochs` epochs, then kept."""

    def __init__(self, optimizer: Optimizer, swa_lr: float, anneal_epochs: int = 10,
                 anneal_strategy: str = "cos", last_epoch: int = -1) -> None:
        for lr, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        anneal = _cosine if self._anneal_strategy == "cos" else _linear
        return anneal(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list:
        """Returns the learning rates of this epoch."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        lrs = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            lrs.append(goal * now + start * (1 - now))
        return lrs
