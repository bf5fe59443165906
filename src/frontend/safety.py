"""Effects and errors of data in a replay: nothing is written before all that may fail has been looked at.

Indices that come straight from inputs are checked before the program runs; where something else may fail,
the program writes to memory of its own and its results are copied over the inputs when it has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..ir.graph import Builder, Graph, Node
from ..ir.interpret import run_numpy
from ..ir.op import Kind
from ..ir.keys import attrs_key
from ..ir.ops.gather import At
from .intervals import intervals
from ..ir.passes.inline import inline

CHECKED = (Kind.GATHER, Kind.SCATTER, Kind.COMPOSITE)  # ops that may look at indices
SIMPLE = (Kind.MOVE, Kind.CREATE, Kind.ELEMENTWISE, Kind.REDUCE)  # looked through for the values of indices
_PASSIVE = (Kind.MOVE, Kind.CREATE)


class WouldFail(Exception):
    """A check of this call's data fails; nothing has been written yet."""


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
    """The nodes that look at data and may raise: not those whose indices are known to be in range."""
    found = [n for n in graph.nodes if n.opcode == "call_function"
             and n.target.kind in (Kind.GATHER, Kind.SCATTER, Kind.LIBRARY)]
    known = intervals(graph) if found else {}
    return [n for n in found if n.target.kind is Kind.LIBRARY
            or not all(i in known and known[i].low >= 0 and known[i].high < size
                       for i, size in index_operands(n))]


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


_known: dict[tuple, Checks | None] = {}


def fails_now(op, values: tuple, attrs: dict, peek) -> bool:
    """Whether the op's indices are out of range; peek(tensor) gives their values, or None if unknown yet."""
    key = (op, tuple([v if isinstance(v, (int, float, complex)) else v.type for v in values]), attrs_key(
        tuple(sorted(attrs.items()))))
    if key not in _known:
        if len(_known) > 4096:
            _known.clear()
        _known[key] = _checks_of(op, values, attrs)
    checks = _known[key]
    if checks is None or not checks.sizes:
        return False
    tensors = [v for v in values if not isinstance(v, (int, float, complex))]
    arrays = [peek(tensors[k]) for k in checks.inputs]
    return all(a is not None for a in arrays) and not checks.passes(arrays)


def _checks_of(op, values: tuple, attrs: dict) -> Checks | None:
    """The early checks of one op, its operands being inputs."""
    builder = Builder()
    nodes = [v if isinstance(v, (int, float, complex)) else builder.placeholder(v.type, "x") for v in values]
    out = builder.emit(op, tuple(nodes), attrs,
                       op.infer(*[getattr(n, "type", n) for n in nodes], **attrs), None)
    graph = inline(Graph(builder.nodes, out if isinstance(out, tuple) else (out,), op.name))
    return early_checks(graph, partly=True)


def early_checks(graph: Graph, partly: bool = False) -> Checks | None:
    """The checks to run first, or None if some depend on more than inputs and cheap integer ops.

    `partly`: those are left out instead.
    """
    wanted: dict[tuple[Node, int], None] = {}
    early: dict[Node, bool] = {}
    for n in graph.nodes:
        early[n] = n.opcode == "placeholder" or (
            n.opcode == "call_function" and not isinstance(n.type, tuple)
            and (n.target.kind in _PASSIVE
                 or (n.target.kind is Kind.ELEMENTWISE and n.type.dtype.kind in "biu"))
            and all(early[a] for a in n.inputs))
    for n in may_fail(graph):
        if n.target.kind is Kind.LIBRARY and not partly:
            return None
        for index, size in index_operands(n):
            if early[index]:
                wanted[index, size] = None
            elif not partly:
                return None
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


class _Around:
    """A launcher with something done before or after its run; called with addresses like one."""

    def __call__(self, addresses):
        lease = self.lease()
        for k, address in enumerate(addresses):
            lease.view[k] = address
        self.look(lease)
        return self.run(lease)


class Checked(_Around):
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


class Trimmed(_Around):
    """A launcher with further outputs, which are there for their checks alone and are dropped."""

    def __init__(self, launcher, count: int):
        self.launcher, self.count = launcher, count
        self.lease, self.look, self.give_back = launcher.lease, launcher.look, launcher.give_back

    def run(self, lease):
        """The outputs that were asked for."""
        return self.launcher.run(lease)[: self.count]


def unread_checks(graph: Graph) -> list[Node]:
    """Nodes that may raise though nothing reads them; not those whose checks a live node makes too."""
    live = _ancestors(graph.outputs)
    made = {pair for n in may_fail(graph) if n in live for pair in index_operands(n)}
    out = []
    for n in may_fail(graph):
        pairs = index_operands(n)
        if n not in live and (not pairs or not made.issuperset(pairs)):
            made.update(pairs)
            out.append(n)
    return out


class Committing(_Around):
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
        try:
            results = self.launcher.run(lease)
        except Exception as error:
            raise WouldFail from error
        for k, target in targets:
            np.copyto(target, results[k])
            results[k] = None
        return results
