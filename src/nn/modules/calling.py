"""Calling a module: hooks of the module and of all modules, around forward and backward."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from functools import cache
from typing import Any

from ...frontend.declare import declare_attrs, declare_content
from ...frontend.hooks import RemovableHandle, register
from ...frontend.tape import modes
from ...frontend.tensor import Tensor
from ...ir.composite import composite


class _Globals:
    """Hooks that run for every module."""

    def __init__(self) -> None:
        self.forward_pre: OrderedDict = OrderedDict()
        self.forward: OrderedDict = OrderedDict()
        self.forward_kwargs: OrderedDict = OrderedDict()
        self.forward_always: OrderedDict = OrderedDict()
        self.backward_pre: OrderedDict = OrderedDict()
        self.backward: OrderedDict = OrderedDict()
        self.parameter_registration: OrderedDict = OrderedDict()
        self.buffer_registration: OrderedDict = OrderedDict()
        self.module_registration: OrderedDict = OrderedDict()


everywhere = _Globals()

OWN_HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks",
             "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs",
             "_forward_hooks_always_called")
_READ = ("training", "forward", "_compiled_call_impl", "_is_full_backward_hook")


def declare_call(module) -> None:
    """All that a call reads of the module's Python state beside what `forward` reads."""
    declare_attrs(module, _READ)
    own = module.__dict__
    for name in OWN_HOOKS:
        declare_content(own[name])
    for hooks in vars(everywhere).values():
        declare_content(hooks)


def needs_hooks(module) -> Any:
    """Whether a call has to go through `call_with_hooks`."""
    return (module._backward_hooks or module._backward_pre_hooks or module._forward_hooks
            or module._forward_pre_hooks or everywhere.forward or everywhere.forward_pre
            or everywhere.backward or everywhere.backward_pre)


def call_with_hooks(module, args: tuple, kwargs: dict) -> Any:
    """The module's result with all hooks run; always-called ones also when something raises."""
    call = _Call(module, args, kwargs)
    try:
        return call.run()
    except Exception:
        call.run_always_called()
        raise


class _Call:
    """One call with hooks: its arguments, its result so far, and the always-called hooks that ran."""

    def __init__(self, module, args: tuple, kwargs: dict) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.done: set[int] = set()

    def run(self) -> Any:
        module = self.module
        pre = [*everywhere.backward_pre.values(), *module._backward_pre_hooks.values()]
        full = _backward_hooks(module)
        self._pre_hooks()
        around = BackwardHook(module, full, pre) if full or pre else None
        if around is not None:
            self.args = around.wrap_inputs(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for key, hook in (*everywhere.forward.items(), *module._forward_hooks.items()):
            self._forward_hook(key, hook)
        if around is not None:
            self.result = around.wrap_outputs(self.result)
        return self.result

    def _pre_hooks(self) -> None:
        module = self.module
        for key, hook in (*everywhere.forward_pre.items(), *module._forward_pre_hooks.items()):
            if key not in module._forward_pre_hooks_with_kwargs:
                out = hook(module, self.args)
                if out is not None:
                    self.args = out if isinstance(out, tuple) else (out,)
                continue
            out = hook(module, self.args, self.kwargs)
            if out is None:
                continue
            if not isinstance(out, tuple) or len(out) != 2:
                raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, "
                                   f"new_kwargs), but got {out}.")
            self.args, self.kwargs = out

    def _forward_hook(self, key: int, hook) -> None:
        self.done.add(key)
        if key in self.module._forward_hooks_with_kwargs or key in everywhere.forward_kwargs:
            out = hook(self.module, self.args, self.kwargs, self.result)
        else:
            out = hook(self.module, self.args, self.result)
        if out is not None:
            self.result = out

    def run_always_called(self) -> None:
        """Something raised: the always-called hooks that did not run yet run now."""
        module = self.module
        own = [(k, h) for k, h in module._forward_hooks.items() if k in module._forward_hooks_always_called]
        shared = [(k, h) for k, h in everywhere.forward.items() if k in everywhere.forward_always]
        for kind, hooks in (("global module", shared), ("module", own)):
            for key, hook in hooks:
                if key in self.done:
                    continue
                try:
                    self._forward_hook(key, hook)
                except Exception as error:
                    warnings.warn(f"{kind} forward hook with ``always_call=True`` raised an exception that "
                                  f"was silenced as another error was raised in forward: {error}",
                                  stacklevel=5)


def _backward_hooks(module) -> list:
    return [*everywhere.backward.values(), *module._backward_hooks.values()]


# backward hooks ------------------------------------------------------------------------------------
@cache
def _passage(width: int):
    """An op that hands `width` tensors on: one tape node where their gradients meet."""
    body = (lambda x: x) if width == 1 else (lambda *xs: xs)
    rule = (lambda g, _y, _x: g,) if width == 1 else (lambda g, _y, operand, *_xs: g[operand])
    return composite("module_boundary", body, vjp=rule, outputs=width)


