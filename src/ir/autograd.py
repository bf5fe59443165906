"""The one reverse walk: serves `.backward()` on the tape and `pullback` on a graph.

A gradient rule is called in one place only, `apply_rules`.
"""

from __future__ import annotations

import heapq
from typing import Any, Protocol

from .arith import defaults
from .graph import Builder, Graph, Node
from .keys import attrs_key
from .op import Kind, Op, is_variadic, rule_for


class Tape(Protocol):
    """What the walk needs of a recorded computation."""

    def order(self, node) -> int:
        """Grows from producers to consumers."""

    def edges(self, node) -> tuple:
        """Per operand (producer, output number), or None where no gradient goes."""

    def pull(self, node, cotangents: list) -> list:
        """Per operand its cotangent or None."""

    def add(self, a, b):
        """The sum of two cotangents."""


def reverse_walk(tape: Tape, seeds) -> None:
    """Pulls cotangents from seeds [(node, output number, cotangent)] to all producers.

    A node is visited once, after all its consumers; what each leaf receives is the tape's business.
    """
    waiting: dict[Any, list] = {}
    heap: list[tuple[int, int, Any]] = []

    def give(node, number, g):
        slots = waiting.get(node)
        if slots is None:
            slots = waiting[node] = []
            heapq.heappush(heap, (-tape.order(node), id(node), node))
        while len(slots) <= number:
            slots.append(None)
        slots[number] = g if slots[number] is None else tape.add(slots[number], g)

    for node, number, g in seeds:
        give(node, number, g)
    while heap:
        node = heapq.heappop(heap)[2]
        edges = tape.edges(node)
        for edge, g in zip(edges, tape.pull(node, waiting.pop(node)), strict=False):
            if edge is not None and g is not None:
                give(*edge, g)


def apply_rules(op: Op, attrs: dict, g, y, xs, wanted) -> list:
    """The cotangent of each operand in `wanted`, None for the others; g and y are tuples if op has several outputs."""
    if op.kind is Kind.COMPOSITE and op.vjp is None:
        return _through_body(op, attrs, g, xs, wanted)
    if is_variadic(op):
        pull = op.vjp.pull
        return [pull(g, y, k, *xs, **attrs) if want else None for k, want in enumerate(wanted)]
    out, shared = [], None
    for k, want in enumerate(wanted):
        row = rule_for(op, k) if want else None
        if row is None:
            out.append(None)
        elif row.joint:
            shared = row.pull(g, y, *xs, **attrs) if shared is None else shared
            out.append(shared[k])
        else:
            out.append(row.pull(g, y, *xs, **attrs))
    return out


def has_rule(op: Op, operand: int) -> bool:
    if op.kind is Kind.COMPOSITE and op.vjp is None:
        return True
    return rule_for(op, operand) is not None


# pullback of a graph -------------------------------------------------------------------------------
class _GraphTape:
    def __init__(self, graph: Graph, values: dict, needed: set):
        self.place = {n: i for i, n in enumerate(graph.nodes)}
        self.values, self.needed, self.received = values, needed, {}

    def order(self, node):
        return self.place[node]

    def edges(self, node):
        if node.opcode != "call_function":
            return ()
        return tuple((a, 0) if type(a) is Node and a in self.needed else None for a in node.args)

    def pull(self, node, cotangents):
        if node.opcode != "call_function":
            self.received[node] = cotangents[0]
            return []
        op, attrs = node.target, dict(node.attrs)
        xs = tuple(self.values[a] if type(a) is Node else a for a in node.args)
        if op.kind is Kind.PROJECT:
            return [_spread_tuple(cotangents[0], attrs["index"], node.args[0].type)]
        y, g = self.values[node], cotangents[0]
        if isinstance(node.type, tuple):
            g = _fill(g, node.type)
        wanted = [type(a) is Node and a in self.needed for a in node.args]
        return apply_rules(op, attrs, g, y, xs, wanted)

    def add(self, a, b):
        if isinstance(a, tuple):
            return tuple(p if q is None else q if p is None else p + q for p, q in zip(a, b, strict=True))
        return a + b


def _spread_tuple(g, index, types):
    return tuple(g if i == index else None for i in range(len(types)))


def _fill(gs, types):
    """Zeros for the outputs nothing asked about."""
    from .ops.elementwise import full_as

    return tuple(full_as(t, 0) if g is None and t.dtype.is_differentiable else g
                 for g, t in zip(gs, types, strict=True))


def differentiable(t) -> bool:
    return any(map(differentiable, t)) if isinstance(t, tuple) else t.dtype.is_differentiable


def needed_nodes(graph: Graph, wanted: set[Node]) -> set[Node]:
    """The nodes through which a gradient can reach `wanted`."""
    needed = set(wanted)
    for n in graph.nodes:
        if n.opcode == "call_function" and differentiable(n.type) and any(
            a in needed and (n.target.kind is Kind.PROJECT or has_rule(n.target, k))
            for k, a in enumerate(n.args) if type(a) is Node
        ):
            needed.add(n)
    return needed


def pullback(graph: Graph, wanted: tuple[int, ...]) -> Graph:
    """The graph of (inputs, output cotangents) -> cotangents of the inputs numbered in `wanted`.

    What the rules need of the forward is computed again; a caller that has it lets `dedupe` share it.
    """
    from .dispatch import using
    from .interpret import evaluate

    builder = Builder()
    with using(builder):
        inputs = [builder.placeholder(p.type, p.name) for p in graph.placeholders]
        values = evaluate(graph, inputs)
        seeds = [builder.placeholder(o.type, "g") for o in graph.outputs]
        targets = {graph.placeholders[i] for i in wanted}
        tape = _GraphTape(graph, values, needed_nodes(graph, targets))
        reverse_walk(tape, [(o, 0, g) for o, g in zip(graph.outputs, seeds, strict=True)
                            if o in tape.needed])
        from .ops.elementwise import full_as

        outs = [tape.received.get(graph.placeholders[i]) for i in wanted]
        outs = [full_as(graph.placeholders[i].type, 0) if o is None else o
                for o, i in zip(outs, wanted, strict=True)]
    return builder.graph(outs, graph.name + "_backward")


_cache: dict[tuple, Graph] = {}


def _through_body(op: Op, attrs: dict, g, xs, wanted) -> list:
    """The rule of a composite without one: the pullback of its body, inlined here."""
    from .composite import body_graph
    from .interpret import evaluate

    types = tuple(x if x.__class__.__name__ == "TensorType" else x.type for x in xs)
    asked = tuple(i for i, w in enumerate(wanted) if w)
    key = (op, types, attrs_key(tuple(sorted(attrs.items()))), defaults.dtype, asked)
    graph = _cache.get(key)
    if graph is None:
        graph = _cache[key] = pullback(body_graph(op, types, attrs), asked)
    gs = g if isinstance(g, tuple) else (g,)
    values = evaluate(graph, [*xs, *gs])
    out = [None] * len(wanted)
    for i, node in zip(asked, graph.outputs, strict=True):
        out[i] = values[node]
    return out
