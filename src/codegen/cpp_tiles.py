"""The form for operands in opposite memory orders: square tiles, turned in scratch (see cpp.py)."""

from __future__ import annotations

from math import prod

from .cpp import Printer, row_digits
from .index import coefficient
from .loops import Expr, Nest, Walk
from .prelude import C_TYPE
from .stages import walk

TILE = 64
LEAST = 16  # shorter dims are not worth turning
MOST = 3  # operands turned in one kernel: their tiles share the nearest cache

SUPPORT = """
// to[r][c] = from[c * stride + r]: a tile of an operand whose neighbours lie along rows
template <int T, class E> TD void td_turn(E *to, const E *from, long stride, long rows, long columns) {
  long done_rows = 0, done_columns = 0;
#if __GNUC__ >= 12 || defined(__clang__)
  if constexpr (sizeof(E) == 4) {
    typedef int v8 __attribute__((vector_size(32), may_alias));
    typedef int u8 __attribute__((vector_size(32), aligned(4), may_alias));
    done_rows = rows / 8 * 8, done_columns = columns / 8 * 8;
    for (long c = 0; c < done_columns; c += 8)
      for (long r = 0; r < done_rows; r += 8) {
        v8 a[8], b[8];
        for (int i = 0; i < 8; i++) a[i] = *(const u8 *)(from + (c + i) * stride + r);
        for (int i = 0; i < 4; i++) {
          b[2 * i] = __builtin_shufflevector(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
          b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (int i = 0; i < 4; i++) {
          a[2 * i] = __builtin_shufflevector(b[i], b[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
          a[2 * i + 1] = __builtin_shufflevector(b[i], b[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (int i = 0; i < 4; i++) {
          b[2 * i] = __builtin_shufflevector(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
          b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (int i = 0; i < 8; i++) *(u8 *)(to + (r + i) * T + c) = b[i];
      }
  }
#endif
  for (long c = 0; c < columns; c++)
    for (long r = c < done_columns ? done_rows : 0; r < rows; r++) to[r * T + c] = from[c * stride + r];
}
"""


def turned_accesses(nest: Nest) -> list[Expr]:
    """The reads whose neighbours lie along the last row variable, where tiles serve them; else none."""
    if nest.lanes != "inner" or not nest.rows or len(nest.passes) != 1:
        return []
    (step,) = nest.passes
    if step.folds or step.row_checks or step.row_stores or len(step.walks) != 1 or step.walks[0].checks:
        return []
    walk_ = step.walks[0]
    if not walk_.inner or min(walk_.inner[-1].extent, nest.rows[-1].extent) < LEAST:
        return []
    row, inner = nest.rows[-1], walk_.inner[-1]
    found = [e for e in walk(walk_.roots()) if e.kind == "access" and not e.args
             and coefficient(e.data[1], row) == 1 and (coefficient(e.data[1], inner) or 0) > 1]
    return found if len(found) <= MOST else []


class TileForm(Printer):
    """Tiles of the last row and the last inner variable; what lies the other way is turned first."""

    def write(self) -> None:
        *outer, row = self.nest.rows
        (walk_,) = self.nest.passes[0].walks
        size = self.names.size
        self.name_inner()
        blocks = -(-row.extent // TILE)
        with self.block("for (long r = begin; r < end; r++)"):
            row_digits(self, tuple(outer), f"(r / {size(blocks)})")
            self.put(f"const long x0 = r % {size(blocks)} * {TILE};")
            self.put(f"const long rows = {self._end('x0', row.extent)};")
            with self.loops(walk_.inner[:-1]):
                extent = walk_.inner[-1].extent
                with self.block(f"for (long y0 = 0; y0 < {size(extent)}; y0 += {TILE})"):
                    self.put(f"const long columns = {self._end('y0', extent)};")
                    self._tile(walk_, row)

    def _end(self, start: str, extent: int) -> str:
        if extent % TILE == 0:
            return str(TILE)
        return f"{start} + {TILE} < {self.names.size(extent)} ? {TILE} : {self.names.size(extent)} - {start}"

    def _tile(self, walk_: Walk, row) -> None:
        names, inner = self.names.vars, walk_.inner[-1]
        tiles = {}
        names[row], names[inner] = "x0", "y0"
        for e in turned_accesses(self.nest):
            slot, place = e.data
            tiles[e] = name = self.fresh("t")
            self.put(f"{C_TYPE[self.nest.slots[slot].name]} {name}[{TILE * TILE}];")
            stride = self.names.size(coefficient(place, inner))
            self.put(f"td_turn<{TILE}>({name}, {self.names.pointer(slot)} + {self.place(place)}, {stride}, rows, "
                     "columns);")
        names[row], names[inner] = "x", "y"
        with self.block("for (long i = 0; i < rows; i++)"):
            self.put("const long x = x0 + i;")
            for e in self.row_level(walk_.roots()):
                self.name(e)
            with self.block("for (long j = 0; j < columns; j++)", simd=True):
                self.put("const long y = y0 + j;")
                for e, name in tiles.items():
                    self.scopes[-1][e] = self.names.loaded(f"{name}[i * {TILE} + j]", e.dtype)
                for e in walk_.roots():
                    self.name(e)
                for s in walk_.stores:
                    self.put(self.names.store(s.slot, self.place(s.offset), self.name(s.value)))


def tile_count(nest: Nest) -> int:
    """Units of a tile kernel's range: rows of tiles."""
    return prod(v.extent for v in nest.rows[:-1]) * -(-nest.rows[-1].extent // TILE)
