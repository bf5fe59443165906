"""What a recorded call was: its graph, where inputs come from, and what a replay must leave behind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir.graph import Graph
from ..ir.type import TensorType
from ..runtime.storage import Storage
from .errors import Refused
from .joint import capture_joint, live_roots, tape_storages
from .recorder import Prologue, Recorder, Root
from .tensor import Tensor
from .tree import template, tensors_of


@dataclass(frozen=True, slots=True)
class Source:
    """Where an input comes from: 'arg' by position, 'held' by weak reference, 'grad' of a held tensor,
    'constant', or 'prologue' by number."""

    kind: str
    key: Any
    type: TensorType
    strides: tuple[int, ...] | None  # None when contiguous
    requires_grad: bool = False
    hooks: tuple = ()

    def find(self, args):
        if self.kind == "arg":
            return args[self.key]
        if self.kind == "held":
            return self.key()
        if self.kind == "grad":
            owner = owner_of(self.key, args)
            return None if owner is None else owner._grad
        return self.key


def owner_of(key: int | weakref.ref, args: Sequence[Tensor]) -> Tensor | None:
    """The tensor whose `.grad` is meant: an argument by position, or one held elsewhere."""
    return args[key] if type(key) is int else key()


def grad_state(owner: Tensor) -> bool | None:
    """None without a `.grad`, else whether that requires grad."""
    return None if owner._grad is None else owner._grad.requires_grad


@dataclass(frozen=True, slots=True)
class Known:
    """What capture must know of the call: argument tensors, and what Python found elsewhere."""

    args: list[Tensor]
    found: list  # tensors and containers that guards refer to
    containers: list  # lists, dicts and dataclasses among the arguments

    def pins(self) -> dict[int, weakref.ref]:
        """Arguments that Python also found elsewhere: a replay wants the very same there."""
        ids = {id(t) for t in self.found}
        return {k: weakref.ref(t) for k, t in enumerate(self.args) if id(t) in ids}


@dataclass(frozen=True, slots=True)
class Out:
    """One tensor a replay hands out.

    'fresh' memory number `key`, or a view of it; the argument or input `key` itself; a 'view' of input
    `key`; one 'derived' from result `key` as its view; 'other', which the call did not touch.
    """

    kind: str
    key: Any
    type: TensorType
    chain: tuple = ()
    requires_grad: bool = False
    cls: type = Tensor
    detached: bool = False  # a view that does not share its base's history


@dataclass(slots=True)
class Captured:
    graph: Graph
    sources: tuple[Source, ...]
    writes: tuple[tuple[int, int], ...]  # (output, input) stored over the input's memory
    outs: tuple[Out, ...]
    result: Any  # template over `outs`
    grads: tuple[tuple[Any, int | None], ...]  # (owner, its new .grad among `outs`)
    grad_guards: tuple[tuple[Any, bool | None], ...]  # (owner, the state its .grad had)
    prologue: tuple[Prologue, ...]
    fresh: int  # outputs 0..fresh-1 are new memory
    joint: Any = None  # how to go back through this call (joint.Joint), if backward is outside
    pins: dict[int, weakref.ref] = field(default_factory=dict)  # arguments that must be these tensors
    apart: frozenset[int] = frozenset()  # ids of tensors that no other argument may be

    @property
    def moves(self) -> bool:
        """Whether the prologue draws random numbers or runs Python: not to be done twice."""
        return any(p.kind != "scalar" for p in self.prologue)

    def changed_grads(self, args: Sequence[Tensor] | None = None) -> str | None:
        """Names a `.grad` that is not as it was when the call began; without args, those held elsewhere."""
        for key, state in self.grad_guards:
            if args is None and type(key) is int:
                continue  # the next call may bring another tensor
            owner = owner_of(key, args or ())
            if owner is None or grad_state(owner) is not state:
                return "the .grad of a tensor" if owner is None else f"the .grad of a {owner.type} tensor"
        return None

    def grad_states(self) -> tuple:
        """The states that `.grad`s were in, comparable between calls."""
        return tuple((key if type(key) is int else id(key()), state) for key, state in self.grad_guards)

    def fits(self, args: Sequence[Tensor]) -> bool:
        """Whether arguments are also held elsewhere exactly where they were at the recording."""
        if not self.pins:
            return all(id(t) not in self.apart for t in args)
        return all(self.pins[k]() is t if k in self.pins else id(t) not in self.apart
                   for k, t in enumerate(args))


class _Places:
    """Numbers the tensors handed out and the storages they stand on."""

    def __init__(self, recorder: Recorder, known: Known, results: list[Tensor]):
        self.recorder, self.known = recorder, known
        self.args = {id(t): i for i, t in enumerate(known.args)}
        self.results = {id(t) for t in results}
        self.outs: list[Out] = []
        self.seen: dict[int, int] = {}
        self.storages: dict[Storage, int] = {}
        self.hidden: set[int] = set()  # bases that are not handed out, whose views are

    def __call__(self, t: Tensor) -> int:
        if id(t) not in self.seen:
            out = self._out(t)  # places its base first
            self.seen[id(t)] = len(self.outs)
            self.outs.append(out)
        return self.seen[id(t)]

    def number(self, t: Tensor) -> int:
        """Which input t is."""
        return next(k for k, i in enumerate(self.recorder.inputs) if i.tensor is t)

    def _out(self, t: Tensor) -> Out:
        if id(t) in self.args:
            return Out("arg", self.args[id(t)], t.type)
        root = self.recorder.root(t.storage)
        if root is None:
            if any(o is t for o in self.known.found):
                return Out("other", weakref.ref(t), t.type)
            root = self._lifted_for(t)
        return self._of_input(t, root) if root.lifted else self._fresh(t)

    def _lifted_for(self, t: Tensor) -> Root:
        """The root that t, which no op touched, is a constant or a view of."""
        base = t
        if t.storage not in self.recorder.constants:
            outside = [o for o in (*self.known.args, *self.known.found) if isinstance(o, Tensor)]
            base = next((o for o in outside
                         if o.storage is t.storage and t._chain[: len(o._chain)] == o._chain), None)
        if base is None:
            raise Refused("a tensor is returned that was neither computed in the call nor given to it")
        self.recorder.node_of(base)
        return self.recorder.root(t.storage)

    def _of_input(self, t: Tensor, root: Root) -> Out:
        source = root.tensor
        if t is source:
            if t.requires_grad and t.storage in self.recorder.constants:
                raise Refused("a leaf made in the call is returned")
            return Out("input", self.number(source), t.type)
        if t._chain[: root.depth] != root.chain:
            raise Refused("two views of one memory came in separately, and a third one is returned")
        chain = t._chain[root.depth:]
        base = source if source._root is None else source._root
        detached = (t if t._root is None else t._root) is not base
        if t.requires_grad and (detached or not chain or t.storage in self.recorder.constants):
            raise Refused("an input is returned under another history")
        return Out("view", self.number(source), t.type, chain, t.requires_grad, type(t), detached)

    def _fresh(self, t: Tensor) -> Out:
        if t.requires_grad and t.is_leaf:
            raise Refused("a leaf made in the call is returned")
        base = t._root
        if base is not None and id(base) in self.results:
            return Out("derived", self(base), t.type, t._chain, t.requires_grad, type(t))
        if base is not None and t.requires_grad:
            if id(base) in self.hidden:
                raise Refused("several views of one computed tensor are returned, but not that tensor")
            self.hidden.add(id(base))
        place = self.storages.setdefault(t.storage, len(self.storages))
        return Out("fresh", place, t.type, t._chain, t.requires_grad, type(t))


def capture(recorder: Recorder, result, known: Known) -> Captured:
    """The call as one graph; Refused if something of it escapes."""
    places = _Places(recorder, known, tensors_of(result))
    outside = {id(o) for o in (*known.found, *known.containers) if not isinstance(o, Tensor)}
    spec = template(result, places, outside)
    grads = []
    owners = {id(t): k for k, t in enumerate(known.args)}
    touched = [(owners.get(id(g.owner)), g) for g in recorder.grads.values()]
    touched = [(weakref.ref(g.owner) if key is None else key, g) for key, g in touched]
    for key, g in touched:
        after = g.owner._grad
        if after is not g.before or not g.read:
            grads.append((key, None if after is None else places(after)))
    _check_grads(recorder, known)
    _check_histories(recorder)
    _no_leaks(recorder, places, tape_storages(live_roots(result)))
    written = recorder.written()
    fresh = [s.root.value for s in places.storages]
    outputs = [*fresh, *(r.value for r in written)]
    joint = capture_joint(recorder, _fresh_roots(result, places), places.seen, fresh)
    if joint is not None:
        outputs += joint.saved_nodes
    writes = tuple((len(fresh) + k, places.number(r.tensor)) for k, r in enumerate(written))
    sources = _sources(recorder, known.args)
    held = {id(i.tensor) for i, s in zip(recorder.inputs, sources, strict=True) if s.kind == "held"}
    pins = known.pins()
    return Captured(
        Graph(recorder.builder.nodes[: joint.mark if joint else None], outputs, "step"), sources, writes,
        tuple(places.outs), spec, tuple(grads),
        tuple((key, None if g.before is None else g.before.requires_grad) for key, g in touched if g.read),
        tuple(recorder.prologue), len(fresh), joint, pins,
        frozenset(held.union(id(o) for o in known.found if isinstance(o, Tensor))),
    )


def _fresh_roots(result, places: _Places) -> list[Tensor]:
    """The results that the call computed and from which a later backward can start."""
    return [t for t in live_roots(result) if places.outs[places.seen[id(t)]].kind == "fresh"]


def _check_histories(recorder: Recorder) -> None:
    """Refused if an input has another history after the call: a replay leaves no such tape."""
    for root in recorder.lifted:
        t = root.tensor
        base = t if t._root is None else t._root
        if base._generation != root.generation and t.storage not in recorder.constants:
            raise Refused(f"a {t.type} tensor from outside is written in place under autograd")


def _check_grads(recorder: Recorder, known: Known) -> None:
    """Refused if a `.grad` is also another tensor that the call knows."""
    others = {id(t) for t in (*known.args, *known.found)}
    for g in recorder.grads.values():
        if g.before is None or not g.read:
            continue
        if id(g.before) in others:
            raise Refused("a .grad is also an argument, held elsewhere, or the .grad of two tensors")
        others.add(id(g.before))


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
            owner = by_grad[id(t)]
            key = by_arg.get(id(owner))
            out.append(Source("grad", weakref.ref(owner) if key is None else key, t.type, strides))
        elif i.constant:
            out.append(Source("constant", _snapshot(t), t.type, None))
        else:
            out.append(Source("held", weakref.ref(t), t.type, strides, t._requires_grad, hooks_of(t)))
    return tuple(out)


def _snapshot(t: Tensor) -> Tensor:
    """A copy of a constant as it was made: writes of the call are still pending."""
    return Tensor._from_array(np.array(t._view_of(t.storage.array), order="C"), t.type)


def hooks_of(t: Tensor) -> tuple:
    """The hooks on a leaf."""
    own = t.__dict__
    return tuple(k for name in ("_leaf_hooks", "_accumulate_hooks") for k in own.get(name, ()))
