"""The C++ printer: a nest as the text of one kernel function.

Three forms. inner: for each row, passes over its inner points, vectorised along the last inner variable.
rows: a block of 64 neighbours of the last row variable at a time, each inner point being done for all of
them. flat: one variable, shared out directly. Reductions keep arrays of lanes that are added up in a
fixed order, so that results depend on neither the vector width nor the threads.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from math import prod

from .cpp_expr import Names, c_type, literal
from .index import Read, Var, variables
from .loops import Expr, Fold, Nest
from .stages import index_of_expr

LANES = 32  # partial results a reduction keeps side by side
BLOCK = 64  # rows done side by side in the rows form
RUN = 2048  # inner points after which lanes are added to a second level: bounds rounding errors


SUPPORT = """
// halves a row of lanes until one is left: f(a, b) combines lane b into lane a
template <int W, class F> TD void td_halve(F f) {
  if constexpr (W > 0) {
#pragma omp simd
    for (long l = 0; l < W; l++) f(l, l + W);
    td_halve<W / 2>(f);
  }
}
"""


class Printer:
    """Writes one kernel; `text` is the body, `names` what it refers to."""

    def __init__(self, nest: Nest, alias: dict[int, int]):
        self.nest = nest
        self.names = Names(nest, alias)
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.scopes: list[dict[Expr, str]] = [{}]  # names of exprs, by C++ scope
        self.inner = nest.inner
        self.results: dict[tuple, str] = {}  # (fold, k) -> text of its result
        self.saved: dict[Expr, str] = {}  # kept values: scratch array

    # writing ------------------------------------------------------------------------------------
    def put(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    @contextmanager
    def block(self, head: str, simd: bool = False, end: str = "}"):
        if simd:
            self.put("#pragma omp simd")
        self.put(f"{head} {{".lstrip())
        self.depth += 1
        self.scopes.append({})
        yield
        self.scopes.pop()
        self.depth -= 1
        self.put(end)

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count - 1}"

    # exprs --------------------------------------------------------------------------------------
    def name(self, e: Expr) -> str:
        """The name (or short text) of an expr, which is computed here if it is not yet."""
        for scope in reversed(self.scopes):
            found = scope.get(e)
            if found is not None:
                return found
        for sub in self._missing(e):
            self._define(sub)
        return self.scopes[-1][e]

    def _missing(self, e: Expr) -> list[Expr]:
        """What must be defined before and with e, operands first."""
        order: list[Expr] = []
        seen: set[Expr] = set()
        stack = [(e, False)]
        while stack:
            x, done = stack.pop()
            if done:
                order.append(x)
            elif x not in seen and not any(x in s for s in self.scopes):
                seen.add(x)
                stack.append((x, True))
                if x not in self.saved or x in self.fresh_saves:
                    stack += [(y, False) for y in reversed(self._operands(x))]
        return order

    def _operands(self, e: Expr) -> list[Expr]:
        reads = [a.expr for ix in index_of_expr(e) for a in variables(ix) if type(a) is Read]
        return [*e.args, *reads]

    def _define(self, e: Expr) -> None:
        scope = self.scopes[-1]
        if e.kind == "result":
            scope[e] = self.results[e.data]
        elif e.kind == "const":
            scope[e] = literal(e.data.value, e.dtype)
        elif e in self.saved and e not in self.fresh_saves:
            scope[e] = self._load_saved(e)
        else:
            text = self.names.expr(e, self.name)
            name = scope[e] = self.fresh("v")
            self.put(f"const {c_type(e.dtype)} {name} = {text};")
            if e in self.saved:
                self.put(f"{self.saved[e]}[{self.saved_place}] = {name};")

    fresh_saves: frozenset = frozenset()
    saved_place = ""

    def _load_saved(self, e: Expr) -> str:
        return f"{self.saved[e]}[{self.saved_place}]"

    def place(self, ix) -> str:
        return self.names.place(ix, self.name)

    def row_level(self, roots: list[Expr]) -> list[Expr]:
        """The topmost exprs under the roots that no inner variable changes, constants aside."""
        found: dict[Expr, None] = {}
        seen: set[Expr] = set()
        stack = list(reversed(roots))
        while stack:
            e = stack.pop()
            if e in seen:
                continue
            seen.add(e)
            if e.vars.isdisjoint(self.inner):
                if e.kind != "const":
                    found[e] = None
            elif e not in self.saved or e in self.fresh_saves:
                stack += reversed(self._operands(e))
        return list(found)

    # parts all forms share ----------------------------------------------------------------------
    def name_inner(self) -> None:
        """Names the inner variables, alike in all segments and passes."""
        for step in self.nest.passes:
            for walk in step.walks:
                self.names.vars |= {v: f"c{k}" for k, v in enumerate(walk.inner)}

    def loops(self, inner: tuple[Var, ...]) -> ExitStack:
        """Plain loops over inner variables."""
        stack = ExitStack()
        for v in inner:
            c = self.names.vars[v]
            stack.enter_context(self.block(f"for (long {c} = 0; {c} < {self.names.size(v.extent)}; {c}++)"))
        return stack

    def check(self, check) -> None:
        with self.block(f"if ({self.name(check.bad)})"):
            self.put(f"err[0] = {check.code};")
            self.put(f"err[1] = (long){self.name(check.value)};")
            self.put("return;")

    def combined(self, fold: Fold, a: list[str], b: list[str]) -> list[str]:
        """Texts of the new state; statements for it are put here."""
        scope = self.scopes[-1]
        states = {("a", k): t for k, t in enumerate(a)} | {("b", k): t for k, t in enumerate(b)}
        saved = dict(scope)
        for e in self._missing_states(fold):
            if e.kind == "state":
                scope[e] = states[e.data]
            else:
                self._define(e)
        out = [scope[e] for e in fold.combine]
        scope.clear()
        scope.update(saved)
        return out

    def _missing_states(self, fold: Fold) -> list[Expr]:
        order: dict[Expr, None] = {}
        stack = [(e, False) for e in reversed(fold.combine)]
        while stack:
            e, done = stack.pop()
            if done:
                order[e] = None
            elif e not in order:
                stack.append((e, True))
                stack += [(a, False) for a in reversed(e.args)]
        return list(order)

    def arrays(self, fold: Fold, length: int, stem: str = "a") -> list[str]:
        """Declares and fills arrays of a fold's state."""
        names = []
        for d, start in zip(fold.dtypes, fold.identity, strict=True):
            name = self.fresh(stem)
            self.put(f"{c_type(d)} {name}[{length}];")
            self.put(f"for (long l = 0; l < {length}; l++) {name}[l] = {literal(start, d)};")
            names.append(name)
        return names

    def accumulate(self, fold: Fold, places: list[str], values: list[str]) -> None:
        """state = combine(state, values), for states at `places`."""
        for place, text in zip(places, self.combined(fold, places, values), strict=True):
            self.put(f"{place} = {text};")

    def merge(self, fold: Fold, into: list[str], of: list[str], length: int) -> None:
        """Adds one array of lanes to another and sets it back to the identity."""
        with self.block(f"for (long l = 0; l < {length}; l++)", simd=True):
            self.accumulate(fold, [f"{n}[l]" for n in into], [f"{n}[l]" for n in of])
            for n, d, start in zip(of, fold.dtypes, fold.identity, strict=True):
                self.put(f"{n}[l] = {literal(start, d)};")

    def fold_lanes(self, fold: Fold, arrays: list[str]) -> None:
        """Adds up the lanes into lane 0, halves upon halves."""
        with self.block(f"td_halve<{LANES // 2}>([&](long a, long b) __attribute__((always_inline))", end="});"):
            self.accumulate(fold, [f"{n}[a]" for n in arrays], [f"{n}[b]" for n in arrays])


def row_digits(printer: Printer, rows: tuple[Var, ...], flat: str) -> None:
    """Declares the row variables from the flat number of a row."""
    size = printer.names.size
    rest = prod(v.extent for v in rows)
    for k, v in enumerate(rows):
        name = printer.names.vars[v] = f"r{k}"
        if len(rows) == 1:
            if flat != name:
                printer.put(f"const long {name} = {flat};")
            return
        rest //= v.extent
        text = flat if rest == 1 else f"{flat} / {size(rest)}"
        printer.put(f"const long {name} = {text}{'' if k == 0 else f' % {size(v.extent)}'};")
