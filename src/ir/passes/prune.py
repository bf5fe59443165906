"""prune: what no output reads is dropped; placeholders stay, their positions are the caller's."""

from __future__ import annotations

from ..graph import Graph, Node


def prune(graph: Graph) -> Graph:
    """The graph without dead code."""
    live: set[Node] = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node in live:
            for a in node.args:
                if type(a) is Node:
                    live.add(a)
    kept = [n for n in graph.nodes if n in live or n.opcode == "placeholder"]
    return graph if len(kept) == len(graph.nodes) else Graph(kept, graph.outputs, graph.name)
