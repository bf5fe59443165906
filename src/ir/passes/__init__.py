"""Passes: pure Graph -> Graph verbs, one per file, run in the order of PIPELINE.

    inline   composites become primitives
    prune    dead code goes before the others look at it
    dedupe   equal calls are made once, so that rules see equal operands as one
    fold     constants, identities, movements
    dedupe, prune   what fold made equal or dead
"""

from __future__ import annotations

from ..graph import Graph
from ..verify import verify
from .dedupe import dedupe
from .fold import fold
from .inline import inline
from .prune import prune

PIPELINE = (inline, prune, dedupe, fold, dedupe, prune)


class _Checks:
    """Whether each pass's result is verified (tests and debugging set it)."""

    __slots__ = ("each_pass",)

    def __init__(self):
        self.each_pass = False


checks = _Checks()


def optimize(graph: Graph) -> Graph:
    """The graph in primitives, without constants to compute, repeated calls or dead code."""
    for step in PIPELINE:
        graph = step(graph)
        if checks.each_pass:
            verify(graph, after=step.__name__)
    return graph
