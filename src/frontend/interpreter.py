"""The interpreter of tensors: each op runs in NumPy now, or is handed to the recorder, then goes on the tape."""

from __future__ import annotations

import threading

import numpy as np

from ..ir import dtype as dt
from ..ir import buffer, dispatch
from ..ir.device import CPU
from ..ir.op import Kind
from ..ir.type import tensor_type
from ..runtime import memory
from . import tape
from .tape import modes


class _Current(threading.local):
    recorder = None


current = _Current()


class TensorInterpreter:
    """Runs or records ops on tensors."""

    def process(self, op, values: tuple, attrs: dict):
        from .tensor import Tensor

        grad = modes.grad and any(
            type(v) is not float and isinstance(v, Tensor) and v.requires_grad for v in values)
        if current.recorder is not None:
            outs = current.recorder.append(op, values, attrs)
        elif op.kind is Kind.COMPOSITE and (op.eager is None or (grad and op.vjp is None)):
            return self._inline(op, values, attrs, grad)
        else:
            outs = _execute(op, values, attrs)
        if grad:
            tape.record(op, attrs, values, outs)
        return outs if op.outputs > 1 else outs[0]

    def _inline(self, op, values, attrs, grad):
        """A composite in eager: its body, one tape node for all of it where it has its own rule."""
        if not grad or op.vjp is None:
            return op.body(*values, **attrs)
        from .grad_mode import no_grad

        with no_grad():
            out = op.body(*values, **attrs)
        outs = out if isinstance(out, tuple) else (out,)
        outs = tuple(o.shell() for o in outs)
        tape.record(op, attrs, values, outs)
        return outs if op.outputs > 1 else outs[0]


def _execute(op, values, attrs) -> tuple:
    """The op's outputs as tensors, computed by NumPy."""
    from .tensor import Tensor

    arrays, source, dev = [], None, CPU
    for v in values:
        if isinstance(v, Tensor):
            arrays.append(v.nd)
            source = v if source is None else source
        else:
            arrays.append(v)
    if op.kind is Kind.MOVE:
        op.infer(*[v.type if isinstance(v, Tensor) else v for v in values], **attrs)
    else:
        check(op, values, attrs)
    result = op.eager(*arrays, **attrs)
    if op.alias:
        return (_view(source, result, op, attrs),)
    if op.kind is Kind.MOVE and result.base is not None and _shares(result, arrays):
        result = buffer.copy(result)  # a view of an operand, of an op whose result is no view
    results = result if isinstance(result, tuple) else (result,)
    return tuple(wrap(r, dev) for r in results)


def _shares(result, arrays) -> bool:
    return any(isinstance(a, np.ndarray) and np.may_share_memory(result, a) for a in arrays)


def check(op, values, attrs) -> None:
    """Raises the op's shape and dtype errors before any data is touched."""
    op.infer(*[v if isinstance(v, (int, float, complex)) else v.type for v in values], **attrs)


def wrap(array, dev=CPU):
    """A fresh contiguous tensor owning `array`."""
    from .tensor import Tensor

    if type(array) is not np.ndarray:
        array = np.asarray(array)
    if not array.flags.c_contiguous:
        array = buffer.copy(array)
    return Tensor._from_array(array, tensor_type(array.shape, dt.from_numpy(array.dtype), dev))


def _view(source, array, op, attrs):
    """The result of an aliasing op: a view of `source`'s storage, or a fresh tensor if NumPy copied."""
    from .tensor import OFF_TAPE, Tensor

    have = source.nd
    if array is not have and array.size and not _within(array, have):
        return wrap(array, source.type.device)
    type = source.type.with_shape(array.shape)
    if array.dtype != have.dtype:
        type = type.with_dtype(dt.from_numpy(array.dtype))
    out = Tensor._from_array(array, type, source.storage)
    out._root = source if source._root is None else source._root
    out._chain = (*source._chain, (op, attrs, source.type))
    # what it has of history is recorded now; a view of a detached view stays off the tape
    out._generation = source._generation if source._generation == OFF_TAPE else out._root._generation
    return out


def _within(view, array) -> bool:
    """Whether `view`'s memory lies inside `array`'s: NumPy views chain their bases."""
    base = view.base
    return base is not None and (base is array or base is array.base or np.may_share_memory(view, array))


interpreter = TensorInterpreter()
dispatch.set_default(interpreter)
buffer.set_allocator(memory.empty)
