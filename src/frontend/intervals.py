"""Where integer values of a graph must lie: one more interpreter of the scalar protocol, over intervals.

It proves most indices that a graph computes itself (positions of maxima, ramps and their sums) to be in
range, so that a program using them need not be run as if it could fail.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.graph import Graph, Node
from ..ir.op import Kind
from ..ir.ops.reduce import limits
from ..ir.scalar import COMPARE, Scalar


@dataclass(frozen=True, slots=True)
class Interval:
    """All whole numbers from low to high."""

    low: int
    high: int
    dtype: object

    def union(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high), self.dtype)


class Unknown(Exception):
    """Nothing is known of a value."""


class _Intervals(Scalar):
    """The verbs whose results can be bounded; any other gives Unknown."""

    def verb(self, name: str, args: tuple) -> Interval:
        first = args[0]
        if name in COMPARE:
            return Interval(0, 1, first.dtype)
        if name == "select":
            return args[1].union(args[2])
        if name == "neg":
            return self._made(first, (-first.high, -first.low))
        bounds = _BOUNDS.get(name)
        if bounds is None:
            raise Unknown(name)
        return self._made(first, bounds(*args))

    def _made(self, like: Interval, ends) -> Interval:
        low, high = min(ends), max(ends)
        lowest, highest = limits(like.dtype)
        if low < lowest or high > highest:  # it may wrap
            raise Unknown("wraps")
        return Interval(low, high, like.dtype)

    def const(self, value, like: Interval) -> Interval:
        return self.constant(value, like.dtype)

    def constant(self, value, dtype) -> Interval:
        if dtype.kind not in "iub":
            raise Unknown("not whole")
        return Interval(int(value), int(value), dtype)

    def index(self, place: Interval, dtype) -> Interval:
        return Interval(place.low, place.high, dtype)

    def convert(self, x: Interval, dtype) -> Interval:
        if dtype.kind not in "iu":
            raise Unknown("not whole")
        return self._made(Interval(x.low, x.high, dtype), (x.low, x.high))

    def dtype(self, x: Interval):
        return x.dtype

    def value(self, x: Interval):
        return x.low if x.low == x.high else None


def _products(a, b):
    return [p * q for p in (a.low, a.high) for q in (b.low, b.high)]


def _quotients(a, b):
    if b.low <= 0:
        raise Unknown("divides by what may not be positive")
    return [p // q for p in (a.low, a.high) for q in (b.low, b.high)]


def _rests(a, b):
    if b.low <= 0:
        raise Unknown("divides by what may not be positive")
    return (a.low, a.high) if a.low >= 0 and a.high < b.low else (0, b.high - 1)


_BOUNDS = {
    "add": lambda a, b: (a.low + b.low, a.high + b.high),
    "sub": lambda a, b: (a.low - b.high, a.high - b.low),
    "mul": _products,
    "floordiv": _quotients,
    "mod": _rests,
    "minimum": lambda a, b: (min(a.low, b.low), min(a.high, b.high)),
    "maximum": lambda a, b: (max(a.low, b.low), max(a.high, b.high)),
}


def intervals(graph: Graph) -> dict[Node, Interval]:
    """The intervals of those whole-number values of which something is known."""
    known: dict[Node, Interval] = {}
    for node in graph.nodes:
        if node.opcode != "call_function" or isinstance(node.type, tuple) or node.type.dtype.kind not in "iub":
            continue
        try:
            known[node] = _interval(node, known)
        except (Unknown, KeyError):
            continue
    return known


def _interval(node: Node, known: dict) -> Interval:
    op, attrs, dtype = node.target, dict(node.attrs), node.type.dtype
    if op.kind is Kind.PROJECT:
        return _position(node, attrs)
    args = [known[a] if type(a) is Node else Interval(int(a), int(a), dtype) for a in node.args]
    if op.kind is Kind.ELEMENTWISE and op.emit is not None:
        return op.emit(_Intervals(), *args, **attrs)
    if op.kind is Kind.CREATE:
        places = [Interval(0, max(n - 1, 0), dtype) for n in node.type.shape]
        return op.emit(_Intervals(), places, **attrs)
    if op.kind is Kind.MOVE and op.emit is not None:
        return _moved(node, args, attrs)
    raise Unknown(op.name)


def _position(node: Node, attrs: dict) -> Interval:
    """The position an indexed reduction gives."""
    source = node.args[0]
    reduction = source.target
    if reduction.kind is not Kind.REDUCE or not reduction.emit.indexed or attrs["index"] != 1:
        raise Unknown(reduction.name)
    (dim,) = dict(source.attrs)["dims"]
    return Interval(0, source.args[0].type.shape[dim] - 1, node.type.dtype)


def _moved(node: Node, args: list, attrs: dict) -> Interval:
    """What any of the pieces can be."""
    shapes = tuple(a.type.shape for a in node.args)
    out = None
    for piece in node.target.emit((0,) * node.type.ndim, shapes, **attrs):
        part = args[piece.operand] if piece.operand is not None else \
            _Intervals().constant(piece.fill, node.type.dtype)
        out = part if out is None else out.union(part)
    if out is None:
        raise Unknown("no pieces")
    return out
