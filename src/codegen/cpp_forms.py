"""The forms of a kernel's loops in C++ (see cpp.py)."""

from __future__ import annotations

from math import prod

from .cpp import LANES, RUN, Printer, row_digits
from .cpp_expr import c_type, literal
from .loops import Fold, Pass, Walk


class InnerForm(Printer):
    """Rows one after the other; passes over the inner points, lanes along the last inner variable."""

    def write(self) -> None:
        folds = [f for p in self.nest.passes for f in p.folds]
        self.whole = {f: self.arrays(f, 1 if f.per_row else LANES, "w") for f in folds if f.how == "whole"}
        self.across = {f: self._across(f) for f in folds if f.how == "across"}
        self.name_inner()
        rows = self.nest.rows
        flat = "r0" if len(rows) == 1 else "r"
        with self.block(f"for (long {flat} = begin; {flat} < end; {flat}++)"):
            row_digits(self, rows, flat)
            self._scratch()
            for number, step in enumerate(self.nest.passes):
                self.step(number, step)
        self.finish()

    def _across(self, fold: Fold) -> str:
        """A pointer to this chunk's partial results, set to the identity."""
        size = self.names.size
        count = size(self.nest.row_size)
        name = self.fresh("s")
        pointer = self.names.pointer(fold.slot)
        self.put(f"{c_type(fold.dtypes[0])} *const {name} = {pointer} + begin / {size('grain')} * {count};")
        self.put(f"for (long c = 0; c < {count}; c++) {name}[c] = {self._identity(fold)};")
        return name

    def _identity(self, fold: Fold) -> str:
        return literal(fold.identity[0], fold.dtypes[0])

    def _scratch(self) -> None:
        for e, (_, points) in self.nest.kept.items():
            name = self.saved[e] = self.fresh("kept")
            self.put(f"{c_type(e.dtype)} {name}[{self.names.size(points)}];")

    def step(self, number: int, step: Pass) -> None:
        """One pass over the current row."""
        self.fresh_saves = frozenset(e for e, (first, _) in self.nest.kept.items() if first == number)
        for check in step.row_checks:
            self.check(check)
        inner = [e for w in step.walks for e in (*w.roots(), *(c.bad for c in w.checks))]
        for e in self.row_level(inner):
            self.name(e)
        along = {f: self.arrays(f, LANES) for f in step.folds if f.how == "along"}
        lanes = along | {f: self.whole[f] for f in step.folds if f.how == "whole" and not f.per_row}
        for walk in step.walks:
            self.check_points(walk)
            if walk.elements or walk.stores:
                self.points(walk, {f: n for f, n in lanes.items() if f in walk.elements})
        for f, arrays in along.items():
            self.fold_lanes(f, arrays)
            for k, (n, d) in enumerate(zip(arrays, f.dtypes, strict=True)):
                self.results[f, k] = name = self.fresh("v")
                self.put(f"const {c_type(d)} {name} = {n}[0];")
        self.fresh_saves = frozenset()
        for f in step.folds:
            if f.per_row:
                self.accumulate(f, [f"{n}[0]" for n in self.whole[f]], [self.name(e) for e in f.per_row])
        for s in step.row_stores:
            self.put(self.names.store(s.slot, self.place(s.offset), self.name(s.value)))

    def check_points(self, walk: Walk) -> None:
        if walk.checks:
            with self.loops(walk.inner):
                for check in walk.checks:
                    self.check(check)

    def deep_lanes(self, walk: Walk, lanes: dict[Fold, list[str]]) -> dict:
        """Second levels of lanes, for sums long enough to lose digits: fold -> (lanes, their own)."""
        return {f: (n, self.arrays(f, LANES, "d")) for f, n in lanes.items() if any(d.kind == "f" for d in f.dtypes)}

    def points(self, walk: Walk, lanes: dict[Fold, list[str]]) -> None:
        """The loops over a segment's points."""
        inner = walk.inner
        if not inner:
            with self.block(""):
                self.body(walk, lanes, "0")
            return
        last = inner[-1]
        size = self.names.size(last.extent)
        deep = self.deep_lanes(walk, lanes) if walk.size > RUN else {}
        lanes = lanes | {f: d for f, (_, d) in deep.items()}
        with self.loops(inner[:-1]):
            if last.extent > RUN and deep:
                with self.block(f"for (long k = 0; k < {size}; k += {RUN})"):
                    self.put(f"const long m = k + {RUN} < {size} ? k + {RUN} : {size};")
                    self.run(walk, lanes, "k", "m")
                    self._deepen(deep)
            else:
                self.run(walk, lanes, "0", size)
                self._deepen(deep)

    def _deepen(self, deep: dict) -> None:
        for f, (into, of) in deep.items():
            self.merge(f, into, of, LANES)

    def run(self, walk: Walk, lanes: dict, begin: str, end: str) -> None:
        """The vectorised loop over [begin, end) of the last variable."""
        last = walk.inner[-1]
        c = self.names.vars[last]
        whole = last.extent % LANES == 0
        if not lanes and not whole:
            with self.block(f"for (long {c} = {begin}; {c} < {end}; {c}++)", simd=True):
                self.body(walk, lanes, "")
            return
        if whole:
            with self.block(f"for (long j = {begin}; j < {end}; j += {LANES})"):
                self._lanes(walk, lanes, f"{LANES}")
            return
        with self.block(""):
            self.put(f"long j = {begin};")
            with self.block(f"for (; j + {LANES} <= {end}; j += {LANES})"):
                self._lanes(walk, lanes, f"{LANES}")
            self._lanes(walk, lanes, f"{end} - j")

    def _lanes(self, walk: Walk, lanes: dict, count: str) -> None:
        with self.block(f"for (long l = 0; l < {count}; l++)", simd=True):
            self.put(f"const long {self.names.vars[walk.inner[-1]]} = j + l;")
            self.body(walk, lanes, "l")

    def body(self, walk: Walk, lanes: dict, lane: str) -> None:
        """One inner point: all values, then all writes."""
        if self.saved:
            self.saved_place = self.flat_inner(walk)
        for e in walk.roots():
            self.name(e)
        for f, element in walk.elements.items():
            values = [self.name(e) for e in element]
            if f in lanes:
                self.accumulate(f, [f"{n}[{lane}]" for n in lanes[f]], values)
            else:
                self.accumulate(f, [f"{self.across[f]}[{self.place(walk.places[f])}]"], values)
        for s in walk.stores:
            self.put(self.names.store(s.slot, self.place(s.offset), self.name(s.value)))

    def flat_inner(self, walk: Walk) -> str:
        """The number of an inner point within its segment."""
        terms = []
        for k, v in enumerate(walk.inner):
            step = prod(u.extent for u in walk.inner[k + 1:])
            terms.append(self.names.vars[v] + ("" if step == 1 else f" * {self.names.size(step)}"))
        return " + ".join(terms) or "0"

    def finish(self) -> None:
        """Writes a chunk's whole results, and the identity where chunks are missing."""
        size = self.names.size
        for f, arrays in self.whole.items():
            if not f.per_row:
                self.fold_lanes(f, arrays)
            pointer = self.names.pointer(f.slot)
            self.put(f"{pointer}[begin / {size('grain')}] = {arrays[0]}[0];")
            with self.block(f"if (end == {size('extent')})"):
                self.put(f"for (long k = begin / {size('grain')} + 1; k < {self.nest.parts}; k++) "
                         f"{pointer}[k] = {self._identity(f)};")


class FlatForm(InnerForm):
    """One variable, whose range is shared out."""

    def write(self) -> None:
        step = self.nest.passes[0]
        self.whole = {f: self.arrays(f, LANES, "w") for f in step.folds}
        self.across = {}
        self.name_inner()
        self.step(0, step)
        self.finish()

    def check_points(self, walk: Walk) -> None:
        if walk.checks:
            with self.block("for (long c0 = begin; c0 < end; c0++)" if walk.inner else ""):
                for check in walk.checks:
                    self.check(check)

    def points(self, walk: Walk, lanes: dict) -> None:
        if not walk.inner:
            self.body(walk, lanes, "0")
            return
        if not lanes:
            self.run(walk, lanes, "begin", "end")
            return
        deep = self.deep_lanes(walk, lanes)
        with self.block(f"for (long k = begin; k < end; k += {RUN})"):
            self.put(f"const long m = k + {RUN} < end ? k + {RUN} : end;")
            self.run(walk, lanes | {f: d for f, (_, d) in deep.items()}, "k", "m")
            self._deepen(deep)
