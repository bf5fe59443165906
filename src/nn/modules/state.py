"""state_dict and load_state_dict: names of parameters and buffers to tensors, and back."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...frontend.declare import declare_content
from ...frontend.grad_mode import no_grad
from ...frontend.tensor import Tensor
from ..parameter import Parameter

EXTRA = "_extra_state"


class _Incompatible(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class IncompatibleKeys(_Incompatible):
    """What load_state_dict returns: the keys it missed and those it had no place for."""

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class InPlaceHook:
    """A state_dict hook that may only change the dict it is given."""

    def __init__(self, hook) -> None:
        self.hook = hook

    def __call__(self, *args) -> None:
        if self.hook(*args) is not None:
            raise RuntimeError("state_dict post-hook must return None")


class ModuleHook:
    """A hook that is called with its module first, which it does not keep alive."""

    def __init__(self, hook, module) -> None:
        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args):
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args)

    def __getstate__(self):
        return self.hook, self.module()

    def __setstate__(self, state) -> None:
        self.hook, module = state
        self.module = weakref.ref(module)


def save(module, destination, prefix: str, keep_vars: bool):
    """Writes the state of `module` and its submodules into `destination` and returns it."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    local_metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = local_metadata
    for hook in module._state_dict_pre_hooks.values():
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in module._state_dict_hooks.values():
        result = hook(module, destination, prefix, local_metadata)
        destination = destination if result is None else result
    return destination


def save_own(module, destination, prefix: str, keep_vars: bool) -> None:
    """The module's own parameters, persistent buffers and extra state."""
    declare_content(module._parameters)
    declare_content(module._buffers)
    for name, value in local_state(module).items():
        destination[prefix + name] = value if keep_vars else value.detach()
    if type(module).get_extra_state is not _module_class().get_extra_state:
        destination[prefix + EXTRA] = module.get_extra_state()


def local_state(module) -> dict[str, Tensor]:
    """The module's own parameters and persistent buffers by name."""
    hidden = module._non_persistent_buffers_set
    own = dict(module._parameters)
    own.update((k, v) for k, v in module._buffers.items() if k not in hidden)
    return {k: v for k, v in own.items() if v is not None}


def _module_class():
    from .module import Module

    return Module


class _Load:
    """One load_state_dict: what it found wrong so far."""

    def __init__(self, metadata, assign: bool) -> None:
        self.metadata, self.assign = metadata, assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def walk(self, module, state: dict, prefix: str) -> None:
        local = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(state, prefix, local, True, self.missing, self.unexpected, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.walk(child, {k: v for k, v in state.items() if k.startswith(below)}, below)
        found = IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, found) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return "
                    "new values, if incompatible_keys need to be modified, it should be done inplace.")


def load(module, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """Copies (or assigns) the tensors of `state_dict`; RuntimeError names all that does not fit."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    metadata = getattr(state_dict, "_metadata", None)
    state = OrderedDict(state_dict)  # hooks may change it
    if metadata is not None:
        state._metadata = metadata
    run = _Load(metadata, assign)
    run.walk(module, state, "")
    errors = run.errors
    if strict:
        if run.unexpected:
            errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(run.unexpected)}. ")
        if run.missing:
            errors.insert(0, f"Missing key(s) in state_dict: {_quoted(run.missing)}. ")
    if errors:
        listed = "\n\t".join(errors)
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{listed}")
    return IncompatibleKeys(run.missing, run.unexpected)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{k}"' for k in keys)


def load_own(module, state: dict, prefix: str, metadata: dict, strict: bool, missing: list[str],
             unexpected: list[str], errors: list[str]) -> None:
    """Loads the module's own tensors and notes missing and unexpected keys and errors."""
    for hook in module._load_state_dict_pre_hooks.values():
        hook(state, prefix, metadata, strict, missing, unexpected, errors)
    own = local_state(module)
    assign = metadata.get("assign_to_params_buffers", False)
    for name, target in own.items():
        key = prefix + name
        if key in state:
            error = _take(module, name, target, key, state[key], assign)
            if error is not None:
                errors.append(error)
        elif strict:
            missing.append(key)
    _load_extra(module, state, prefix + EXTRA, strict, missing, unexpected)
    if strict:
        unexpected.extend(_unexpected(module, state, prefix, own))


def _load_extra(module, state, key, strict, missing, unexpected) -> None:
    if type(module).set_extra_state is not _module_class().set_extra_state:
        if key in state:
            module.set_extra_state(state[key])
        elif strict:
            missing.append(key)
    elif strict and key in state:
        unexpected.append(key)


def _unexpected(module, state, prefix, own):
    for key in state:
        if not key.startswith(prefix) or key == prefix + EXTRA:
            continue
        head, dot, _ = key[len(prefix):].partition(".")
        if head not in (module._modules if dot else own):
            yield key


def _take(module, name: str, target: Tensor, key: str, value: Any, assign: bool) -> str | None:
    """Puts `value` in the place of `target`; returns what is wrong, if anything is."""
    if not isinstance(value, Tensor):
        return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                f"from checkpoint but received {type(value)}")
    if target.ndim == 0 and tuple(value.shape) == (1,):
        value = value[0]
    if value.shape != target.shape:
        return (f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                f"the shape in current model is {target.shape}.")
    try:
        with no_grad():
            if assign:
                setattr(module, name, _assigned(target, value))
            else:
                target.copy_(value)
    except Exception as error:
        return (f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{target.shape} and whose dimensions in the checkpoint are {value.shape}, an exception "
                f"occurred : {error.args}.")
    return None


def _assigned(target: Tensor, value: Tensor) -> Tensor:
    if not isinstance(target, Parameter):
        return value
    if isinstance(value, Parameter):
        return value.requires_grad_(target.requires_grad)
    return Parameter(value, target.requires_grad)
