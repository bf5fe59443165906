"""The loops of a Triton kernel: a nest as blocks of rows times blocks of inner points.

In the flat form x numbers all points. Otherwise x numbers the rows and is a column [X, 1], and r the inner points of
a segment, a row [1, R]; a row longer than its block is walked in a loop, and so are the rows of a chunk. Lanes beyond
an end are masked: they read nothing, write nothing, and count as the identity in a reduction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext

from .index import Ix, Read, Var, variables
from .loops import CheckRange, Expr, Fold, Nest, Pass, Store, Walk
from .scopes import Scopes, topmost
from .stages import index_of_expr
from .triton_expr import Names, typed
from .triton_tiles import Tiles, power

SERIAL = 64  # blocks added one after the other before a second level: bounds rounding errors
LIMIT = (1 << 31) - (1 << 16)  # places up to here are counted in 32 bits


class Form(Scopes):
    """Writes the body of one kernel; `names` is what it refers to, `combines` the functions it reduces by."""

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
        self.running: dict[tuple[Fold, int], list[str]] = {}  # accumulators over the rows of a chunk, by segment
        self.parts: dict[Fold, list[list[str]]] = {}  # a fold's states by segment, reduced
        self.combines: dict[str, str] = {}  # text -> name
        self.digits_of: dict[int, dict[Var, str]] = {}  # segment -> names of its variables, which segments share
        self.values_of: dict[int, dict[Expr, str]] = {}  # segment -> names of values, kept from pass to pass
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

    # reductions ---------------------------------------------------------------------------------
    def combine(self, fold: Fold) -> str:
        """The name of the function that combines two states of a fold."""
        kept = self.lines, self.scopes, self.depth, self.count
        a, b = ([f"{side}{k}" for k in range(len(fold.dtypes))] for side in "ab")
        self.lines, self.depth, self.count = [], 1, 0
        self.scopes = [_states(fold, a, b)]
        out = [self.names.alone(e, self.name) for e in fold.combine]
        text = f"({', '.join(a + b)}):\n" + "".join(f"{line}\n" for line in [*self.lines, f"    return {', '.join(out)}"])
        self.lines, self.scopes, self.depth, self.count = kept
        return self.combines.setdefault(text, f"combine{len(self.combines)}")

    def combined(self, fold: Fold, a: list[str], b: list[str]) -> list[str]:
        """Names of the state made of two."""
        out = [self.fresh("s") for _ in a]
        self.put(f"{', '.join(out)} = {self.combine(fold)}({', '.join(a + b)})")
        return out

    def reduced(self, fold: Fold, values: list[str], axis: int | None) -> list[str]:
        """Names of the states left when an axis of blocks is reduced (None: all of them, to a scalar)."""
        out = [self.fresh("s") for _ in values]
        given = values[0] if len(values) == 1 else f"({', '.join(values)})"
        keep = "" if axis is None else ", keep_dims=True"
        self.put(f"{', '.join(out)} = tl.reduce({given}, {axis}, {self.combine(fold)}{keep})")
        return out

    def blocks(self, fold: Fold, element: tuple[Expr, ...], shape: str, dims: str) -> list[str]:
        """The element as whole blocks, the identity in lanes that are off."""
        out = []
        mask = self.mask(dims)
        for e, d, start in zip(element, fold.dtypes, fold.identity, strict=True):
            text = self.names.alone(e, self.name)
            if self.dims(e) != frozenset(dims):
                text = f"tl.broadcast_to({text}, {shape})"
            name = self.fresh("s")
            self.put(f"{name} = {f'tl.where({mask}, {text}, {typed(start, d)})' if mask else text}")
            out.append(name)
        return out

    def accumulators(self, fold: Fold, shape: str) -> list[str]:
        """Blocks of a fold's identity."""
        out = []
        for d, start in zip(fold.dtypes, fold.identity, strict=True):
            name = self.fresh("a")
            self.put(f"{name} = tl.broadcast_to({typed(start, d)}, {shape})")
            out.append(name)
        return out

    def accumulate(self, fold: Fold, into: list[str], values: list[str]) -> None:
        """into = combine(into, values), for blocks of one shape."""
        names = ", ".join(into)
        self.put(f"{names} = {self.combine(fold)}({', '.join(into + values)})")

    # the kernel ---------------------------------------------------------------------------------
    def write(self) -> None:
        tiles = self.tiles
        self.put(f"pid = tl.program_id(0){'.to(tl.int64)' if self.names.wide else ''}")
        if tiles.columns > 1:
            columns = self.names.size(tiles.columns)
            self.put(f"column = pid % {columns}")
            self.put(f"pid = pid // {columns}")
        self.uniform()
        if self.is_2d:
            self.unlooped_ranges()
        self.start_chunk()
        if tiles.is_chunked:
            self.chunk()
        else:
            self.whole_block()
        self.finish_chunk()

    def chunk(self) -> None:
        """The rows of a chunk, block after block; what many blocks add up to goes to a second level."""
        grain, tiles = self.names.size("grain"), self.tiles
        self.put(f"begin = pid * {grain}")
        self.put(f"end = tl.minimum(begin + {grain}, {self.names.size(tiles.rows)})")
        is_deep = tiles.grain > SERIAL * tiles.x_block and any(d.kind == "f" for f, _ in self.running for d in f.dtypes)
        own = dict(self.running)
        step = f"{SERIAL} * X"
        with self.block(f"for k in range(0, {grain}, {step}):") if is_deep else nullcontext():
            if is_deep:
                self.running = {(f, n): self.accumulators(f, self.shape(n)) for f, n in own}
            bounds = f"k, tl.minimum(k + {step}, {grain})" if is_deep else f"0, {grain}"
            with self.block(f"for first in range({bounds}, X):"):
                self.range_of_rows("begin + first", "end")
                self.passes()
            for (f, n), names in own.items():
                if is_deep:
                    self.accumulate(f, names, self.running[f, n])
        self.running = own

    def whole_block(self) -> None:
        """The only block of rows of this program; without masks where all lanes are on."""
        tiles, rows = self.tiles, self.names.size(self.tiles.rows)
        has_folds = any(p.folds for p in self.nest.passes)
        if tiles.form == "flat" and not has_folds and tiles.rows > tiles.x_block and tiles.rows % tiles.x_block:
            self.put("begin = pid * X")
            with self.block(f"if begin + X <= {rows}:"):
                self.range_of_rows("begin", "")
                self.passes()
            with self.block("else:"):
                self.range_of_rows("begin", rows)
                self.passes()
            return
        self.range_of_rows("pid * X", rows if tiles.rows % tiles.x_block else "")
        self.passes()

    def range_of_rows(self, first: str, end: str) -> None:
        self.put(f"x = {first} + tl.arange(0, X){'[:, None]' if self.is_2d else ''}")
        if end:
            self.put(f"xm = x < {end}")
            self.masks["x"] = "xm"
        if self.tiles.form == "flat":
            self.digits((*self.nest.rows, *self.nest.passes[0].walks[0].inner), "x")
        else:
            self.digits(self.nest.rows, "x")

    def passes(self) -> None:
        self.values_of = {number: {} for number in range(len(self.nest.passes[0].walks))}
        for step in self.nest.passes:
            self.step(step)

    def step(self, step: Pass) -> None:
        for check in step.row_checks:
            self.check(check)
        self.row_level(step)
        self.parts = {f: [] for f in step.folds}
        for number, walk in enumerate(step.walks):
            if not walk.is_empty:
                self.points(number, walk)
        for f in step.folds:
            if f.how == "along":
                self.finish_row(f)
            elif f.per_row:
                self.take(f, -1, f.per_row)
        for s in step.row_stores:
            self.store(s)

    def row_level(self, step: Pass) -> None:
        """Values that no inner variable changes are computed before the inner points."""
        inner = [e for w in step.walks for e in (*w.roots(), *(c.bad for c in w.checks))]
        for e in topmost(inner, lambda e: e.vars.isdisjoint(self.inner)):
            self.name(e)

    def finish_row(self, fold: Fold) -> None:
        """The results of a reduction along the rows, from those of the segments."""
        first, *others = self.parts[fold]
        for other in others:
            first = self.combined(fold, first, other)
        for k, name in enumerate(first):
            self.results[fold, k] = name

    # inner points -------------------------------------------------------------------------------
    def is_looped(self, number: int, walk: Walk) -> bool:
        return self.is_2d and self.tiles.columns == 1 and walk.size > self.tiles.r_blocks[number]

    def unlooped_ranges(self) -> None:
        for number, walk in enumerate(self.nest.passes[0].walks):
            if not self.is_looped(number, walk):
                self.range_of_points(number, walk, f"column * R{number} + " if self.tiles.columns > 1 else "")

    def range_of_points(self, number: int, walk: Walk, first: str) -> None:
        """r and its mask; each segment has its own names for them."""
        r = f"r{number}"
        wide = ".to(tl.int64)" if self.names.wide else ""
        self.put(f"{r} = {first}tl.arange(0, R{number})[None, :]{wide}")
        if walk.size % self.tiles.r_blocks[number]:
            self.put(f"{r}m = {r} < {self.names.size(walk.size)}")
        self.digits_of_segment(number)

    def digits_of_segment(self, number: int) -> None:
        """Names the segment's variables; those of later passes are the same ones."""
        inner = self.nest.passes[0].walks[number].inner
        self.digits(inner, f"r{number}")
        self.digits_of[number] = {v: self.names.vars[v] for v in inner}

    @contextmanager
    def segment(self, number: int, walk: Walk) -> Iterator[None]:
        """The names that hold in a segment: its range, its mask, its variables, its values."""
        before = dict(self.masks)
        self.axis["r"] = f"r{number}"
        self.names.vars |= self.digits_of.get(number, {})
        if self.is_2d and walk.size % self.tiles.r_blocks[number]:
            self.masks["r"] = f"r{number}m"
        self.scopes.append({} if self.is_looped(number, walk) else self.values_of.setdefault(number, {}))
        yield
        self.scopes.pop()
        self.masks = before

    def points(self, number: int, walk: Walk) -> None:
        if not self.is_looped(number, walk):
            with self.segment(number, walk):
                self.body(number, walk)
            return
        along = [f for f in walk.elements if f.how == "along"]
        shape = self.shape(number)
        size, block = self.names.size(walk.size), self.tiles.r_blocks[number]
        own = {f: self.accumulators(f, shape) for f in along}
        is_deep = walk.size > SERIAL * block and any(d.kind == "f" for f in along for d in f.dtypes)
        step = f"{SERIAL} * R{number}"
        with self.block(f"for k0 in range(0, {size}, {step}):") if is_deep else nullcontext():
            level = {f: self.accumulators(f, shape) for f in along} if is_deep else own
            bounds = f"k0, tl.minimum(k0 + {step}, {size})" if is_deep else f"0, {size}"
            with self.block(f"for r_first in range({bounds}, R{number}):"):
                self.range_of_points(number, walk, "r_first + ")
                self.running |= {(f, number): names for f, names in level.items()}
                with self.segment(number, walk):
                    self.body(number, walk)
            for f in along:
                del self.running[f, number]
                if is_deep:
                    self.accumulate(f, own[f], level[f])
        for f in along:
            self.parts[f].append(self.reduced(f, own[f], 1))

    def shape(self, number: int) -> str:
        """The shape of a block of a segment; -1 stands for values that are one per row."""
        if not self.is_2d:
            return "[X]"
        return f"[X, R{number}]" if number >= 0 else "[X, 1]"

    def body(self, number: int, walk: Walk) -> None:
        """All points of a block: checks, then values, then what becomes of them."""
        for check in walk.checks:
            self.check(check)
        for e in walk.roots():
            self.name(e)
        for f, element in walk.elements.items():
            self.take(f, number, element, walk)
        for s in walk.stores:
            self.store(s)

    def take(self, fold: Fold, number: int, element: tuple[Expr, ...], walk: Walk | None = None) -> None:
        """Adds a block of elements to a fold."""
        shape = self.shape(number)
        dims = "x" if not self.is_2d or number < 0 else "xr"
        values = self.blocks(fold, element, shape, dims)
        found = self.running.get((fold, number))
        if found:
            self.accumulate(fold, found, values)
        elif fold.how == "along":
            self.parts[fold].append(self.reduced(fold, values, 1))
        elif walk is not None and self.is_looped(number, walk):
            self.add_in_memory(fold, values, walk)
        else:
            self.running[fold, number] = values

    # chunks -------------------------------------------------------------------------------------
    def start_chunk(self) -> None:
        """Accumulators of what is added up over the blocks of a chunk."""
        is_chunked = self.tiles.is_chunked
        for step in self.nest.passes:
            for number, walk in enumerate(step.walks):
                is_looped = self.is_looped(number, walk)
                for f in walk.elements:
                    if f.how == "across" and is_looped:
                        self.clear_memory(f, number, walk)
                    elif f.how != "along" and (is_chunked or is_looped):
                        self.running[f, number] = self.accumulators(f, self.shape(number))
            for f in step.folds:
                if f.per_row and is_chunked:
                    self.running[f, -1] = self.accumulators(f, self.shape(-1))

    def finish_chunk(self) -> None:
        """Writes what the chunk's rows add up to."""
        whole: dict[Fold, list[list[str]]] = {}
        for (fold, number), names in self.running.items():
            if fold.how == "across":
                self.store_across(fold, number, names)
            else:
                whole.setdefault(fold, []).append(self.reduced(fold, names, None))
        for fold, (first, *others) in whole.items():
            for other in others:
                first = self.combined(fold, first, other)
            self.put(self.names.store(fold.slot, "pid", first[0], ""))
        if whole:
            with self.block("if pid == tl.num_programs(0) - 1:"):  # chunks that are missing
                self.put(f"k = tl.arange(0, {power(self.nest.parts)})")
                for fold in whole:
                    mask = f"(k > pid) & (k < {self.nest.parts})"
                    self.put(self.names.store(fold.slot, "k", typed(fold.identity[0], fold.dtypes[0]), mask))

    def part(self, fold: Fold, walk: Walk) -> str:
        """Where a chunk's partial results of a segment stand."""
        return f"pid * {self.names.size(self.nest.row_size)} + {self.place(walk.places[fold], frozenset('r'))}"

    def store_across(self, fold: Fold, number: int, names: list[str]) -> None:
        walk = next(p.walks[number] for p in self.nest.passes if fold in p.walks[number].elements)
        (value,) = self.reduced(fold, names, 0)
        with self.segment(number, walk):
            self.put(self.names.store(fold.slot, self.part(fold, walk), value, self.mask("r")))

    def clear_memory(self, fold: Fold, number: int, walk: Walk) -> None:
        """Partial results of rows too long for registers are kept in the memory they end in."""
        with self.block(f"for r_first in range(0, {self.names.size(walk.size)}, R{number}):"):
            self.range_of_points(number, walk, "r_first + ")
            with self.segment(number, walk):
                start = typed(fold.identity[0], fold.dtypes[0])
                self.put(self.names.store(fold.slot, self.part(fold, walk), start, self.mask("r")))
        self.put("tl.debug_barrier()")

    def add_in_memory(self, fold: Fold, values: list[str], walk: Walk) -> None:
        """Another thread may have written what is read here: hence the barriers."""
        new = self.reduced(fold, values, 0)
        old, place = self.fresh("s"), self.part(fold, walk)
        self.put(f"{old} = {self.names.load(fold.slot, place, self.mask('r'))}")
        (total,) = self.combined(fold, [old], new)
        self.put("tl.debug_barrier()")
        self.put(self.names.store(fold.slot, place, total, self.mask("r")))
        self.put("tl.debug_barrier()")


