"""The loop variables of a kernel: dims of its base shape, split where an index needs a digit of one, merged
where all accesses step evenly from one to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .index import Ix, Var, breaks, coefficient, index_of, substitute

WORK = 512  # inner points that make a row worth its overhead, where the rows may be chosen


@dataclass(slots=True)
class Space:
    """rows and inner variables, outermost first, and what each base variable is in terms of them."""

    rows: list[Var]
    inner: list[Var]
    values: dict[Var, Ix | int]
    is_flat: bool = False  # one inner variable shared out directly, no rows


def make_space(base: tuple[Var, ...], rows: frozenset[int] | None, places: list) -> Space:
    """The variables for index expressions `places` over the base variables."""
    values: dict[Var, Ix | int] = {}
    parts = [[v] if v.extent > 1 else [] for v in base]
    for _ in range(3):
        if not _split(parts, values, places):
            break
        places = [substitute(p, values) for p in places]
    places = [p for p in dict.fromkeys(places) if type(p) is Ix]
    if rows is None:
        every = _merge([v for part in parts for v in part], values, places)
        return _share(every, values)
    outer = _merge([v for d in sorted(rows) for v in parts[d]], values, places)
    inner = _merge([v for d, part in enumerate(parts) if d not in rows for v in part], values, places)
    return Space(outer, inner, values)


def _compose(values: dict, new: dict) -> None:
    for v, ix in values.items():
        values[v] = substitute(ix, new)
    for v, ix in new.items():
        values.setdefault(v, ix)


def _split(parts: list[list[Var]], values: dict, places: list) -> bool:
    """Splits variables that some place takes digits of; whether there was one."""
    new: dict[Var, Ix | int] = {}
    for part in parts:
        for at in range(len(part) - 1, -1, -1):
            var = part[at]
            found: set[int] = set()
            for place in places:
                breaks(place, var, found)
            steps = _chain(found, var.extent)
            if steps:
                digits = [Var(f"{var.name}_{k}", big // small) for k, (big, small) in
                          enumerate(zip((var.extent, *reversed(steps)), (*reversed(steps), 1), strict=True))]
                new[var] = sum((index_of(d) * s for d, s in zip(digits, (*reversed(steps), 1), strict=True)), 0)
                part[at:at + 1] = digits
    if new:
        _compose(values, new)
    return bool(new)


def _chain(found: set[int], extent: int) -> list[int]:
    """The divisors of the extent among `found` that divide each other, growing."""
    steps: list[int] = []
    for c in sorted(found):
        if 1 < c < extent and extent % c == 0 and (not steps or c % steps[-1] == 0):
            steps.append(c)
    return steps


def _merge(order: list[Var], values: dict, places: list) -> list[Var]:
    """Adjacent variables become one where every place steps through both as through one."""
    out: list[Var] = []
    for var in order:
        if out and _one(out[-1], var, places):
            outer = out.pop()
            merged = Var(outer.name, outer.extent * var.extent)
            whole = index_of(merged)
            new = {outer: whole // var.extent, var: whole % var.extent}
            _compose(values, new)
            places[:] = [substitute(p, new) for p in places]
            var = merged
        out.append(var)
    return out


def _one(outer: Var, inner: Var, places: list) -> bool:
    for place in places:
        a, b = coefficient(place, outer), coefficient(place, inner)
        if a is None or b is None or a != b * inner.extent:
            return False
    return True


def _share(every: list[Var], values: dict) -> Space:
    """Rows and inner variables for a pointwise kernel."""
    if len(every) <= 1:
        return Space([], every, values, is_flat=True)
    at = len(every) - 1
    while at > 1 and prod(v.extent for v in every[at:]) < WORK:
        at -= 1
    return Space(every[:at], every[at:], values)
