"""grid_sample's reading at free places."""

from __future__ import annotations

from ....ir import ops
from ....ir.arith import cast, expand_to
from ....ir.dtype import int64
from ..join import select


def _unnormalised(coordinate, size, align_corners):
    """[-1, 1] as places 0..size-1."""
    if align_corners:
        return (coordinate + 1) * ((size - 1) / 2)
    return ((coordinate + 1) * size - 1) * 0.5


def _reflected(at, size, align_corners):
    low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
    if span <= 0:
        return at * 0.0
    away = ops.abs(at - low)
    turns = ops.floor(away / span)
    rest = away - turns * span
    odd = ops.ne(turns - ops.floor(turns * 0.5) * 2, 0)
    return ops.where(odd, span - rest, rest) + low


def _placed(coordinate, size, padding_mode, align_corners):
    at = _unnormalised(coordinate, size, align_corners)
    if padding_mode == "reflection":
        at = _reflected(at, size, align_corners)
    if padding_mode != "zeros":
        at = ops.minimum(ops.maximum(at, 0.0), float(size - 1))
    return at


def _read(x, row, col):
    """x (N, C, H, W) at whole places (N, Ho, Wo), 0 outside, as (N, C, Ho, Wo)."""
    n, c, h, w = x.type.shape
    inside = ops.bit_and(ops.bit_and(ops.ge(row, 0), ops.lt(row, h)), ops.bit_and(ops.ge(col, 0), ops.lt(col, w)))
    flat = cast(ops.minimum(ops.maximum(row, 0), h - 1), int64) * w + cast(ops.minimum(ops.maximum(col, 0), w - 1),
                                                                           int64)
    shape = (n, c, *flat.type.shape[1:])
    count = shape[2] * shape[3]
    index = expand_to(ops.reshape(flat, shape=(n, 1, count)), (n, c, count))
    picked = ops.reshape(ops.gather(ops.reshape(x, shape=(n, c, h * w)), index, dim=2), shape=shape)
    return ops.where(expand_to(ops.reshape(inside, shape=(n, 1, *shape[2:])), shape), picked, 0)


def sample(x, grid, mode, padding_mode, align_corners):
    """x read at grid's places by the nearest or the four neighbours."""
    n, _, h, w = x.type.shape
    col = _placed(select(grid, 3, 0), w, padding_mode, align_corners)
    row = _placed(select(grid, 3, 1), h, padding_mode, align_corners)
    if mode == "nearest":
        return _read(x, ops.round(row), ops.round(col))
    top, left = ops.floor(row), ops.floor(col)
    down, right = row - top, col - left
    total = None
    for dr, wr in ((0, 1 - down), (1, down)):
        for dc, wc in ((0, 1 - right), (1, right)):
            weight = wr * wc
            shape = weight.type.shape
            part = _read(x, top + dr, left + dc) * ops.reshape(weight, shape=(n, 1, *shape[1:]))
            total = part if total is None else total + part
    return total
