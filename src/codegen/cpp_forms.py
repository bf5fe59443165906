"""The forms of a kernel's loops in C++ (see cpp.py)."""

from __future__ import annotations

from math import prod

from .cpp import BLOCK, LANES, RUN, Printer, row_digits
from .cpp_expr import c_type
from .index import Var
from .loops import Fold, Pass, Store


class InnerForm(Printer):
    """Rows one after the other; passes over the inner points, lanes along the last inner variable."""

    def write(self) -> None:
        self.whole = {f: self.arrays(f, 1 if f.per_row else LANES, "w") for p in self.nest.passes
                      for f in p.folds if f.how == "whole"}
        self.across = {f: self._across(f) for p in self.nest.passes for f in p.folds if f.how == "across"}
        names = self.names.vars
        for k, v in enumerate(self.nest.inner):
            names[v] = f"c{k}"
        rows = self.nest.rows
        flat = "r0" if len(rows) == 1 else "r"
        with self.block(f"for (long {flat} = begin; {flat} < end; {flat}++)"):
            row_digits(self, rows, flat)
            self._scratch()
            for number, step in enumerate(self.nest.passes):
                self.walk(number, step)
        self.finish()

    def _across(self, fold: Fold) -> list[str]:
        """A pointer to this chunk's partial results, set to the identity."""
        size = self.names.size
        count = prod(v.extent for v in self.nest.inner)
        name = self.fresh("s")
        pointer = self.names.pointer(fold.slots[0])
        self.put(f"{c_type(fold.dtypes[0])} *const {name} = {pointer} + begin / {size('grain')} * {size(count)};")
        self.put(f"for (long c = 0; c < {size(count)}; c++) {name}[c] = {self._identity(fold)};")
        return [name]

    def _identity(self, fold: Fold) -> str:
        from .cpp_expr import literal

        return literal(fold.identity[0], fold.dtypes[0])

    def _scratch(self) -> None:
        size = prod(v.extent for v in self.nest.inner)
        for e in self.nest.kept:
            name = self.saved[e] = self.fresh("kept")
            self.put(f"{c_type(e.dtype)} {name}[{self.names.size(size)}];")

    def walk(self, number: int, step: Pass) -> None:
        """One pass over the inner points of the current row."""
        self.fresh_saves = frozenset(e for e, first in self.nest.kept.items() if first == number)
        for check in step.row_checks:
            self.check(check)
        for e in self.row_level(self.roots(step) + [c.bad for c in step.checks]):
            self.name(e)
        if step.checks:
            with self.nest_of(self.nest.inner):
                for check in step.checks:
                    self.check(check)
        along = {f: self.arrays(f, LANES) for f in step.folds if f.how == "along"}
        lanes = along | {f: self.whole[f] for f in step.folds if f.how == "whole" and not f.per_row}
        if step.stores or lanes or any(f.how == "across" for f in step.folds):
            self.points(step, lanes)
        for f, arrays in along.items():
            self.fold_lanes(f, arrays)
            for k, (n, d) in enumerate(zip(arrays, f.dtypes, strict=True)):
                self.results[f, k] = name = self.fresh("v")
                self.put(f"const {c_type(d)} {name} = {n}[0];")
        self.fresh_saves = frozenset()
        for f in step.folds:
            if f.per_row:
                self.accumulate(f, [f"{n}[0]" for n in self.whole[f]], [self.name(e) for e in f.element])
        for s in step.row_stores:
            self.put(self.names.store(s.slot, self.place(s.offset), self.name(s.value)))

    def nest_of(self, inner: tuple[Var, ...]):
        """Plain loops over inner variables."""
        from contextlib import ExitStack

        stack = ExitStack()
        for v in inner:
            c = self.names.vars[v]
            stack.enter_context(self.block(f"for (long {c} = 0; {c} < {self.names.size(v.extent)}; {c}++)"))
        return stack

    def points(self, step: Pass, lanes: dict[Fold, list[str]]) -> None:
        """The loops over all inner points."""
        inner = self.nest.inner
        if not inner:
            self.body(step, lanes, "0")
            return
        last = inner[-1]
        size = self.names.size(last.extent)
        deep = {}
        if prod(v.extent for v in inner) > RUN:
            deep = {f: (n, self.arrays(f, LANES, "d")) for f, n in lanes.items()
                    if any(d.kind == "f" for d in f.dtypes)}
        lanes = lanes | {f: d for f, (_, d) in deep.items()}
        with self.nest_of(inner[:-1]):
            whole = last.extent % LANES == 0
            if last.extent > RUN and deep:
                with self.block(f"for (long k = 0; k < {size}; k += {RUN})"):
                    self.put(f"const long m = k + {RUN} < {size} ? k + {RUN} : {size};")
                    self.run(step, lanes, "k", "m", whole)
                    self._deepen(deep)
            else:
                self.run(step, lanes, "0", size, whole)
                self._deepen(deep)

    def _deepen(self, deep: dict) -> None:
        for f, (into, of) in deep.items():
            self.merge(f, into, of, LANES)

    def run(self, step: Pass, lanes: dict, begin: str, end: str, whole: bool) -> None:
        """The vectorised loop over [begin, end) of the last variable, a multiple of LANES if `whole`."""
        c = self.names.vars[self.nest.inner[-1]]
        if not lanes and not whole:
            with self.block(f"for (long {c} = {begin}; {c} < {end}; {c}++)", simd=True):
                self.body(step, lanes, "")
            return
        if whole:
            with self.block(f"for (long j = {begin}; j < {end}; j += {LANES})"):
                self._lanes(step, lanes, f"{LANES}")
            return
        with self.block(""):
            self.put(f"long j = {begin};")
            with self.block(f"for (; j + {LANES} <= {end}; j += {LANES})"):
                self._lanes(step, lanes, f"{LANES}")
            self._lanes(step, lanes, f"{end} - j")

    def _lanes(self, step: Pass, lanes: dict, count: str) -> None:
        with self.block(f"for (long l = 0; l < {count}; l++)", simd=True):
            self.put(f"const long {self.names.vars[self.nest.inner[-1]]} = j + l;")
            self.body(step, lanes, "l")

    def body(self, step: Pass, lanes: dict, lane: str) -> None:
        """One inner point: all values, then all writes."""
        if self.saved:
            self.saved_place = self.flat_inner()
        for e in self.roots(step):
            self.name(e)
        for f in step.folds:
            values = [self.name(e) for e in f.element] if not f.per_row else []
            if f in lanes:
                self.accumulate(f, [f"{n}[{lane}]" for n in lanes[f]], values)
            elif f.how == "across":
                self.accumulate(f, [f"{self.across[f][0]}[{self.flat_inner()}]"], values)
        for s in step.stores:
            self.put(self.names.store(s.slot, self.place(s.offset), self.name(s.value)))

    def flat_inner(self) -> str:
        """The number of an inner point within its row."""
        inner, terms = self.nest.inner, []
        for k, v in enumerate(inner):
            step = prod(u.extent for u in inner[k + 1:])
            terms.append(self.names.vars[v] + ("" if step == 1 else f" * {self.names.size(step)}"))
        return " + ".join(terms) or "0"

    def finish(self) -> None:
        """Writes a chunk's whole results, and the identity where chunks are missing."""
        size = self.names.size
        for f, arrays in self.whole.items():
            if not f.per_row:
                self.fold_lanes(f, arrays)
            pointer = self.names.pointer(f.slots[0])
            self.put(f"{pointer}[begin / {size('grain')}] = {arrays[0]}[0];")
            with self.block(f"if (end == {size('extent')})"):
                self.put(f"for (long k = begin / {size('grain')} + 1; k < {self.nest.parts}; k++) "
                         f"{pointer}[k] = {self._identity(f)};")


