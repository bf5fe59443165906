"""Whether a kernel may write a result over an input that it reads."""

from __future__ import annotations

from ..ir.graph import Node
from .lower import Lowered
from .stages import walk


def can_overwrite(lowered: Lowered, node: Node, target: Node) -> bool:
    """True if every read of `target` is of the very place being written, and not in a later pass."""
    nest = lowered.nest
    if target not in lowered.slots:
        return True
    out, old = lowered.slots.index(node), lowered.slots.index(target)
    if nest.slots[out] is not nest.slots[old]:
        return False
    written: list[tuple[int, object]] = []
    for number, step in enumerate(nest.passes):
        written += [(number, s.offset) for w in step.walks for s in w.stores if s.slot == out]
        written += [(number, s.offset) for s in step.row_stores if s.slot == out]
    if len(written) != 1:
        return False
    ((last, offset),) = written
    for number, step in enumerate(nest.passes):
        for e in walk(step.roots()):
            if e.kind == "access" and e.data[0] == old and (e.data[1] != offset or number > last):
                return False
    return True

