"""Names of exprs while a kernel's text is written: each is computed once, where it is first needed.

What a printer of any language does about exprs: the order in which they are defined, the scopes in which their names
hold, and which of them do not change along a row. `define` is the language's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .index import Read, variables
from .loops import Expr, Nest
from .stages import index_of_expr


class Scopes:
    """The names that hold, innermost scope last; subclasses say how an expr is defined."""

    def __init__(self, nest: Nest):
        self.nest = nest
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.scopes: list[dict[Expr, str]] = [{}]

    def define(self, e: Expr) -> None:
        """Puts the statement that computes e, whose operands have names, and names it."""
        raise NotImplementedError

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count - 1}"

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A block of the language, in which new names hold."""
        self.depth += 1
        self.scopes.append({})
        yield
        self.scopes.pop()
        self.depth -= 1

    def name(self, e: Expr) -> str:
        """The name of an expr, which is computed here if it is not yet."""
        found = self.known(e)
        if found is not None:
            return found
        for sub in self._missing(e):
            self.define(sub)
        return self.scopes[-1][e]

    def known(self, e: Expr) -> str | None:
        return next((s[e] for s in reversed(self.scopes) if e in s), None)

    def _missing(self, e: Expr) -> list[Expr]:
        """What must be defined before and with e, operands first."""
        order: list[Expr] = []
        seen: set[Expr] = set()
        stack = [(e, False)]
        while stack:
            x, done = stack.pop()
            if done:
                order.append(x)
            elif x not in seen and self.known(x) is None:
                seen.add(x)
                stack.append((x, True))
                stack += [(y, False) for y in reversed(operands(x))]
        return order

    def uniform(self) -> None:
        """Values that no loop changes are computed first."""
        for e in topmost([e for p in self.nest.passes for e in p.roots()], lambda e: not e.vars and not e.folds):
            self.name(e)


def operands(e: Expr) -> list[Expr]:
    """What an expr is computed from: its arguments, and what its index is read from."""
    reads = [a.expr for ix in index_of_expr(e) for a in variables(ix) if type(a) is Read]
    return [*e.args, *reads]


def topmost(roots: list[Expr], holds) -> list[Expr]:
    """The topmost exprs under the roots for which `holds`, constants aside, in order."""
    found: dict[Expr, None] = {}
    seen: set[Expr] = set()
    stack = list(reversed(roots))
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if not holds(e):
            stack += reversed(operands(e))
        elif e.kind != "const":
            found[e] = None
    return list(found)
