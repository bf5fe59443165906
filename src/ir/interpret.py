"""Evaluating a graph: with the current interpreter's values, or with plain NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .graph import Graph, Node
from .op import Kind


def evaluate(graph: Graph, inputs) -> dict[Node, object]:
    """The value of every node, each op going through `bind` of the current interpreter."""
    return _run(graph, inputs, lambda node, args: node.target(*args, **dict(node.attrs)))


def _run(graph: Graph, inputs, call: Callable) -> dict:
    values: dict[Node, object] = dict(zip(graph.placeholders, inputs, strict=True))
    for node in graph.nodes:
        if node.opcode == "call_function":
            args = [values[a] if type(a) is Node else a for a in node.args]
            if node.target.kind is Kind.PROJECT:
                values[node] = args[0][node.attrs[0][1]]
            else:
                values[node] = call(node, args)
    return values


def run_numpy(graph: Graph, arrays, on_node: Callable | None = None) -> list:
    """The outputs' arrays, each op by its `eager` function, freeing what is read no more."""
    last = _last_use(graph)
    values = dict(zip(graph.placeholders, arrays, strict=True))
    for place, node in enumerate(graph.nodes):
        if node.opcode == "call_function":
            args = [values[a] if type(a) is Node else a for a in node.args]
            values[node] = run_op(node.target, args, dict(node.attrs), node)
            if on_node:
                on_node(node, values[node])
        for dead in last.get(place, ()):
            values.pop(dead, None)
    return [values[o] for o in graph.outputs]


def _last_use(graph: Graph) -> dict[int, list[Node]]:
    seen: dict[Node, int] = {}
    for place, node in enumerate(graph.nodes):
        seen[node] = place
        for a in node.inputs:
            seen[a] = place
    kept = set(graph.outputs)
    last: dict[int, list[Node]] = {}
    for node, place in seen.items():
        if node not in kept:
            last.setdefault(place, []).append(node)
    return last


def _arrays(result):
    """NumPy gives scalars for 0-d results; rows work on arrays."""
    if type(result) is tuple:
        return tuple(map(_arrays, result))
    return result if isinstance(result, np.ndarray) else np.asarray(result)


def run_op(op, args, attrs, node=None):
    """One op on arrays; a composite without its own `eager` runs its body."""
    try:
        if op.kind is Kind.COMPOSITE and op.eager is None:
            from .composite import body_graph
            from .type import tensor_type
            from . import dtype as dt

            types = tuple(tensor_type(a.shape, dt.from_numpy(a.dtype)) for a in args)
            outs = run_numpy(body_graph(op, types, attrs), args)
            return tuple(outs) if op.outputs > 1 else outs[0]
        result = _arrays(op.eager(*args, **attrs))
        return result[0] if op.outputs == 1 and type(result) is tuple else result
    except Exception as error:
        if node is not None:
            error.__dict__["_treadle_node"] = node  # the outermost graph's is set last
            if node.line is not None:
                error.add_note(f"while executing %{node.name} = {op.name}, recorded at {node.line}")
        raise


def failed_node(error: Exception):
    """The node of the outermost graph whose op raised `error`, if it was raised by one."""
    return error.__dict__.get("_treadle_node")
