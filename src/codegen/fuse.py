"""Which stages share a kernel.

A group of loop stages walks one space: a base shape, whose dims are rows or inner. A stage joins a group if
its own domain maps onto the space (same shape, same number of elements, or one per row), if its reductions
run along the inner dims, across the rows, or over all, and if every value it reads of the group is that of
the same point or row. Stages are taken in order and join the group that saves most memory traffic.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from math import prod

from ..ir.graph import Node
from ..ir.type import contiguous_strides
from .index import Ix, flatten, substitute, unflatten, variables
from .stages import Stage
from .views import Axes

MOST_STAGES = 24
MOST_EXPRS = 600  # in one kernel: bounds its compile time
MOST_LOADS = 28  # buffers read by one kernel
FEW_ROWS = 8  # fewer rows than this leave processors idle


@dataclass(eq=False, slots=True)
class Group:
    """Stages that become one step. `deps` are the numbers of the groups it waits for, as bits."""

    number: int
    stages: list[Stage]
    shape: tuple[int, ...] = ()
    rows: frozenset[int] | None = None  # dims of the shape; None while only pointwise
    at: dict[Stage, tuple] = field(default_factory=dict)  # each stage's domain index in the group's variables
    makes: dict[Node, Stage] = field(default_factory=dict)
    loads: set[Node] = field(default_factory=set)
    deps: int = 0
    size: int = 0  # exprs of all stages
    reason: str = ""  # why its readers or sources are not in it

    @property
    def is_loop(self) -> bool:
        return self.stages[0].is_loop

    @property
    def has_loops(self) -> bool:
        return self.stages[0].is_loop or self.stages[0].role == "scatter"

    @property
    def numel(self) -> int:
        return prod(self.shape)


class _Fuser:
    def __init__(self, axes: Axes):
        self.axes = axes
        self.groups: list[Group] = []
        self.maker: dict[Node, Group] = {}
        self.readers: dict[Node, list[Group]] = {}

    def add(self, stage: Stage) -> None:
        reasons = []
        if stage.is_loop:
            for group in self._candidates(stage):
                why = self._join(stage, group)
                if not why:
                    return
                reasons.append(why)
        self._open(stage, reasons[0] if reasons else "")

    def _candidates(self, stage: Stage) -> list[Group]:
        """Groups that make or read what the stage reads, the largest saving first."""
        saved: dict[Group, int] = {}
        size = prod(stage.domain)
        for node in stage.sources:
            maker = self.maker.get(node)
            if maker is not None and maker.is_loop:
                saved[maker] = saved.get(maker, 0) + 2 * node.type.nbytes
            if node.type.numel * 2 >= size and node.type.numel > 1:
                for reader in self.readers.get(node, ())[-4:]:
                    if reader is not maker:
                        saved[reader] = saved.get(reader, 0) + node.type.nbytes
        return sorted(saved, key=lambda g: (-saved[g], -g.number))

    def _open(self, stage: Stage, reason: str) -> None:
        group = Group(len(self.groups), [], reason=reason)
        self.groups.append(group)
        if stage.is_loop or stage.role == "scatter":
            group.shape = stage.domain
            group.rows = _own_rows(stage)
        self._include(stage, group, stage.index)

    def _include(self, stage: Stage, group: Group, index: tuple) -> None:
        group.stages.append(stage)
        group.size += stage.size
        group.at[stage] = index
        for value in stage.values:
            if value is not None:
                group.makes[value] = stage
                self.maker[value] = group
        group.loads.update(stage.sources)
        if stage.is_loop:
            for node in stage.sources:
                found = self.readers.setdefault(node, [])
                if not found or found[-1] is not group:
                    found.append(group)
        self._depend(stage, group)

    def _depend(self, stage: Stage, group: Group) -> None:
        deps = group.deps
        for node in stage.sources:
            maker = self.maker.get(node)
            if maker is not None and maker is not group:
                deps |= maker.deps | 1 << maker.number
        if deps != group.deps:
            group.deps = deps
            bit = 1 << group.number
            for other in self.groups:
                if other.deps & bit:
                    other.deps |= deps

    # joining ------------------------------------------------------------------------------------
    def _join(self, stage: Stage, group: Group) -> str:
        """Adds the stage to the group, or tells why not."""
        bit = 1 << group.number
        for node in stage.sources:
            maker = self.maker.get(node)
            if maker is not None and maker is not group and maker.deps & bit:
                return f"%{node.name} is made from this kernel's results by another step"
        if (len(group.stages) >= MOST_STAGES or group.size + stage.size > MOST_EXPRS
                or len(group.loads | set(stage.sources)) > MOST_LOADS):
            return "the kernel is large enough"
        first = ""
        for index in (self._map(stage, group), self._permuted(stage, group)):
            if index is None:
                continue
            rows, why = _rows_with(stage, index, group, self.axes)
            why = why or self._misaligned(stage, index, group)
            if not why:
                group.rows = rows
                self._include(stage, group, index)
                return ""
            first = first or why
        return first or f"a space of {list(stage.domain)} does not fit one of {list(group.shape)}"

    def _permuted(self, stage: Stage, group: Group) -> tuple | None:
        """The index by which a stage over the group's dims in another order reads the group's values."""
        if len(stage.domain) != len(group.shape) or sorted(stage.domain) != sorted(group.shape):
            return None
        own, found = stage.index, {}
        for load in stage.loads:
            maker = group.makes.get(load.data[0])
            if maker is not None:
                made = value_index(maker, group.at[maker])
                found |= {i: m for i, m in zip(load.data[1], made, strict=True) if i in own and type(i) is Ix}
        left = [v for v in self.axes.index(group.shape) if v not in found.values()]
        index = []
        for i, n in zip(own, stage.domain, strict=True):
            if n > 1 and i not in found:
                same = next((v for v in left if type(v) is Ix and v.hi == n - 1), None)
                if same is None:
                    return None
                left.remove(same)
                found[i] = same
            index.append(found[i] if n > 1 else 0)
        return tuple(index) if found else None

    def _map(self, stage: Stage, group: Group) -> tuple | None:
        """The stage's index in the group's variables, in order, or None."""
        if stage.domain == group.shape:
            return stage.index
        size, strides = prod(stage.domain), contiguous_strides(stage.domain)
        variables_ = self.axes.index(group.shape)
        if size == group.numel:
            flat = flatten(variables_, contiguous_strides(group.shape))
        elif group.rows is not None and size == prod(group.shape[d] for d in group.rows):
            order = sorted(group.rows)
            flat = flatten([variables_[d] for d in order], contiguous_strides([group.shape[d] for d in order]))
        else:
            return None
        return unflatten(flat, stage.domain, strides)

    def _misaligned(self, stage: Stage, index: tuple, group: Group) -> str:
        """Why a read of the group's own values is not of the same point, or ''."""
        inner = [load for load in stage.loads if load.data[0] in group.makes]
        if not inner:
            return ""
        same = index is stage.index
        values = {} if same else dict(zip(self.axes.vars(stage.domain), index, strict=True))
        for load in inner:
            node = load.data[0]
            maker = group.makes[node]
            if is_partial(maker):
                return f"%{node.name} is complete only after all rows"
            here = load.data[1] if same else tuple(substitute(i, values) for i in load.data[1])
            made = value_index(maker, group.at[maker])
            if here != made and not _same_place(here, made, node.type.shape):
                return f"%{node.name} is read at another place than it is made"
        return ""


