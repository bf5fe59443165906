"""What an elementwise op costs to compute again, read off the verbs its `emit` uses."""

from __future__ import annotations

from functools import cache

from ..ir.dtype import bool_
from ..ir.op import Kind, Op
from ..ir.scalar import COMPARE, Scalar

_CHEAP = frozenset("""add sub mul neg abs minimum maximum fma eq ne lt le gt ge and_ or_ xor not_ shl shr select
convert floor ceil trunc round copysign""".split())
_WEIGHT = {"div": 4, "sqrt": 4, "rsqrt": 5, "pow": 30, "philox": 60, "lgamma": 40, "digamma": 40, "erfinv": 25,
           "floordiv": 6, "mod": 6, "fmod": 6}
DEAR = 12  # a transcendental


def verb_cost(verb: str) -> int:
    """Cost of one verb; an addition is 1."""
    return 1 if verb in _CHEAP else _WEIGHT.get(verb, DEAR)


class _Scale(Scalar):
    """Adds up the costs of the verbs; its values are dtypes."""

    def __init__(self) -> None:
        self.total = 0

    def verb(self, name, args):
        self.total += verb_cost(name)
        like = next((a for a in reversed(args) if not isinstance(a, (int, float, complex))), bool_)
        return bool_ if name in COMPARE else like

    def const(self, value, like):
        return like

    def constant(self, value, dtype):
        return dtype

    def index(self, index, dtype):
        return dtype

    def convert(self, x, dtype):
        self.total += 1
        return dtype

    def dtype(self, x):
        return x

    def value(self, x):
        return x if isinstance(x, (int, float, complex)) else None


@cache
def _op_cost(op: Op, operands: tuple, attrs: tuple) -> int:
    scale = _Scale()
    args = operands if op.kind is Kind.ELEMENTWISE else ((), *operands)
    op.emit(scale, *args, **dict(attrs))
    return scale.total


def node_cost(node) -> int:
    """Cost of one element of a node, its operands given."""
    op = node.target
    if op.kind is Kind.ELEMENTWISE and op.emit is not None:
        operands = tuple(a if isinstance(a, (int, float, complex)) else a.type.dtype for a in node.args)
        return _op_cost(op, operands, node.attrs)
    return {Kind.GATHER: 4, Kind.RANDOM: 60}.get(op.kind, 0)
