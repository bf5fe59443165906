"""Dear values that several passes over a row need: computed in one, kept in a row of scratch for the others."""

from __future__ import annotations

from .cost import DEAR, verb_cost
from .loops import Expr, Nest

SCRATCH = 64 << 10  # bytes of one kept row
MOST_SCRATCH = 256 << 10


def kept_values(nest: Nest) -> dict[Expr, tuple[int, int]]:
    """The values worth keeping: (the pass that computes it, how many points it has)."""
    inner = nest.inner
    first: dict[Expr, int] = {}
    kept: dict[Expr, tuple[int, int]] = {}
    room = MOST_SCRATCH
    for number, step in enumerate(nest.passes):
        for walk in step.walks:
            roots = walk.roots()
            for e in _again(roots, inner, kept, first):
                nbytes = walk.size * max(e.dtype.itemsize, 4)
                if nbytes <= SCRATCH and nbytes <= room:
                    kept[e] = first[e], walk.size
                    room -= nbytes
            for e in _points(roots, inner, kept):
                first.setdefault(e, number)
    return kept


def _points(roots: list[Expr], inner: frozenset, stop) -> list[Expr]:
    """The exprs of inner points under the roots, not below those in `stop`."""
    seen: dict[Expr, None] = {}
    stack = list(roots)
    while stack:
        e = stack.pop()
        if e not in seen and not e.vars.isdisjoint(inner):
            seen[e] = None
            if e not in stop:
                stack += e.args
    return list(seen)


def _again(roots: list[Expr], inner: frozenset, kept: dict, first: dict) -> list[Expr]:
    """The topmost dear exprs under the roots that an earlier pass has computed."""
    found, seen = [], set()
    stack = list(roots)
    while stack:
        e = stack.pop()
        if e in seen or e in kept or e.vars.isdisjoint(inner):
            continue
        seen.add(e)
        if e in first and _cost(e, inner) >= DEAR:
            found.append(e)
        else:
            stack += e.args
    return found


def _cost(expr: Expr, inner: frozenset) -> int:
    return sum(verb_cost(e.data) for e in _points([expr], inner, ()) if e.kind == "call")
