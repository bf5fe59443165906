"""What the page shows of one graph, read off a Report: units (a kernel, a product, a NumPy call), the steps
that run them, and the user's lines they come from."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...ir.graph import Graph, Line, Node
from ...ir.op import Kind
from ...ir.program import CopyStep, DotStep, HostStep, KernelStep, Program
from ...ir.passes import optimize
from ..engine import Report, separate_outputs

Place = tuple[str, int]  # file and line number


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the program: its number, its unit's key, its nodes, and what it is fed by."""

    number: int
    unit: str
    nodes: tuple[str, ...]  # the values it is made for, then what is computed on the way
    feeds_from: tuple[int, ...]


@dataclass(slots=True)
class Unit:
    """What one or more steps run; steps that run the same kernel share it."""

    key: str  # k0, k1 (kernels), p0 (products), n0 (NumPy), c0 (copies), g0 (a line's ops, where nothing was built)
    kind: str  # kernel | product | numpy | copy | line
    title: str
    origin: str = ""  # the composites it computes: softmax, adam_step
    symbol: str = ""
    detail: str = ""
    code: str = ""
    language: str = ""
    steps: list[int] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    read: int = 0
    written: int = 0
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the user's source: a function's lines, or those that were recorded."""

    file: str
    function: str
    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """One graph as the page shows it."""

    graph: Graph
    units: tuple[Unit, ...]
    steps: tuple[Step, ...]
    blocks: tuple[Block, ...]
    at: dict[Place, list[Node]]  # the nodes of each user line


def view_of(report: Report) -> View:
    """Returns what the page shows of one graph."""
    graph = separate_outputs(optimize(report.graph)) if report.program else report.graph
    at: dict[Place, list[Node]] = {}
    for node in graph.nodes:
        if node.line is not None:
            at.setdefault((node.line.file, node.line.number), []).append(node)
    units, numbered = _units(report.program) if report.program else _units_by_line(graph)
    steps = _link(graph, numbered)
    _describe(graph, units, steps)
    return View(graph, tuple(units), tuple(steps), tuple(_blocks(graph)), at)


def _describe(graph: Graph, units: list[Unit], steps: list[Step]) -> None:
    """Fills in each unit's nodes and lines; a kernel is called by what it computes."""
    named = {n.name: n for n in graph.nodes}
    for unit in units:
        names = dict.fromkeys(n for k in unit.steps for n in steps[k].nodes)
        unit.nodes = list(names)
        lines = [named[n].line for n in names if n in named]
        unit.places = list(dict.fromkeys((i.file, i.number) for i in lines if i is not None))
        if unit.kind == "kernel":
            one = [named[n] for n in steps[unit.steps[0]].nodes if n in named]
            unit.origin, unit.title = _origin(one), _ops(one) or unit.title


def _ops(nodes: list[Node]) -> str:
    """The ops of a step, each once, with how often it occurs."""
    count: dict[str, int] = {}
    for node in nodes:
        if node.target.kind not in (Kind.MOVE, Kind.PROJECT):
            count[node.target.name] = count.get(node.target.name, 0) + 1
    if not count:
        count = {n.target.name: 1 for n in nodes}
    return " ".join(f"{name}×{k}" if k > 1 else name for name, k in count.items())


def _origin(nodes: list[Node]) -> str:
    """The composites that the nodes were inside of: adam_step_3_mul_1 is of adam_step."""
    found: dict[str, int] = {}
    for node in nodes:
        stem = re.sub(r"(_\d+)?$", "", node.name)
        if stem.endswith("_" + node.target.name):
            stem = re.sub(r"(_\d+)?$", "", stem[: -len(node.target.name) - 1])
            found[stem] = found.get(stem, 0) + 1
    outer = [n for n in found if not any(n.startswith(m + "_") and n != m + "_backward" for m in found)]
    return ", ".join(sorted(outer, key=lambda n: -found[n])[:3])


# units --------------------------------------------------------------------------------------------
def _units(program: Program) -> tuple[list[Unit], list[tuple[str, tuple[str, ...]]]]:
    """The units of a program, and for each step its unit's key and nodes."""
    units: dict[object, Unit] = {}
    count = dict.fromkeys("kpnc", 0)
    fusions = {f.step: f for f in program.fusions}
    steps = []
    for number, step in enumerate(program.steps):
        fusion = fusions.get(number)
        nodes = tuple(fusion.nodes) if fusion else _nodes_of(step)
        same, letter = _identity(step)
        unit = units.get(same)
        if unit is None:
            unit = units[same] = _new_unit(program, step, f"{letter}{count[letter]}")
            count[letter] += 1
        unit.steps.append(number)
        if fusion:
            unit.read += fusion.read
            unit.written += fusion.written
            if fusion.reason and fusion.reason not in unit.reasons:
                unit.reasons.append(fusion.reason)
        steps.append((unit.key, nodes))
    return list(units.values()), steps


def _nodes_of(step) -> tuple[str, ...]:
    if isinstance(step, KernelStep):
        return step.nodes
    return (step.node,) if step.node else ()


def _identity(step) -> tuple[object, str]:
    """What makes two steps the same unit, and the unit's letter."""
    if isinstance(step, KernelStep):
        return ("kernel", step.kernel), "k"
    if isinstance(step, DotStep):
        return ("product", step.dtype, step.batch, step.m, step.n, step.k), "p"
    if isinstance(step, HostStep):
        return ("numpy", step.op, step.arg_types, step.attrs), "n"
    return "copy", "c"


