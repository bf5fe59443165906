"""How a nest is cut into Triton programs: rows per program and the blocks it works in, by shapes alone.

A program takes `grain` rows, x_block at a time, and walks the inner points of a segment r_block at a time. Where
a kernel leaves partial results, its chunks are those of the C++ schedule, which the program's buffers are made for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from .cpp_tiles import turned_accesses
from .loops import Nest, Walk
from .schedule import grain as chunk_of
from .schedule import point_cost

POINTS = 1024  # elements of a block: 8 per thread of 4 warps, two 16-byte loads of float32
PER_THREAD = 8
DEAR, FEW = 16, 2  # points that cost this much take so many registers that a thread has few of them
TURNED = 32  # a side of a block whose operands lie in opposite orders
MOST_WARPS = 16
WHOLE_ROW = 4096  # a row up to this length is one block, kept in registers from pass to pass
LONG_BLOCK = 2048
COLUMNS = 128  # inner points of a program that adds up over rows only
SIDE_BY_SIDE = 64  # neighbouring rows done together where they are adjacent in memory


@dataclass(frozen=True, slots=True)
class Tiles:
    """form: flat (rows and inner points are one range), tile, or scatter (inner points one after the other)."""

    form: str
    rows: int
    grain: int
    x_block: int
    r_blocks: tuple[int, ...]  # per segment
    columns: int = 1  # programs that share a chunk's rows, each with its own inner points
    warps: int = 4

    @property
    def is_chunked(self) -> bool:
        """Whether a program does its rows in several steps."""
        return self.grain > self.x_block


def power(n: int) -> int:
    """The least power of two that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


def tiles_of(nest: Nest) -> Tiles:
    """The tiles of a nest, with as many warps as give each thread a few elements."""
    tiles, per_thread = _shape(nest), PER_THREAD
    if point_cost(nest) >= DEAR:
        per_thread = FEW
        if tiles.form == "flat" and not any(p.folds for p in nest.passes):
            block = min(tiles.x_block, POINTS * FEW // PER_THREAD)
            tiles = replace(tiles, x_block=block, grain=block)
    elements = tiles.x_block * max(tiles.r_blocks, default=1)
    return replace(tiles, warps=min(max(elements // (32 * per_thread), 1), MOST_WARPS))


def _shape(nest: Nest) -> Tiles:
    rows = prod(v.extent for v in nest.rows)
    walks = nest.passes[0].walks
    if any(s.mode for w in walks for s in w.stores):
        block = min(power(rows), POINTS)
        return Tiles("scatter", rows, block, block, (1,) * len(walks))
    partial = {f.how for p in nest.passes for f in p.folds} - {"along"}
    if turned_accesses(nest):
        return Tiles("tile", rows, TURNED, TURNED, (TURNED,), -(-nest.row_size // TURNED))
    if nest.lanes == "flat" or _is_pointwise(nest):
        return _flat(rows * nest.row_size, chunk_of(nest) if partial else 0)
    if "across" in partial:
        return _across(nest, rows, walks)
    return _rows(nest, rows, walks, bool(partial))


def _is_pointwise(nest: Nest) -> bool:
    """Whether every point is by itself, with one segment: rows and inner points are then one range."""
    (first, *others) = nest.passes
    return len(first.walks) == 1 and not others and not first.folds and not first.row_stores


def _flat(points: int, grain: int) -> Tiles:
    block = min(power(points), POINTS)
    block = min(block, power(grain)) if grain else block
    return Tiles("flat", points, grain or block, block, ())


def _rows(nest: Nest, rows: int, walks: list[Walk], has_parts: bool) -> Tiles:
    """Reductions along the rows, and perhaps one over all."""
    longest = max(w.size for w in walks)
    if nest.lanes == "rows":
        x = min(power(rows), SIDE_BY_SIDE)
        most = max(LONG_BLOCK // x, 1)
    else:
        most = WHOLE_ROW if longest <= WHOLE_ROW else LONG_BLOCK
        x = min(power(rows), max(POINTS // power(longest), 1))
    blocks = tuple(min(power(w.size), most) for w in walks)
    grain = x
    if has_parts:
        grain = -(-rows // nest.parts) if nest.lanes == "rows" else chunk_of(nest)
        x = min(x, power(grain))
    return Tiles("tile", rows, grain, x, blocks)


def _across(nest: Nest, rows: int, walks: list[Walk]) -> Tiles:
    """Reductions across the rows of a chunk, with one result per inner point."""
    grain, longest = chunk_of(nest), max(w.size for w in walks)
    folds = [f for p in nest.passes for f in p.folds]
    alone = len(walks) == 1 and all(f.how == "across" for f in folds) and not _has_row_parts(nest)
    columns = 1
    if alone:
        block = min(power(longest), COLUMNS)
        blocks, columns = (block,), -(-longest // block)
    else:
        most = WHOLE_ROW if longest <= WHOLE_ROW else LONG_BLOCK
        blocks = tuple(min(power(w.size), most) for w in walks)
    x = min(power(grain), max(POINTS // max(blocks), 1))
    return Tiles("tile", rows, grain, x, blocks, columns)


def _has_row_parts(nest: Nest) -> bool:
    """Whether something is written once per row."""
    return any(p.row_stores for p in nest.passes)