def _same_place(a: tuple, b: tuple, shape: tuple) -> bool:
    strides = contiguous_strides(shape)
    return flatten(a, strides) == flatten(b, strides)


def value_index(stage: Stage, index: tuple) -> tuple:
    """Where a stage's value stands, given its domain's index: reduced dims are gone."""
    if stage.role != "reduce" or not stage.reduced:
        return index
    return tuple(i for d, i in enumerate(index) if d not in stage.reduced)


def is_partial(stage: Stage) -> bool:
    """Whether the stage leaves one result per chunk of rows, to be added up by another."""
    return stage.role == "reduce" and any(k == "parts" for k, _ in stage.node.attrs)


def _own_rows(stage: Stage) -> frozenset[int] | None:
    """The rows of a group that starts with this stage."""
    if stage.role == "point":
        return None
    kept = frozenset(range(len(stage.domain))) - stage.reduced
    if stage.role == "scatter" or not is_partial(stage):
        return kept
    return None if not kept else stage.reduced


def _rows_with(stage: Stage, index: tuple, group: Group, axes: Axes) -> tuple[frozenset[int] | None, str]:
    """The group's rows once the stage is in it, or why it cannot be."""
    on_rows = prod(stage.domain) != group.numel
    if stage.role == "point":
        if not on_rows and group.rows is not None and _starves(group.shape, group.rows):
            return None, "there are too few rows to share out"
        return group.rows, ""
    if on_rows:
        whole = is_partial(stage) and len(stage.reduced) == len(stage.domain)
        return (group.rows, "") if whole else (None, "a reduction of the rows' results is another kernel")
    if is_partial(stage) and len(stage.reduced) == len(stage.domain):
        return group.rows, ""
    reduced = _dims([index[d] for d in stage.reduced], group, axes)
    kept = _dims([i for d, i in enumerate(index) if d not in stage.reduced], group, axes)
    if reduced & kept:
        return None, "the reduced dims cut across this kernel's"
    wanted = reduced if is_partial(stage) else kept
    wanted |= frozenset(d for d, n in enumerate(group.shape) if n == 1 and d in (group.rows or ()))
    if group.rows is None:
        if _starves(group.shape, wanted):
            return None, "there are too few rows to share out"
        return wanted, ""
    if _large(wanted, group.shape) != _large(group.rows, group.shape):
        return None, "it reduces other dims"
    return group.rows, ""


