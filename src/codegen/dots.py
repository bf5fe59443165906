"""Products: operands and results as strides into memory, written permuted where all readers want that."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.graph import Graph, Node
from ..ir.program import DotStep, Ref
from ..ir.type import contiguous_strides
from .views import Axes, dot_layouts, is_dot, strided


@dataclass(frozen=True, slots=True)
class Operand:
    """A matrix (or batch of them) in memory: the value, the offset of its first element, strides by dim."""

    base: Node
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Product:
    a: Operand
    b: Operand
    batch: tuple[tuple[int, int, int, int], ...]  # (size, stride in a, in b, in c), at most two


def plan_dots(graph: Graph, users: dict, axes: Axes, layouts: dict[Node, tuple]) -> dict[Node, Product]:
    """How each product reads its operands; adds to `layouts` those of results written permuted."""
    layouts.update(dot_layouts(graph, users, axes))
    return {node: _product(node, axes, layouts) for node in graph.nodes if is_dot(node)}


def _product(node: Node, axes: Axes, layouts: dict[Node, tuple]) -> Product:
    operands = [Operand(*strided(a, axes, layouts)) for a in node.args]
    batch = _batch(node, operands, layouts)
    if len(batch) > 2:  # copies are needed: contiguous batches are one dim
        layouts.pop(node, None)
        operands = [_plain(a) for a in node.args]
        batch = _batch(node, operands, layouts)
    return Product(*operands, tuple(batch))


def _plain(node: Node) -> Operand:
    return Operand(node, 0, contiguous_strides(node.type.shape))


def result_strides(node: Node, layouts: dict) -> tuple[int, ...]:
    return layouts.get(node) or contiguous_strides(node.type.shape)


def _batch(node: Node, operands: list[Operand], layouts: dict) -> list[tuple[int, int, int, int]]:
    """The batch dims with their strides, neighbours merged where all three step through both as one."""
    c = result_strides(node, layouts)
    out: list[tuple[int, int, int, int]] = []
    for d, n in enumerate(node.type.shape[:-2]):
        if n == 1:
            continue
        steps = (operands[0].strides[d], operands[1].strides[d], c[d])
        if out and all(outer == inner * n for outer, inner in zip(out[-1][1:], steps, strict=True)):
            out[-1] = (out[-1][0] * n, *steps)
        else:
            out.append((n, *steps))
    return out


def dot_step(node: Node, product: Product, layouts: dict, ref_of) -> DotStep:
    """The step; a result with adjacent rows is computed as its transpose."""
    batch = [(1, 0, 0, 0)] * (2 - len(product.batch)) + list(product.batch)
    m, n = node.type.shape[-2:]
    k = node.args[0].type.shape[-1]
    a, b, c = product.a.strides[-2:], product.b.strides[-2:], result_strides(node, layouts)[-2:]
    refs = [Ref(ref_of(o.base).buffer, ref_of(o.base).offset + o.offset * node.type.dtype.itemsize)
            for o in (product.a, product.b)]
    sizes = (batch[0][0], batch[1][0])
    lead = [(batch[0][i], batch[1][i]) for i in (1, 2, 3)]
    name, ref = node.type.dtype.name, ref_of(node)
    if c[1] == 1 or n == 1:
        return DotStep(name, sizes, m, n, k, refs[0], (*lead[0], *a), refs[1], (*lead[1], *b), ref,
                       (*lead[2], c[0], 1), node.name)
    return DotStep(name, sizes, n, m, k, refs[1], (*lead[1], b[1], b[0]), refs[0], (*lead[0], a[1], a[0]), ref,
                   (*lead[2], c[1], 1), node.name)
