"""Graph to program: realize, fuse, lower, print, place in memory."""

from __future__ import annotations

from ..ir.graph import Graph, Node
from ..ir.program import Program
from ..ir.type import contiguous_strides
from .assemble import Assembler
from .dots import Product, plan_dots
from .fuse import fuse
from .loops import Table
from .prepare import prepare
from .realize import is_serial_scatter, realize
from .stages import make_stages
from .target import TARGETS
from .views import Axes


def generate(
    graph: Graph,
    *,
    donated: dict[int, int] | None = None,
    layouts: tuple[tuple[int, ...] | None, ...] | None = None,
    target: str = "cpp",
) -> Program:
    """The program of a graph.

    `donated` maps an output's number to the placeholder over whose memory it is written; `layouts` gives
    placeholders' strides in elements, None for contiguous ones; `target` is the language of its kernels.
    """
    strides = _given(graph, layouts)
    graph = prepare(graph, strides, TARGETS[target].half_products)
    donated = donated or {}
    for k, q in donated.items():
        if graph.placeholders[q] in strides:
            strides[graph.outputs[k]] = strides[graph.placeholders[q]]
    axes = Axes()
    users = graph.users()
    products = plan_dots(graph, users, axes, strides)
    realized = realize(graph, users, _operands(products) | _bases(graph))
    stages = make_stages(graph, realized, products, axes, Table())
    groups = fuse(stages, axes, {graph.outputs[k]: graph.placeholders[q] for k, q in donated.items()})
    return Assembler(graph, groups, products, strides, axes, donated, TARGETS[target]).program()


def _given(graph: Graph, layouts) -> dict[Node, tuple[int, ...]]:
    """The strides of placeholders that are not contiguous."""
    found = {}
    for node, strides in zip(graph.placeholders, layouts or (), strict=False):
        if strides is not None and tuple(strides) != contiguous_strides(node.type.shape):
            found[node] = tuple(strides)
    return found


def _bases(graph: Graph) -> dict[Node, str]:
    """The values that scatters write over."""
    return {n.args[0]: "written over by a scatter" for n in graph.nodes if is_serial_scatter(n)}


def _operands(products: dict[Node, Product]) -> dict[Node, str]:
    """The values that products read from memory."""
    return {o.base: "an operand of a product" for p in products.values() for o in (p.a, p.b)}
