"""Composites: plain functions over other ops that are one node in a graph, holding their body."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from .arith import defaults
from .dispatch import using
from .graph import Builder, Graph
from .keys import attrs_key
from .op import Kind, Op, rules


def composite(name: str, body: Callable, *, eager=None, vjp=None, outputs=1, domain=(-inf, inf)) -> Op:
    """An op defined by `body(*values, **attrs)`; `eager` is an equal NumPy function that is faster.

    Without `vjp` the gradient is derived from the body.
    """

    def infer(*types, **attrs):
        outs = body_graph(op, types, attrs).outputs
        return outs[0].type if outputs == 1 else tuple(o.type for o in outs)

    op = Op(name, Kind.COMPOSITE, infer, eager, rules(vjp), None, domain, outputs, False, body)
    return op


_bodies: dict[tuple, Graph] = {}
_BOUND = 4096


def body_graph(op: Op, types: tuple, attrs: dict) -> Graph:
    """The body of `op` for operands of these types, traced once."""
    key = (op, types, attrs_key(tuple(sorted(attrs.items()))), defaults.dtype)
    graph = _bodies.get(key)
    if graph is None:
        builder = Builder()
        with using(builder):
            inputs = [builder.placeholder(t, "x") for t in types]
            out = op.body(*inputs, **attrs)
        if len(_bodies) >= _BOUND:
            _bodies.clear()
        graph = builder.graph(out if isinstance(out, tuple) else (out,), op.name)
        _bodies[key] = graph
    return graph
