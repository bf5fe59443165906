"""Replaying a captured call without its Python: inputs found, program run, effects put back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.ops import copy
from ..runtime.storage import Storage
from .capture import Captured, Out, Source, hooks_of, owner_of
from .grad_mode import set_grad_enabled
from .joint import CompiledBackward
from .memory import Union, clash, span
from .safety import WouldFail
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
        self._written = {k for _, k in captured.writes}
        self._held = [(k, s) for k, s in enumerate(self.sources) if s.kind == "held"]
        self._flags = [(s.key, s.requires_grad) for _, s in self._held]
        self._moving = [(k, s, k in self._written) for k, s in enumerate(self.sources)
                        if s.kind in ("arg", "grad")]
        self._constants = [(k, s) for k, s in enumerate(self.sources) if s.kind == "constant"]
        self._copied = self._written | {o.key for o in captured.outs if o.kind in ("input", "view")}
        self._made = [(k, s) for k, s in enumerate(self.sources) if s.kind == "prologue"]
        self._repeatable = not captured.writes and not captured.moves
        self._all_held = self._written_held = Union(())

    def valid(self, args) -> bool:
        """Whether held tensors live, have their type and layout, and `.grad`s are there as before."""
        captured = self.captured
        if captured.apart and not captured.fits(args):
            return False
        if captured.grad_guards and captured.changed_grads(args) is not None:
            return False
        for ref, flag in self._flags:
            t = ref()
            if t is None or t._requires_grad is not flag:
                return False
        try:
            if self._rebinds != rebinds[0]:
                self._refresh()
        except Stale:
            return False
        return True

    def _refresh(self) -> None:
        tensors = [(k, s, _checked(s, s.key())) for k, s in self._held]
        if any(hooks_of(t) != s.hooks for _, s, t in tensors):
            raise Stale
        self._addresses = [(k, _address(t)) for k, _, t in tensors]
        self._place()
        self._rebinds, self._stamp = rebinds[0], object()

    def _place(self) -> None:
        """Where held inputs lie, if some input is written."""
        if not self._written:
            return
        spans = [(*span(a, self.sources[k].type, self.sources[k].strides), k in self._written)
                 for k, a in self._addresses]
        if clash(spans):
            raise Stale
        self._all_held = Union((low, high) for low, high, _ in spans)
        self._written_held = Union((low, high) for low, high, written in spans if written)

    def _found(self, args: list[Tensor], tensors: dict[int, Tensor]) -> list[tuple[int, int]]:
        """The addresses of arguments, `.grad`s and constants; Stale if they are not as they were."""
        addresses, spans = [], []
        for k, source, written in self._moving:
            t = tensors[k] = _checked(source, source.find(args))
            address = _address(t)
            addresses.append((k, address))
            if self._written:
                low, high = span(address, source.type, source.strides)
                spans.append((low, high, written))
                if (self._all_held if written else self._written_held).touches(low, high):
                    raise Stale
        if len(spans) > 1 and clash(spans):
            raise Stale
        for k, source in self._constants:
            t = tensors[k] = source.key.clone() if k in self._copied else source.key
            addresses.append((k, _address(t)))
        return addresses

    def __call__(self, args: list[Tensor]) -> Any:
        """The result of the call, with all its effects; Stale or WouldFail before anything is done."""
        captured = self.captured
        tensors: dict[int, Tensor] = {}  # whatever the addresses point into stays until the end
        found = self._found(args, tensors)
        lease = self.executable.lease()
        view = lease.view
        if lease.stamp is not self._stamp:
            for k, address in self._addresses:
                view[k] = address
            lease.stamp = self._stamp
        for k, address in found:
            view[k] = address
        self.executable.look(lease)  # may refuse: nothing has been drawn or written yet
        self.calls += 1
        if captured.prologue:
            made = self._prologue()
            for k, source in self._made:
                tensors[k] = made[source.key]
                view[k] = tensors[k].storage.address
        arrays = self._run(lease)
        for _, k in captured.writes:
            self._input(k, tensors).storage.version += 1
        return self._hand_out(arrays, args, tensors)

    def _run(self, lease):
        try:
            return self.executable.run(lease)
        except Exception as error:
            if self._repeatable:
                raise WouldFail from error
            raise

    def _input(self, k: int, tensors: dict) -> Tensor:
        return tensors[k] if k in tensors else self.sources[k].key()

    def _leave_tape(self, arrays, outs, tensors, storages) -> None:
        """One tape node for the whole call."""
        joint = self.captured.joint
        first = len(arrays) - len(joint.saved_nodes)
        node = CompiledBackward(joint, [self._input(k, tensors) for k in joint.saved_inputs],
                                arrays[first:], [self._input(k, tensors).edge() for k in joint.wanted],
                                [(storages[k], self.captured.graph.outputs[k].type) for k in joint.handed_out])
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
        outs: list[Tensor] = []
        late = []
        for place, o in enumerate(captured.outs):
            if o.kind == "derived":
                late.append(place)
            outs.append(self._out(o, storages, args, tensors) if o.kind != "derived" else None)
        if captured.joint is not None:
            self._leave_tape(arrays, outs, tensors, storages)
        for place in late:
            o = captured.outs[place]
            outs[place] = _view(outs[o.key], o)
        for key, place in captured.grads:
            owner = owner_of(key, args)
            if owner is not None:
                owner._grad = None if place is None else outs[place]
        return rebuild(captured.result, outs)

    def _out(self, out: Out, storages, args, tensors) -> Tensor:
        if out.kind == "arg":
            return args[out.key]
        if out.kind == "other":
            return out.key()
        if out.kind in ("input", "view"):
            base = self._input(out.key, tensors)
            return base if out.kind == "input" else _view(base, out)
        t = out.cls._bare()
        t.storage, t.type, t._chain = storages[out.key], out.type, out.chain
        if out.chain:
            t._root = Tensor._from_storage(t.storage, out.chain[0][2])
        if out.requires_grad:
            t.attach(_SPENT, 0)
        return t


def _view(base: Tensor, out: Out) -> Tensor:
    """`out` as a view of `base`, on the tape where it was at the recording."""
    if out.requires_grad:
        t = base
        with set_grad_enabled(True):
            for op, attrs, _ in out.chain:
                t = op(t, **attrs)
        return t
    root = base if base._root is None else base._root
    if out.detached:
        root = root.shell()
        if not base._chain and not out.chain:
            return root.shell(out.cls)
    t = out.cls._bare()
    t.storage, t.type, t._chain = base.storage, out.type, (*base._chain, *out.chain)
    t._root, t._generation = root, root._generation
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
