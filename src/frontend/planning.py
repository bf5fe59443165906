"""A graph's program: by passes and codegen, or from the disk cache when the same was planned before.

A warm start skips the compiler passes as well as the compiler: the key is the graph's text with its lines
(errors name them), the layouts, and a stamp of this package's sources.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from ..ir.errors import GraphError
from ..ir.graph import Graph
from ..ir.op import Kind
from ..ir.program import Program
from ..ir.records import Unreadable, dump, load
from ..ir.serial import dump_graph, load_graph
from .safety import CHECKED, Checks, early_checks, may_fail, unread_checks

SUFFIX = ".plan"


@dataclass(frozen=True, slots=True)
class Planned:
    """What to run: `checks` first, if there are any; `late` programs write only when all has gone well."""

    program: Program
    checks: Checks | None
    late: bool


def plan(graph: Graph, layouts: Sequence, writes: Sequence, seconds: dict[str, float],
         target: str = "cpp") -> Planned:
    """The program of `graph` in a target's language; `seconds` takes the time of each part."""
    from ..runtime.cache import digest, open_cache

    start = time.perf_counter()
    store = open_cache()
    key = digest(_stamp(), json.dumps(dump_graph(graph)), repr(tuple(layouts)), repr(tuple(writes)),
                 target)
    found = _recall(store, key)
    if found is not None:
        seconds["recall"] = time.perf_counter() - start
        return found
    planned = _make(graph, layouts, writes, seconds, target)
    store.put_text(key, SUFFIX, json.dumps(_plain(planned)))
    return planned


def _make(graph: Graph, layouts, writes, seconds, target: str) -> Planned:
    from ..codegen import generate
    from ..ir.passes import optimize
    from .engine import separate_outputs

    start = time.perf_counter()
    optimized = separate_outputs(optimize(_with_checks(graph)))
    seconds["passes"] = time.perf_counter() - start
    start = time.perf_counter()
    late = bool(writes) and bool(may_fail(optimized))  # an error must not come after a write
    checks = early_checks(optimized) if late else None
    donated = {} if late and checks is None else dict(writes)
    program = generate(optimized, donated=donated, layouts=tuple(layouts), target=target)
    seconds["codegen"] = time.perf_counter() - start
    return Planned(program, checks, late)


def _with_checks(graph: Graph) -> Graph:
    """The graph with what may raise unread as further outputs, so that no pass drops it."""
    from ..ir.passes.dedupe import dedupe
    from ..ir.passes.inline import inline

    if not any(n.opcode == "call_function" and n.target.kind in CHECKED + (Kind.LIBRARY,) for n in graph.nodes):
        return graph
    flat = dedupe(inline(graph))
    unread = unread_checks(flat)
    return Graph(flat.nodes, [*flat.outputs, *unread], graph.name) if unread else graph


def _plain(planned: Planned) -> dict:
    checks = planned.checks
    return {
        "program": dump(planned.program), "late": planned.late,
        "checks": checks and {"graph": dump_graph(checks.graph), "sizes": checks.sizes, "inputs": checks.inputs},
    }


def _recall(store, key: str) -> Planned | None:
    text = store.read_text(key, SUFFIX)
    if text is None:
        return None
    try:
        data = json.loads(text)
        checks = data["checks"]
        return Planned(
            load(data["program"]),
            checks and Checks(load_graph(checks["graph"]), tuple(checks["sizes"]), tuple(checks["inputs"])),
            data["late"],
        )
    except (Unreadable, GraphError, KeyError, ValueError):
        return None  # written by another version: planned anew


@cache
def _stamp() -> str:
    """Changes with any source file of this package."""
    root = Path(__file__).parent.parent
    files = sorted(p for p in root.rglob("*") if p.suffix in (".py", ".h", ".tl", ".cpp"))
    facts = [(str(p.relative_to(root)), p.stat().st_mtime_ns, p.stat().st_size) for p in files]
    return sha256(repr(facts).encode()).hexdigest()
