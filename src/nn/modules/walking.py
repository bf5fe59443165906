"""Walking a module's tree: by name, and over all members."""

from __future__ import annotations

from typing import Any

from ...frontend.declare import declare_content
from ..parameter import Parameter


def own_parameters(module):
    declare_content(module._parameters)
    return module._parameters.items()


def own_buffers(module):
    declare_content(module._buffers)
    return module._buffers.items()


def named_members(module, members_of, prefix: str, recurse: bool, remove_duplicate: bool):
    """Yields (dotted name, member), skipping None and, if asked, what was seen before."""
    seen = set()
    modules = (module.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse
               else [(prefix, module)])
    for path, owner in modules:
        for name, value in members_of(owner):
            if value is None or value in seen:
                continue
            if remove_duplicate:
                seen.add(value)
            yield f"{path}.{name}" if path else name, value


def named_children(module):
    """Yields (name, direct submodule), each once."""
    declare_content(module._modules)
    seen = set()
    for name, child in module._modules.items():
        if child is not None and child not in seen:
            seen.add(child)
            yield name, child


def named_modules(module, memo: set | None, prefix: str, remove_duplicate: bool):
    """Yields (dotted name, module), parents first."""
    memo = set() if memo is None else memo
    if module in memo:
        return
    if remove_duplicate:
        memo.add(module)
    yield prefix, module
    declare_content(module._modules)
    for name, child in module._modules.items():
        if child is not None:
            yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


def _is_module(value: Any) -> bool:
    from .module import Module

    return isinstance(value, Module)


def get_submodule(module, target: str):
    """The module at a dotted path."""
    if target == "":
        return module
    for atom in target.split("."):
        if not hasattr(module, atom):
            raise AttributeError(f"{module._get_name()} has no attribute `{atom}`")
        module = getattr(module, atom)
        if not _is_module(module):
            raise AttributeError(f"`{atom}` is not an nn.Module")
    return module


def set_submodule(module, target: str, child, strict: bool) -> None:
    """Puts `child` at a dotted path."""
    if target == "":
        raise ValueError("Cannot set the submodule without a target name!")
    if not _is_module(child):
        raise ValueError(f"`module` is not an nn.Module, found {type(child)}")
    path, _, name = target.rpartition(".")
    parent = module.get_submodule(path)
    if strict and not hasattr(parent, name):
        raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
    if hasattr(parent, name) and not _is_module(getattr(parent, name)):
        raise AttributeError(f"`{name}` is not an nn.Module")
    setattr(parent, name, child)


def _leaf_of(module, target: str):
    path, _, name = target.rpartition(".")
    owner = module.get_submodule(path)
    if not hasattr(owner, name):
        raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
    return owner, name, getattr(owner, name)


def get_parameter(module, target: str) -> Parameter:
    """The parameter at a dotted path."""
    _, name, value = _leaf_of(module, target)
    if not isinstance(value, Parameter):
        raise AttributeError(f"`{name}` is not an nn.Parameter")
    return value


def get_buffer(module, target: str):
    """The buffer at a dotted path."""
    owner, name, value = _leaf_of(module, target)
    if name not in owner._buffers:
        raise AttributeError(f"`{name}` is not a buffer")
    return value
