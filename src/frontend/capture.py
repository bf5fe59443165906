"""What a recorded call was: its graph, where inputs come from, and what a replay must leave behind."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from typing import Any

from ..ir.graph import Graph
from ..ir.type import TensorType
from ..runtime.storage import Storage
from .errors import Refused
from .joint import capture_joint, live_roots, tape_storages
from .recorder import Prologue, Recorder
from .tensor import Tensor
from .tree import template


@dataclass(frozen=True, slots=True)
class Source:
    """Where an input comes from: 'arg' by position, 'held' by weak reference, 'grad' of a held tensor,
    'constant', or 'prologue' by number."""

    kind: str
    key: Any
    type: TensorType
    strides: tuple[int, ...] | None  # None when contiguous

    def find(self, args):
        if self.kind == "arg":
            return args[self.key]
        if self.kind == "held":
            return self.key()
        if self.kind == "grad":
            owner = self.key()
            return None if owner is None else owner._grad
        return self.key


@dataclass(frozen=True, slots=True)
class Out:
    """One tensor a replay hands out: 'fresh' over output `key`, or the input `key` itself or a view of it."""

    kind: str  # 'fresh' | 'input' | 'other'
    key: Any
    type: TensorType
    chain: tuple = ()
    requires_grad: bool = False
    cls: type = Tensor


@dataclass(slots=True)
class Captured:
    graph: Graph
    sources: tuple[Source, ...]
    writes: tuple[tuple[int, int], ...]  # (output, input) stored over the input's memory
    outs: tuple[Out, ...]
    result: Any  # template over `outs`
    grads: tuple[tuple[weakref.ref, int | None], ...]  # (tensor, its new .grad among `outs`)
    grad_guards: tuple[tuple[weakref.ref, bool], ...]  # (tensor, whether .grad was there)
    prologue: tuple[Prologue, ...]
    fresh: int  # outputs 0..fresh-1 are new memory
    joint: Any = None  # how to go back through this call (joint.Joint), if backward is outside

    def changed_grads(self) -> str | None:
        """Names a `.grad` that is not there (or there) as it was when the call began."""
        for ref, there in self.grad_guards:
            owner = ref()
            if owner is not None and (owner._grad is not None) is not there:
                return f"the .grad of a {owner.type} tensor"
        return None


class _Places:
    """Numbers the tensors handed out and the storages they stand on."""

    def __init__(self, recorder: Recorder, args: list[Tensor], number: dict[int, int]):
        self.recorder, self.number = recorder, number
        self.args = {id(t): i for i, t in enumerate(args)}
        self.outs: list[Out] = []
        self.seen: dict[int, int] = {}
        self.storages: dict[Storage, int] = {}

    def __call__(self, t: Tensor) -> int:
        if id(t) not in self.seen:
            self.seen[id(t)] = len(self.outs)
            self.outs.append(self._out(t))
        return self.seen[id(t)]

    def _out(self, t: Tensor) -> Out:
        root = self.recorder.root(t.storage)
        spent = t.requires_grad and not t.is_leaf
        if id(t) in self.args:
            return Out("arg", self.args[id(t)], t.type)
        if root is None:
            return Out("other", weakref.ref(t), t.type)
        if root.lifted:
            if t is root.tensor and root.tensor is not None:
                return Out("input", self.number[id(root.tensor)], t.type)
            return Out("view", self.number[id(root.tensor)], t.type, t._chain[root.depth:], spent)
        place = self.storages.setdefault(t.storage, len(self.storages))
        return Out("fresh", place, t.type, t._chain, spent, type(t))


def capture(recorder: Recorder, result, args: list[Tensor]) -> Captured:
    """The call as one graph; Refused if something of it escapes."""
    number = {id(i.tensor): k for k, i in enumerate(recorder.inputs)}
    places = _Places(recorder, args, number)
    spec = template(result, places)
    grads = []
    for touched in recorder.grads.values():
        after = touched.owner._grad
        if after is not touched.before or not touched.read:
            grads.append((weakref.ref(touched.owner), None if after is None else places(after)))
    _no_leaks(recorder, places, tape_storages(live_roots(result)))
    written = recorder.written()
    fresh = [s.root.value for s in places.storages]
    outputs = [*fresh, *(r.value for r in written)]
    joint = capture_joint(recorder, result, places.seen)
    if joint is not None:
        outputs += joint.saved_nodes
    writes = tuple((len(fresh) + k, number[id(r.tensor)]) for k, r in enumerate(written))
    return Captured(
        Graph(recorder.builder.nodes[: joint.mark if joint else None], outputs, "step"), _sources(recorder, args), writes,
        tuple(places.outs), spec, tuple(grads),
        tuple((weakref.ref(g.owner), g.before is not None) for g in recorder.grads.values() if g.read),
        tuple(recorder.prologue), len(fresh), joint,
    )


def _no_leaks(recorder: Recorder, places: _Places, tape: set[Storage]) -> None:
    """Refused if a tensor computed in the call is held by Python outside of what is handed out."""
    def leaks():
        return [s for s in recorder.alive() if s not in places.storages and s not in tape]

    if leaks():
        gc.collect()  # a cycle is no holder
    left = leaks()
    if left:
        node = left[0].root.value
        raise Refused(f"a tensor computed in the call is kept outside of it: %{node.name} of {node.line}")


def _sources(recorder: Recorder, args: list[Tensor]) -> tuple[Source, ...]:
    by_arg = {id(t): i for i, t in enumerate(args)}
    by_grad = {id(g.before): g.owner for g in recorder.grads.values() if g.before is not None}
    out = []
    for i in recorder.inputs:
        t = i.tensor
        strides = None if t.is_contiguous() else t._strides()
        if i.prologue is not None:
            out.append(Source("prologue", i.prologue, t.type, None))
        elif id(t) in by_arg:
            out.append(Source("arg", by_arg[id(t)], t.type, strides))
        elif id(t) in by_grad:
            out.append(Source("grad", weakref.ref(by_grad[id(t)]), t.type, strides))
        elif i.constant:
            out.append(Source("constant", t, t.type, strides))
        else:
            out.append(Source("held", weakref.ref(t), t.type, strides))
    return tuple(out)
