"""Replaying a captured call without its Python: inputs found, program run, effects put back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.ops import copy
from ..runtime.storage import Storage
from .capture import Captured, Out, Source
from .joint import CompiledBackward
from .tape import TapeNode
from .tensor import Tensor, rebinds
from .tree import rebuild


class Stale(Exception):
    """An input is no longer what it was at the recording; the call must be recorded again."""


class Replay:
    """One captured call ready to run: `valid()` says whether its inputs still are what they were."""

    def __init__(self, captured: Captured, executable):
        self.captured, self.executable = captured, executable
        self.sources = captured.sources
        self.calls = 0
        self._stamp = -1
        self._addresses = [0] * len(self.sources)
        self._held = [(k, s) for k, s in enumerate(self.sources) if s.kind == "held"]
        self._moving = [(k, s) for k, s in enumerate(self.sources) if s.kind != "held"]

    def valid(self) -> bool:
        """Whether held tensors live, have their type and layout, and `.grad`s are there as before."""
        for ref, there in self.captured.grad_guards:
            owner = ref()
            if owner is None or (owner._grad is not None) is not there:
                return False
        if self._stamp == rebinds[0] and all(s.key() is not None for _, s in self._held):
            return True
        try:
            self._refresh()
        except Stale:
            return False
        return True

    def _refresh(self) -> None:
        for k, source in self._held:
            self._addresses[k] = _address(_checked(source, source.key()))
        self._stamp = rebinds[0]

    def __call__(self, args: list[Tensor]) -> Any:
        """The result of the call, with all its effects."""
        captured = self.captured
        self.calls += 1
        made = self._prologue()
        tensors: dict[int, Tensor] = {}
        addresses = self._addresses.copy()
        alive = []  # whatever the addresses point into stays until the end
        for k, source in self._moving:
            t = made[source.key] if source.kind == "prologue" else source.find(args)
            if source.kind == "constant" and k in self._written():
                t = t.clone()
            _checked(source, t)
            tensors[k] = t
            alive.append(t)
            addresses[k] = _address(t)
        arrays = self.executable(addresses)
        for _, k in captured.writes:
            (tensors[k] if k in tensors else self.sources[k].key()).storage.version += 1
        outs, result = self._hand_out(arrays, args, tensors)
        if captured.joint is not None:
            self._leave_tape(arrays, outs, tensors)
        return result

    def _leave_tape(self, arrays, outs, tensors) -> None:
        """One tape node for the whole call."""
        joint = self.captured.joint

        def input_tensor(k):
            return tensors[k] if k in tensors else self.sources[k].key()

        first = len(arrays) - len(joint.saved_nodes)
        node = CompiledBackward(joint, [input_tensor(k) for k in joint.saved_inputs], arrays[first:],
                                [input_tensor(k).edge() for k in joint.wanted])
        for number, place in enumerate(joint.roots):
            outs[place].attach(node, number)

    def _written(self) -> set[int]:
        return {k for _, k in self.captured.writes}

    def _prologue(self) -> list:
        out = []
        for item in self.captured.prologue:
            value = item.run()
            if item.kind == "effect":
                out.append(None)
                continue
            array = np.asarray(value, item.type.dtype.np).reshape(item.type.shape)
            out.append(Tensor._from_array(array, item.type))
        return out

    def _hand_out(self, arrays, args, tensors):
        captured = self.captured
        storages = [Storage(a) for a in arrays[: captured.fresh]]
        outs = [self._out(o, storages, args, tensors) for o in captured.outs]
        for ref, place in captured.grads:
            owner = ref()
            if owner is not None:
                owner._grad = None if place is None else outs[place]
        return outs, rebuild(captured.result, outs)

    def _out(self, out: Out, storages, args, tensors) -> Tensor:
        if out.kind == "arg":
            return args[out.key]
        if out.kind == "other":
            return out.key()
        if out.kind in ("input", "view"):
            base = tensors[out.key] if out.key in tensors else self.sources[out.key].key()
            if out.kind == "input":
                return base
            t = Tensor._from_storage(base.storage, out.type, base if base._root is None else base._root,
                                     (*base._chain, *out.chain))
        else:
            t = out.cls._bare()
            t.storage, t.type, t._chain = storages[out.key], out.type, out.chain
            if out.chain:
                t._root = Tensor._from_storage(t.storage, out.chain[0][2])
        if out.requires_grad:
            t.attach(_SPENT, 0)
        return t


def contiguous(t: Tensor | None, type) -> Tensor:
    """t in row-major memory; zeros if there is none."""
    if t is None:
        return Tensor._from_array(np.zeros(type.shape, type.dtype.np), type)
    if t.is_contiguous():
        return t
    return Tensor._from_array(np.ascontiguousarray(t.nd), t.type)


_SPENT = TapeNode(copy, {}, (), None, ())  # backward ran inside the call


def _checked(source: Source, t: Tensor | None) -> Tensor:
    if t is None or t.type is not source.type:
        raise Stale
    if t.storage.pending is not None:
        t.storage.pending.flush()
    contiguous = t._nd is None and not t._chain or t.is_contiguous()
    if contiguous != (source.strides is None) or (not contiguous and t._strides() != source.strides):
        raise Stale
    return t


def _address(t: Tensor) -> int:
    """The address of t's first element."""
    if not t._chain and t._root is None:
        return t.storage.address
    return t.nd.__array_interface__["data"][0]
