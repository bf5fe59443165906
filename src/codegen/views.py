"""Operands that are read in place: chains of views of a value in memory, as an offset and strides."""

from __future__ import annotations

from ..ir.graph import Graph, Node
from ..ir.op import Kind
from ..ir.type import contiguous_strides
from .index import Ix, Var, coefficient, flatten, index_of
from .realize import is_host


class Axes:
    """The loop variables of each shape, made once, so that values of one shape share theirs."""

    def __init__(self) -> None:
        self.made: dict[tuple, tuple[Var, ...]] = {}

    def vars(self, shape: tuple[int, ...]) -> tuple[Var, ...]:
        found = self.made.get(shape)
        if found is None:
            found = self.made[shape] = tuple(Var(f"i{d}", n) for d, n in enumerate(shape))
        return found

    def index(self, shape: tuple[int, ...]) -> tuple[Ix | int, ...]:
        return tuple(index_of(v) for v in self.vars(shape))


def is_view(node: Node) -> bool:
    return (node.opcode == "call_function" and node.target.kind is Kind.MOVE and node.target.alias
            and len(node.args) == 1 and node.target.emit is not None)


def viewed(node: Node, index: tuple) -> list[tuple[Node, tuple]]:
    """The values along a chain of views, the node first, and the index of the same element in each."""
    chain = [(node, index)]
    while is_view(node):
        (piece,) = node.target.emit(index, [node.args[0].type.shape], **dict(node.attrs))
        node, index = node.args[0], piece.index
        chain.append((node, index))
    return chain


def strided(node: Node, axes: Axes, layouts: dict[Node, tuple]) -> tuple[Node, int, tuple[int, ...]]:
    """(value in memory, element offset, strides) of an operand: the last value under its views that strides reach."""
    shape = node.type.shape
    found = node, 0, layouts.get(node) or contiguous_strides(shape)
    for base, index in viewed(node, axes.index(shape)):
        place = flatten(index, layouts.get(base) or contiguous_strides(base.type.shape))
        steps = [coefficient(place, v) for v in axes.vars(shape)]
        if None not in steps:
            offset = place if type(place) is int else place.const
            found = base, offset, tuple(0 if n == 1 else s for n, s in zip(shape, steps, strict=True))
    return found


def is_dot(node: Node) -> bool:
    return node.opcode == "call_function" and node.target.kind is Kind.CONTRACT and not is_host(node)


def dot_layouts(graph: Graph, users: dict[Node, list[Node]], axes: Axes) -> dict[Node, tuple[int, ...]]:
    """Strides for products whose readers all want them permuted in one way: written so at once."""
    found: dict[Node, tuple[int, ...]] = {}
    outputs = set(graph.outputs)
    for node in graph.nodes:
        if is_dot(node) and node not in outputs:
            orders = {_order(node, r, axes) for r in users[node]}
            if len(orders) == 1:
                (order,) = orders
                if order is not None and order[-1] >= node.type.ndim - 2:
                    found[node] = _strides(node.type.shape, order)
    return found


def _order(node: Node, reader: Node, axes: Axes) -> tuple[int, ...] | None:
    """The node's dims in the order of a permuting reader, outermost first."""
    if not is_view(reader) or reader.type.numel != node.type.numel or reader.type.ndim != node.type.ndim:
        return None
    outer = axes.vars(reader.type.shape)
    (piece,) = reader.target.emit(axes.index(reader.type.shape), [node.type.shape], **dict(reader.attrs))
    at: dict[int, int] = {}
    for d, ix in enumerate(piece.index):
        if type(ix) is Ix and len(ix.terms) == 1 and ix.const == 0:
            ((atom, k),) = ix.terms.items()
            if k == 1 and atom in outer:
                at[outer.index(atom)] = d
                continue
        if node.type.shape[d] != 1:
            return None
    rest = [d for d in range(node.type.ndim) if d not in at.values()]
    order = [at[d] for d in sorted(at)]
    return tuple(rest + order) if order else None


def _strides(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    inner = contiguous_strides([shape[d] for d in order])
    out = [0] * len(shape)
    for d, s in zip(order, inner, strict=True):
        out[d] = s
    return tuple(out)
