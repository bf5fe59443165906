"""verify: whether a graph keeps the grammar; the error shows the neighbourhood of the fault.

Checked: names (unique), scope (operands made before their use, in this graph), placeholders' positions,
operands (nodes or Python numbers), attributes (sorted, of the kinds text can hold), types (inferred again,
equal), tuples (read by `getitem` only), lines and outputs.
"""

from __future__ import annotations

from .errors import GraphError
from .graph import Graph, Line, Node
from .op import Kind, Op
from .text import is_writable, print_node
from .type import TensorType

_NUMBERS = (bool, int, float, complex)


def verify(graph: Graph, after: str = "") -> Graph:
    """The graph itself; GraphError if it breaks the grammar, naming the pass it came `after`."""
    seen: dict[Node, int] = {}
    names: set[str] = set()
    inputs = 0
    for place, node in enumerate(graph.nodes):
        fault = _node_fault(node, seen, names, inputs)
        if fault:
            raise GraphError(_explain(graph, place, fault, after))
        seen[node] = place
        names.add(node.name)
        inputs += node.opcode == "placeholder"
    for output in graph.outputs:
        fault = _output_fault(output, seen)
        if fault:
            raise GraphError(_explain(graph, len(graph.nodes) - 1, fault, after))
    return graph


def _node_fault(node: Node, seen: dict, names: set, inputs: int) -> str:
    if not isinstance(node.name, str) or not node.name:
        return f"its name is {node.name!r}, not a non-empty string"
    if node.name in names:
        return f"a node named {node.name!r} came before"
    if node.line is not None and not (type(node.line) is Line and type(node.line.number) is int):
        return f"its line is {node.line!r}, not a Line"
    if node.opcode == "placeholder":
        return "" if node.target == inputs else f"its position is {node.target}, the next one is {inputs}"
    if node.opcode == "get_attr":
        return "" if isinstance(node.target, str) else f"its target is {node.target!r}, not a name"
    if node.opcode != "call_function" or not isinstance(node.target, Op):
        return f"opcode {node.opcode!r} with target {node.target!r} is not in the grammar"
    return _operand_fault(node, seen) or _attrs_fault(node) or _type_fault(node)


def _operand_fault(node: Node, seen: dict) -> str:
    for i, a in enumerate(node.args):
        if type(a) is not Node:
            if type(a) not in _NUMBERS:
                return f"operand {i} is a {type(a).__name__}, neither a node nor a Python number"
            continue
        if a not in seen:
            return f"operand {i}, %{a.name}, is not made before it in this graph"
        if isinstance(a.type, tuple) and node.target.kind is not Kind.PROJECT:
            return f"operand {i}, %{a.name}, has several outputs and is not taken apart"
    return ""


def _attrs_fault(node: Node) -> str:
    names = [name for name, _ in node.attrs]
    if names != sorted(set(names)):
        return f"its attributes are not sorted and unique: {names}"
    for name, value in node.attrs:
        if not is_writable(value):
            return f"attribute {name} is a {type(value).__name__}: {value!r}"
    return ""


def _type_fault(node: Node) -> str:
    types = [a.type if type(a) is Node else a for a in node.args]
    try:
        want = node.target.infer(*types, **dict(node.attrs))
    except Exception as error:  # whatever infer says of its operands is the fault
        return f"its operands do not fit: {type(error).__name__}: {error}"
    return "" if _same(want, node.type) else f"its type is {node.type}, inferred again it is {want}"


def _same(a, b) -> bool:
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same, a, b))
    return isinstance(b, TensorType) and (a.shape, a.dtype, a.device) == (b.shape, b.dtype, b.device)


def _output_fault(output, seen: dict) -> str:
    if type(output) is not Node or output not in seen:
        return f"output {output!r} is not a node of the graph"
    return f"output %{output.name} has several values" if isinstance(output.type, tuple) else ""


_AROUND = 5


def _explain(graph: Graph, place: int, fault: str, after: str) -> str:
    low, high = max(0, place - _AROUND), place + _AROUND + 1
    lines = [("> " if i == place else "  ") + print_node(n)
             for i, n in enumerate(graph.nodes[low:high], low)]
    node = graph.nodes[place] if graph.nodes else None
    where = f" (recorded at {node.line})" if node is not None and node.line else ""
    head = f"after pass {after!r}: " if after else ""
    return f"{head}graph {graph.name!r} is not well formed at %{node and node.name}{where}: {fault}\n" \
        + "\n".join(lines)
