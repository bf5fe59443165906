"""Changing all of a module's tensors at once: dtype, device, gradients, training mode."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ...frontend.declare import declare_store
from ...frontend.functions.create import empty_like
from ...frontend.grad_mode import no_grad
from ...frontend.interpreter import current
from ...frontend.tensor import Tensor
from ...ir import dtype as dt
from ...ir.device import device as Device


def apply_own(module, fn: Callable[[Tensor], Tensor]) -> None:
    """Parameters keep their identity and take the new data; buffers are replaced."""
    for param in module._parameters.values():
        if param is None:
            continue
        grad = param.grad
        with no_grad():
            param.data = fn(param)
            if grad is not None:
                grad.data = fn(grad)
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = fn(buffer)


def floats_to(dtype: dt.DType) -> Callable[[Tensor], Tensor]:
    """The cast of floating tensors to `dtype`."""
    return lambda t: t.to(dtype) if t.dtype.is_floating_point else t


def _parse(args: tuple, kwargs: dict) -> tuple[Device | None, dt.DType | None]:
    """(device, dtype) of the arguments of `to`."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    other = kwargs.get("tensor", kwargs.get("other"))
    for arg in args:
        if isinstance(arg, dt.DType):
            dtype = arg
        elif isinstance(arg, Tensor):
            other = arg
        elif isinstance(arg, bool) or arg is None:
            continue
        else:
            device = arg
    if other is not None:
        device, dtype = other.device, other.dtype
    return None if device is None else Device(device), dtype


def mover(*args: Any, **kwargs: Any) -> Callable[[Tensor], Tensor]:
    """What Module.to does with one tensor."""
    device, dtype = _parse(args, kwargs)
    if dtype is not None:
        if dtype.kind not in "fc":
            raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                            f"dtype={dtype}")
        if dtype.is_complex:
            warnings.warn("Complex modules are a new feature under active development whose design may "
                          "change, and some modules might not work as expected when using complex tensors "
                          "as parameters or buffers.", stacklevel=3)

    def move(t: Tensor) -> Tensor:
        wanted = dtype if dtype is not None and t.dtype.kind in "fc" else t.dtype
        return t.to(t.device if device is None else device, wanted)

    return move


def cuda_device(device: Any) -> Device:
    """The GPU meant by an index, a name or None."""
    return Device("cuda") if device is None else Device(device)


def emptier(device: Any) -> Callable[[Tensor], Tensor]:
    """What Module.to_empty does with one tensor."""
    return lambda t: empty_like(t, device=device)


def zero_grads(params: Iterable[Tensor], set_to_none: bool) -> None:
    """Resets gradients: to None, or to zeros in place."""
    for param in params:
        grad = param.grad
        if grad is None:
            continue
        if set_to_none:
            param.grad = None
            continue
        if grad.grad_fn is not None:
            grad.detach_()
        else:
            grad.requires_grad_(False)
        grad.zero_()


def set_training(module, mode: bool) -> None:
    """Sets the flag; within a recorded call, again at each replay."""
    def put() -> None:
        object.__setattr__(module, "training", mode)

    if current.recorder is None:
        put()
    else:
        current.recorder.python_effect(put)
        declare_store(module, "training")
