"""Whether a kernel may write a result over an input that it reads."""

from __future__ import annotations

from ..ir.graph import Node
from .loops import Pass
from .lower import Lowered
from .stages import walk


def can_overwrite(lowered: Lowered, node: Node, target: Node) -> bool:
    """True if every read of `target` is of the very place being written, and not in a later pass."""
    nest = lowered.nest
    out, old = lowered.slots.index(node), lowered.slots.index(target)
    if nest.slots[out] is not nest.slots[old]:
        return False
    written: list[tuple[int, object, bool]] = []
    for number, step in enumerate(nest.passes):
        written += [(number, s.offset, False) for s in step.stores if s.slot == out]
        written += [(number, s.offset, True) for s in step.row_stores if s.slot == out]
    ((last, offset, per_row),) = written
    for number, step in enumerate(nest.passes):
        for e in walk(_roots(step)):
            if e.kind == "access" and e.data[0] == old and (e.data[1] != offset or number > last):
                return False
        if per_row and number == last and any(s.offset == offset for s in step.stores):
            return False
    return True


def _roots(step: Pass) -> list:
    roots = [e for f in step.folds for e in f.element]
    roots += [s.value for s in (*step.stores, *step.row_stores)]
    roots += [e for c in (*step.checks, *step.row_checks) for e in (c.bad, c.value)]
    return roots
