"""Whether a reshape can be a view."""

from __future__ import annotations


def view_strides(shape, strides, new_shape) -> tuple[int, ...] | None:
    """The strides of `new_shape` over the same memory, or None if elements would have to move.

    >>> view_strides((2, 3), (3, 1), (6,)), view_strides((2, 3), (1, 2), (6,))
    ((1,), None)
    """
    if 0 in shape:
        return tuple(1 for _ in new_shape)
    dims = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    merged: list[tuple[int, int]] = []  # runs of dims that lie one inside the other
    for n, s in dims:
        if merged and merged[-1][1] == n * s:
            merged[-1] = (merged[-1][0] * n, s)
        else:
            merged.append((n, s))
    out, left = [1] * len(new_shape), len(new_shape) - 1
    for size, step in reversed(merged):
        room = size
        while room > 1:
            if left < 0:
                return None
            n = new_shape[left]
            if room % n:
                return None
            out[left] = step
            step, room, left = step * n, room // n, left - 1
    return tuple(out) if all(n == 1 for n in new_shape[: left + 1]) else None
