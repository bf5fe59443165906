"""The backward of some results of a compiled forward: what comes from the others is absent, not zero.

Zero would not do: 0 * inf is nan, and a tensor that no gradient reaches has none.
"""

from __future__ import annotations

from ..ir.graph import Builder, Graph, Node
from ..ir.ops import add, full


def restrict(backward: Graph, absent: set[Node]) -> tuple[Graph, tuple[int, ...]]:
    """The graph without the cotangents in `absent`, and which outputs are still there.

    A backward graph is linear in its cotangents: a node all of whose cotangents are absent is absent.
    Placeholders stay, their positions are the caller's.
    """
    builder = Builder()
    new: dict[Node, Node] = {}
    gone = set(absent)
    linear = {p for p in backward.placeholders if p.name.startswith("cotangent")}
    for n in backward.nodes:
        parts = [a for a in n.inputs if a in linear]
        if parts:
            linear.add(n)
        if parts and gone.issuperset(parts):
            gone.add(n)
            continue
        if n.opcode != "placeholder" and n.target is add and gone.intersection(parts):
            new[n] = new[next(a for a in n.inputs if a not in gone)]
            continue
        args = tuple(_part(builder, a, new, gone) if type(a) is Node else a for a in n.args)
        new[n] = Node(n.opcode, n.name, n.target, args, n.attrs, n.type, n.line)
        builder.nodes.append(new[n])
    there = tuple(k for k, o in enumerate(backward.outputs) if o not in gone)
    return Graph(builder.nodes, [new[backward.outputs[k]] for k in there], backward.name), there


def _part(builder: Builder, a: Node, new: dict[Node, Node], gone: set[Node]) -> Node:
    """The operand, zeros for one that is absent beside others that are not."""
    if a not in gone:
        return new[a]
    t = a.type
    attrs = {"shape": t.shape, "value": 0, "dtype": t.dtype, "device": t.device}
    return builder.emit(full, (), attrs, t, a.line)