class FlatForm(InnerForm):
    """One variable, whose range is shared out."""

    def write(self) -> None:
        self.whole = {f: self.arrays(f, LANES, "w") for f in self.nest.passes[0].folds}
        self.across = {}
        for v in self.nest.inner:
            self.names.vars[v] = "c0"
        self.walk(0, self.nest.passes[0])
        self.finish()

    def nest_of(self, inner):
        return self.block("for (long c0 = begin; c0 < end; c0++)") if inner else self.block("")

    def points(self, step: Pass, lanes: dict) -> None:
        if not self.nest.inner:
            self.body(step, lanes, "0")
            return
        whole = self.nest.inner[0].extent % LANES == 0
        if not lanes:
            self.run(step, lanes, "begin", "end", whole)
            return
        deep = {f: (n, self.arrays(f, LANES, "d")) for f, n in lanes.items()}
        with self.block(f"for (long k = begin; k < end; k += {RUN})"):
            self.put(f"const long m = k + {RUN} < end ? k + {RUN} : end;")
            self.run(step, lanes | {f: d for f, (_, d) in deep.items()}, "k", "m", whole)
            self._deepen(deep)


class RowsForm(Printer):
    """Blocks of neighbouring rows side by side: lanes along the last row variable."""

    def write(self) -> None:
        *outer, lane = self.nest.rows
        size = self.names.size
        self.lane = lane
        for k, v in enumerate(self.nest.inner):
            self.names.vars[v] = f"c{k}"
        blocks = -(-lane.extent // BLOCK)
        with self.block("for (long r = begin; r < end; r++)"):
            row_digits(self, tuple(outer), f"(r / {size(blocks)})" if blocks > 1 else "r")
            self.names.vars[lane] = "x"
            first = f"r % {size(blocks)} * {BLOCK}" if blocks > 1 else "0"
            self.put(f"const long x0 = {first};")
            whole = lane.extent % BLOCK == 0
            self.count_of = str(BLOCK) if whole else "m"
            if not whole:
                extent = size(lane.extent)
                self.put(f"const long m = x0 + {BLOCK} < {extent} ? {BLOCK} : {extent} - x0;")
            for step in self.nest.passes:
                self.walk(step)

    def over(self):
        return self.block(f"for (long l = 0; l < {self.count_of}; l++)", simd=True)

    def x(self) -> None:
        self.put("const long x = x0 + l;")

    def walk(self, step: Pass) -> None:
        if step.row_checks:
            with self.block(f"for (long l = 0; l < {self.count_of}; l++)"):
                self.x()
                for check in step.row_checks:
                    self.check(check)
        self._lane_level(step)
        along = {f: self.arrays(f, BLOCK) for f in step.folds}
        if step.stores or along or step.checks:
            self.points(step, along)
        for f, arrays in along.items():
            for k, n in enumerate(arrays):
                self.results[f, k] = f"{n}[l]"
        if step.row_stores:
            with self.over():
                self.x()
                texts = [(s, self.name(s.value)) for s in step.row_stores]
                for s, text in texts:
                    self.put(self.names.store(s.slot, self.place(s.offset), text))

    def _lane_level(self, step: Pass) -> None:
        """Values of a row that inner points need: computed once, kept in an array of the block."""
        needed = [e for e in self.row_level(self.roots(step) + [c.bad for c in step.checks])
                  if not any(e in s for s in self.scopes)]
        lanes = [e for e in needed if (self.lane in e.vars or e.folds) and e.kind != "result"]
        for e in needed:
            if e.kind == "result":
                self.scopes[-1][e] = self.results[e.data]
            elif e not in lanes:
                self.name(e)
        if not lanes:
            return
        arrays = {e: self.fresh("y") for e in lanes}
        for e, n in arrays.items():
            self.put(f"{c_type(e.dtype)} {n}[{BLOCK}];")
        with self.over():
            self.x()
            for e, n in arrays.items():
                self.put(f"{n}[l] = {self.name(e)};")
        for e, n in arrays.items():
            self.scopes[-1][e] = f"{n}[l]"

    def points(self, step: Pass, along: dict) -> None:
        from contextlib import ExitStack

        inner = self.nest.inner
        size = self.names.size
        count = prod(v.extent for v in inner)
        deep = {}
        if count > 128 and inner[-1].extent > 1:
            deep = {f: (n, self.arrays(f, BLOCK, "d")) for f, n in along.items()
                    if any(d.kind == "f" for d in f.dtypes)}
        lanes = along | {f: d for f, (_, d) in deep.items()}
        with ExitStack() as loops:
            for v in inner[:-1]:
                c = self.names.vars[v]
                loops.enter_context(self.block(f"for (long {c} = 0; {c} < {size(v.extent)}; {c}++)"))
            if not inner:
                self.body(step, lanes)
                return
            last, end = inner[-1], size(inner[-1].extent)
            c = self.names.vars[last]
            if deep and last.extent > 64:
                with self.block(f"for (long k = 0; k < {end}; k += 64)"):
                    self.put(f"const long e = k + 64 < {end} ? k + 64 : {end};")
                    with self.block(f"for (long {c} = k; {c} < e; {c}++)"):
                        self.body(step, lanes)
                    for f, (into, of) in deep.items():
                        self.merge(f, into, of, BLOCK)
                return
            with self.block(f"for (long {c} = 0; {c} < {end}; {c}++)"):
                self.body(step, lanes)
            for f, (into, of) in deep.items():
                self.merge(f, into, of, BLOCK)

    def stored(self, s: Store) -> str:
        """The statement of a store, which may combine with what is there."""
        place, value = self.place(s.offset), self.name(s.value)
        if s.mode not in ("", "set"):
            value = self.names.combine(s.mode, s.slot, place, value)
        return self.names.store(s.slot, place, value)

    def body(self, step: Pass, lanes: dict) -> None:
        for check in step.checks:
            if self.lane not in check.bad.vars:
                with self.block(""):
                    self.check(check)
                continue
            with self.block(f"for (long l = 0; l < {self.count_of}; l++)"):
                self.x()
                self.check(check)
        if not lanes and not step.stores:
            return
        with self.over():
            self.x()
            for e in self.roots(step):
                self.name(e)
            for f, arrays in lanes.items():
                self.accumulate(f, [f"{n}[l]" for n in arrays], [self.name(e) for e in f.element])
            for s in step.stores:
                self.put(self.stored(s))
