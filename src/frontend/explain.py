"""explain(): what was captured, lazy or eager and why; kernels, fusion, bytes and times."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .compile import Compiled, State
from .engine import Report


@dataclass(frozen=True, slots=True)
class Signature:
    """One kind of call: how often it was recorded, why it is lazy, and per graph (replays, guards)."""

    number: int
    recorded: int
    lazy: tuple[str, ...]
    entries: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a compiled function did so far; prints as one page, `counts` is for tests.

    counts: graphs (ready to replay), lazy (keys that run their Python), recordings, replays, kernels
    (distinct, in the graphs), built (compiled by this process), reused (found in a cache).
    """

    name: str
    sections: tuple[str, ...]
    reports: tuple[Report, ...]
    counts: dict = field(default_factory=dict)
    signatures: tuple[Signature, ...] = ()
    events: tuple[str, ...] = ()  # what each recording led to, in order

    def __str__(self) -> str:
        return "\n\n".join(self.sections)

    __repr__ = __str__

    @property
    def graphs(self) -> list:
        """The captured graphs, as recorded."""
        return [r.graph for r in self.reports]

    @property
    def kernels(self) -> list[str]:
        """The generated sources, one of each."""
        seen = {}
        for r in self.reports:
            for k in r.program.kernels if r.program else ():
                seen.setdefault(k.symbol, k.text)
        return list(seen.values())

    def _repr_html_(self) -> str:
        from .report_page import frame

        return frame(self)

    def html(self) -> str:
        """Returns the whole page: graph, fusion groups and kernels beside the user's lines."""
        from .report_page import page

        return page(self)


def explain(compiled: Compiled) -> Explanation:
    """What `compiled` captured, what runs lazily, and why."""
    states = list(compiled.states.values())
    reports = [r for s in states for e in s.entries for r in _with_backward(e.report)]
    reports += compiled.stretches.reports
    lines = [f"{compiled.__name__}: {_mode(states)}"]
    lines += [f"  recording {n}: {e}" for n, e in enumerate(compiled.events, 1)]
    sections = ["\n".join(lines)]
    sections += [_state_text(n, s) for n, s in enumerate(states)]
    sections += [f"stretch {k}: {_report_text(r)}" for k, r in enumerate(compiled.stretches.reports)]
    return Explanation(compiled.__name__, tuple(sections), tuple(reports), _counts(states, reports),
                       tuple(_signature(n, s) for n, s in enumerate(states)), tuple(compiled.events))


def _signature(number: int, state: State) -> Signature:
    lazy = () if state.entries else tuple(state.lazy)
    entries = tuple((e.replay.calls, tuple(map(str, e.guards.texts))) for e in state.entries)
    return Signature(number, state.records, lazy, entries)


def _with_backward(report: Report):
    return [report] if report.backward is None else [report, report.backward]


def _mode(states: list[State]) -> str:
    ready = sum(bool(s.entries) for s in states)
    lazy = sum(bool(s.lazy) and not s.entries for s in states)
    return f"{ready} signature(s) as one graph, {lazy} lazy"


def _counts(states, reports) -> dict:
    return {
        "graphs": sum(len(s.entries) for s in states),
        "lazy": sum(bool(s.lazy) and not s.entries for s in states),
        "recordings": sum(s.records for s in states),
        "replays": sum(e.replay.calls for s in states for e in s.entries),
        "kernels": len({k.symbol for r in reports if r.program for k in r.program.kernels}),
        "built": sum(r.built for r in reports),
        "reused": sum(r.reused for r in reports),
        "fallbacks": sum(bool(r.fallback) for r in reports),
    }


def _state_text(number: int, state: State) -> str:
    lines = [f"signature {number}: recorded {state.records} time(s)"]
    if state.lazy and not state.entries:
        lines.append("  lazy: its Python runs at each call, because")
        lines += [f"    - {reason}" for reason in state.lazy]
    for entry in state.entries:
        lines.append(f"  one graph, replayed {entry.replay.calls} time(s), "
                     f"{len(entry.guards.texts)} guard(s)")
        lines += _guard_lines(entry.guards.texts)
        for report in _with_backward(entry.report):
            lines.append("  " + _report_text(report).replace("\n", "\n  "))
    return "\n".join(lines)


SHOWN = 5  # guards printed; all are in `signatures`
_VALUE = re.compile(r" is (-?\d|True|False|None|['\"])")


def _guard_lines(texts) -> list[str]:
    """The first few guards: numbers, switches and strings of the user's before what they hang on."""
    telling = sorted(map(str, texts), key=lambda t: (_VALUE.search(t) is None, "._" in t))
    left = len(telling) - SHOWN
    return [f"    guard: {t}" for t in telling[:SHOWN]] + ([f"    and {left} more"] if left > 0 else [])


def _report_text(report: Report) -> str:
    """One graph: size, times, kernels, what fused and what did not."""
    from .report.text import size_text, time_text, unit_table

    graph, program = report.graph, report.program
    ops = sum(n.opcode == "call_function" for n in graph.nodes)
    lines = [f"{graph.name}: {ops} ops, {len(graph.placeholders)} inputs, {len(graph.outputs)} outputs"]
    if report.fallback:
        lines.append(f"  runs in NumPy: {report.fallback}")
    if report.seconds:
        lines.append("  " + ", ".join(f"{k} {time_text(v)}" for k, v in report.seconds.items()))
    if program is None:
        return "\n".join(lines)
    moved = sum(f.read + f.written for f in program.fusions)
    lines.append(f"  {len(program.steps)} steps, {len(program.kernels)} distinct kernels ({report.built} built now), "
                 f"{size_text(moved)} moved by a call, {size_text(program.arena)} of scratch memory")
    lines += ["  " + row for row in unit_table(report)]
    return "\n".join(lines)
