"""A group of stages becomes a nest: its exprs over the kernel's own variables and slots, in passes."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from ..ir.dtype import bool_
from ..ir.graph import Node
from ..ir.type import contiguous_strides
from .cost import DEAR, verb_cost
from .fuse import Group, is_partial, value_index
from .index import Ix, Read, Var, flatten, index_of, substitute, variables
from .inline import Emitter
from .loops import CheckRange, Expr, Fold, Nest, Pass, Store, Table
from .space import make_space
from .stages import Stage, index_of_expr, roots_of, walk
from .views import Axes

SCRATCH = 64 << 10  # bytes of one kept row
MOST_SCRATCH = 256 << 10


@dataclass(slots=True)
class Lowered:
    """A nest and what its slots and error codes stand for."""

    nest: Nest
    slots: list[Node]
    needs: list = field(default_factory=list)  # Need of code i + 1


class Lowerer:
    def __init__(self, group: Group, stored: set[Node], layouts: dict[Node, tuple], axes: Axes):
        self.group, self.stored, self.layouts, self.axes = group, stored, layouts, axes
        self.table = Table()
        self.emitter = Emitter(self.table, lambda divisor: None)
        self.slots: dict[Node, int] = {}
        self.written: set[int] = set()
        self.value: dict[Node, Expr] = {}
        self.passes: list[Pass] = []
        self.pass_of_fold: dict[Fold, int] = {}
        self.needs: list = []

    def lower(self) -> Lowered:
        group = self.group
        self.space = make_space(self.axes.vars(group.shape), group.rows, self._places())
        self.inner = frozenset(self.space.inner)
        for stage in group.stages:
            self._stage(stage)
        rows, inner = tuple(self.space.rows), tuple(self.space.inner)
        if not rows and group.stages[0].role == "scatter":
            rows = (Var("one", 1),)
        nest = Nest(rows, inner, self.passes, tuple(n.type.dtype for n in self.slots), frozenset(self.written))
        nest.lanes = self._lanes()
        nest.parts = max((s.node.type.shape[0] for s in group.stages if is_partial(s)), default=0)
        if nest.lanes == "inner":
            nest.kept = kept_values(nest, self.inner)
        return Lowered(nest, list(self.slots), self.needs)

    def _lanes(self) -> str:
        if self.group.stages[0].role == "scatter":
            return "rows"
        if self.space.is_flat:
            return "flat"
        shape, rows = self.group.shape, self.group.rows
        last = max((d for d, n in enumerate(shape) if n > 1), default=0)
        return "rows" if rows is not None and last in rows and self.space.rows else "inner"

    # where things stand -------------------------------------------------------------------------
    def _strides(self, node: Node) -> tuple[int, ...]:
        return self.layouts.get(node) or contiguous_strides(node.type.shape)

    def _places(self) -> list:
        """Every index expression of the group over its base variables."""
        found: dict = {}
        for stage in self.group.stages:
            index = self.group.at[stage]
            values = None if index is stage.index else dict(zip(self.axes.vars(stage.domain), index, strict=True))
            for expr in walk(roots_of(stage)):
                if expr.kind == "load" and expr.data[0] in self.group.makes:
                    continue
                places = index_of_expr(expr)
                if values is not None:
                    places = [substitute(p, values) for p in places]
                if expr.kind == "load":
                    places = (flatten(places, self._strides(expr.data[0])),)
                found.update(dict.fromkeys(places))
            if stage.role == "scatter":
                found[flatten(stage.places, self._strides(stage.node))] = None
                continue
            for value in stage.values:
                if value in self.stored and not is_partial(stage):
                    found[flatten(value_index(stage, index), self._strides(value))] = None
        return list(found)

    def _slot(self, node: Node) -> int:
        return self.slots.setdefault(node, len(self.slots))

    # stages -------------------------------------------------------------------------------------
    def _stage(self, stage: Stage) -> None:
        index = tuple(substitute(i, self.space.values) for i in self.group.at[stage])
        values = dict(zip(self.axes.vars(stage.domain), index, strict=True))
        made: dict[Expr, Expr] = {}
        exprs = tuple(self._rebuild(e, values, made) for e in stage.exprs)
        for need in stage.needs:
            self._check(need, values, made)
        if stage.role == "reduce":
            self._reduce(stage, exprs, index)
            return
        if stage.role == "scatter":
            self._scatter(stage, exprs[0], values, made)
            return
        (expr,) = exprs
        node = stage.values[0]
        self.value[node] = expr
        if node in self.stored:
            self._store(node, flatten(index, self._strides(node)), expr)

    def _scatter(self, stage: Stage, value: Expr, values: dict, made: dict) -> None:
        for e in roots_of(stage):
            self._rebuild(e, values, made)
        place = flatten(tuple(self._index(i, values, made) for i in stage.places), self._strides(stage.node))
        slot = self._slot(stage.node)
        self.written.add(slot)
        self._pass(0).stores.append(Store(slot, place, value, stage.mode))

    def _store(self, node: Node, offset: Ix | int, expr: Expr) -> None:
        slot = self._slot(node)
        self.written.add(slot)
        store = Store(slot, offset, expr)
        at = self._pass_of(expr)
        if self._is_inner(variables(offset)) or not self.space.rows and self.space.is_flat:
            self._pass(at).stores.append(store)
        else:
            self._pass(max(at - 1, 0)).row_stores.append(store)

    def _check(self, need, values: dict, made: dict) -> None:
        bad = self._rebuild(need.bad, values, made)
        value = self._rebuild(need.value, values, made)
        if bad.kind == "const":
            return
        self.needs.append(need)
        check = CheckRange(bad, value, len(self.needs))
        at = self._pass(self._pass_of(bad))
        (at.checks if self._is_inner(bad.vars) else at.row_checks).append(check)

    def _is_inner(self, found) -> bool:
        return any(v in self.inner for v in found)

    def _pass(self, number: int) -> Pass:
        while len(self.passes) <= number:
            self.passes.append(Pass())
        return self.passes[number]

    def _pass_of(self, expr: Expr) -> int:
        return max((self.pass_of_fold[f] + 1 for f in expr.folds), default=0)

    def _reduce(self, stage: Stage, element: tuple[Expr, ...], index: tuple) -> None:
        reduction = stage.node.target.emit
        dtypes = tuple(e.dtype for e in element)
        states = [tuple(self.table.make("state", d, (side, k)) for k, d in enumerate(dtypes)) for side in "ab"]
        identity = reduction.identity(stage.node.args[0].type.dtype)
        combine = tuple(self.emitter.verb("select", (True, c, c)) if type(c) is not Expr else c
                        for c in reduction.combine(self.emitter, *states))
        fold = Fold(self._how(stage), identity, element, combine, dtypes, name=stage.node.name)
        at = max(map(self._pass_of, element))
        self.pass_of_fold[fold] = at
        self._pass(at).folds.append(fold)
        if fold.how != "along":
            self._partial(stage, fold, index)
            return
        for k, node in enumerate(stage.values):
            if node is None:
                continue
            result = self.table.make("result", dtypes[k], (fold, k))
            result.vars = frozenset().union(*(e.vars for e in element)) - self.inner
            result.vars |= {v for v in self.space.rows}
            result = self.emitter.convert(result, node.type.dtype)
            self.value[node] = result
            if node in self.stored:
                self._store(node, flatten(value_index(stage, index), self._strides(node)), result)

    def _how(self, stage: Stage) -> str:
        if not is_partial(stage):
            return "along"
        return "whole" if len(stage.reduced) == len(stage.domain) else "across"

    def _partial(self, stage: Stage, fold: Fold, index: tuple) -> None:
        node = stage.values[0]
        slot = self._slot(node)
        self.written.add(slot)
        fold.slots = (slot,)
        fold.per_row = not self._is_inner(frozenset().union(*(variables(i) for i in index)))
        if self.space.is_flat:
            fold.per_row = False

    # exprs over the kernel's variables and slots ------------------------------------------------
    def _rebuild(self, expr: Expr, values: dict, made: dict[Expr, Expr]) -> Expr:
        for e in walk([expr]):
            if e not in made:
                made[e] = self._rebuilt(e, values, made)
        return made[expr]

    def _rebuilt(self, e: Expr, values: dict, made: dict[Expr, Expr]) -> Expr:
        table = self.table
        if e.kind == "load":
            node = e.data[0]
            inside = self.value.get(node)
            if inside is not None:
                return inside
            place = flatten(tuple(self._index(i, values, made) for i in e.data[1]), self._strides(node))
            args = tuple(made[a] for a in e.args)
            return table.make("access", e.dtype, (self._slot(node), place), args, (place,))
        if e.kind == "index":
            place = self._index(e.data, values, made)
            if type(place) is int:
                return self.emitter.constant(place, e.dtype)
            return table.make("index", e.dtype, place, (), (place,))
        if e.kind == "within":
            return self._within(e, self._index(e.data[0], values, made))
        if e.kind == "const":
            return table.make("const", e.dtype, e.data)
        return table.make(e.kind, e.dtype, e.data, tuple(made[a] for a in e.args))

    def _within(self, e: Expr, place: Ix | int) -> Expr:
        _, low, high = e.data
        lo, hi = (place, place) if type(place) is int else (place.lo, place.hi)
        low = None if low is None or lo >= low else low
        high = None if high is None or hi < high else high
        if low is None and high is None:
            return self.emitter.constant(True, bool_)
        return self.table.make("within", bool_, (place, low, high), (), (place,))

    def _index(self, place: Ix | int, values: dict, made: dict) -> Ix | int:
        if type(place) is int:
            return place
        reads = [a for a in variables(place) if type(a) is Read]
        if reads:
            values = {**values, **{a: self._read(a, made) for a in reads}}
        return substitute(place, values)

    def _read(self, atom: Read, made: dict) -> Ix | int:
        expr = made[atom.expr]
        if expr.kind == "const":
            return int(expr.data.value)
        return index_of(Read(expr, atom.hi + 1))


def kept_values(nest: Nest, inner: frozenset) -> dict[Expr, int]:
    """Dear values of inner points that several passes need: computed in one, kept in a row of scratch."""
    size = prod(v.extent for v in nest.inner)
    first: dict[Expr, int] = {}
    kept: dict[Expr, int] = {}
    room = MOST_SCRATCH
    for number, step in enumerate(nest.passes):
        roots = [s.value for s in step.stores] + [e for f in step.folds for e in f.element]
        here = _needed(roots, inner, kept, first)
        for e in here:
            if e in first:
                nbytes = size * max(e.dtype.itemsize, 4)
                if e not in kept and nbytes <= SCRATCH and nbytes <= room:
                    kept[e] = first[e]
                    room -= nbytes
        for e in walk_until(roots, inner, frozenset(kept)):
            first.setdefault(e, number)
    return kept


def walk_until(roots, inner: frozenset, stop) -> list[Expr]:
    """The inner-point exprs under the roots, not below those in `stop`."""
    seen: dict[Expr, None] = {}
    stack = list(roots)
    while stack:
        e = stack.pop()
        if e not in seen and not e.vars.isdisjoint(inner):
            seen[e] = None
            if e not in stop:
                stack += e.args
    return list(seen)


def _needed(roots, inner: frozenset, kept: dict, first: dict) -> list[Expr]:
    """The topmost dear exprs under the roots that an earlier pass has computed."""
    found, seen = [], set()
    stack = list(roots)
    while stack:
        e = stack.pop()
        if e in seen or e.vars.isdisjoint(inner):
            continue
        seen.add(e)
        if e in kept:
            continue
        if e in first and _cost(e, inner) >= DEAR:
            found.append(e)
        else:
            stack += e.args
    return found


def _cost(expr: Expr, inner: frozenset) -> int:
    return sum(verb_cost(e.data) for e in walk_until([expr], inner, ()) if e.kind == "call")


