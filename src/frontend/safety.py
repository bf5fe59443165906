"""Effects and errors of data in a replay: nothing is written before all that may fail has been looked at.

Indices that come straight from inputs are checked before the program runs; where something else may fail,
the program writes to memory of its own and its results are copied over the inputs when it has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..ir.graph import Graph, Node
from ..ir.interpret import run_numpy
from ..ir.op import Kind
from ..ir.ops.gather import At

_PASSIVE = (Kind.MOVE, Kind.CREATE)


class WouldFail(Exception):
    """A check of this call's data fails; nothing has been done yet."""


@dataclass(frozen=True, slots=True)
class Checks:
    """`graph` gives the index tensors, each to lie in 0..size-1; `inputs` numbers the placeholders it needs."""

    graph: Graph
    sizes: tuple[int, ...]
    inputs: tuple[int, ...]

    def passes(self, arrays: Sequence[np.ndarray]) -> bool:
        for index, size in zip(run_numpy(self.graph, arrays), self.sizes, strict=True):
            if index.size and (index.min() < 0 or index.max() >= size):
                return False
        return True


def may_fail(graph: Graph) -> list[Node]:
    """The nodes that look at data and may raise."""
    return [n for n in graph.nodes if n.opcode == "call_function"
            and n.target.kind in (Kind.GATHER, Kind.SCATTER, Kind.LIBRARY)]


def index_operands(node: Node) -> list[tuple[Node, int]]:
    """(index tensor, size of the dim it points into) of a gather or scatter."""
    if node.target.kind is Kind.LIBRARY:
        return []
    shapes = tuple(a.type.shape for a in node.args)
    emit, over = node.target.emit, node.type
    if node.target.kind is Kind.SCATTER:
        emit, over = emit[0], node.args[-1].type if node.args[1].type.dtype.kind in "iu" else node.args[1].type
    places = emit((0,) * over.ndim, shapes, **dict(node.attrs))
    return [(node.args[p.operand], shapes[0][d]) for d, p in enumerate(places) if isinstance(p, At)]


def early_checks(graph: Graph) -> Checks | None:
    """The checks to run first, or None if some depend on more than inputs and cheap integer ops."""
    wanted: dict[tuple[Node, int], None] = {}
    early: dict[Node, bool] = {}
    for n in graph.nodes:
        early[n] = n.opcode == "placeholder" or (
            n.opcode == "call_function" and not isinstance(n.type, tuple)
            and (n.target.kind in _PASSIVE
                 or (n.target.kind is Kind.ELEMENTWISE and n.type.dtype.kind in "biu"))
            and all(early[a] for a in n.inputs))
    for n in may_fail(graph):
        if n.target.kind is Kind.LIBRARY:
            return None
        for index, size in index_operands(n):
            if not early[index]:
                return None
            wanted[index, size] = None
    needed = _ancestors([i for i, _ in wanted])
    nodes = [n for n in graph.nodes if n in needed]
    inputs = tuple(k for k, p in enumerate(graph.placeholders) if p in needed)
    return Checks(Graph(nodes, [i for i, _ in wanted], "checks"), tuple(s for _, s in wanted), inputs)


def _ancestors(nodes) -> set[Node]:
    found, stack = set(), list(nodes)
    while stack:
        n = stack.pop()
        if n not in found:
            found.add(n)
            stack.extend(n.inputs)
    return found


class Checked:
    """A launcher whose calls look at their indices before anything is written."""

    def __init__(self, launcher, checks: Checks, types, layouts, array_at):
        self.launcher, self.checks, self.array_at = launcher, checks, array_at
        self.lease = launcher.lease
        self.views = [(k, types[k], layouts[k]) for k in checks.inputs]

    def look(self, lease) -> None:
        """WouldFail, before anything is done, if an index is out of range."""
        arrays = [self.array_at(lease.view[k], t, s) for k, t, s in self.views]
        if not self.checks.passes(arrays):
            self.launcher.give_back(lease)
            raise WouldFail

    def run(self, lease):
        """The outputs."""
        return self.launcher.run(lease)

    def __call__(self, addresses):
        lease = self.lease()
        for k, address in enumerate(addresses):
            lease.view[k] = address
        self.look(lease)
        return self.run(lease)


class Committing:
    """A launcher that writes to fresh memory, copied over the inputs when all has gone well."""

    def __init__(self, launcher, writes, types, layouts, array_at):
        self.launcher, self.array_at = launcher, array_at
        self.lease = launcher.lease
        self.writes = [(k, i, types[i], layouts[i]) for k, i in writes]

    def look(self, lease) -> None:
        """Nothing can be said beforehand."""

    def run(self, lease):
        """The outputs; those that go over an input are None and done."""
        targets = [(k, self.array_at(lease.view[i], t, s)) for k, i, t, s in self.writes]
        results = self.launcher.run(lease)
        for k, target in targets:
            np.copyto(target, results[k])
            results[k] = None
        return results

    def __call__(self, addresses):
        lease = self.lease()
        for k, address in enumerate(addresses):
            lease.view[k] = address
        return self.run(lease)