def _new_unit(program: Program, step, key: str) -> Unit:
    if isinstance(step, KernelStep):
        kernel = program.kernels[step.kernel]
        return Unit(key, "kernel", kernel.symbol, symbol=kernel.symbol, code=kernel.text,
                    language=kernel.language)
    if isinstance(step, DotStep):
        batch = "".join(f"{b} × " for b in step.batch if b != 1)
        title = f"matrix product {batch}[{step.m}, {step.k}] @ [{step.k}, {step.n}]"
        return Unit(key, "product", title, detail=f"{step.dtype}, by the product of BLAS or treadle's own")
    if isinstance(step, HostStep):
        types = ", ".join(str(t) for t in step.arg_types if t is not None)
        return Unit(key, "numpy", f"{step.op}({types})", detail="runs in NumPy: no kernel is generated for it")
    assert isinstance(step, CopyStep)
    return Unit(key, "copy", "copy", detail="an in-place write that had to wait for the readers of the old value")


def _units_by_line(graph: Graph) -> tuple[list[Unit], list[tuple[str, tuple[str, ...]]]]:
    """Where nothing was built: consecutive nodes of one user line."""
    units: list[Unit] = []
    steps: list[tuple[str, tuple[str, ...]]] = []
    last: Line | str | None = ""
    for node in graph.nodes:
        if node.opcode != "call_function":
            continue
        if node.line != last:
            last = node.line
            title = f"line {node.line.number}" if node.line else "no line"
            units.append(Unit(f"g{len(units)}", "line", title, detail="runs in NumPy, op by op", steps=[len(steps)]))
            steps.append((units[-1].key, ()))
        steps[-1] = (steps[-1][0], (*steps[-1][1], node.name))
    return units, steps


def _link(graph: Graph, steps: Iterable[tuple[str, tuple[str, ...]]]) -> list[Step]:
    """The steps, each with all it computes and those it takes values from.

    A program names the values that steps are made for; what lies between two of them is computed inside
    the later one. A name with a suffix (codegen cuts a large sum in two steps) is that of its stem.
    """
    named = {n.name: n for n in graph.nodes}
    steps = [(unit, [named.get(n) or _stem(n, named) for n in nodes], nodes) for unit, nodes in steps]
    owned = {n for _, found, _ in steps for n in found if n is not None}
    made: dict[Node, int] = {}
    out = []
    for number, (unit, found, nodes) in enumerate(steps):
        heads = [n for n in found if n is not None]
        inside, feeds = _reached(heads, owned, made)
        known = dict.fromkeys(n.name for n in (*heads, *inside))
        names = tuple(known) + tuple(n for n, node in zip(nodes, found, strict=True) if node is None)
        out.append(Step(number, unit, names, tuple(sorted(feeds))))
        made.update(dict.fromkeys(heads, number))
    return out


def _stem(name: str, named: dict[str, Node]) -> Node | None:
    """The node whose name begins this one, the longest there is."""
    while "_" in name:
        name = name.rpartition("_")[0]
        if name in named:
            return named[name]
    return None


def _reached(heads: list[Node], owned: set[Node], made: dict[Node, int]) -> tuple[list[Node], set[int]]:
    """What is computed on the way to `heads`, and the steps whose values are read there."""
    feeds = {made[n] for n in heads if n in made}  # the first half of a sum
    inside: list[Node] = []
    stack = [i for n in heads if n not in made for i in n.inputs]
    seen = set(heads)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in made:
            feeds.add(made[node])
        elif node not in owned and node.opcode == "call_function":
            inside.append(node)
            stack.extend(node.inputs)
    return inside, feeds


# the user's source --------------------------------------------------------------------------------
def _blocks(graph: Graph) -> list[Block]:
    """The functions whose lines occur in the graph, in order of first use, overlapping ones joined."""
    wanted: dict[str, dict[int, Line]] = {}
    for node in graph.nodes:
        if node.line is not None:
            wanted.setdefault(node.line.file, {})[node.line.number] = node.line
    out: list[Block] = []
    for file, lines in wanted.items():
        spans = _function_spans(file)
        ranges = [(*_range(spans, i), i.function) for i in lines.values()]
        out += [_block(file, name, low, high, lines) for low, high, name in _joined(ranges)]
    return out


def _function_spans(file: str) -> list[tuple[int, int, str]]:
    """(first line, last line, name) of each function of a file; none where it cannot be read."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(min([n.lineno, *(d.lineno for d in n.decorator_list)]), n.end_lineno or n.lineno, n.name)
            for n in ast.walk(tree) if isinstance(n, kinds)]


def _range(spans, line: Line) -> tuple[int, int]:
    """The smallest function of that name around the line, else the line with two around it."""
    around = [(b - a, a, b) for a, b, name in spans if a <= line.number <= b and name == line.function]
    if around:
        _, low, high = min(around)
        return low, high
    return max(1, line.number - 2), line.number + 2


def _joined(ranges: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The ranges in order of the file, those that overlap made one."""
    out: list[tuple[int, int, str]] = []
    for low, high, name in sorted(ranges, key=lambda r: (r[0], -r[1])):
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(high, out[-1][1]), out[-1][2])
        else:
            out.append((low, high, name))
    return out


def _block(file: str, name: str, low: int, high: int, lines: dict[int, Line]) -> Block:
    known = {n: i.text for n, i in lines.items() if i.text is not None}
    total = len(linecache.getlines(file))
    if total:
        high = min(high, total)
    text = [known.get(n) or linecache.getline(file, n).rstrip("\n") for n in range(low, high + 1)]
    return Block(file, name, low, tuple(text))
