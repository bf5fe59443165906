"""inline: every composite replaced by its body, so that only primitives are left.

Needs nothing; leaves no COMPOSITE node. An inlined node is named after the composite's node and keeps its
source line; the value the composite gave keeps its name.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ..composite import body_graph
from ..graph import Graph, Node
from ..op import Kind
from ..rewrite import moved, separate, unique


def inline(graph: Graph) -> Graph:
    """The graph with composites replaced by their bodies, down to primitives."""
    if all(n.opcode != "call_function" or n.target.kind is not Kind.COMPOSITE for n in graph.nodes):
        return graph
    names = {n.name for n in graph.nodes}
    out: list[Node] = []
    new: dict[Node, Node] = {}
    parts: dict[Node, tuple] = {}  # outputs of an inlined node that has several
    for node in graph.nodes:
        if node.opcode != "call_function":
            new[node] = node
            out.append(node)
        elif node.target.kind is Kind.COMPOSITE:
            values = _splice(node, new, out, names)
            if isinstance(node.type, tuple):
                parts[node] = values
            else:
                new[node] = values[0]
        elif node.target.kind is Kind.PROJECT and node.args[0] in parts:
            new[node] = parts[node.args[0]][node.attrs[0][1]]
        else:
            new[node] = moved(node, new)
            out.append(new[node])
    return Graph(out, separate([new[o] for o in graph.outputs], graph, out), graph.name)


_flat: WeakKeyDictionary[Graph, Graph] = WeakKeyDictionary()


def _body(node: Node) -> Graph:
    """The body of a composite node, itself inlined; one per composite, operand types and attributes."""
    types = tuple([a.type if type(a) is Node else a for a in node.args])
    body = body_graph(node.target, types, dict(node.attrs))
    flat = _flat.get(body)
    if flat is None:
        flat = _flat[body] = inline(body)
        if flat is body:  # a value that refers to its key would never be dropped
            flat = _flat[body] = Graph(body.nodes, body.outputs, body.name)
    return flat


def _splice(node: Node, new: dict, out: list, names: set) -> tuple[Node, ...]:
    """Appends the body's nodes, reading the composite's operands; returns the body's outputs."""
    body = _body(node)
    inside: dict[Node, Node] = {
        p: new[a] if type(a) is Node else a for p, a in zip(body.placeholders, node.args, strict=True)}
    last = body.outputs[0] if len(body.outputs) == 1 else None
    line, stem = node.line, node.name
    for n in body.nodes:
        if n.opcode == "placeholder":
            continue
        if n is last:
            name = stem
        else:
            name = f"{stem}_{n.name}"
            if name in names:
                name = unique(name, names)
            else:
                names.add(name)
        args = tuple([inside[a] if type(a) is Node else a for a in n.args])
        made = Node(n.opcode, name, n.target, args, n.attrs, n.type, line)
        inside[n] = made
        out.append(made)
    return tuple([inside[o] for o in body.outputs])
