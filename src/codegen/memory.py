"""Where values live: lifetimes over the steps, and offsets in one arena."""

from __future__ import annotations

from ..ir.graph import Node

ALIGN = 64


def round_up(nbytes: int) -> int:
    return -(-nbytes // ALIGN) * ALIGN


def arena_offsets(sizes: dict[Node, int], spans: dict[Node, tuple[int, int]]) -> tuple[dict[Node, int], int]:
    """Offsets of values alive over spans of steps (both ends included), and the arena's bytes.

    Large values are placed first, each at the lowest gap among those it overlaps in time that fits best.
    """
    placed: list[tuple[int, int, int, int]] = []  # offset, end, first, last
    offsets: dict[Node, int] = {}
    top = 0
    for node in sorted(sizes, key=lambda n: (-sizes[n], spans[n])):
        first, last = spans[node]
        size = round_up(max(sizes[node], 1))
        busy = sorted((o, e) for o, e, a, b in placed if a <= last and first <= b)
        offsets[node] = at = _best_gap(busy, size)
        placed.append((at, at + size, first, last))
        top = max(top, at + size)
    return offsets, top


def _best_gap(busy: list[tuple[int, int]], size: int) -> int:
    """The start of the smallest gap that holds `size`, or the end of what is busy."""
    best, best_room, at = -1, 1 << 62, 0
    for start, end in busy:
        if size <= start - at < best_room:
            best, best_room = at, start - at
        at = max(at, end)
    return best if best >= 0 else at
