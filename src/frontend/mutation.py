"""In-place writes: a new value is computed, then the storage takes it and the tape learns of it."""

from __future__ import annotations

import numpy as np

from ..ir.op import Op
from ..ir.ops import as_strided_put, bitcast, diagonal, diagonal_put, expand, permute, reshape, slice_put
from ..ir.ops import as_strided as as_strided_op
from ..ir.ops import slice as slice_op
from ..ir.ops import view_complex, view_real
from ..ir.ops.movement import inverse
from . import tape
from .interpreter import current
from .tape import modes
from .tensor import OFF_TAPE, Tensor

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
LEAF_VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation."


def assign(x: Tensor, value: Tensor) -> Tensor:
    """Makes `value` (of x's type) the content of x, seen by all views of its storage; returns x."""
    check_writable(x, value)
    _keep_old(x, value)
    if current.recorder is not None:
        current.recorder.write(x, value)
    else:
        target = x.nd
        if not target.flags.writeable:
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single "
                "memory location. Please clone() the tensor before performing the operation.")
        np.copyto(target, value.nd)
    x.storage.version += 1
    if modes.grad and (value.requires_grad or x.requires_grad):
        rebase(x, value)
    return x


def _keep_old(x: Tensor, value: Tensor) -> None:
    """The op that made `value` may have saved x as an operand: what x holds now is kept for its gradient."""
    node = value._fn
    if not isinstance(node, tape.TapeNode) or not node.saved or value.storage is x.storage:
        return
    first = node.saved[0]  # as in PyTorch, only the tensor an in-place op is called on is kept
    if type(first) is not tuple or first[0] is not x:
        return
    if current.recorder is not None:
        old = current.recorder.pending(current.recorder.node_of(x))
    else:
        old = Tensor._from_array(np.array(x.nd, order="C"), x.type)
    old._fn, old._number, old._requires_grad = x.grad_fn, x._number, x.requires_grad
    node.saved = ((old, old.storage.version), *node.saved[1:])


def check_writable(x: Tensor, value: Tensor) -> None:
    """Raises before anything is changed."""
    if x.type is not value.type:
        if x.type.shape != value.type.shape:
            raise RuntimeError(f"output with shape {list(x.type.shape)} doesn't match the broadcast shape "
                               f"{list(value.type.shape)}")
        raise RuntimeError(f"result type {value.type.dtype.name} can't be cast to the desired output type "
                           f"{x.type.dtype.name}")
    if modes.grad and x.requires_grad and x.is_leaf:
        raise RuntimeError(LEAF)
    root = _base(x)
    if modes.grad and root is not None and root.requires_grad and root.is_leaf:
        raise RuntimeError(LEAF_VIEW)
    if any(op is expand for op, _, _ in x._chain):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single "
            "memory location. Please clone() the tensor before performing the operation.")


def rebase(x: Tensor, value: Tensor) -> None:
    """The tape after `x` took `value`: x, its base and the base's other views get new histories."""
    root = _base(x)
    if root is None:
        x._fn, x._number, x._requires_grad = value.grad_fn, value._number, value.requires_grad
        if value.requires_grad and value._fn is None:  # a leaf was copied in
            x._fn, x._number = _copy_node(value)
        if x._root is None:
            x._generation += 1
        return
    put = history(root, lambda t: put_chain(t, x._chain, value))
    root._fn, root._number, root._requires_grad = put
    root._generation += 1
    regenerate(x)


def _base(x: Tensor) -> Tensor | None:
    """The tensor whose history x shares as a view; a detached view has none."""
    return None if x._generation == OFF_TAPE else x._root


def _frozen(x: Tensor) -> Tensor:
    out = x.shell()
    out._fn, out._number, out._requires_grad = x._fn, x._number, x._requires_grad
    return out


def _copy_node(value: Tensor):
    node = tape.TapeNode(reshape, {"shape": value.type.shape}, (value.edge(),), (value.type,), (value.type,))
    return node, 0


class _History:
    """An interpreter that only builds tape: outputs have types and edges but no data."""

    def process(self, op: Op, values: tuple, attrs: dict):
        types = [v if isinstance(v, (int, float, complex)) else v.type for v in values]
        out = Tensor._from_storage(values[0].storage, op.infer(*types, **attrs))
        if tape.wants_grad(values):
            tape.record(op, attrs, values, (out,))
        return out


def history(start: Tensor, build):
    """(grad_fn, output number, requires_grad) of `build(start)` without computing it."""
    from ..ir.dispatch import using

    with using(_History()):
        out = build(_frozen(start) if start._fn is not None or not start._requires_grad else start)
    return out._fn, out._number, out._requires_grad


def regenerate(view: Tensor) -> None:
    """Gives a view the history its base has now."""
    root = view._root

    def build(t):
        for op, attrs, _ in view._chain:
            t = op(t, **attrs)
        return t

    view._fn, view._number, view._requires_grad = history(root, build)
    view._generation = root._generation


def put_chain(root, chain, value):
    """The root's value after `value` was written through the views of `chain`.

    Works on tensors, tape shells and graph nodes alike.
    """
    if not chain:
        return value
    parents = [root]
    for op, attrs, _ in chain[:-1]:
        parents.append(op(parents[-1], **attrs))
    for parent, (op, attrs, _) in zip(reversed(parents), reversed(chain), strict=True):
        value = _put_back(parent, op, attrs, value)
    return value


def _put_back(parent, op: Op, attrs: dict, value):
    if op is reshape:
        return reshape(value, shape=parent.type.shape)
    if op is permute:
        return permute(value, dims=inverse(attrs["dims"]))
    if op is slice_op:
        return slice_put(parent, value, **attrs)
    if op is diagonal:
        return diagonal_put(parent, value, **attrs)
    if op is bitcast:
        return bitcast(value, dtype=parent.type.dtype)
    if op is view_real:
        return view_complex(value)
    if op is view_complex:
        return view_real(value)
    if op is as_strided_op:
        return as_strided_put(parent, value, **attrs)
    raise RuntimeError(f"cannot write through a view made by {op.name}; clone() the tensor first")
