"""What the page shows of one graph, read off a Report: units (a kernel, a product, a NumPy call), the steps
that run them, and the user's lines they come from."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...ir.graph import Graph, Line, Node
from ...ir.program import CopyStep, DotStep, HostStep, KernelStep, Program
from ..engine import Report

Place = tuple[str, int]  # file and line number


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the program: its number, its unit's key, its nodes, and what it is fed by."""

    number: int
    unit: str
    nodes: tuple[str, ...]
    feeds_from: tuple[int, ...]


@dataclass(slots=True)
class Unit:
    """What one or more steps run; steps that run the same kernel share it."""

    key: str  # k0, k1 (kernels), p0 (products), n0 (NumPy), c0 (copies), g0 (a line's ops, where nothing was built)
    kind: str  # kernel | product | numpy | copy | line
    title: str
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
    graph = report.optimized or report.graph
    at: dict[Place, list[Node]] = {}
    for node in graph.nodes:
        if node.line is not None:
            at.setdefault((node.line.file, node.line.number), []).append(node)
    units, numbered = _units(report.program) if report.program else _units_by_line(graph)
    named = {n.name: n for n in graph.nodes}
    for unit in units:
        lines = [named[n].line for n in unit.nodes if n in named]
        unit.places = list(dict.fromkeys((i.file, i.number) for i in lines if i is not None))
    return View(graph, tuple(units), tuple(_link(graph, numbered)), tuple(_blocks(graph)), at)


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
        unit.nodes += nodes
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
        return Unit(key, "kernel", kernel.symbol, "", kernel.text, kernel.language)
    if isinstance(step, DotStep):
        batch = "".join(f"{b} × " for b in step.batch if b != 1)
        title = f"matrix product {batch}[{step.m}, {step.k}] @ [{step.k}, {step.n}]"
        return Unit(key, "product", title, f"{step.dtype}, run by the product of BLAS or treadle, whichever is faster")
    if isinstance(step, HostStep):
        types = ", ".join(str(t) for t in step.arg_types if t is not None)
        return Unit(key, "numpy", f"{step.op}({types})", "runs in NumPy: no kernel is generated for it")
    assert isinstance(step, CopyStep)
    return Unit(key, "copy", "copy", "an in-place write that had to wait for the readers of the old value")


def _units_by_line(graph: Graph) -> tuple[list[Unit], list[tuple[str, tuple[str, ...]]]]:
    """Where nothing was built: consecutive nodes of one user line."""
    units: list[Unit] = []
    steps: list[tuple[str, tuple[str, ...]]] = []
    last: Line | None | str = ""
    for node in graph.nodes:
        if node.opcode != "call_function":
            continue
        if node.line != last:
            last = node.line
            title = f"line {node.line.number}" if node.line else "no line"
            units.append(Unit(f"g{len(units)}", "line", title, "runs in NumPy, op by op", steps=[len(steps)]))
            steps.append((units[-1].key, ()))
        units[-1].nodes.append(node.name)
        steps[-1] = (steps[-1][0], (*steps[-1][1], node.name))
    return units, steps


def _link(graph: Graph, steps: Iterable[tuple[str, tuple[str, ...]]]) -> list[Step]:
    """The steps, each with those it takes values from; what no step owns (views) is looked through."""
    named = {n.name: n for n in graph.nodes}
    made: dict[str, int] = {}
    out = []
    for number, (unit, nodes) in enumerate(steps):
        own = set(nodes)
        found: dict[int, None] = {}
        stack = [i for n in nodes if n in named for i in named[n].inputs if i.name not in own]
        seen = set()
        while stack:
            node = stack.pop()
            if node.name in seen:
                continue
            seen.add(node.name)
            if node.name in made:
                found[made[node.name]] = None
            elif node.opcode == "call_function":
                stack.extend(node.inputs)
        out.append(Step(number, unit, tuple(nodes), tuple(sorted(found))))
        made.update(dict.fromkeys(nodes, number))
    return out


# the user's source --------------------------------------------------------------------------------
def _blocks(graph: Graph) -> list[Block]:
    """The functions whose lines occur in the graph, in order of first use, overlapping ones joined."""
    wanted: dict[str, dict[str, list[Line]]] = {}
    for node in graph.nodes:
        if node.line is not None:
            wanted.setdefault(node.line.file, {}).setdefault(node.line.function, []).append(node.line)
    out: list[Block] = []
    for file, functions in wanted.items():
        spans = _function_spans(file)
        ranges = [(*_range(spans, lines), function) for function, lines in functions.items()]
        out += [_block(file, name, low, high, functions[name]) for low, high, name in _joined(ranges)]
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


def _range(spans, lines: list[Line]) -> tuple[int, int]:
    """The smallest function of that name around the lines, else the lines with two around them."""
    low, high = min(i.number for i in lines), max(i.number for i in lines)
    around = [(b - a, a, b) for a, b, name in spans if a <= low and high <= b and name == lines[0].function]
    if around:
        _, low, high = min(around)
        return low, high
    return max(1, low - 2), high + 2


def _joined(ranges: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The ranges without those that lie within or overlap an earlier one, in order of the file."""
    out: list[tuple[int, int, str]] = []
    for low, high, name in sorted(ranges, key=lambda r: (r[0], -r[1])):
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(high, out[-1][1]), out[-1][2])
        else:
            out.append((low, high, name))
    return out


def _block(file: str, name: str, low: int, high: int, lines: list[Line]) -> Block:
    known = {i.number: i.text for i in lines if i.text is not None}
    total = len(linecache.getlines(file))
    if total:
        high = min(high, total)
    text = [known.get(n) or linecache.getline(file, n).rstrip("\n") for n in range(low, high + 1)]
    return Block(file, name, low, tuple(text))
