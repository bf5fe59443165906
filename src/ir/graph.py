"""The graph: immutable SSA in FX's vocabulary.

    graph   = node* outputs                       in topological order
    node    = name ':' type '=' opcode target (args) {attrs}  # file:line
    opcode  = placeholder | get_attr | call_function
    arg     = node | number
    type    = TensorType | (TensorType, ...)      a tuple is taken apart by `getitem`
    outputs = (node, ...)
A placeholder's target is its position; a call_function's target is an Op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .arith import Arith
from .type import TensorType


class Line(NamedTuple):
    """Where the user wrote it; `text` is what stands there, None if it is to be read from the file."""

    file: str
    number: int
    function: str = ""
    text: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


class Node(Arith):
    """One value (or one tuple of values) and how it is made."""

    __slots__ = ("args", "attrs", "line", "name", "opcode", "target", "type")

    def __init__(self, opcode, name, target, args, attrs, type, line=None):
        self.opcode, self.name, self.target = opcode, name, target
        self.args, self.attrs, self.type, self.line = args, attrs, type, line

    @property
    def inputs(self) -> tuple[Node, ...]:
        return tuple(a for a in self.args if type(a) is Node)

    def __repr__(self) -> str:
        return f"%{self.name}"


class Graph:
    """Nodes in topological order and the outputs; never changed once made."""

    __slots__ = ("__weakref__", "name", "nodes", "outputs", "placeholders")

    def __init__(self, nodes: Iterable[Node], outputs: Iterable[Node], name: str = "graph"):
        self.nodes, self.outputs, self.name = tuple(nodes), tuple(outputs), name
        self.placeholders = tuple(n for n in self.nodes if n.opcode == "placeholder")

    def users(self) -> dict[Node, list[Node]]:
        """For each node, the nodes that read it, in order and once each."""
        found: dict[Node, list[Node]] = {n: [] for n in self.nodes}
        for n in self.nodes:
            for a in dict.fromkeys(n.inputs):
                found[a].append(n)
        return found

    def __repr__(self) -> str:
        from .text import print_graph

        return print_graph(self)

    def print_tabular(self) -> None:
        """Prints one row per node: opcode, name, target, args, type, line."""
        from .text import tabulate

        print(tabulate(self))

    def to_dot(self) -> str:
        """Returns the graph in Graphviz's language."""
        from .picture import to_dot

        return to_dot(self)

    def to_networkx(self):
        """Returns a networkx.MultiDiGraph whose nodes are names with the fields as data."""
        from .picture import to_networkx

        return to_networkx(self)

    def _repr_html_(self) -> str:
        from .picture import to_html

        return to_html(self)


class Builder:
    """Appends nodes; an interpreter whose values are nodes."""

    def __init__(self, line: Callable[[], Line | None] = lambda: None):
        self.nodes: list[Node] = []
        self._count: dict[str, int] = {}
        self._line = line
        self._inputs = 0

    def _name(self, stem: str) -> str:
        k = self._count.get(stem, 0)
        self._count[stem] = k + 1
        return stem if k == 0 else f"{stem}_{k}"

    def placeholder(self, type: TensorType, name: str = "x", line: Line | None = None) -> Node:
        node = Node("placeholder", self._name(name), self._inputs, (), (), type, line)
        self._inputs += 1
        self.nodes.append(node)
        return node

    def process(self, op, values: tuple, attrs: dict) -> Any:
        types = [v.type if isinstance(v, Node) else v for v in values]
        return self.emit(op, values, attrs, op.infer(*types, **attrs), self._line())

    def emit(self, op, args: tuple, attrs: dict, type, line: Line | None) -> Any:
        """The new node, or the tuple of its projections."""
        frozen = tuple(sorted(attrs.items())) if attrs else ()
        node = Node("call_function", self._name(op.name), op, tuple(args), frozen, type, line)
        self.nodes.append(node)
        if isinstance(type, tuple):
            return tuple(self.project(node, i) for i in range(len(type)))
        return node

    def project(self, node: Node, index: int) -> Node:
        from .ops.project import getitem

        part = Node("call_function", self._name("getitem"), getitem, (node,), (("index", index),),
                    node.type[index], node.line)
        self.nodes.append(part)
        return part

    def graph(self, outputs: Iterable[Node], name: str = "graph") -> Graph:
        return Graph(self.nodes, outputs, name)
