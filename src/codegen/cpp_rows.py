"""The form that does neighbouring rows side by side (see cpp.py)."""

from __future__ import annotations


from .cpp import BLOCK, Printer, row_digits
from .cpp_expr import c_type
from .loops import Pass, Store, Walk

SHORT = 64  # inner points after which float sums go to a second level


class RowsForm(Printer):
    """Blocks of neighbouring rows side by side: lanes along the last row variable."""

    def write(self) -> None:
        *outer, lane = self.nest.rows
        size = self.names.size
        self.lane = lane
        self.name_inner()
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
                self.step(step)

    def over(self, simd: bool = True):
        return self.block(f"for (long l = 0; l < {self.count_of}; l++)", simd)

    def x(self) -> None:
        self.put("const long x = x0 + l;")

    def step(self, step: Pass) -> None:
        if step.row_checks:
            with self.over(simd=False):
                self.x()
                for check in step.row_checks:
                    self.check(check)
        self._lane_level(step)
        along = {f: self.arrays(f, BLOCK) for f in step.folds}
        for walk in step.walks:
            if not walk.is_empty:
                self.points(walk, {f: n for f, n in along.items() if f in walk.elements})
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
        inner = [e for w in step.walks for e in (*w.roots(), *(c.bad for c in w.checks))]
        needed = [e for e in self.row_level(inner)
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

    def points(self, walk: Walk, along: dict) -> None:
        inner = walk.inner
        deep = {}
        if walk.size > 2 * SHORT and inner[-1].extent > 1:
            deep = {f: (n, self.arrays(f, BLOCK, "d")) for f, n in along.items()
                    if any(d.kind == "f" for d in f.dtypes)}
        lanes = along | {f: d for f, (_, d) in deep.items()}
        if not inner:
            self.body(walk, lanes)
            return
        with self.loops(inner[:-1]):
            c, end = self.names.vars[inner[-1]], self.names.size(inner[-1].extent)
            if deep and inner[-1].extent > SHORT:
                with self.block(f"for (long k = 0; k < {end}; k += {SHORT})"):
                    self.put(f"const long e = k + {SHORT} < {end} ? k + {SHORT} : {end};")
                    with self.block(f"for (long {c} = k; {c} < e; {c}++)"):
                        self.body(walk, lanes)
                    self._deepen(deep)
                return
            with self.block(f"for (long {c} = 0; {c} < {end}; {c}++)"):
                self.body(walk, lanes)
            self._deepen(deep)

    def _deepen(self, deep: dict) -> None:
        for f, (into, of) in deep.items():
            self.merge(f, into, of, BLOCK)

    def stored(self, s: Store) -> str:
        """The statement of a store, which may combine with what is there."""
        place, value = self.place(s.offset), self.name(s.value)
        if s.mode not in ("", "set"):
            value = self.names.combine(s.mode, s.slot, place, value)
        return self.names.store(s.slot, place, value)

    def body(self, walk: Walk, lanes: dict) -> None:
        """One inner point of all rows of the block."""
        for check in walk.checks:
            if self.lane not in check.bad.vars:
                with self.block(""):
                    self.check(check)
                continue
            with self.over(simd=False):
                self.x()
                self.check(check)
        if not lanes and not walk.stores:
            return
        with self.over():
            self.x()
            for e in walk.roots():
                self.name(e)
            for f, arrays in lanes.items():
                self.accumulate(f, [f"{n}[l]" for n in arrays], [self.name(e) for e in walk.elements[f]])
            for s in walk.stores:
                self.put(self.stored(s))
