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
        self._stamp: object = None  # marks `_addresses`: the held inputs' addresses as of some rebind
        self._rebinds = -1
        self._addresses: list[tuple[int, int]] = []
        self._held = [(k, s) for k, s in enumerate(self.sources) if s.kind == "held"]
        self._held_refs = [s.key for _, s in self._held]
        self._moving = [(k, s) for k, s in enumerate(self.sources) if s.kind not in ("held", "prologue")]
        self._made = [(k, s) for k, s in enumerate(self.sources) if s.kind == "prologue"]
        self._written = {k for _, k in captured.writes}

    def valid(self) -> bool:
        """Whether held tensors live, have their type and layout, and `.grad`s are there as before."""
        for ref, there in self.captured.grad_guards:
            owner = ref()
            if owner is None or (owner._grad is not None) is not there:
                return False
        if self._rebinds == rebinds[0]:
            for ref in self._held_refs:
                if ref() is None:
                    return False
            return True
        try:
            self._refresh()
        except Stale:
            return False
        return True

    def _refresh(self) -> None:
        self._addresses = [(k, _address(_checked(s, s.key()))) for k, s in self._held]
        self._rebinds, self._stamp = rebinds[0], object()

    def __call__(self, args: list[Tensor]) -> Any:
        """The result of the call, with all its effects."""
        captured = self.captured
        self.calls += 1
        lease = self.executable.lease()
        view = lease.view
        if lease.stamp is not self._stamp:
            for k, address in self._addresses:
                view[k] = address
            lease.stamp = self._stamp
        tensors: dict[int, Tensor] = {}  # whatever the addresses point into stays until the end
        for k, source in self._moving:
            t = source.find(args)
            if source.kind == "constant" and k in self._written:
                t = t.clone()
            tensors[k] = t
            view[k] = _address(_checked(source, t))
        self.executable.look(lease)  # may refuse: nothing has been drawn or written yet
        if captured.prologue:
            made = self._prologue()
            for k, source in self._made:
                tensors[k] = made[source.key]
                view[k] = tensors[k].storage.address
        arrays = self.executable.run(lease)
        for _, k in captured.writes:
            self._input(k, tensors).storage.version += 1
        outs, result = self._hand_out(arrays, args, tensors)
        if captured.joint is not None:
            self._leave_tape(arrays, outs, tensors)
        return result

    def _input(self, k: int, tensors: dict) -> Tensor:
        return tensors[k] if k in tensors else self.sources[k].key()

    def _leave_tape(self, arrays, outs, tensors) -> None:
        """One tape node for the whole call."""
        joint = self.captured.joint
        first = len(arrays) - len(joint.saved_nodes)
        node = CompiledBackward(joint, [self._input(k, tensors) for k in joint.saved_inputs],
                                arrays[first:], [self._input(k, tensors).edge() for k in joint.wanted])
        for number, place in enumerate(joint.roots):
            outs[place].attach(node, number)

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
            base = self._input(out.key, tensors)
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
