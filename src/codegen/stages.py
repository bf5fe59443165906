"""Stages: each value that gets memory, with the exprs that compute it over its own iteration domain."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.dtype import DType, float32
from ..ir.graph import Graph, Node
from ..ir.op import Kind
from .index import Ix, Read, variables
from .inline import Inliner, Need
from .loops import Expr, Table
from .realize import is_host
from .scatter import is_choice, places_of, read_scatter
from .views import Axes


@dataclass(eq=False, slots=True)
class Stage:
    """role: point | reduce (loops that fuse), scatter (a loop of its own), dot | host."""

    place: int
    node: Node
    values: tuple[Node, ...]  # what it puts in memory: the node, or its projections in order
    role: str
    domain: tuple[int, ...] = ()
    index: tuple[Ix | int, ...] = ()  # of the domain, in its own variables
    reduced: frozenset[int] = frozenset()
    exprs: tuple[Expr, ...] = ()  # the value, or the state of a reduction's element
    needs: tuple[Need, ...] = ()
    loads: tuple[Expr, ...] = ()
    sources: tuple[Node, ...] = field(default=())
    places: tuple[Ix | int, ...] = ()  # scatter: where in the result
    mode: str = ""  # scatter: a verb, or set
    size: int = 0  # exprs

    @property
    def is_loop(self) -> bool:
        return self.role in ("point", "reduce")


def state_dtype(d: DType) -> DType:
    """What a reduction of `d` adds up in."""
    return float32 if d.itemsize == 2 and d.kind == "f" else d


def make_stages(graph: Graph, realized: dict[Node, str], products: dict, axes: Axes, table: Table) -> list[Stage]:
    """One stage per value (or tuple of values) in memory that is not an input, in order."""
    parts: dict[Node, dict[int, Node]] = {}
    for node in graph.nodes:
        if node.opcode == "call_function" and node.target.kind is Kind.PROJECT and node in realized:
            parts.setdefault(node.args[0], {})[node.attrs[0][1]] = node
    stages = []
    for place, node in enumerate(graph.nodes):
        if node.opcode != "call_function" or node.target.kind is Kind.PROJECT:
            continue
        if node in realized:
            stages.append(_stage(place, node, (node,), realized, products, axes, table))
        elif node in parts:
            values = tuple(parts[node].get(i) for i in range(len(node.type)))
            stages.append(_stage(place, node, values, realized, products, axes, table))
    return stages


def _stage(place, node, values, realized, products, axes: Axes, table: Table) -> Stage:
    if node in products:
        return Stage(place, node, values, "dot", sources=(products[node].a.base, products[node].b.base))
    if is_host(node):
        return Stage(place, node, values, "host", sources=tuple(dict.fromkeys(node.inputs)))
    kind = node.target.kind
    inliner = Inliner(table, realized.__contains__)
    if kind is Kind.REDUCE:
        return _reduce(place, node, values, inliner, axes)
    if kind is Kind.SCATTER and not is_choice(node):
        return _scatter(place, node, inliner, axes)
    domain = node.type.shape
    index = axes.index(domain)
    exprs = (inliner.define(node, index),)
    return _filled(Stage(place, node, values, "point", domain, index, frozenset(), exprs), inliner)


def _reduce(place, node, values, inliner: Inliner, axes: Axes) -> Stage:
    operand = node.args[0]
    domain, dims = operand.type.shape, dict(node.attrs)["dims"]
    index = axes.index(domain)
    element = inliner.emitter.convert(inliner.at(operand, index), state_dtype(operand.type.dtype))
    exprs = (element,)
    if node.target.emit.indexed:
        from ..ir.dtype import int64

        exprs = (element, inliner.emitter.index(index[dims[0]], int64))
    return _filled(Stage(place, node, values, "reduce", domain, index, frozenset(dims), exprs), inliner)


def _scatter(place, node, inliner: Inliner, axes: Axes) -> Stage:
    """Elements written one after the other over the first operand, which is in the result's memory."""
    scatter = read_scatter(node)
    index = axes.index(scatter.domain)
    exprs = (inliner.at(node.args[scatter.source], index),)
    places = inliner.places(node, places_of(node, index), node.type.shape, None)
    stage = Stage(place, node, (node,), "scatter", scatter.domain, index, frozenset(scatter.lost), exprs)
    stage.places, stage.mode = places, scatter.mode
    _filled(stage, inliner)
    stage.sources = tuple(dict.fromkeys((node.args[0], *stage.sources)))
    return stage


def _filled(stage: Stage, inliner: Inliner) -> Stage:
    stage.needs = tuple(inliner.checks)
    roots = roots_of(stage)
    exprs = walk(roots)
    stage.size = len(exprs)
    stage.loads = tuple(e for e in exprs if e.kind == "load")
    stage.sources = tuple(dict.fromkeys(e.data[0] for e in stage.loads))
    return stage


def roots_of(stage: Stage) -> list[Expr]:
    """All that a stage computes: values, checks, and the places it reads from data."""
    reads = [a.expr for ix in stage.places for a in variables(ix) if type(a) is Read]
    return [*stage.exprs, *(n.bad for n in stage.needs), *reads]


def walk(roots, known=()) -> list[Expr]:
    """All exprs under the roots but not those `known`, with what index expressions read; operands first."""
    seen: set[Expr] = set()
    order: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(r, False) for r in reversed(list(roots))]
    while stack:
        expr, done = stack.pop()
        if done:
            order.append(expr)
            continue
        if expr in seen or expr in known:
            continue
        seen.add(expr)
        stack.append((expr, True))
        for a in reversed(expr.args):
            stack.append((a, False))
        for ix in index_of_expr(expr):
            for atom in variables(ix):
                if type(atom) is Read:
                    stack.append((atom.expr, False))
    return order


def index_of_expr(expr: Expr) -> tuple:
    """The index expressions an expr holds."""
    if expr.kind == "load" or expr.kind == "access":
        return expr.data[1] if expr.kind == "load" else (expr.data[1],)
    if expr.kind == "index":
        return (expr.data,)
    if expr.kind == "within":
        return (expr.data[0],)
    return ()
