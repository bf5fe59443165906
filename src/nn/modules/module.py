"""Module: the base of all layers and models, with torch.nn.Module's machinery."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...frontend.declare import active, declare_item
from ...frontend.hooks import RemovableHandle, register
from ...frontend.interpreter import current
from ...frontend.tensor import Tensor
from ...ir import dtype as dt
from ..parameter import Parameter
from . import calling, convert, registering, state, walking
from .calling import (
    register_module_buffer_registration_hook as register_module_buffer_registration_hook,
    register_module_forward_hook as register_module_forward_hook,
    register_module_forward_pre_hook as register_module_forward_pre_hook,
    register_module_full_backward_hook as register_module_full_backward_hook,
    register_module_full_backward_pre_hook as register_module_full_backward_pre_hook,
    register_module_module_registration_hook as register_module_module_registration_hook,
    register_module_parameter_registration_hook as register_module_parameter_registration_hook,
)

HOOK_DICTS = ("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
              "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
              "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
              "_load_state_dict_post_hooks")


def _forward_unimplemented(self, *input: Any) -> None:
    """Defines the computation at every call; subclasses override it."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module:
    """The base class of layers and models: registers what is assigned to it, calls `forward`.

    >>> import treadle
    >>> class Double(Module):
    ...     def forward(self, x):
    ...         return x * 2
    >>> Double()(treadle.ones(2))
    tensor([2., 2.])
    """

    dump_patches = False
    _version = 1
    call_super_init = False
    _compiled_call_impl: Callable | None = None
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            given = f"an unexpected keyword argument '{next(iter(kwargs))}'" if kwargs else None
            took = f"1 positional argument but {len(args) + 1} were given"
            raise TypeError(f"{type(self).__name__}.__init__() " + (f"got {given}" if given else f"takes {took}"))
        own = self.__dict__
        own["training"] = True
        own["_parameters"], own["_buffers"], own["_modules"] = {}, {}, {}
        own["_non_persistent_buffers_set"] = set()
        own["_is_full_backward_hook"] = None
        for name in HOOK_DICTS:
            own[name] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented

    # calling --------------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if active:
            calling.declare_call(self)
        if calling.needs_hooks(self):
            return calling.call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Makes calls of this module run compiled, as `treadle.compile(module)` would."""
        from ...frontend.compile import compile as compile_call

        self._compiled_call_impl = compile_call(self._call_impl, *args, **kwargs)

    # attributes -----------------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            found = own.get(kind)
            if found is None:
                continue
            declare_item(found, name)
            if name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if current.recorder is not None:
            registering.note_assignment(self, name, value)
        if not registering.assign(self, name, value):
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if current.recorder is not None:
            current.recorder.leaves_graph(f"deletion of the attribute '{name}' of a module")
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(n for n in names if not n[0].isdigit())

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Registers a tensor that is state but not a parameter; in state_dict if `persistent`."""
        registering.register_buffer(self, name, tensor, persistent)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Registers a parameter under `name` (None reserves the name)."""
        registering.register_parameter(self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Registers a submodule under `name` (None reserves the name)."""
        registering.add_module(self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Alias of add_module."""
        self.add_module(name, module)

    def get_submodule(self, target: str) -> Module:
        """Returns the submodule at the dotted path `target`; the module itself for ""."""
        return walking.get_submodule(self, target)

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts `module` at the dotted path `target`."""
        walking.set_submodule(self, target, module, strict)

    def get_parameter(self, target: str) -> Parameter:
        """Returns the parameter at the dotted path `target`."""
        return walking.get_parameter(self, target)

    def get_buffer(self, target: str) -> Tensor:
        """Returns the buffer at the dotted path `target`."""
        return walking.get_buffer(self, target)

    # hooks ----------------------------------------------------------------------------------------
    def register_forward_pre_hook(self, hook, *, prepend: bool = False,
                                  with_kwargs: bool = False) -> RemovableHandle:
        """Registers `hook(module, args) -> None or new args`, run before forward."""
        extra = self._forward_pre_hooks_with_kwargs
        handle = register(self._forward_pre_hooks, hook, prepend=prepend, extra_dict=extra)
        if with_kwargs:
            extra[handle.id] = True
        return handle

    def register_forward_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """Registers `hook(module, args, output) -> None or new output`, run after forward."""
        extra = [self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        handle = register(self._forward_hooks, hook, prepend=prepend, extra_dict=extra)
        if with_kwargs:
            extra[0][handle.id] = True
        if always_call:
            extra[1][handle.id] = True
        return handle

    def register_full_backward_pre_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Registers `hook(module, grad_output) -> None or new grad_output`, run before backward."""
        return register(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Registers `hook(module, grad_input, grad_output) -> None or new grad_input`."""
        self._is_full_backward_hook = True
        return register(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook) -> RemovableHandle:
        """Registers a full backward hook (the deprecated kind's partial gradients are not offered)."""
        return self.register_full_backward_hook(hook)

    # state ----------------------------------------------------------------------------------------
    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "",
                   keep_vars: bool = False) -> Any:
        """Returns an OrderedDict of names to parameters and persistent buffers, detached."""
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning,
                          stacklevel=2)
            given = (*args, *(destination, prefix, keep_vars)[len(args):])
            destination, prefix, keep_vars = given
        return state.save(self, destination, prefix, keep_vars)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False):
        """Copies (or assigns) tensors by name; returns the missing and the unexpected keys.

        RuntimeError lists shapes that differ and, if `strict`, keys that are missing or unexpected.
        """
        return state.load(self, state_dict, strict, assign)

    def _save_to_state_dict(self, destination, prefix: str, keep_vars: bool) -> None:
        """Writes this module's own state; subclasses may override it."""
        state.save_own(self, destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys,
                              unexpected_keys, error_msgs) -> None:
        """Loads this module's own state; subclasses may override it."""
        state.load_own(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                       error_msgs)

    def get_extra_state(self) -> Any:
        """Returns further state to be kept in state_dict; subclasses override it."""
        raise RuntimeError("Module.get_extra_state() is called only where a subclass defines it.")

    def set_extra_state(self, state: Any) -> None:
        """Takes what `get_extra_state` returned; subclasses override it."""
        raise RuntimeError("Module.set_extra_state() is called only where a subclass defines it.")

    def _register_state_dict_hook(self, hook) -> RemovableHandle:
        return register(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook) -> RemovableHandle:
        """Registers `hook(module, state_dict, prefix, local_metadata) -> None`."""
        return register(self._state_dict_hooks, state.InPlaceHook(hook))

    def register_state_dict_pre_hook(self, hook) -> RemovableHandle:
        """Registers `hook(module, prefix, keep_vars) -> None`."""
        return register(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module: bool = False) -> RemovableHandle:
        return register(self._load_state_dict_pre_hooks,
                        state.ModuleHook(hook, self) if with_module else hook)

    def register_load_state_dict_pre_hook(self, hook) -> RemovableHandle:
        """Registers `hook(module, *arguments of _load_from_state_dict) -> None`."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook) -> RemovableHandle:
        """Registers `hook(module, incompatible_keys) -> None`."""
        return register(self._load_state_dict_post_hooks, hook)

    # iterating ------------------------------------------------------------------------------------
    def _named_members(self, get_members_fn, prefix: str = "", recurse: bool = True,
                       remove_duplicate: bool = True):
        return walking.named_members(self, get_members_fn, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yields the parameters, each once."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yields (dotted name, parameter)."""
        yield from self._named_members(walking.own_parameters, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yields the buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yields (dotted name, buffer)."""
        yield from self._named_members(walking.own_buffers, prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """Yields the direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yields (name, direct submodule), each once."""
        yield from walking.named_children(self)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yields this module and all modules below it, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo: set | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Yields (dotted name, module) for this module and all below it."""
        yield from walking.named_modules(self, memo, prefix, remove_duplicate)

    # changing all parameters ----------------------------------------------------------------------
    def apply(self, fn: Callable[[Module], None]) -> Module:
        """Calls fn on every submodule, then on this module; returns self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Module:
        """Replaces each parameter's data, gradient and buffer by fn of it; returns self."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        convert.apply_own(self, fn)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Module:
        """Moves and casts parameters and buffers: to(device), to(dtype), to(device, dtype), to(tensor)."""
        return self._apply(convert.mover(*args, **kwargs))

    def cuda(self, device: Any = None) -> Module:
        """Moves all parameters and buffers to the GPU."""
        return self.to(convert.cuda_device(device))

    def cpu(self) -> Module:
        """Moves all parameters and buffers to the CPU."""
        return self.to("cpu")

    def type(self, dst_type: Any) -> Module:
        """Casts all parameters and buffers to `dst_type`."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Module:
        """Casts floating parameters and buffers to float32."""
        return self._apply(convert.floats_to(dt.float32))

    def double(self) -> Module:
        """Casts floating parameters and buffers to float64."""
        return self._apply(convert.floats_to(dt.float64))

    def half(self) -> Module:
        """Casts floating parameters and buffers to float16."""
        return self._apply(convert.floats_to(dt.float16))

    def bfloat16(self) -> Module:
        """Casts floating parameters and buffers to bfloat16."""
        return self._apply(convert.floats_to(dt.bfloat16))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Module:
        """Moves parameters and buffers to `device` without their values."""
        return self._apply(convert.emptier(device), recurse=recurse)

    def train(self, mode: bool = True) -> Module:
        """Sets training mode here and below; returns self."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        convert.set_training(self, mode)
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        """Sets evaluation mode here and below; returns self."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Sets requires_grad of all parameters; returns self."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients of all parameters."""
        convert.zero_grads(self.parameters(), set_to_none)

    def share_memory(self) -> Module:
        """Moves parameters and buffers to memory shared between processes."""
        return self._apply(lambda t: t.share_memory_())

    # Python's protocols ---------------------------------------------------------------------------
    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Returns what the printed form says beside the submodules; subclasses override it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        one_line = len(lines) == 1 and not self._modules
        for name, module in self._modules.items():
            lines.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        if not lines or one_line:
            return f"{self._get_name()}({''.join(lines)})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def __getstate__(self) -> dict:
        own = self.__dict__.copy()
        own.pop("_compiled_call_impl", None)
        return own

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for name in HOOK_DICTS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def _replicate_for_data_parallel(self) -> Module:
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters, replica._is_replica = {}, True
        replica._buffers, replica._modules = self._buffers.copy(), self._modules.copy()
        return replica
