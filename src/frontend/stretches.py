"""Recorded stretches that are run, not replayed: in NumPy at first sight, by kernels when seen again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from ..ir.graph import Graph
from ..ir.interpret import run_numpy
from .engine import Report, make_executable
from .safety import WouldFail
from .tensor import Tensor

BOUND = 256  # structures remembered, the least recently seen goes first


class Stretches:
    """Runs graphs, remembering their structure; one per compiled function."""

    def __init__(self, backend: str = "auto"):
        self.backend = backend
        self._known: OrderedDict[tuple, tuple] = OrderedDict()
        self.reports: list[Report] = []

    def run(self, graph: Graph, tensors: Sequence[Tensor], writes: Sequence[tuple[int, int]], first: bool):
        """The outputs' arrays; those in `writes` go over their input's memory and are None.

        `first` keeps to the interpreter: a record that may yet become a replay is not worth a build.
        """
        from ..ir.text import structure_key

        if first or not any(n.opcode == "call_function" for n in graph.nodes):
            return interpret(graph, tensors, writes)
        layouts = tuple(None if t.is_contiguous() else t._strides() for t in tensors)
        key = (structure_key(graph), layouts, tuple(writes))
        known = self._known.get(key)
        if known is None:
            self._known[key] = ()
            while len(self._known) > BOUND:
                self._known.popitem(last=False)
            return interpret(graph, tensors, writes)
        self._known.move_to_end(key)
        if not known:
            report = Report(graph)
            known = self._known[key] = (make_executable(graph, layouts, writes, report, self.backend),)
            self.reports.append(report)
        from .replay import _address

        try:
            return known[0]([_address(t) for t in tensors])
        except WouldFail:
            return interpret(graph, tensors, writes)  # raises where eager does


def interpret(graph: Graph, tensors: Sequence[Tensor], writes) -> list:
    """The graph in NumPy."""
    arrays = run_numpy(graph, [t.nd for t in tensors])
    targets = [tensors[target].nd for _, target in writes]
    for k, array in enumerate(arrays):  # what is an input still, or a view of one, is what it was before
        if any(np.may_share_memory(array, t) for t in targets):
            arrays[k] = np.array(array, order="C")
    for k, target in writes:
        np.copyto(tensors[target].nd, arrays[k])
        arrays[k] = None
    return arrays
