"""weight_norm: a weight as its direction and its length, recomputed before each forward."""

from __future__ import annotations

import warnings
from typing import Any

from ...frontend.functions.linalg import vector_norm
from ...frontend.tensor import Tensor
from ..parameter import Parameter

DEPRECATED = ("`torch.nn.utils.weight_norm` is deprecated in favor of "
              "`torch.nn.utils.parametrizations.weight_norm`.")


def norm_except_dim(v: Tensor, pow: float = 2, dim: int | None = 0) -> Tensor:
    """Returns the norm over all dims but `dim` (all of them for None), with the dims kept."""
    if dim is None or dim == -1:
        return vector_norm(v, pow)
    dims = tuple(d for d in range(v.ndim) if d != dim)
    return vector_norm(v, pow, dim=dims, keepdim=True)


class WeightNorm:
    """The hook: sets `name` to g * v / |v|."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """Returns the weight."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return v * (g / norm_except_dim(v, 2, self.dim))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Replaces the parameter `name` by `name`_g (lengths) and `name`_v (directions); returns the module."""
    warnings.warn(DEPRECATED, FutureWarning, stacklevel=2)
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == name:
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    fn = WeightNorm(name, dim)
    weight = getattr(module, name)
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight, 2, fn.dim).data))
    module.register_parameter(f"{name}_v", Parameter(weight.data))
    setattr(module, name, fn.compute_weight(module))
    module.register_forward_pre_hook(fn)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Makes `name` a parameter again; returns the module."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            weight = hook.compute_weight(module)
            delattr(module, name)
            del module._parameters[f"{name}_g"], module._parameters[f"{name}_v"]
            setattr(module, name, Parameter(weight.data))
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
