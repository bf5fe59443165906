"""A compiled forward whose backward is outside: the tape is walked symbolically at the recording, giving
a second graph; each replay leaves one tape node that runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir.graph import Builder, Graph, Node
from .autograd import run
from .errors import Refused
from .interpreter import current
from .partial import restrict
from .recorder import Recorder
from .tape import FREED, TapeNode, _sequence, check_version
from .tensor import Tensor
from .tree import tensors_of


@dataclass(slots=True)
class Joint:
    """roots: places among the results that take cotangents; wanted: inputs that get gradients."""

    mark: int
    roots: tuple[int, ...]
    root_types: tuple
    wanted: tuple[int, ...]
    saved_nodes: list[Node]
    saved_inputs: tuple[int, ...]
    backward: Graph  # (saved values, saved inputs, cotangents) -> gradients
    handed_out: tuple[int, ...]  # fresh results whose values are saved
    executable: Any = None
    build: Any = None  # graph -> executable
    parts: dict = field(default_factory=dict)  # results gone back from -> (executable, gradients it gives)

    def part(self, asked: frozenset[int]) -> tuple:
        """The backward of some of the results, built when first asked for."""
        if len(asked) == len(self.roots):
            return self.executable, range(len(self.wanted))
        if asked not in self.parts:
            seeds = self.backward.placeholders[-len(self.roots):]
            graph, there = restrict(self.backward, {s for k, s in enumerate(seeds) if k not in asked})
            self.parts[asked] = self.build(graph), there
        return self.parts[asked]


def live_roots(value) -> list[Tensor]:
    """The tensors of a result from which a later backward can start."""
    return [t for t in dict.fromkeys(tensors_of(value))
            if t.requires_grad and t._fn is not None and not _spent(t._fn)]


def _spent(start) -> bool:
    """Whether a backward from here finds something already freed."""
    seen, stack = set(), [start]
    while stack:
        node = stack.pop()
        if node in seen or not isinstance(node, TapeNode):
            continue
        if node.saved is None:
            return True
        seen.add(node)
        stack.extend(e[0] for e in node.edges if e is not None)
    return False


def tape_storages(roots: list[Tensor]) -> set:
    """The storages that the tape behind `roots` keeps."""
    found: set = set()
    seen, stack = set(), [t._fn for t in roots]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, TapeNode):
            found.update(s[0].storage for s in (*(node.saved or ()), *node.saved_out)
                         if type(s) is tuple)
        stack.extend(e[0] for e in node.edges if e is not None)
    return found


def capture_joint(recorder: Recorder, roots: list[Tensor], places: dict[int, int], fresh) -> Joint | None:
    """The backward of computed results as a graph, or None if nothing of them can be differentiated."""
    if not roots:
        return None
    _no_hooks_inside(roots, recorder)
    inputs = [(k, i.tensor) for k, i in enumerate(recorder.inputs) if i.tensor.requires_grad]
    edges = {t.edge(): k for k, t in inputs}
    mark = len(recorder.builder.nodes)
    seeds = [recorder.pending(recorder.builder.placeholder(t.type, "cotangent")) for t in roots]
    captures: dict = dict.fromkeys(edges)
    saved, current.recorder = current.recorder, recorder
    try:
        run(roots, seeds, True, False, captures, {e[0] for e in edges}, hooks=False, first=recorder.first)
    except RuntimeError as error:  # a saved tensor was written: what `.backward()` will say, if it is called
        del recorder.builder.nodes[mark:]
        raise Refused(f"its backward fails: {str(error).splitlines()[0]}") from None
    finally:
        current.recorder = saved
    found = [(k, captures[e]) for e, k in edges.items() if captures[e] is not None]
    nodes = [recorder.node_of(g) for _, g in found]
    joint = _split(recorder, mark, roots, seeds, [k for k, _ in found], nodes, places)
    joint.handed_out = tuple(k for k, n in enumerate(fresh) if n in joint.saved_nodes)
    del recorder.builder.nodes[mark:]  # the call itself is the forward only
    return joint


def _no_hooks_inside(roots, recorder) -> None:
    stop = {i.tensor.edge()[0] for i in recorder.inputs if i.tensor.requires_grad}
    seen, stack = set(), [t._fn for t in roots]
    while stack:
        node = stack.pop()
        if node in seen or node in stop:
            continue
        seen.add(node)
        if node.tensor_hooks or node.retained or node.hooks:
            raise Refused("a hook or retain_grad on a tensor made inside the call, whose backward is outside")
        stack.extend(e[0] for e in node.edges if e is not None)


def _split(recorder, mark, roots, seeds, wanted, grads, places) -> Joint:
    nodes = recorder.builder.nodes
    place = {n: i for i, n in enumerate(nodes)}
    later = nodes[mark:]
    used = dict.fromkeys(a for n in later for a in n.inputs if place[a] < mark)
    used.update(dict.fromkeys(g for g in grads if place[g] < mark))
    number = {i.node: k for k, i in enumerate(recorder.inputs)}
    saved = [n for n in used if n not in number]
    saved_inputs = [n for n in used if n in number]
    builder = Builder()
    new = {n: builder.placeholder(n.type, "saved") for n in saved}
    new |= {n: builder.placeholder(n.type, "input") for n in saved_inputs}
    new |= {recorder.node_of(s): builder.placeholder(s.type, "cotangent") for s in seeds}
    for n in later:
        if n not in new:
            args = tuple(new[a] if type(a) is Node else a for a in n.args)
            new[n] = Node(n.opcode, n.name, n.target, args, n.attrs, n.type, n.line)
            builder.nodes.append(new[n])
    graph = Graph(builder.nodes, [new[g] for g in grads], "backward")
    return Joint(mark, tuple(places[id(t)] for t in roots), tuple(t.type for t in roots), tuple(wanted),
                 saved, tuple(number[n] for n in saved_inputs), graph, ())


class CompiledBackward(TapeNode):
    """The tape node of one replayed forward."""

    __slots__ = ("asked", "done", "inputs", "joint", "results", "versions")

    def __init__(self, joint: Joint, inputs: list[Tensor], arrays: list[np.ndarray], edges, results):
        self.joint, self.edges, self.saved, self.saved_out = joint, tuple(edges), tuple(arrays), ()
        self.inputs = tuple(inputs)
        self.versions = tuple(t.storage.version for t in inputs)
        self.asked: set[int] = set()  # the roots that the last walk came from
        self.done: set[int] = set()  # those that are freed; each may be gone back from once
        self.results = tuple((s, s.version, t) for s, t in results)
        self.out_types, self.attrs, self.op = joint.root_types, {}, None
        self.order = next(_sequence)
        self.tensor_hooks = self.retained = self.hooks = None

    def name(self) -> str:
        return "CompiledFunctionBackward"

    def release(self) -> None:
        self.done |= self.asked
        if len(self.done) < len(self.out_types):
            return
        self.saved = None
        self.inputs = self.results = ()

    def pull(self, cotangents: list) -> list:
        from .replay import _address, contiguous
        from .tape import modes
        from .tensor import from_array

        self.asked = {k for k, g in enumerate(cotangents) if g is not None}
        if self.saved is None or self.asked & self.done:
            raise RuntimeError(FREED)
        if modes.grad:
            raise RuntimeError("a compiled function was differentiated twice: create_graph=True is not "
                               "supported through treadle.compile; call the function uncompiled")
        for t, version in zip(self.inputs, self.versions, strict=True):
            check_version(t.storage, version, t.type)
        for storage, version, type in self.results:
            check_version(storage, version, type)
        have = [*cotangents, *[None] * (len(self.out_types) - len(cotangents))]
        gs = [contiguous(g, t) for g, t in zip(have, self.out_types, strict=True)]
        saved = [from_array(a) for a in self.saved]
        operands = [*saved, *(contiguous(t, t.type) for t in self.inputs), *gs]
        executable, there = self.joint.part(frozenset(self.asked))
        grads: list = [None] * len(self.joint.wanted)
        for k, a in zip(there, executable([_address(t) for t in operands]), strict=True):
            grads[k] = from_array(a)
        return grads
