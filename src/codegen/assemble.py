"""Groups become steps over buffers: which values are stored, where, and for how long."""

from __future__ import annotations

from dataclasses import replace

from ..ir.graph import Graph, Node
from ..ir.program import (
    Buffer,
    Check,
    CopyStep,
    DotStep,
    Fusion,
    HostStep,
    Kernel,
    KernelStep,
    Program,
    Ref,
)
from .dots import Product, dot_step
from .fuse import Group, is_partial
from .hazards import can_overwrite
from .lower import Lowered
from .memory import arena_offsets
from .repeat import Repeats
from .target import Target
from .views import Axes


class Assembler:
    """Builds a program from groups in execution order."""

    def __init__(self, graph: Graph, groups: list[Group], products: dict[Node, Product],
                 layouts: dict[Node, tuple], axes: Axes, donated: dict[int, int], target: Target):
        self.graph, self.products, self.layouts, self.axes = graph, products, layouts, axes
        self.target = target
        self.groups = [g for g in groups if any(v is not None and v.type.numel for v in g.makes)]
        self.place = {g: i for i, g in enumerate(self.groups)}
        self.maker = {v: g for g in self.groups for v in g.makes}
        self.bases = {s.node: s.node.args[0] for g in self.groups for s in g.stages if s.role == "scatter"}
        self.inputs = graph.placeholders
        self.donated = {graph.outputs[k]: graph.placeholders[q] for k, q in donated.items()}
        self.kernels: dict[Kernel, int] = {}
        self.texts: list[Kernel] = []
        self.sources = {g: self._sources(g) for g in self.groups}
        self.last_read: dict[Node, int] = {}
        for g in self.groups:
            for node in self.sources[g]:
                self.last_read[node] = self.place[g]

    def _sources(self, group: Group) -> list[Node]:
        """What the group reads from memory."""
        found: dict[Node, None] = {}
        for stage in group.stages:
            if stage.node in self.products:
                product = self.products[stage.node]
                found[product.a.base] = found[product.b.base] = None
            else:
                found.update(dict.fromkeys(n for n in stage.sources if n not in group.makes))
        return list(found)

    def program(self) -> Program:
        stored = self._stored()
        self.repeats = Repeats(stored, self.layouts, self.axes, self.target)
        lowered = {g: self.repeats.lower(g) for g in self.groups if g.has_loops}
        home, copies = self._homes(lowered)
        refs, buffers, arena = self._buffers(stored, home)
        steps: list = []
        fusions: list[Fusion] = []
        for group in self.groups:
            fusions.append(self._fusion(group, len(steps), stored))
            steps.append(self._step(group, lowered.get(group), home, refs))
        for node, target in copies.items():
            steps.append(CopyStep(refs[node], refs[target], node.type.nbytes, node.name))
        outputs = tuple(refs[self.donated.get(o, o)].buffer for o in self.graph.outputs)
        prelude = self.target.prelude(frozenset().union(*(k.verbs for k in self.texts)))
        return Program(tuple(self.texts), tuple(steps), tuple(buffers), len(self.inputs), outputs,
                       tuple(o.type for o in self.graph.outputs), arena, prelude, tuple(fusions))

    # what is stored, and where ------------------------------------------------------------------
    def _stored(self) -> set[Node]:
        """Values that leave their kernel: outputs, and what other steps read."""
        stored = set(self.graph.outputs)
        for g in self.groups:
            stored.update(self.sources[g])
            stored.update(v for s in g.stages if not s.is_loop or is_partial(s) for v in s.values if v is not None)
        return stored - set(self.inputs)

    def _homes(self, lowered: dict[Group, Lowered]) -> tuple[dict[Node, Node], dict[Node, Node]]:
        """(values written straight over an input, values copied over it at the end)."""
        home: dict[Node, Node] = {}
        copies: dict[Node, Node] = {}
        for node, target in self.donated.items():
            group = self.maker.get(node)
            if group is None:  # nothing to write
                continue
            base = self.bases.get(node)
            at, last = self.place[self.maker[base] if base else group], self.last_read.get(target, -1)
            safe = last < at
            if last == at and not base and group in lowered:
                safe = can_overwrite(lowered[group], node, target)
            (home if safe else copies)[node] = target
        return home, copies

    def _buffers(self, stored: set[Node], home: dict) -> tuple[dict[Node, Ref], list[Buffer], int]:
        buffers = [Buffer(p.type.nbytes, "input") for p in self.inputs]
        refs = {p: Ref(i) for i, p in enumerate(self.inputs)}
        fresh = [o for o in self.graph.outputs if o not in self.donated]
        for node in fresh:
            refs[node] = Ref(len(buffers))
            buffers.append(Buffer(node.type.nbytes, "output"))
        sizes, spans = {}, {}
        end = len(self.groups)
        over = {x: node for node, x in self.bases.items()}
        for group in self.groups:
            for node in group.makes:
                if node in refs or node in over or node not in stored and node not in self.donated:
                    continue
                if node in home:
                    refs[node] = refs[home[node]]
                    continue
                last = end if node in self.donated else self.last_read.get(node, self.place[group])
                first = self.place[self.maker[self.bases[node]]] if node in self.bases else self.place[group]
                sizes[node], spans[node] = node.type.nbytes, (first, last)
        offsets, arena = arena_offsets(sizes, spans)
        for node, offset in offsets.items():
            refs[node] = Ref(len(buffers))
            buffers.append(Buffer(sizes[node], "temp", offset))
        for x, node in over.items():
            refs[x] = refs[node]
        return refs, buffers, arena

    # steps --------------------------------------------------------------------------------------
    def _step(self, group: Group, lowered: Lowered | None, home: dict, refs: dict):
        stage = group.stages[0]
        node = stage.node
        if node in self.products:
            return self._product(dot_step(node, self.products[node], self.layouts, refs.__getitem__))
        if lowered is None:
            return self._host(stage, refs)
        slots = lowered.slots
        number = {n: i for i, n in enumerate(slots)}
        alias = {number[n]: number[home[n]] for n in slots if n in home and home[n] in number}
        printed = self.repeats.print(lowered, alias)
        checks = tuple(Check(k + 1, need.node.name, need.message, str(need.node.line or ""), need.error)
                       for k, need in enumerate(lowered.needs))
        return KernelStep(self._kernel(printed.kernel), tuple(refs[slots[s]] for s in printed.slots),
                          printed.sizes, printed.extent, printed.grain, tuple(s.node.name for s in group.stages),
                          checks)

    def _product(self, step: DotStep) -> DotStep | KernelStep:
        made = self.target.product(step)
        return step if made is None else replace(made[1], kernel=self._kernel(made[0]))

    def _kernel(self, kernel: Kernel) -> int:
        found = self.kernels.get(kernel)
        if found is None:
            found = self.kernels[kernel] = len(self.texts)
            self.texts.append(kernel)
        return found

    def _host(self, stage, refs: dict) -> HostStep:
        node = stage.node
        args = tuple(refs[a] if type(a) is Node else a for a in node.args)
        types = tuple(a.type if type(a) is Node else None for a in node.args)
        results = node.type if isinstance(node.type, tuple) else (node.type,)
        outs = tuple(None if v is None else refs.get(v) for v in stage.values)
        return HostStep(node.target.name, node.attrs, args, types, outs, results, node.name, str(node.line or ""))

    def _fusion(self, group: Group, step: int, stored: set[Node]) -> Fusion:
        read = sum(n.type.nbytes for n in self.sources[group])
        written = sum(v.type.nbytes for v in group.makes if v in stored)
        return Fusion(tuple(s.node.name for s in group.stages), step, read, written, group.reason)
