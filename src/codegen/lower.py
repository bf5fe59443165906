"""A group of stages becomes a nest: its exprs over the kernel's own variables and slots, in passes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.dtype import bool_
from ..ir.graph import Node
from ..ir.type import contiguous_strides
from .fuse import Group, is_partial, value_index
from .index import Ix, Read, Var, flatten, index_of, release, substitute, variables
from .inline import Emitter, within
from .lanes import arrange, lane_last
from .loops import CheckRange, Expr, Fold, Nest, Pass, Store, Table, Walk
from .reuse import kept_values
from .space import make_space
from .stages import Stage, index_of_expr, roots_of, walk
from .views import Axes


@dataclass(slots=True)
class Lowered:
    """A nest and what its slots and error codes stand for."""

    nest: Nest
    slots: list[Node]
    needs: list = field(default_factory=list)  # Need of code i + 1


class _Segment:
    """One segment of the rows: its variables, and the group's values there."""

    __slots__ = ("inner", "value", "values")

    def __init__(self, inner: list[Var], values: dict):
        self.inner, self.values = tuple(inner), values
        self.value: dict[Node, Expr] = {}


class Lowerer:
    def __init__(self, group: Group, stored: set[Node], layouts: dict[Node, tuple], axes: Axes):
        self.group, self.stored, self.layouts, self.axes = group, stored, layouts, axes
        self.table = Table()
        self.emitter = Emitter(self.table, lambda divisor: None)
        self.slots: dict[Node, int] = {}
        self.written: set[int] = set()
        self.passes: list[Pass] = []
        self.pass_of_fold: dict[Fold, int] = {}
        self.needs: list = []

    def lower(self) -> Lowered:
        group = self.group
        self.space = make_space(self.axes.vars(group.shape), group.rows, *self._places())
        self.segments = [_Segment(s.inner, s.values) for s in self.space.segments]
        self.inner = frozenset(v for s in self.segments for v in s.inner)
        for stage in group.stages:
            self._stage(stage)
        self._pass(0)
        nest = Nest(tuple(self.space.rows), self.passes, tuple(n.type.dtype for n in self.slots),
                    frozenset(self.written))
        self._arrange(nest)
        nest.parts = max((s.node.type.shape[0] for s in group.stages if is_partial(s)), default=0)
        if nest.lanes == "inner":
            nest.kept = kept_values(nest)
        return Lowered(nest, list(self.slots), self.needs)

    @property
    def is_scatter(self) -> bool:
        return self.group.stages[0].role == "scatter"

    def _arrange(self, nest: Nest) -> None:
        """Chooses the nest's form."""
        if self.is_scatter:
            nest.lanes, nest.rows = "rows", lane_last(nest.rows)
        elif self.space.is_flat:
            nest.lanes = "flat"
        else:
            shape, rows = self.group.shape, self.group.rows
            last = max((d for d, n in enumerate(shape) if n > 1), default=0)
            arrange(nest, rows is not None and last in rows)

    # where things stand -------------------------------------------------------------------------
    def _strides(self, node: Node) -> tuple[int, ...]:
        return self.layouts.get(node) or contiguous_strides(node.type.shape)

    def _places(self) -> tuple[list, list]:
        """Every index expression of the group over its base variables, and the conditions on them."""
        found: dict = {}
        bounds: list = []
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
                elif expr.kind == "within":
                    bounds.append((release(places[0]), *expr.data[1:]))
                places = [release(p) for p in places]
                found.update(dict.fromkeys(places))
            for value, place in self._writes(stage, index):
                found[flatten(place, self._strides(value))] = None
        return list(found), bounds

    def _writes(self, stage: Stage, index: tuple) -> list[tuple[Node, tuple]]:
        """The values a stage stores and their places in the variables of `index`."""
        if stage.role == "scatter":
            return [(stage.node, stage.places)]
        if is_partial(stage):
            return []
        return [(v, value_index(stage, index)) for v in stage.values if v in self.stored]

    def _slot(self, node: Node) -> int:
        return self.slots.setdefault(node, len(self.slots))

    def _is_inner(self, found) -> bool:
        return any(v in self.inner for v in found)

    def _pass(self, number: int) -> Pass:
        while len(self.passes) <= number:
            self.passes.append(Pass([Walk(s.inner) for s in self.segments]))
        return self.passes[number]

    def _pass_of(self, expr: Expr) -> int:
        return max((self.pass_of_fold[f] + 1 for f in expr.folds), default=0)

    # stages -------------------------------------------------------------------------------------
    def _stage(self, stage: Stage) -> None:
        indices, exprs = [], []
        for number, segment in enumerate(self.segments):
            index = tuple(substitute(i, segment.values) for i in self.group.at[stage])
            builder = _Rebuilder(self, segment, dict(zip(self.axes.vars(stage.domain), index, strict=True)))
            indices.append(index)
            exprs.append(tuple(builder.rebuild(e) for e in stage.exprs))
            for need in stage.needs:
                self._check(need, number, builder)
            if stage.role == "scatter":
                self._scatter(stage, exprs[-1][0], number, builder)
        if stage.role == "reduce":
            self._reduce(stage, exprs, indices)
        elif stage.role == "point":
            self._point(stage.values[0], [e for (e,) in exprs], indices)

    def _point(self, node: Node, exprs: list[Expr], indices: list[tuple]) -> None:
        for segment, expr in zip(self.segments, exprs, strict=True):
            segment.value[node] = expr
        if node in self.stored:
            places = [flatten(i, self._strides(node)) for i in indices]
            self._store(node, exprs, places)

    def _store(self, node: Node, exprs: list[Expr], places: list) -> None:
        slot = self._slot(node)
        self.written.add(slot)
        at = max(map(self._pass_of, exprs))
        if self.space.is_flat or any(self._is_inner(variables(p)) for p in places) or len(set(places)) > 1:
            for walk_, expr, place in zip(self._pass(at).walks, exprs, places, strict=True):
                walk_.stores.append(Store(slot, place, expr))
        else:
            self._pass(max(at - 1, 0)).row_stores.append(Store(slot, places[0], exprs[0]))

    def _scatter(self, stage: Stage, value: Expr, number: int, builder: _Rebuilder) -> None:
        for e in roots_of(stage):
            builder.rebuild(e)
        place = flatten(tuple(builder.index(i) for i in stage.places), self._strides(stage.node))
        slot = self._slot(stage.node)
        self.written.add(slot)
        self._pass(0).walks[number].stores.append(Store(slot, place, value, stage.mode))

    def _check(self, need, number: int, builder: _Rebuilder) -> None:
        bad, value = builder.rebuild(need.bad), builder.rebuild(need.value)
        if bad.kind == "const" and not bad.data.value:
            return
        if need not in self.needs:
            self.needs.append(need)
        check = CheckRange(bad, value, self.needs.index(need) + 1)
        step = self._pass(self._pass_of(bad))
        if self._is_inner(bad.vars):
            step.walks[number].checks.append(check)
        elif check not in step.row_checks:
            step.row_checks.append(check)

    # reductions ---------------------------------------------------------------------------------
    def _reduce(self, stage: Stage, elements: list[tuple], indices: list[tuple]) -> None:
        reduction, table = stage.node.target.emit, self.table
        dtypes = tuple(e.dtype for e in elements[0])
        a, b = (tuple(table.make("state", d, (side, k)) for k, d in enumerate(dtypes)) for side in "ab")
        identity = reduction.identity(stage.node.args[0].type.dtype)
        fold = Fold(_how(stage), identity, reduction.combine(self.emitter, a, b), dtypes)
        at = max(self._pass_of(e) for element in elements for e in element)
        self.pass_of_fold[fold] = at
        step = self._pass(at)
        step.folds.append(fold)
        if fold.how == "whole" and not self.space.is_flat and not any(
                self._is_inner(variables(i)) for index in indices for i in index) and len(set(indices)) == 1:
            fold.per_row = elements[0]
        else:
            for walk_, element in zip(step.walks, elements, strict=True):
                walk_.elements[fold] = element
        if fold.how == "along":
            self._results(stage, fold, elements, indices)
        else:
            self._partial(stage, fold, step, indices)

    def _results(self, stage: Stage, fold: Fold, elements: list[tuple], indices: list[tuple]) -> None:
        rows = frozenset(self.space.rows)
        for k, node in enumerate(stage.values):
            if node is None:
                continue
            result = self.table.make("result", fold.dtypes[k], (fold, k))
            result.vars = rows
            value = self.emitter.convert(result, node.type.dtype)
            for segment in self.segments:
                segment.value[node] = value
            if node in self.stored:
                place = flatten(value_index(stage, indices[0]), self._strides(node))
                self._store(node, [value] * len(self.segments), [place] * len(self.segments))

    def _partial(self, stage: Stage, fold: Fold, step: Pass, indices: list[tuple]) -> None:
        node = stage.values[0]
        fold.slot = self._slot(node)
        self.written.add(fold.slot)
        if fold.how == "across":
            strides = contiguous_strides(node.type.shape[1:])
            for walk_, index in zip(step.walks, indices, strict=True):
                walk_.places[fold] = flatten(value_index(stage, index), strides)


