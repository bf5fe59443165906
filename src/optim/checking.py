"""Errors of the optimizers' arguments, in PyTorch's words."""

from __future__ import annotations

from typing import Any

from ..frontend.tensor import Tensor


def check_lr(lr: float | Tensor) -> None:
    """A learning rate is a number or a one-element tensor, at least 0."""
    if isinstance(lr, Tensor) and lr.type.numel != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_at_least_zero("learning rate", lr)


def check_at_least_zero(what: str, value: Any) -> None:
    """ValueError unless value >= 0 (NaN is none)."""
    if not value >= 0.0:
        raise ValueError(f"Invalid {what}: {value}")


def check_betas(betas: tuple) -> tuple:
    """The two decay rates as given, one-element tensors made scalars; each in [0, 1)."""
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor) and beta.type.numel != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    return tuple(b.reshape(()) if isinstance(b, Tensor) else b for b in betas)


def check_fused(fused, foreach, differentiable) -> None:
    """The combinations of implementations that exclude each other."""
    if not fused:
        return
    if differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
