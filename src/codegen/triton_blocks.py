"""Blocks of values in a Triton kernel: which rows and inner points they cover, and where memory is touched.

x numbers rows (all points in the flat form) and r the inner points of a segment. In the tile form x is a column [X, 1]
and r a row [1, R]. Lanes beyond an end are masked: they read nothing and write nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .index import Ix, Read, Var, variables
from .loops import CheckRange, Expr, Nest, Store
from .scopes import Scopes
from .stages import index_of_expr
from .triton_expr import Names, typed
from .triton_tiles import Tiles

LIMIT = (1 << 31) - (1 << 16)  # places up to here are counted in 32 bits


class Blocks(Scopes):
    """Writes statements over blocks; `names` is what they refer to."""

    def __init__(self, nest: Nest, alias: dict[int, int], tiles: Tiles):
        super().__init__(nest)
        self.tiles = tiles
        self.names = Names(nest, alias)
        self.names.wide = _is_wide(nest)
        self.inner = nest.inner
        self.is_2d = tiles.form == "tile"
        self.masks: dict[str, str] = {}  # "x" or "r" -> the mask's name, where one is needed
        self.axis = {"x": "x", "r": "r0"}  # the names of the numbers of rows and inner points
        self.results: dict[tuple, str] = {}  # (fold, k) -> name
        self.has_checks = False

    # text ---------------------------------------------------------------------------------------
    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.put(head)
        with self.scope():
            before = dict(self.masks)
            yield
            self.masks = before

    def define(self, e: Expr) -> None:
        if e.kind == "result":
            text = self.results[e.data]
        elif e.kind == "const":
            text = typed(e.data.value, e.dtype)
        else:
            text = self.fresh("v")
            made = self.access(e) if e.kind == "access" else self.names.expr(e, self.name)
            self.put(f"{text} = {made}")
        self.scopes[-1][e] = text

    # blocks and masks ---------------------------------------------------------------------------
    def dims(self, e: Expr) -> frozenset[str]:
        """Along which of x and r a value is a block."""
        out = self.dims_of(e.vars)
        return out | {"x"} if e.folds else out

    def dims_of(self, vars_: Iterable) -> frozenset[str]:
        if not self.is_2d:
            flat = self.tiles.form == "flat"
            return frozenset("x" if flat or v not in self.inner else "" for v in vars_) - {""}
        return frozenset("r" if v in self.inner else "x" for v in vars_)

    def dims_at(self, place: Ix | int) -> frozenset[str]:
        out: frozenset[str] = frozenset()
        for atom in variables(place):
            out |= self.dims(atom.expr) if isinstance(atom, Read) else self.dims_of([atom])
        return out

    def mask(self, dims: Iterable[str], *more: str) -> str:
        parts = [self.masks[d] for d in sorted(dims) if d in self.masks]
        return " & ".join([*parts, *more])

    def place(self, place: Ix | int, dims: frozenset[str]) -> str:
        """The text of a place as a block along `dims`."""
        text = self.names.place(place, self.name)
        for d in sorted(dims - self.dims_at(place)):
            text += f" + {self.axis[d]} * 0"
        return text

    def inside(self, place: Ix | int) -> list[str]:
        """Conditions under which what a place is read from is in range: a check may have failed."""
        out = []
        for atom in sorted((a for a in variables(place) if isinstance(a, Read)), key=lambda a: self.name(a.expr)):
            name = self.name(atom.expr)
            out.append(f"({name} >= 0) & ({name} < {self.names.size(atom.hi + 1)})")
        return out

    def access(self, e: Expr) -> str:
        slot, place = e.data
        dims = self.dims_at(place).union(*(self.dims(a) for a in e.args))
        more = [*self.inside(place), *(self.name(a) for a in e.args)]
        return self.names.load(slot, self.place(place, dims), self.mask(dims, *more))

    def store(self, s: Store) -> None:
        dims = self.dims_at(s.offset) | self.dims(s.value)
        place, mask = self.place(s.offset, dims), self.mask(dims, *self.inside(s.offset))
        value = self.names.alone(s.value, self.name)
        self.put(self.names.store(s.slot, place, value, mask))

    def check(self, check: CheckRange) -> None:
        self.has_checks = True
        bad = self.names.alone(check.bad, self.name)
        mask = self.mask(self.dims(check.bad))
        value = self.names.alone(check.value, self.name)
        if check.value.dtype.name != "int64":
            value = f"({value}).to(tl.int64)"
        text = f"{bad} & {mask}" if mask else bad if self.dims(check.bad) else f"{bad} & tl.full([1], True, tl.int1)"
        self.put(self.names.call("td_check", "err", text, value, str(check.code)))

    def digits(self, vars_: tuple[Var, ...], flat: str) -> None:
        """Names variables as digits of their flat number."""
        size = 1
        steps = []
        for v in reversed(vars_):
            steps.append((v, size))
            size *= v.extent
        for k, (v, step) in enumerate(reversed(steps)):
            if len(steps) == 1:
                self.names.vars[v] = flat
                return
            text = flat if step == 1 else f"{flat} // {self.names.size(step)}"
            name = self.names.vars[v] = self.fresh(f"{flat}_")
            self.put(f"{name} = {text}{f' % {self.names.size(v.extent)}' if k else ''}")


def _is_wide(nest: Nest) -> bool:
    """Whether some place needs more than 32 bits."""
    highest = nest.row_size
    for v in nest.rows:
        highest *= v.extent
    for step in nest.passes:
        seen: set[Expr] = set()
        stack = step.roots()
        while stack:
            e = stack.pop()
            if e in seen:
                continue
            seen.add(e)
            stack += e.args
            for ix in index_of_expr(e):
                stack += [a.expr for a in variables(ix) if type(a) is Read]
                highest = max(highest, ix.hi if type(ix) is Ix else ix)
        for s in (*step.row_stores, *(s for w in step.walks for s in w.stores)):
            highest = max(highest, s.offset.hi if type(s.offset) is Ix else s.offset)
    return highest > LIMIT
