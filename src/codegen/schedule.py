"""How a kernel's range is cut into chunks: by shapes alone, so that results do not depend on threads."""

from __future__ import annotations

from math import prod

from .cost import verb_cost
from .cpp import BLOCK, LANES
from .loops import Nest
from .printing import extent_of
from .stages import walk

CHUNK = 16384  # cheap inner points worth handing to a thread
MOST_CHUNKS = 256
PARTS = 64  # most chunks of a kernel that leaves partial results


def part_count(rows: int, inner: int) -> int:
    """How many chunks a reduction across `rows` rows of `inner` points leaves."""
    return -(-rows // _rows_per_part(rows, inner))


def _rows_per_part(rows: int, inner: int) -> int:
    return max(-(-rows // PARTS), min(rows, -(-2 * CHUNK // max(inner, 1))), 1)


def point_cost(nest: Nest) -> int:
    """Cost of one inner point in additions."""
    roots = [e for p in nest.passes for w in p.walks for e in w.roots()]
    return 1 + sum(verb_cost(e.data) if e.kind == "call" else 1 for e in walk(roots) if e.vars) // 2


def grain(nest: Nest) -> int:
    """Units of the range per chunk."""
    extent = extent_of(nest)
    rows, inner = prod(v.extent for v in nest.rows), nest.row_size
    folds = [f for p in nest.passes for f in p.folds]
    if any(f.how == "across" for f in folds):
        return _rows_per_part(rows, inner)
    work = max(1, CHUNK // max(1, point_cost(nest) // 8))
    most = PARTS if any(f.how == "whole" for f in folds) else MOST_CHUNKS
    least = -(-extent // most)
    if nest.lanes == "flat":
        size = max(least, work)
        return -(-size // LANES) * LANES
    unit = max(1, inner) * (BLOCK if nest.lanes == "rows" else 1)
    return max(1, least, work // unit)
