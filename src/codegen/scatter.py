"""Writes at places read from data: what a scatter's rows say of it, and when it is a mere choice.

Source dims that are dims of the result are its own: each is written by one thread. The others are lost:
they are gone through in order, so that the result is that of writing one element after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..ir.graph import Node
from ..ir.ops.gather import At
from .index import Ix, Var


@dataclass(frozen=True, slots=True)
class Scatter:
    """Which source element goes where."""

    source: int  # the operand whose elements are written
    mode: str  # a verb that combines old and new, or set
    domain: tuple[int, ...]  # the source elements that are written
    own: dict[int, int]  # result dim -> source dim
    lost: tuple[int, ...]  # source dims


def read_scatter(node: Node) -> Scatter:
    """The scatter that a node is."""
    mode = node.target.emit[1]
    shapes = [a.type.shape for a in node.args]
    probe = places_of(node, (0,) * 16)
    readers = {p.operand for p in probe if type(p) is At}
    source = next(k for k in range(1, len(shapes)) if k not in readers)
    domain = list(shapes[source])
    for k in readers:
        for d, n in enumerate(shapes[k]):
            domain[d] = min(domain[d], n)
    variables = tuple(Var(f"s{d}", n) for d, n in enumerate(domain))
    places = places_of(node, tuple(_place(v) for v in variables))
    own = {d: variables.index(v) for d, p in enumerate(places) if type(p) is not At and (v := _variable(p))}
    lost = tuple(d for d in range(len(domain)) if d not in own.values())
    return Scatter(source, mode, tuple(domain), own, lost)


def _place(var: Var) -> Ix:
    """The variable as an index, even where it has one value."""
    return Ix({var: 1}, 0)


def _variable(place) -> Var | None:
    (atom,) = place.terms
    return atom


def is_choice(node: Node) -> bool:
    """Whether each element of the result is written at most once: it is then computed in place."""
    found = read_scatter(node)
    return prod(found.domain[d] for d in found.lost) == 1


def source_index(scatter: Scatter, index: tuple) -> tuple:
    """The source element that may be written at a place of the result; lost dims have one value."""
    at: list = [0] * len(scatter.domain)
    for d, s in scatter.own.items():
        at[s] = index[d]
    return tuple(at)


def places_of(node: Node, index: tuple) -> tuple:
    """The place in the result of a source element: per dim an index or an At."""
    return node.target.emit[0](index, [a.type.shape for a in node.args], **dict(node.attrs))
