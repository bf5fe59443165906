"""Clipping of gradients, by their norm together or by value."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable

from ...frontend.functions.create import tensor
from ...frontend.functions.join import stack
from ...frontend.functions.linalg import vector_norm
from ...frontend.grad_mode import no_grad
from ...frontend.tensor import Tensor

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: Tensors) -> list[Tensor]:
    return [g for g in (p.grad for p in _listed(parameters)) if g is not None]


def get_total_norm(tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """Returns the norm of all tensors taken as one vector."""
    given, norm_type = _listed(tensors), float(norm_type)
    if not given:
        return tensor(0.0)
    with no_grad():
        norms = [vector_norm(g, norm_type) for g in given]
        total = vector_norm(stack([n.to(norms[0].dtype) for n in norms]), norm_type)
        if error_if_nonfinite and not bool(total.isfinite()):
            raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
                               "so it cannot be clipped. To disable this error and scale the gradients by the "
                               "non-finite norm anyway, set `error_if_nonfinite=False`")
    return total


def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Tensor,
                          foreach: bool | None = None) -> None:
    """Scales the gradients by max_norm / total_norm where that is less than 1."""
    grads = _grads(parameters)
    if not grads:
        return
    with no_grad():
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for g in grads:
            g.mul_(factor)


def clip_grad_norm_(parameters: Tensors, max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """Scales the gradients so that their norm together is at most `max_norm`; returns the norm before.

    >>> import treadle
    >>> p = treadle.ones(4, requires_grad=True)
    >>> (p * 5).sum().backward()
    >>> clip_grad_norm_(p, 1.0), p.grad.norm()
    (tensor(10.), tensor(1.0000))
    """
    empty = isinstance(parameters, types.GeneratorType)
    given = _listed(parameters)
    if empty and not given:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total = get_total_norm(_grads(given), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters: Tensors, max_norm: float, norm_type: float = 2.0,
                   error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """The deprecated name of clip_grad_norm_."""
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
                  "`torch.nn.utils.clip_grad_norm_`.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamps each gradient element to [-clip_value, clip_value]."""
    bound = float(clip_value)
    with no_grad():
        for g in _grads(parameters):
            g.clamp_(min=-bound, max=bound)
