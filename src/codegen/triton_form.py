"""The loops of a Triton kernel: a nest as blocks of rows times blocks of inner points.

A row longer than its block is walked in a loop, and so are the rows of a chunk. Lanes beyond an end count as the
identity in a reduction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from .index import Var
from .loops import Expr, Fold, Nest, Pass, Walk
from .scopes import topmost
from .triton_expr import typed
from .triton_folds import Folds
from .triton_tiles import Tiles, power

SERIAL = 64  # blocks added one after the other before a second level: bounds rounding errors


class Form(Folds):
    """Writes the body of one kernel."""

    def __init__(self, nest: Nest, alias: dict[int, int], tiles: Tiles):
        super().__init__(nest, alias, tiles)
        self.running: dict[tuple[Fold, int], list[str]] = {}  # accumulators over the rows of a chunk, by segment
        self.parts: dict[Fold, list[list[str]]] = {}  # a fold's states by segment, reduced
        self.digits_of: dict[int, dict[Var, str]] = {}  # segment -> names of its variables, which segments share
        self.values_of: dict[int, dict[Expr, str]] = {}  # segment -> names of values, kept from pass to pass

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
        self.range_of_chunk()
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
        if tiles.grain < tiles.x_block:  # a chunk shorter than its block
            self.range_of_chunk()
            self.range_of_rows("begin", "end")
        else:
            self.range_of_rows("pid * X", rows if tiles.rows % tiles.x_block else "")
        self.passes()

    def range_of_chunk(self) -> None:
        grain = self.names.size("grain")
        self.put(f"begin = pid * {grain}")
        self.put(f"end = tl.minimum(begin + {grain}, {self.names.size(self.tiles.rows)})")

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
