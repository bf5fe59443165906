"""Tensors under `copy` and `pickle`."""

from __future__ import annotations

import numpy as np

from ..ir import dtype as dt
from .tensor import Tensor, from_array


def deepcopy_tensor(t: Tensor, memo: dict) -> Tensor:
    """A leaf's copy with memory of its own; views of one storage stay views of one storage."""
    if id(t) in memo:
        return memo[id(t)]
    if not t.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                           "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
                           "because of a torch.nn.utils.weight_norm usage")
    out = _copy_of(t, memo)
    out._requires_grad = t._requires_grad
    memo[id(t)] = out
    if t._grad is not None:
        out._grad = deepcopy_tensor(t._grad, memo)
    import copy

    out.__dict__.update({k: copy.deepcopy(v, memo) for k, v in t.__dict__.items()
                         if not k.startswith("_leaf_hooks") and k not in _HOOKS})
    return out


_HOOKS = ("_accumulate_hooks", "_retains")


def _copy_of(t: Tensor, memo: dict) -> Tensor:
    whole = t._root if t._root is not None else t
    key = ("storage", id(t.storage))
    copied = memo.get(key)
    if copied is None:
        copied = memo[key] = from_array(np.array(whole.nd, order="C"), t.type.device)
    out = copied.shell(type(t))
    out.type, out._nd, out._chain = t.type, None, t._chain
    out._root = copied if t._chain else None
    return out


def rebuild_tensor(cls, array, dtype_name: str, requires_grad: bool, state: dict) -> Tensor:
    """The tensor that `reduce_tensor` described."""
    want = dt.by_name(dtype_name).np
    out = from_array(array.view(want) if array.dtype != want else array).as_subclass(cls)
    out._requires_grad = requires_grad
    out.__dict__.update(state)
    return out


def reduce_tensor(t: Tensor):
    """For pickle: the values, dtype and flags (the tape is not kept)."""
    if not t.is_leaf:
        raise RuntimeError("only leaf tensors can be pickled; call detach() first")
    array = np.asarray(t.nd, order="C")
    if t.type.dtype is dt.bfloat16:
        array = array.view(np.uint16)
    state = {k: v for k, v in t.__dict__.items() if k not in _HOOKS and k != "_leaf_hooks"}
    return rebuild_tensor, (type(t), array, t.type.dtype.name, t._requires_grad, state)
