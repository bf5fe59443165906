"""An optimizer's state as plain dicts with parameters as numbers, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from ..frontend.tensor import Tensor
from ..ir import dtype as dt


def pack(optimizer) -> dict[str, Any]:
    """The state_dict of an optimizer."""
    numbers: dict[int, int] = {}
    groups, start = [], 0
    for group in optimizer.param_groups:
        for i, p in enumerate(group["params"], start):
            numbers.setdefault(id(p), i)
        packed = {k: v for k, v in group.items() if k != "params"}
        packed["params"] = [numbers[id(p)] for p in group["params"]]
        groups.append(packed)
        start += len(group["params"])
    state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in optimizer.state.items()}
    return {"state": state, "param_groups": groups}


def unpack(optimizer, state_dict: dict[str, Any]) -> dict[str, Any]:
    """The attributes `state` and `param_groups` that `state_dict` gives the optimizer."""
    groups, saved = optimizer.param_groups, deepcopy(state_dict["param_groups"])
    if len(groups) != len(saved):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
        raise ValueError("loaded state dict contains a parameter group that doesn't match the size of "
                         "optimizer's group")
    numbers = chain.from_iterable(s["params"] for s in saved)
    params = dict(zip(numbers, chain.from_iterable(g["params"] for g in groups), strict=True))
    on_device = _on_device(saved)
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in state_dict["state"].items():
        if key in params:
            state[params[key]] = _fitted(params[key], value, key in on_device)
        else:
            state[key] = value
    for group, new in zip(groups, saved, strict=True):
        new["params"] = group["params"]
        if "param_names" in group:
            new.setdefault("param_names", group["param_names"])
    return {"state": state, "param_groups": saved}


def _on_device(groups: list[dict]) -> set:
    """Numbers of the parameters whose step count lives beside them, in float32."""
    return {n for g in groups if g.get("fused") or g.get("capturable") for n in g["params"]}


def _fitted(param: Tensor, value: Any, step_moves: bool, key: Any = None) -> Any:
    """`value` with its tensors in the parameter's dtype and on its device."""
    if isinstance(value, Tensor):
        if key == "step":
            return value.to(param.device, dt.float32) if step_moves else value
        return value.to(param.device, param.dtype) if param.dtype.is_floating_point else value.to(param.device)
    if isinstance(value, dict):
        return {k: _fitted(param, v, step_moves, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_fitted(param, v, step_moves) for v in value)
    return value
