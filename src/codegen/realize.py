"""Which values get memory, and why; all others are computed where they are used.

Memory is given to what a loop cannot inline (reductions, products, host ops), to outputs, and to values
that several readers would have to compute again at a higher price than a store and a load.
"""

from __future__ import annotations

from ..ir.graph import Graph, Node
from ..ir.op import Kind
from .cost import node_cost
from .scatter import is_choice

LONGEST = 160  # nodes inlined into one expr: bounds compile time and recursion
AGAIN = 30  # cost of an element that several readers may still compute each by itself
SPREAD = 4  # cost of an element that is worth storing before it is repeated along other elements

_LOOPS = frozenset([Kind.ELEMENTWISE, Kind.MOVE, Kind.CREATE, Kind.GATHER, Kind.RANDOM])


def is_complex(t) -> bool:
    return any(map(is_complex, t)) if isinstance(t, tuple) else t.dtype.kind == "c"


def is_host(node: Node) -> bool:
    """Whether NumPy runs this node: no loop is known for it."""
    kind = node.target.kind
    if kind is Kind.PROJECT:
        return False
    if is_complex(node.type) or any(is_complex(a.type) for a in node.inputs):
        return True
    if kind is Kind.CONTRACT:
        return node.type.dtype.kind != "f"
    return kind in (Kind.SCAN, Kind.LIBRARY) or node.target.emit is None


def is_inlinable(node: Node) -> bool:
    """Whether the node may be computed where it is used."""
    if node.opcode != "call_function" or is_host(node):
        return False
    return node.target.kind in _LOOPS or node.target.kind is Kind.SCATTER and is_choice(node)


def is_serial_scatter(node: Node) -> bool:
    """Whether the node is a scatter that writes element after element over its first operand."""
    return (node.opcode == "call_function" and node.target.kind is Kind.SCATTER and not is_host(node)
            and not is_choice(node))


class _Weights:
    """Per node: the inlined nodes below it, their cost, and how many whole loads they need."""

    def __init__(self, nodes: tuple[Node, ...]):
        self.nodes = nodes
        self.bit = {n: 1 << i for i, n in enumerate(nodes)}
        self.inside: dict[Node, int] = {}  # inlined nodes, as bits
        self.leaves: dict[Node, int] = {}
        self.dear = dict.fromkeys((4, 12, 30, 60), 0)  # nodes that cost at least c, as bits

    def add(self, node: Node, realized: dict) -> None:
        inside, leaves = self.bit[node], 0
        for a in node.inputs:
            if a in realized or a.opcode != "call_function":
                leaves |= self.bit[a]
            else:
                inside |= self.inside[a]
                leaves |= self.leaves[a]
        self.inside[node], self.leaves[node] = inside, leaves
        cost = node_cost(node)
        for bound in self.dear:
            if cost >= bound:
                self.dear[bound] |= self.bit[node]

    def cost(self, node: Node) -> int:
        inside = self.inside[node]
        steps = [inside.bit_count(), *((inside & self.dear[c]).bit_count() for c in (4, 12, 30, 60))]
        return steps[0] + 3 * steps[1] + 8 * steps[2] + 18 * steps[3] + 30 * steps[4]

    def whole_loads(self, node: Node) -> int:
        """Leaves that have at least half as many elements as the node."""
        bits, count = self.leaves[node], 0
        while bits:
            low = bits & -bits
            leaf = self.nodes[low.bit_length() - 1]
            count += leaf.type.numel * 2 >= node.type.numel
            bits ^= low
        return count


def realize(graph: Graph, users: dict[Node, list[Node]], wanted: dict[Node, str]) -> dict[Node, str]:
    """The values that get memory, with the reason; placeholders are among them, and those `wanted`."""
    realized: dict[Node, str] = {}
    wanted = {**dict.fromkeys(graph.outputs, "an output"), **wanted}
    weights = _Weights(graph.nodes)
    for node in graph.nodes:
        reason = _reason(node, users[node], wanted, weights, realized)
        if reason:
            realized[node] = reason
    return realized


def _reason(node: Node, readers: list[Node], wanted: dict, weights: _Weights, realized: dict) -> str:
    if node.opcode == "placeholder":
        return "input"
    kind = node.target.kind
    if isinstance(node.type, tuple):
        return ""  # its projections are realized
    if kind is Kind.PROJECT:
        return "one result of several"
    if not is_inlinable(node):
        return kind.value
    weights.add(node, realized)
    if node in wanted:
        return wanted[node]
    for r in readers:
        if is_host(r):
            return f"read by {r.target.name} on the host"
    return _worth(node, readers, weights)


def _worth(node: Node, readers: list[Node], weights: _Weights) -> str:
    inside = weights.inside[node].bit_count()
    if inside > LONGEST:
        return "the chain is long"
    if node.target.kind in (Kind.MOVE, Kind.CREATE):
        return ""
    cost = weights.cost(node)
    t = node.type
    if t.numel > 1 and cost > SPREAD and any(
        r.target.kind is Kind.MOVE and r.type.numel >= 4 * t.numel for r in readers
    ):
        return "repeated along other elements"
    if len(readers) < 2 or t.numel == 1 and cost <= 200:
        return ""
    if cost > AGAIN:
        return "dear to compute for each reader"
    if weights.whole_loads(node) > 1:
        return "several readers of several values"
    return ""
