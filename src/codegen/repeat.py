"""Groups that are alike are lowered and printed once: the layers of a model, the updates of its parameters.

Two groups are alike if they compute the same exprs over the same domains from values of the same types and
layouts, and store the same of their values. Axes are shared by shape and exprs are hash-consed, so that
equal structure is equal data, the values aside: those are numbered.
"""

from __future__ import annotations

from ..ir.graph import Node
from ..ir.type import contiguous_strides
from .fuse import Group
from .index import Read, variables
from .lower import Lowered, Lowerer
from .printing import Printed
from .stages import Stage, index_of_expr, roots_of, walk
from .target import Target
from .views import Axes


class _Key:
    """A group's structure as hashable data; `nodes` are its values in order of appearance."""

    def __init__(self, group: Group, stored: set[Node], layouts: dict[Node, tuple]):
        self.stored, self.layouts = stored, layouts
        self.nodes: dict[Node, int] = {}
        stages = tuple([self._stage(s, group.at[s]) for s in group.stages])
        self.value = group.shape, group.rows, stages

    def _number(self, node: Node) -> int:
        return self.nodes.setdefault(node, len(self.nodes))

    def _value(self, node: Node | None) -> tuple | None:
        """What lowering asks of a value."""
        if node is None:
            return None
        strides = self.layouts.get(node) or contiguous_strides(node.type.shape)
        return self._number(node), node.type, strides, node in self.stored

    def _stage(self, stage: Stage, at: tuple) -> tuple:
        exprs: dict = {}
        rows = []
        roots = roots_of(stage)
        for e in walk(roots):
            data = (self._value(e.data[0]), e.data[1]) if e.kind == "load" else e.data
            reads = tuple([exprs[a.expr] for ix in index_of_expr(e) for a in variables(ix) if type(a) is Read])
            rows.append((e.kind, e.dtype, data, tuple([exprs[a] for a in e.args]), reads))
            exprs[e] = len(exprs)
        target = stage.node.target if stage.role == "reduce" else None
        operand = stage.node.args[0].type if target else None
        return (stage.role, stage.domain, at, stage.reduced, stage.places, stage.mode, target, operand, stage.node.attrs
                if target else None, tuple(map(self._value, stage.values)), tuple(rows),
                tuple([exprs[r] for r in roots]))


class Repeats:
    """Lowers and prints, looking first at what was done already."""

    def __init__(self, stored: set[Node], layouts: dict[Node, tuple], axes: Axes, target: Target):
        self.stored, self.layouts, self.axes, self.target = stored, layouts, axes, target
        self.lowered: dict[tuple, tuple[Lowered, list[Node], list]] = {}
        self.printed: dict[tuple, tuple[Printed, Lowered]] = {}

    def lower(self, group: Group) -> Lowered:
        """The group's nest, its slots and needs."""
        key = _Key(group, self.stored, self.layouts)
        nodes, needs = list(key.nodes), [n for s in group.stages for n in s.needs]
        found = self.lowered.get(key.value)
        if found is None:
            made = Lowerer(group, self.stored, self.layouts, self.axes).lower()
            self.lowered[key.value] = made, nodes, needs
            return made
        like, theirs, their_needs = found
        number = {n: i for i, n in enumerate(theirs)}
        return Lowered(like.nest, [nodes[number[n]] for n in like.slots],
                       [needs[their_needs.index(n)] for n in like.needs])

    def print(self, lowered: Lowered, alias: dict[int, int]) -> Printed:
        """The kernel of a nest, some slots written over others."""
        key = id(lowered.nest), tuple(sorted(alias.items()))
        found = self.printed.get(key)
        if found is None:  # the nest is kept with its text: its id stays its own
            found = self.printed[key] = self.target.kernel(lowered.nest, alias), lowered
        return found[0]
