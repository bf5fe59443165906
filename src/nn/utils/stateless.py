"""functional_call: a module called with other parameters and buffers."""

from __future__ import annotations

from typing import Any

from ...frontend.tensor import Tensor


def _place(module: Any, name: str) -> tuple[dict, str]:
    path, _, leaf = name.rpartition(".")
    owner = module.get_submodule(path)
    for members in (owner._parameters, owner._buffers):
        if leaf in members:
            return members, leaf
    raise KeyError(f"{name} is not a parameter or buffer of {type(module).__name__}")


def functional_call(module: Any, parameters_and_buffers: Any, args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
                    strict: bool = False) -> Any:
    """Returns the module's result with the named tensors in the places of its own.

    >>> import treadle
    >>> m = treadle.nn.Linear(1, 1)
    >>> functional_call(m, {"weight": treadle.ones(1, 1), "bias": treadle.ones(1)}, treadle.ones(1))
    tensor([2.])
    """
    given: dict[str, Tensor] = {}
    for part in (parameters_and_buffers if isinstance(parameters_and_buffers, (list, tuple))
                 else [parameters_and_buffers]):
        given.update(part)
    own = {**dict(module.named_parameters(remove_duplicate=False)),
           **dict(module.named_buffers(remove_duplicate=False))}
    if strict and set(given) != set(own):
        raise RuntimeError(f"Missing key(s): {sorted(set(own) - set(given))}. Unexpected key(s): "
                           f"{sorted(set(given) - set(own))}.")
    if tie_weights:
        by_tensor = {id(own[name]): value for name, value in given.items() if name in own}
        given.update({name: by_tensor[id(t)] for name, t in own.items() if id(t) in by_tensor})
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    kept: list[tuple[dict, str, Any]] = []
    try:
        for name, value in given.items():
            members, leaf = _place(module, name)
            kept.append((members, leaf, members[leaf]))
            members[leaf] = value
        return module(*args, **(kwargs or {}))
    finally:
        for members, leaf, value in reversed(kept):
            members[leaf] = value
