"""Optimizer: parameter groups, state, hooks and state_dict, as torch.optim.Optimizer."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from ..frontend.declare import active, declare_attr, declare_content, declare_elements
from ..frontend.functions.support import dtype_name
from ..frontend.hooks import RemovableHandle, register
from ..frontend.interpreter import current
from ..frontend.tensor import Tensor
from . import saving


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
_HOOKS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
          "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks",
          "_optimizer_load_state_dict_post_hooks")
_global_pre_hooks: OrderedDict = OrderedDict()
_global_post_hooks: OrderedDict = OrderedDict()


def register_optimizer_step_pre_hook(hook) -> RemovableHandle:
    """Registers `hook(optimizer, args, kwargs)`, run before each step of every optimizer."""
    return register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook) -> RemovableHandle:
    """Registers `hook(optimizer, args, kwargs)`, run after each step of every optimizer."""
    return register(_global_post_hooks, hook)


def _with_hooks(step: Callable) -> Callable:
    """`step` with the step hooks around it, once however many classes' steps call each other."""

    @functools.wraps(step)
    def hooked(self, *args, **kwargs):
        if self._stepping:
            return step(self, *args, **kwargs)
        if active:
            for hooks in (_global_pre_hooks, _global_post_hooks, self._optimizer_step_pre_hooks,
                          self._optimizer_step_post_hooks):
                declare_content(hooks)
        self._stepping = True
        try:
            for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but "
                                       f"got {changed}.")
                args, kwargs = changed
            out = step(self, *args, **kwargs)
            for hook in chain(self._optimizer_step_post_hooks.values(), _global_post_hooks.values()):
                hook(self, args, kwargs)
        finally:
            self._stepping = False
        return out

    return hooked


def name_of(value: Any) -> str:
    """The name of a value's type in messages."""
    if isinstance(value, Tensor):
        return f"torch.{dtype_name(value.dtype)}Tensor"
    return type(value).__name__


class Optimizer:
    """The base class of optimizers: subclasses define `step`.

    `params` are tensors, (name, tensor) pairs, or dicts of them with options of their own;
    `defaults` are the options of groups that do not say otherwise.
    """

    _stepping = False

    def __init_subclass__(cls, **kwargs) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])

    def __init__(self, params: Iterable, defaults: dict[str, Any]) -> None:
        if current.recorder is not None:
            current.recorder.leaves_graph("an optimizer is made")
        self.defaults = defaults
        for name in _HOOKS:
            self.__dict__[name] = OrderedDict()
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or "
                            f"dicts, but got {name_of(params)}")
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"\nParameter Group {i}\n")
            lines += [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
        return f"{type(self).__name__} ({''.join(lines)})"

    # hooks ----------------------------------------------------------------------------------------
    def register_step_pre_hook(self, hook) -> RemovableHandle:
        """Registers `hook(optimizer, args, kwargs) -> None or new (args, kwargs)`."""
        return register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook) -> RemovableHandle:
        """Registers `hook(optimizer, args, kwargs) -> None`."""
        return register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Registers `hook(optimizer) -> None`, run before state_dict is made."""
        return register(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Registers `hook(optimizer, state_dict) -> None or another state_dict`."""
        return register(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Registers `hook(optimizer, state_dict) -> None or another state_dict`."""
        return register(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Registers `hook(optimizer) -> None`, run after a state_dict was loaded."""
        return register(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)

    # state ----------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """Returns {"state": by parameter number, "param_groups": options and parameter numbers}."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        out = saving.pack(self)
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, out)
            out = out if changed is None else changed
        return out

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the options and the state of `state_dict`, cast to the parameters' dtypes."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        self.__setstate__(saving.unpack(self, state_dict))
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients of all parameters: to None, or to zeros in place."""
        for group in self.declared_groups():
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None):
        """Updates the parameters once; subclasses define it."""
        raise NotImplementedError

    # groups ---------------------------------------------------------------------------------------
    def declared_groups(self) -> list[dict[str, Any]]:
        """The groups, said to be read together with their lists of parameters."""
        if active:
            declare_attr(self, "param_groups")
            declare_elements(self.param_groups)
            for group in self.param_groups:
                declare_elements(group["params"])
        return self.param_groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group: a dict with "params" and options that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        names, params = _names_and_params(param_group["params"])
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for param in params:
            self._check_param(param)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError("parameter group didn't specify a value of required optimization parameter "
                                 f"{name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this "
                          "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                          "information", stacklevel=3)
        self._check_group(param_group)
        self.param_groups.append(param_group)

    def _check_param(self, param: Any) -> None:
        if not isinstance(param, Tensor):
            raise TypeError("optimizer can only optimize Tensors, but one of the params is "
                            f"{name_of(param)}")
        if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def _check_group(self, new: dict[str, Any]) -> None:
        named = "param_names" in new
        there = set()
        for group in self.param_groups:
            there.update(group["params"])
            if named != ("param_names" in group):
                raise ValueError("all optimizer param groups should be with/without names. cannot add param "
                                 f"group {'with' if named else 'without'} names to the optimizer")
        if not there.isdisjoint(new["params"]):
            raise ValueError("some parameters appear in more than one parameter group")


def _names_and_params(params: Any) -> tuple[list[str], list]:
    if isinstance(params, Tensor):
        return [], [params]
    if isinstance(params, set):
        raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering "
                        "of tensors in sets will change between runs. Please use a list instead.")
    given = list(params)
    names = [p[0] for p in given if isinstance(p, tuple)]
    if names and len(names) != len(given):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return names, [p[1] if isinstance(p, tuple) else p for p in given]
