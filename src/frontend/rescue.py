"""When a recorded op fails at the flush: what came before it is done, as in eager; what comes after is not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.graph import Graph, Node
from ..ir.interpret import failed_node, run_numpy


class Failed:
    """Stands for the recorder of a tensor that could not be computed: asking for it raises the error again."""

    __slots__ = ("error",)

    def __init__(self, error: Exception):
        self.error = error

    def flush(self) -> None:
        raise RuntimeError(f"this tensor was never computed: {self.error}") from self.error


def rescue(error: Exception, nodes: Sequence[Node], arrays, alive, log, set_grads) -> None:
    """Puts the effects of the ops before the failing one in place.

    alive: pending storages; log: (root, its value after a write) in program order; set_grads: (tensor,
    its `.grad` before, how many ops came before) of assignments. Inputs still hold what they held before the stretch.
    """
    place = {n: k for k, n in enumerate(nodes)}
    culprit = failed_node(error)
    if culprit not in place:
        culprit = _find(nodes, arrays)
    limit = place.get(culprit, 0)
    done = [s for s in alive if place[s.root.value] < limit]
    last = {}
    for root, value in log:
        if place[value] < limit:
            last[id(root)] = (root, value)
    written = list(last.values())
    outputs = [s.root.value for s in done] + [value for _, value in written]
    results = run_numpy(Graph(nodes[:limit], outputs), arrays[:sum(n.opcode == "placeholder" for n in
                                                                   nodes[:limit])])
    for s, array in zip(done, results, strict=False):
        s.array, s.pending = np.array(array, order="C"), None
    for (root, _), array in zip(written, results[len(done):], strict=True):
        np.copyto(root.tensor.nd, array)
    for s in alive:
        if s.pending is not None:
            s.pending = Failed(error)
    for owner, before, place_then in reversed(set_grads):
        if place_then > limit:
            owner._grad = before


def _find(nodes: Sequence[Node], arrays) -> Node | None:
    """The op that fails when the stretch is run one by one."""
    try:
        run_numpy(Graph(nodes, ()), arrays)
    except Exception as again:
        return failed_node(again)
    return None
