"""The loop variables of a kernel: dims of its base shape, split where an index needs a digit of one, merged
where all accesses step evenly from one to the next.

A row is cut into segments where a condition on an inner variable changes (a cat, a pad): in each segment
the condition is decided and the indices are plain.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .index import Ix, Var, breaks, coefficient, index_of, substitute

WORK = 512  # inner points that make a row worth its overhead, where the rows may be chosen
SEGMENTS = 8  # most segments of a row
ROWS = 8  # fewer rows than this are not worth cutting the others for

Bound = tuple  # (ix, low or None, high or None)


@dataclass(slots=True)
class Segment:
    """Inner variables, outermost first, and what each base variable is in terms of all variables."""

    inner: list[Var]
    values: dict[Var, Ix | int]


@dataclass(slots=True)
class Space:
    rows: list[Var]
    segments: list[Segment]
    is_flat: bool = False  # one inner variable shared out directly, no rows


def make_space(base: tuple[Var, ...], rows: frozenset[int] | None, places: list, bounds: list[Bound]) -> Space:
    """The variables for index expressions `places` over the base variables; `bounds` are conditions."""
    dim, pieces = _cut(base, rows, bounds)
    if pieces and rows is None:
        rows = frozenset(range(dim))
    if rows is None:
        return _free(base, places)
    cuts = [{base[dim]: piece} for piece in pieces] or [{}]
    every = [[substitute(p, cut) for p in places] if cut else places for cut in cuts]
    outer, values = _row_vars(base, rows, [p for some in every for p in some])
    segments = []
    for cut, some in zip(cuts, every, strict=True):
        segments.append(_segment(base, rows, cut, values, [substitute(p, values) for p in some]))
    return Space(outer, segments)


def _row_vars(base: tuple[Var, ...], rows: frozenset[int], places: list) -> tuple[list[Var], dict]:
    values: dict[Var, Ix | int] = {}
    parts = [[base[d]] if base[d].extent > 1 else [] for d in sorted(rows)]
    places = _split(parts, values, places)
    return _merge([v for part in parts for v in part], values, places), values


def _segment(base, rows, cut: dict, row_values: dict, places: list) -> Segment:
    values: dict[Var, Ix | int] = dict(cut)
    parts = []
    for d, v in enumerate(base):
        if d not in rows and v.extent > 1:
            piece = cut.get(v)
            own = [v] if piece is None else list(piece.terms) if type(piece) is Ix else []
            parts.append(own)
    places = _split(parts, values, places)
    inner = _merge([v for part in parts for v in part], values, places)
    return Segment(inner, row_values | values)


def _free(base: tuple[Var, ...], places: list) -> Space:
    """Rows and inner variables for a pointwise kernel."""
    values: dict[Var, Ix | int] = {}
    parts = [[v] if v.extent > 1 else [] for v in base]
    places = _split(parts, values, places)
    every = _merge([v for part in parts for v in part], values, places)
    if len(every) <= 1:
        return Space([], [Segment(every, values)], is_flat=True)
    at = len(every) - 1
    while at > 1 and prod(v.extent for v in every[at:]) < WORK:
        at -= 1
    return Space(every[:at], [Segment(every[at:], values)])


# segments -----------------------------------------------------------------------------------------
def _cut(base: tuple[Var, ...], rows: frozenset[int] | None, bounds: list[Bound]) -> tuple[int, list]:
    """The innermost dim that conditions cut, and its pieces; no pieces where it is not worth it."""
    for dim in range(len(base) - 1, -1, -1):
        if rows is not None and dim in rows:
            continue
        places = sorted({c for b in bounds for c in _cuts(base[dim], *b)})
        if not places or len(places) >= SEGMENTS:
            continue
        if rows is None and prod(v.extent for v in base[:dim]) < ROWS:
            continue
        ends = [0, *places, base[dim].extent]
        return dim, [_piece(base[dim], a, b) for a, b in zip(ends, ends[1:], strict=False)]
    return 0, []


def _cuts(var: Var, ix, low, high) -> list[int]:
    """Where the condition low <= ix < high changes along the variable."""
    if type(ix) is int or len(ix.terms) != 1 or abs(ix.terms.get(var, 0)) != 1:
        return []
    if ix.terms[var] > 0:
        found = [b - ix.const for b in (low, high) if b is not None]
    else:
        found = [ix.const - b + 1 for b in (low, high) if b is not None]
    return [c for c in found if 0 < c < var.extent]


def _piece(var: Var, start: int, end: int) -> Ix | int:
    return index_of(Var(var.name, end - start)) + start


# digits -------------------------------------------------------------------------------------------
def _compose(values: dict, new: dict) -> None:
    for v, ix in values.items():
        values[v] = substitute(ix, new)
    for v, ix in new.items():
        values.setdefault(v, ix)


def _split(parts: list[list[Var]], values: dict, places: list) -> list:
    """Splits variables that some place takes digits of; the places in the new variables."""
    for _ in range(3):
        new: dict[Var, Ix | int] = {}
        for part in parts:
            for at in range(len(part) - 1, -1, -1):
                digits = _digits(part[at], places, new)
                if digits:
                    part[at:at + 1] = digits
        if not new:
            break
        _compose(values, new)
        places = [substitute(p, new) for p in places]
    return [p for p in dict.fromkeys(places) if type(p) is Ix]


def _digits(var: Var, places: list, new: dict) -> list[Var]:
    found: set[int] = set()
    for place in places:
        breaks(place, var, found)
    steps = [*reversed(_chain(found, var.extent)), 1]
    if len(steps) == 1:
        return []
    digits = [Var(f"{var.name}_{k}", big // small) for k, (big, small) in
              enumerate(zip((var.extent, *steps), steps, strict=False))]
    new[var] = sum((index_of(d) * s for d, s in zip(digits, steps, strict=True)), 0)
    return digits


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
            places = [substitute(p, new) for p in places]
            var = merged
        out.append(var)
    return out


def _one(outer: Var, inner: Var, places: list) -> bool:
    for place in places:
        a, b = coefficient(place, outer), coefficient(place, inner)
        if a is None or b is None or a != b * inner.extent:
            return False
    return True