class ScatterForm(Form):
    """Elements written one after the other by each row, so that the result is that of writing them in order."""

    def points(self, number: int, walk: Walk) -> None:
        with self.block(f"for step in range(0, {self.names.size(walk.size)}):"):
            self.put(f"r{number} = step + pid * 0")  # the interpreter's loops count in plain integers
            self.digits_of_segment(number)
            self.values_of[number] = {}
            with self.segment(number, walk):
                self.body(number, walk)

    def store(self, s: Store) -> None:
        if not s.mode:
            super().store(s)
            return
        dims = self.dims_at(s.offset) | self.dims(s.value)
        place, mask = self.place(s.offset, dims), self.mask(dims, *self.inside(s.offset))
        value = self.names.alone(s.value, self.name)
        if s.mode != "set":
            old = self.fresh("s")
            self.put(f"{old} = {self.names.load(s.slot, place, mask)}")
            made = self.names.verb(s.mode, self.nest.slots[s.slot], old, value)
            value = self.fresh("s")
            self.put(f"{value} = {made}")
        self.put("tl.debug_barrier()")
        self.put(self.names.store(s.slot, place, value, mask))
        self.put("tl.debug_barrier()")


def _states(fold: Fold, a: list[str], b: list[str]) -> dict[Expr, str]:
    """The names of a combine function's parameters by the exprs that stand for them."""
    found: dict[Expr, str] = {}
    stack = list(fold.combine)
    while stack:
        e = stack.pop()
        if e.kind == "state":
            side, k = e.data
            found[e] = (a if side == "a" else b)[k]
        stack += e.args
    return found


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
