"""The loop IR, between fusion and the printers; it knows no language.

    expr  = const value | index ix | within (ix, low, high) | load node at index | access slot at offset
          | call verb (expr...) | result of a fold | state (a scalar of a fold being combined)
    nest  = rows (parallel) x inner points, walked in passes; slots are the kernel's buffers
    pass  = row checks, walks (one per segment of the row), row stores
    walk  = at each inner point of a segment: checks, fold elements, stores
    fold  = one reduction: along the inner vars (a result per row), across the rows (per inner point and
            chunk), or whole (per chunk)
Exprs are hash-consed: equal exprs of one Table are one object.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from ..ir.arith import number_as
from ..ir.dtype import DType
from .index import Ix, Read, Var, variables

NONE: frozenset = frozenset()


class Expr:
    """One scalar value; `vars` are the loop variables and `folds` the reductions it depends on."""

    __slots__ = ("args", "data", "dtype", "folds", "kind", "vars")

    def __init__(self, kind: str, dtype: DType, data: Any, args: tuple[Expr, ...]):
        self.kind, self.dtype, self.data, self.args = kind, dtype, data, args

    def __repr__(self) -> str:
        return f"{self.kind}({self.data!r}{''.join(', ' + repr(a) for a in self.args)})"


class Table:
    """Makes exprs, each once."""

    __slots__ = ("made",)

    def __init__(self) -> None:
        self.made: dict[tuple, Expr] = {}

    def make(self, kind: str, dtype: DType, data: Any = None, args: tuple = (), index: tuple = ()) -> Expr:
        """The expr; `index` are the index expressions in `data`."""
        key = (kind, dtype, data, args)
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = Expr(kind, dtype, data, args)
            _depend(found, index)
        return found


def _depend(expr: Expr, index: tuple) -> None:
    args = expr.args
    vars_, folds = (args[0].vars, args[0].folds) if args else (NONE, NONE)
    for a in args[1:]:
        vars_ = vars_ if a.vars <= vars_ else vars_ | a.vars
        folds = folds if a.folds <= folds else folds | a.folds
    if index:
        found: set = set()
        for i in index:
            variables(i, found)
        for atom in [a for a in found if type(a) is Read]:
            found.discard(atom)
            found |= atom.expr.vars
            folds = folds | atom.expr.folds
        vars_ = vars_ | found if found else vars_
    if expr.kind == "result":
        fold = expr.data[0]
        vars_, folds = vars_, folds | {fold}
    expr.vars, expr.folds = vars_, folds


class Number:
    """A Python number told apart by type and sign of zero; NaN equals NaN."""

    __slots__ = ("key", "value")

    def __init__(self, value):
        self.value, self.key = value, (type(value), repr(value))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other) -> bool:
        return type(other) is Number and self.key == other.key

    def __repr__(self) -> str:
        return repr(self.value)


def constant(table: Table, value, dtype: DType) -> Expr:
    """A constant: the number as `dtype` holds it (a half's constant stays in float32, as in eager)."""
    return table.make("const", dtype, Number(number_as(value, dtype)))


@dataclass(eq=False, slots=True)
class Fold:
    """A reduction: state = combine(state, element), from `identity`; `how` is along, across or whole."""

    how: str
    identity: tuple
    combine: tuple[Expr, ...]  # over the states ("a", k) and ("b", k)
    dtypes: tuple[DType, ...]
    slot: int = -1  # where partial results of a chunk go (across, whole)
    per_row: tuple[Expr, ...] = ()  # whole: the element, where there is one per row


@dataclass(slots=True)
class Store:
    slot: int
    offset: Ix | int
    value: Expr
    mode: str = ""  # a verb: the value there and this one are combined; places may repeat along inner


@dataclass(slots=True)
class CheckRange:
    """Fails with `code` where `bad` holds, telling `value`."""

    bad: Expr
    value: Expr
    code: int


@dataclass(slots=True)
class Walk:
    """What one pass does at each inner point of a segment of the row."""

    inner: tuple[Var, ...]
    checks: list[CheckRange] = field(default_factory=list)  # all before the rest
    elements: dict[Fold, tuple[Expr, ...]] = field(default_factory=dict)
    places: dict[Fold, Ix | int] = field(default_factory=dict)  # across: the number of the inner point
    stores: list[Store] = field(default_factory=list)

    @property
    def size(self) -> int:
        return prod(v.extent for v in self.inner)

    @property
    def is_empty(self) -> bool:
        return not (self.checks or self.elements or self.stores)

    def roots(self) -> list[Expr]:
        """What is computed at each point."""
        reads = [a.expr for s in self.stores for a in variables(s.offset) if type(a) is Read]
        return [*(e for es in self.elements.values() for e in es), *(s.value for s in self.stores), *reads]


@dataclass(slots=True)
class Pass:
    """One walk over a row, in segments, and what is done once per row: before it and after it."""

    walks: list[Walk]
    folds: list[Fold] = field(default_factory=list)
    row_checks: list[CheckRange] = field(default_factory=list)  # before
    row_stores: list[Store] = field(default_factory=list)  # after

    def roots(self) -> list[Expr]:
        """All exprs of the pass."""
        out = [e for w in self.walks for e in (*w.roots(), *(c.bad for c in w.checks))]
        out += [e for c in self.row_checks for e in (c.bad, c.value)]
        out += [e for f in self.folds for e in f.per_row]
        return out + [s.value for s in self.row_stores]


@dataclass(slots=True)
class Nest:
    """One kernel. `lanes` names the vectorised variables: inner, rows, or flat (no rows at all)."""

    rows: tuple[Var, ...]
    passes: list[Pass]
    slots: tuple[DType, ...]
    written: frozenset[int]
    lanes: str = "inner"
    kept: dict[Expr, tuple[int, int]] = field(default_factory=dict)  # value -> (first pass, points)
    parts: int = 0  # chunks that whole folds leave room for

    @property
    def inner(self) -> frozenset[Var]:
        return frozenset(v for w in self.passes[0].walks for v in w.inner)

    @property
    def row_size(self) -> int:
        """Inner points of a row."""
        return sum(w.size for w in self.passes[0].walks)