def _always_inside(place: Ix | int, node: Node, strides: tuple[int, ...]) -> bool:
    """Whether every value of the place's variables is an element of the node's memory."""
    lo, hi = (place, place) if type(place) is int else (place.lo, place.hi)
    last = sum((n - 1) * s for n, s in zip(node.type.shape, strides, strict=True))
    return node.type.numel > 0 and min(strides, default=0) >= 0 and lo >= 0 and hi <= last


def _how(stage: Stage) -> str:
    if not is_partial(stage):
        return "along"
    return "whole" if len(stage.reduced) == len(stage.domain) else "across"


class _Rebuilder:
    """Exprs of a stage over a segment's variables and the kernel's slots."""

    def __init__(self, lowerer: Lowerer, segment: _Segment, values: dict):
        self.lowerer, self.values, self.inside = lowerer, values, segment.value
        self.table, self.emitter = lowerer.table, lowerer.emitter
        self.made: dict[Expr, Expr] = {}

    def rebuild(self, expr: Expr) -> Expr:
        made = self.made
        if expr not in made:
            for e in walk([expr], made):
                made[e] = self._rebuilt(e)
        return made[expr]

    def _rebuilt(self, e: Expr) -> Expr:
        made = self.made
        if e.kind == "load":
            return self._load(e)
        if e.kind == "call":
            args = tuple([made[a] for a in e.args])
            if e.data == "select" and args[0].kind == "const":
                return args[1] if args[0].data.value else args[2]
            if e.data in ("and_", "not_"):
                return self._logic(e, args)
            return self.table.make("call", e.dtype, e.data, args)
        if e.kind == "index":
            place = release(self.index(e.data))
            if type(place) is int:
                return self.emitter.constant(place, e.dtype)
            return self.table.make("index", e.dtype, place, (), (place,))
        if e.kind == "within":
            return within(self.table, release(self.index(e.data[0])), *e.data[1:])
        return self.table.make(e.kind, e.dtype, e.data, tuple(made[a] for a in e.args))

    def _logic(self, e: Expr, args: tuple) -> Expr:
        """Conjunction and negation of bools, decided where a segment decides them."""
        if e.dtype is bool_:
            if e.data == "not_" and args[0].kind == "const":
                return self.emitter.constant(not args[0].data.value, bool_)
            for a, b in (args, args[::-1]) if e.data == "and_" else ():
                if a.kind == "const":
                    return b if a.data.value else a
        return self.table.make("call", e.dtype, e.data, args)

    def _load(self, e: Expr) -> Expr:
        node = e.data[0]
        inside = self.inside.get(node)
        if inside is not None:
            return inside
        masks = tuple([self.made[a] for a in e.args])
        if masks and masks[0].kind == "const":
            if not masks[0].data.value:
                return self.emitter.constant(0, e.dtype)
            masks = ()
        strides = self.lowerer._strides(node)
        place = release(flatten(tuple([self.index(i) for i in e.data[1]]), strides))
        if masks and _always_inside(place, node, strides):
            masks = ()  # what is read where the mask is false is not used
        return self.table.make("access", e.dtype, (self.lowerer._slot(node), place), masks, (place,))

    def index(self, place: Ix | int) -> Ix | int:
        """An index expression over the segment's variables."""
        if type(place) is int:
            return place
        values = self.values
        reads = [a for a in variables(place) if type(a) is Read]
        if reads:
            values = {**values, **{a: self._read(a) for a in reads}}
        return substitute(place, values)

    def _read(self, atom: Read) -> Ix | int:
        expr = self.made[atom.expr]
        if expr.kind == "const":
            return int(expr.data.value)
        return index_of(Read(expr, atom.hi + 1))
