"""Registering parameters, buffers and submodules, by call or by assignment."""

from __future__ import annotations

import inspect
from typing import Any

from ...frontend.declare import declare_attr
from ...frontend.interpreter import current
from ...frontend.tensor import Tensor
from ..parameter import Buffer, Parameter
from .calling import everywhere
from .names import typename


def _check_name(module, name: Any, what: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {typename(name)}")
    if "." in name:
        got = f", got: {name}" if what == "module" else ""
        raise KeyError(f'{what} name can\'t contain "."{got}')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')


def _taken(module, name: str, members: dict) -> bool:
    return hasattr(module, name) and name not in members


def register_buffer(module, name: str, tensor: Tensor | None, persistent: bool) -> None:
    """Module.register_buffer."""
    if "_buffers" not in module.__dict__:
        raise AttributeError("cannot assign buffer before Module.__init__() call")
    _check_name(module, name, "buffer")
    if _taken(module, name, module._buffers):
        raise KeyError(f"attribute '{name}' already exists")
    if tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                        "(torch Tensor or None required)")
    note_change("a buffer is registered")
    tensor = _hooked(everywhere.buffer_registration, module, name, tensor)
    module._buffers[name] = tensor
    if persistent:
        module._non_persistent_buffers_set.discard(name)
    else:
        module._non_persistent_buffers_set.add(name)


def register_parameter(module, name: str, param: Parameter | None) -> None:
    """Module.register_parameter."""
    if "_parameters" not in module.__dict__:
        raise AttributeError("cannot assign parameter before Module.__init__() call")
    _check_name(module, name, "parameter")
    if _taken(module, name, module._parameters):
        raise KeyError(f"attribute '{name}' already exists")
    note_change("a parameter is registered")
    if param is None:
        module._parameters[name] = None
        return
    if not isinstance(param, Parameter):
        raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' "
                        "(torch.nn.Parameter or None required)")
    if param.grad_fn is not None:
        raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                         f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                         "the value in the forward() method.")
    module._parameters[name] = _hooked(everywhere.parameter_registration, module, name, param)


def add_module(module, name: str, child) -> None:
    """Module.add_module."""
    if child is not None and not isinstance(child, _module_class()):
        raise TypeError(f"{typename(child)} is not a Module subclass")
    _check_name(module, name, "module")
    if _taken(module, name, module._modules):
        raise KeyError(f"attribute '{name}' already exists")
    note_change("a module is registered")
    module._modules[name] = _hooked(everywhere.module_registration, module, name, child)


def _hooked(hooks: dict, module, name: str, value: Any) -> Any:
    for hook in hooks.values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


def _module_class():
    from .module import Module

    return Module


def assign(module, name: str, value: Any) -> bool:
    """Registers `value` if it, or what `name` is now, is to be registered; else returns False."""
    own = module.__dict__
    tensor = isinstance(value, Tensor)
    if tensor and isinstance(value, Parameter):
        return _assign_parameter(module, name, value)
    params = own.get("_parameters")
    if params is None:
        return _assign_early(value, tensor)
    if name in params:
        return _empty(params, name, value, "parameter", "torch.nn.Parameter")
    if not tensor and isinstance(value, _module_class()):
        return _assign_module(module, name, value)
    if name in own["_modules"]:
        return _empty(own["_modules"], name, value, "child module", "torch.nn.Module")
    if tensor and (name in own["_buffers"] or isinstance(value, Buffer)):
        return _assign_buffer(module, name, value)
    if name in own["_buffers"]:
        return _empty(own["_buffers"], name, value, "buffer", "torch.nn.Buffer, torch.Tensor")
    return False


def _assign_early(value: Any, tensor: bool) -> bool:
    """An assignment before Module.__init__: nothing can be registered yet."""
    if isinstance(value, _module_class()):
        raise AttributeError("cannot assign module before Module.__init__() call")
    if tensor and isinstance(value, Buffer):
        raise AttributeError("cannot assign buffer before Module.__init__() call")
    return False


def _empty(members: dict, name: str, value: Any, what: str, wanted: str) -> bool:
    """None empties a registered place; anything else is refused there."""
    if value is not None:
        raise TypeError(f"cannot assign '{typename(value)}' as {what} '{name}' ({wanted} or None expected)")
    members[name] = None
    return True


def _clear(module, name: str, kept: str) -> None:
    """Takes `name` out of every place but `kept`."""
    own = module.__dict__
    own.pop(name, None)
    for place in ("_parameters", "_buffers", "_modules"):
        if place != kept:
            own[place].pop(name, None)
    own["_non_persistent_buffers_set"].discard(name)


def _assign_parameter(module, name, value) -> bool:
    if "_parameters" not in module.__dict__:
        raise AttributeError("cannot assign parameters before Module.__init__() call")
    _clear(module, name, "_parameters")
    module.register_parameter(name, value)
    return True


def _assign_module(module, name, value) -> bool:
    _clear(module, name, "_modules")
    module._modules[name] = _hooked(everywhere.module_registration, module, name, value)
    return True


def _assign_buffer(module, name, value) -> bool:
    hidden = name in module._non_persistent_buffers_set
    persistent = value.__dict__["persistent"] if isinstance(value, Buffer) else not hidden
    if "persistent" in inspect.signature(module.register_buffer).parameters:
        module.register_buffer(name, value, persistent)
    elif persistent:
        module.register_buffer(name, value)
    else:
        raise RuntimeError("Registering a non-persistent buffer on a Module subclass that implements "
                           "register_buffer() without the persistent argument is not allowed.")
    return True


def note_change(what: str) -> None:
    """Something of a module's structure changes: within a recorded call it cannot be replayed."""
    if current.recorder is not None:
        current.recorder.leaves_graph(what)


def note_assignment(module, name: str, value: Any) -> None:
    """An assignment within a recorded call: harmless if nothing changes, else it cannot be replayed."""
    own = module.__dict__
    declare_attr(module, name)
    if name in own and own[name] is value:
        return
    current.recorder.leaves_graph(f"assignment to the attribute '{name}' of a module")
