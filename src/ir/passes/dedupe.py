"""dedupe: equal calls made once (same op, operands and attributes); the first keeps its name and line.

Needs nothing. A random op reads its seed as an operand, so two draws are equal only if their seeds are.
"""

from __future__ import annotations

from ..graph import Graph, Node
from ..keys import attrs_key, exact_key
from ..rewrite import moved, separate


def dedupe(graph: Graph) -> Graph:
    """The graph with equal calls merged."""
    first: dict[tuple, Node] = {}
    new: dict[Node, Node] = {}
    out: list[Node] = []
    for node in graph.nodes:
        fresh = moved(node, new)
        if fresh.opcode == "call_function":
            args = tuple([a if type(a) is Node else exact_key(a) for a in fresh.args])
            fresh = first.setdefault((fresh.target, args, attrs_key(fresh.attrs)), fresh)
            if fresh in new:
                new[node] = fresh
                continue
            new[fresh] = fresh
        new[node] = fresh
        out.append(fresh)
    if len(out) == len(graph.nodes):
        return graph
    return Graph(out, separate([new[o] for o in graph.outputs], graph, out), graph.name)
