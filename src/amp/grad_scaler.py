"""GradScaler: losses scaled up so that float16 gradients do not vanish."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..frontend.functions.create import _device
from ..frontend.grad_mode import no_grad
from ..frontend.tensor import Tensor, from_array
from ..ir import dtype as dt

_FORGOTTEN = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."


def _there(device: str) -> bool:
    try:
        _device(device)
    except RuntimeError:
        return False
    return True


def _fresh() -> dict[str, Any]:
    return {"stage": "ready", "found_inf": None}


class GradScaler:
    """Scales losses, unscales gradients, and skips the steps whose gradients are not finite.

    Disabled, or for a device that is not there, it hands everything through.
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        if enabled and device == "cuda" and not _there(device):
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                          stacklevel=2)
            enabled = False
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._device, self._enabled = device, enabled
        self._init_scale, self._growth_factor, self._backoff_factor = (
            float(init_scale), growth_factor, backoff_factor)
        self._growth_interval = growth_interval
        self._scale: Tensor | None = None  # made by the first scale()
        self._growth_tracker = 0
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_fresh)

    def _made_scale(self) -> Tensor:
        if self._scale is None:
            self._scale = from_array(np.array(self._init_scale, np.float32))
        return self._scale

    def _check_scaled(self, what: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(f"Attempted {what} but _scale is None.  {_FORGOTTEN}")
        return self._scale

    def scale(self, outputs: Any) -> Any:
        """Returns a tensor, or tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._made_scale()
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def unscale_(self, optimizer) -> None:
        """Divides the gradients of the optimizer's parameters by the scale, and looks for inf and NaN."""
        if not self._enabled:
            return
        scale = self._check_scaled("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] == "unscaled":
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] == "stepped":
            raise RuntimeError("unscale_() is being called after step().")
        factor = (1.0 / scale.to(dt.float64)).to(dt.float32)
        infinite = None
        with no_grad():
            for grad in _gradients(optimizer):
                if grad.dtype is dt.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                bad = grad.isfinite().logical_not().any()
                infinite = bad if infinite is None else infinite.logical_or(bad)
                grad.mul_(factor)
        state["found_inf"], state["stage"] = infinite, "unscaled"

    def step(self, optimizer, *args: Any, **kwargs: Any) -> Any:
        """Unscales if `unscale_` did not, then steps unless some gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scaled("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] == "ready":
            self.unscale_(optimizer)
        if state["found_inf"] is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if bool(state["found_inf"]) else optimizer.step(*args, **kwargs)
        state["stage"] = "stepped"
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Lowers the scale after a skipped step, raises it after `growth_interval` good ones."""
        if not self._enabled:
            return
        scale = self._check_scaled("update")
        if new_scale is not None:
            self._set(scale, new_scale)
        else:
            found = [s["found_inf"] for s in self._per_optimizer_states.values() if s["found_inf"] is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(scale, any(map(bool, found)))
        self._per_optimizer_states = defaultdict(_fresh)

    def _adapt(self, scale: Tensor, infinite: bool) -> None:
        if infinite:
            self._growth_tracker = 0
            self._set(scale, scale.item() * self._backoff_factor)
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            self._growth_tracker = 0
            grown = np.float32(scale.item() * self._growth_factor)
            if np.isfinite(grown):
                self._set(scale, float(grown))

    @staticmethod
    def _set(scale: Tensor, value: float | Tensor) -> None:
        if isinstance(value, Tensor):
            if value.numel() != 1 or value.requires_grad:
                raise AssertionError("new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                                     "torch.FloatTensor with requires_grad=False.")
            value = value.item()
        scale.fill_(value)

    def get_scale(self) -> float:
        """Returns the scale, 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """Returns what the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Returns what the scale is multiplied by after a skipped step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the scale is multiplied by after a skipped step."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Returns after how many good steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many good steps the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Returns whether losses are scaled at all."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Returns the scale and what moves it; an empty dict if disabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor,
                "backoff_factor": self._backoff_factor, "growth_interval": self._growth_interval,
                "_growth_tracker": self._growth_tracker}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what `state_dict` returned; nothing if disabled."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled "
                               "instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


def _gradients(optimizer):
    for group in optimizer.param_groups:
        for param in group["params"]:
            if param.grad is not None:
                yield param.grad
