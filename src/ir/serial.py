"""Graphs as JSON-safe records (no pickle): what a disk cache may hold.

Values and types are written as in `text`, so that nan, inf and -0.0 survive JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import GraphError
from .graph import Graph, Line, Node
from .op import Op
from .parse import _Tokens, parse_type, parse_value
from .text import type_text, value_text

FORMAT = 1


def dump_graph(graph: Graph) -> dict[str, Any]:
    """The graph as dicts, lists, strings and ints."""
    places = {n: i for i, n in enumerate(graph.nodes)}
    types: dict[Any, int] = {}
    lines: dict[Any, int] = {}
    nodes = []
    for n in graph.nodes:
        target = n.target.name if n.opcode == "call_function" else value_text(n.target)
        args = [places[a] if type(a) is Node else value_text(a) for a in n.args]
        attrs = [[key, value_text(value)] for key, value in n.attrs]
        nodes.append([n.opcode, n.name, target, args, attrs, types.setdefault(n.type, len(types)),
                      lines.setdefault(n.line, len(lines))])
    return {"format": FORMAT, "name": graph.name, "types": [type_text(t) for t in types],
            "lines": [line and list(line) for line in lines], "nodes": nodes,
            "outputs": [places[o] for o in graph.outputs]}


def load_graph(data: dict[str, Any], ops: Mapping[str, Op] | None = None) -> Graph:
    """The graph of `dump_graph`'s records; GraphError for another format or an unknown op."""
    from .ops import TABLE

    if data.get("format") != FORMAT:
        raise GraphError(f"expected a graph of format {FORMAT}, got {data.get('format')!r}")
    table = {**TABLE, **(ops or {})}
    types = [parse_type(_Tokens(t)) for t in data["types"]]
    lines = [line and Line(*line) for line in data["lines"]]
    known: dict[str, Any] = {}

    def value(text: str):
        if text not in known:
            known[text] = parse_value(_Tokens(text))
        return known[text]

    nodes: list[Node] = []
    for opcode, name, target, args, attrs, kind, line in data["nodes"]:
        if opcode == "call_function" and target not in table:
            raise GraphError(f"no op is named {target!r} (composites are handed over in `ops`)")
        nodes.append(Node(
            opcode, name, table[target] if opcode == "call_function" else value(target),
            tuple(nodes[a] if type(a) is int else value(a) for a in args),
            tuple((key, value(text)) for key, text in attrs), types[kind], lines[line]))
    return Graph(nodes, [nodes[o] for o in data["outputs"]], data["name"])