class BackwardHook:
    """Runs a module's backward hooks when the gradients of its outputs and of its inputs are known."""

    def __init__(self, module, hooks: list, pre_hooks: list) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple | None = None
        self.inputs = self.outputs = 0
        self.input_places: list[int] | None = None
        self.output_places: list[int] | None = None

    def wrap_inputs(self, args: tuple) -> tuple:
        """The arguments, their tensors led over a node that calls the hooks."""
        self.inputs = len(args)
        args, self.input_places = _bridge(args, self._at_inputs)
        return args

    def wrap_outputs(self, result: Any) -> Any:
        """The result, its tensors led over a node that notes their gradients."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of "
                          f"Tensors but received {type(result)}", stacklevel=5)
        outs = result if isinstance(result, tuple) else (result,)
        self.outputs = len(outs)
        outs, self.output_places = _bridge(outs, self._at_outputs)
        return outs if isinstance(result, tuple) else outs[0]

    def _at_outputs(self, _grads: tuple, grad_outputs: tuple):
        self.grad_outputs = _spread(self.output_places, grad_outputs, self.outputs)
        for hook in self.pre_hooks:
            changed = hook(self.module, self.grad_outputs)
            if changed is None:
                continue
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != self.outputs:
                raise RuntimeError("Backward pre hook returned an invalid number of grad_output, got "
                                   f"{len(changed)}, but expected {self.outputs}")
            self.grad_outputs = changed
        grads = self.grad_outputs
        if self.input_places is None:
            self._without_inputs()
        return tuple(grads[i] for i in self.output_places)

    def _without_inputs(self) -> None:
        warnings.warn("Full backward hook is firing when gradients are computed with respect to module "
                      "outputs since no inputs require gradients.", stacklevel=2)
        for hook in self.hooks:
            out = hook(self.module, (None,) * self.inputs, self.grad_outputs)
            if out is not None and not (isinstance(out, tuple) and all(g is None for g in out)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should "
                                   "always return None or None for all gradients.")
        self.grad_outputs = None

    def _at_inputs(self, grad_inputs: tuple, _grads: tuple):
        if self.grad_outputs is None:  # the gradient came by a way that misses the outputs
            return None
        grads = _spread(self.input_places, grad_inputs, self.inputs)
        for hook in self.hooks:
            changed = hook(self.module, grads, self.grad_outputs)
            if changed is None:
                continue
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != len(grads):
                raise RuntimeError("Backward hook returned an invalid number of grad_input, got "
                                   f"{len(changed)}, but expected {len(grads)}")
            grads = changed
        self.grad_outputs = None
        return tuple(grads[i] for i in self.input_places)


def _spread(places: list[int], values: tuple, size: int) -> tuple:
    out = [None] * size
    for place, value in zip(places, values, strict=False):
        out[place] = value
    return tuple(out)


def _bridge(values: tuple, hook) -> tuple[tuple, list[int] | None]:
    """`values` with all tensors led over one tape node that has `hook`, and the tensors' places."""
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    if not modes.grad or not any(values[i].requires_grad for i in places):
        return values, None
    outs = _passage(len(places))(*[values[i] for i in places])
    outs = outs if isinstance(outs, tuple) else (outs,)
    node = next(o.grad_fn for o in outs if o.grad_fn is not None)
    node.hooks = {**(node.hooks or {}), id(hook): hook}
    moved = dict(zip(places, outs, strict=True))
    return type(values)(moved.get(i, v) for i, v in enumerate(values)), places


# registration for all modules ----------------------------------------------------------------------
def register_module_forward_pre_hook(hook) -> RemovableHandle:
    """Registers a forward pre-hook of all modules; returns its handle."""
    return register(everywhere.forward_pre, hook)


def register_module_forward_hook(hook, *, with_kwargs: bool = False,
                                 always_call: bool = False) -> RemovableHandle:
    """Registers a forward hook of all modules; returns its handle."""
    handle = register(everywhere.forward, hook,
                      extra_dict=[everywhere.forward_kwargs, everywhere.forward_always])
    if with_kwargs:
        everywhere.forward_kwargs[handle.id] = True
    if always_call:
        everywhere.forward_always[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook) -> RemovableHandle:
    """Registers a backward pre-hook of all modules; returns its handle."""
    return register(everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook) -> RemovableHandle:
    """Registers a backward hook of all modules; returns its handle."""
    return register(everywhere.backward, hook)


def register_module_parameter_registration_hook(hook) -> RemovableHandle:
    """Registers `hook(module, name, param)`, called when any module gets a parameter."""
    return register(everywhere.parameter_registration, hook)


def register_module_buffer_registration_hook(hook) -> RemovableHandle:
    """Registers `hook(module, name, buffer)`, called when any module gets a buffer."""
    return register(everywhere.buffer_registration, hook)


def register_module_module_registration_hook(hook) -> RemovableHandle:
    """Registers `hook(module, name, submodule)`, called when any module gets a submodule."""
    return register(everywhere.module_registration, hook)
