"""From a graph to something that runs: passes, codegen, build, launch; the interpreter where that fails."""

from __future__ import annotations

import ctypes
import logging
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..ir.graph import Graph, Node
from ..ir.interpret import run_numpy
from ..ir.ops import copy as copy_op
from ..ir.type import TensorType
from .recorder import user_line
from .safety import Checked, Committing, Trimmed

log = logging.getLogger("treadle")


@dataclass(slots=True)
class Report:
    """What building a graph took and gave, for `explain()`."""

    graph: Graph
    program: object = None
    seconds: dict[str, float] = field(default_factory=dict)
    built: int = 0  # kernels compiled now
    reused: int = 0  # kernels found in a cache
    fallback: str = ""
    backward: Report | None = None  # of a forward whose backward is outside


class Interpreted:
    """A graph run op by op in NumPy: the answer when nothing can be compiled."""

    def __init__(self, graph: Graph, layouts: Sequence, writes):
        self.graph, self.writes = graph, tuple(writes)
        self.types = [p.type for p in graph.placeholders]
        self.layouts = layouts
        self.output_types = [o.type for o in graph.outputs]

    def lease(self) -> Slots:
        """Room for one call's input addresses."""
        return Slots([0] * len(self.types))

    def look(self, lease: Slots) -> None:
        """Nothing can be said beforehand."""

    def run(self, lease: Slots) -> list[np.ndarray]:
        """The outputs for the addresses in `lease.view`."""
        return self(lease.view)

    def __call__(self, addresses: Sequence[int]) -> list[np.ndarray]:
        arrays = [_array_at(a, t, s) for a, t, s in zip(addresses, self.types, self.layouts, strict=True)]
        outputs = run_numpy(self.graph, arrays)
        fresh = [np.array(o, order="C") for o in outputs]  # before the writes: some are inputs, or views of them
        for k, target in self.writes:
            np.copyto(arrays[target], fresh[k])
        stored = {k for k, _ in self.writes}
        return [None if k in stored else o for k, o in enumerate(fresh)]


@dataclass(slots=True)
class Slots:
    """The addresses of one interpreted call."""

    view: list[int]
    stamp: object = None


def _array_at(address: int, type: TensorType, strides) -> np.ndarray:
    """The ndarray over memory that lives at `address`."""
    size = type.dtype.itemsize
    if type.numel == 0:
        return np.empty(type.shape, type.dtype.np)
    span = type.numel if strides is None else 1 + sum(
        (n - 1) * s for n, s in zip(type.shape, strides, strict=True))
    raw = np.frombuffer((ctypes.c_char * (span * size)).from_address(address), type.dtype.np)
    if strides is None:
        return raw.reshape(type.shape)
    return np.lib.stride_tricks.as_strided(raw, type.shape, [s * size for s in strides])


def separate_outputs(graph: Graph) -> Graph:
    """The graph with each output a value of its own: no placeholder, none twice."""
    nodes, outputs, taken = list(graph.nodes), [], set()
    for o in graph.outputs:
        if o.opcode == "placeholder" or o in taken:
            o = Node("call_function", f"out_{len(outputs)}", copy_op, (o,), (), o.type, o.line)
            nodes.append(o)
        taken.add(o)
        outputs.append(o)
    return Graph(nodes, outputs, graph.name)


def check_backend(backend: str) -> None:
    """Refuses a backend that there is not, or not on this machine."""
    if backend not in BACKENDS:
        raise RuntimeError(f"Invalid backend: {backend!r}. Expected one of {', '.join(map(repr, BACKENDS))}")
    if backend == "triton":
        from ..runtime.gpu.devices import find_driver

        find_driver()


def make_executable(graph: Graph, layouts: Sequence, writes: Sequence[tuple[int, int]], report: Report,
                    backend: str = "auto"):
    """The graph as something to call with input addresses; never fails for a reason of ours."""
    from ..runtime.errors import BrokenCompilerError, NoCompilerError

    if backend == "interpreter":
        return Interpreted(graph, layouts, writes)
    try:
        return _compile(graph, layouts, writes, report, "triton" if backend == "triton" else "cpp")
    except (BrokenCompilerError, NoCompilerError) as error:
        report.fallback = str(error)
        warn_once(f"compiled functions run in NumPy: {error}")
    except Exception as error:  # a defect of ours must not cost the user the run; it is shown
        report.fallback = f"{type(error).__name__}: {error}"
        log.debug("compile failed", exc_info=True)
        warn_once(f"treadle could not compile {graph.name} and runs it in NumPy: {report.fallback}. "
                   "Please report this.")
        if strict[0]:
            raise
    return Interpreted(graph, layouts, writes)


BACKENDS = ("auto", "inductor", "cpp", "triton", "interpreter")  # auto and inductor: C++ loops
strict = [False]  # under test a failed compile is an error
_warned: set[str] = set()


def warn_once(text: str) -> None:
    """Warns at the user's line, whatever lies between it and here."""
    if text in _warned:
        return
    _warned.add(text)
    line = user_line()
    if line is None:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    else:
        warnings.warn_explicit(text, RuntimeWarning, line.file, line.number)


def _launcher(program, target: str, types: list[TensorType], layouts: Sequence):
    if target == "triton":
        from ..runtime.gpu.devices import find_driver
        from ..runtime.gpu.launch import Launcher as GpuLauncher

        return GpuLauncher(program, find_driver(), types, layouts)
    from ..runtime.launch import Launcher

    return Launcher(program)


def _compile(graph: Graph, layouts, writes, report: Report, target: str):
    from .planning import plan

    planned = plan(graph, layouts, writes, report.seconds, target)
    report.program = planned.program
    types = [p.type for p in graph.placeholders]
    start = time.perf_counter()
    launcher = _launcher(planned.program, target, types, layouts)
    report.seconds["build"] = time.perf_counter() - start
    report.built, report.reused = launcher.built, len(launcher.kernels) - launcher.built
    if len(planned.program.outputs) > len(graph.outputs):
        launcher = Trimmed(launcher, len(graph.outputs))
    if planned.checks is not None:
        return Checked(launcher, planned.checks, types, layouts, _array_at)
    return Committing(launcher, writes, types, layouts, _array_at) if planned.late else launcher