def _large(dims: frozenset[int], shape: tuple) -> frozenset[int]:
    return frozenset(d for d in dims if shape[d] != 1)


def _starves(shape: tuple, rows: frozenset[int]) -> bool:
    return prod(shape[d] for d in rows) < FEW_ROWS and prod(shape) > 1 << 16


def _dims(index: list[Ix | int], group: Group, axes: Axes) -> frozenset[int]:
    """The group's dims that these index expressions depend on."""
    found: set = set()
    for i in index:
        variables(i, found)
    return frozenset(d for d, v in enumerate(axes.vars(group.shape)) if v in found)


def fuse(stages: list[Stage], axes: Axes, writes: dict[Node, Node]) -> list[Group]:
    """The groups, in an order in which each follows what it reads; `writes` tells over which input a value goes."""
    fuser = _Fuser(axes)
    for stage in stages:
        fuser.add(stage)
    return _ordered(fuser, writes)


def _late_writes(fuser: _Fuser, writes: dict[Node, Node]) -> list[tuple[Group, Group]]:
    """(reader of an input's old value, writer of the new one) where the writer can come later."""
    pairs = []
    readers: dict[Node, list[Group]] = {}
    for group in fuser.groups:
        for node in group.loads:
            readers.setdefault(node, []).append(group)
    for value, target in writes.items():
        writer = fuser.maker.get(value)
        for reader in readers.get(target, ()) if writer else ():
            if reader is writer or reader.deps >> writer.number & 1 or writer.deps >> reader.number & 1:
                continue
            pairs.append((reader, writer))
            new = reader.deps | 1 << reader.number
            for group in fuser.groups:
                if group is writer or group.deps >> writer.number & 1:
                    group.deps |= new
    return pairs


def _ordered(fuser: _Fuser, writes: dict[Node, Node]) -> list[Group]:
    """By the place of their last stage, as far as dependences allow."""
    groups = fuser.groups
    sources = {g.number: {fuser.maker[n].number for s in g.stages for n in s.sources if n in fuser.maker}
               - {g.number} for g in groups}
    for reader, writer in _late_writes(fuser, writes):
        sources[writer.number].add(reader.number)
    users: dict[int, list[Group]] = {g.number: [] for g in groups}
    waits: dict[int, int] = {}
    for g in groups:
        waits[g.number] = len(sources[g.number])
        for number in sources[g.number]:
            users[number].append(g)
    ready = [(g.stages[-1].place, g.number, g) for g in groups if not waits[g.number]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, _, group = heapq.heappop(ready)
        order.append(group)
        for user in users[group.number]:
            waits[user.number] -= 1
            if not waits[user.number]:
                heapq.heappush(ready, (user.stages[-1].place, user.number, user))
    return order
