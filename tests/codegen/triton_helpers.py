"""Running graphs as Triton programs: interpreted on a device without hardware, and compiled for a GPU.

Interpreting is laxer than a GPU in some ways and the compiler's verifier in others, so kernels take both. Kernels that
differ in numbers only are compiled once.
"""

from __future__ import annotations

import re

from treadle.codegen import generate
from treadle.ir.program import KernelStep, Program

from .helpers import address, layout_of

CAPABILITY = 90
_seen: set[tuple] = set()


def program_of(graph, arrays, donated=None) -> Program:
    return generate(graph, donated=donated or {}, layouts=tuple(map(layout_of, arrays)), target="triton")


def launcher_of(graph, arrays, donated=None):
    """A launcher on a fake device: a read or write outside its memory and a write race are errors there."""
    from treadle.runtime.gpu.fake import FakeDriver
    from treadle.runtime.gpu.launch import Launcher

    program = program_of(graph, arrays, donated)
    types = [p.type for p in graph.placeholders]
    return Launcher(program, FakeDriver(), types, tuple(map(layout_of, arrays)))


def run_interpreted(graph, arrays) -> list:
    return launcher_of(graph, arrays)([address(a) for a in arrays])


def compiled_too(graph, arrays, donated=None):
    """As `launcher_of`, and the kernels are compiled."""
    launcher = launcher_of(graph, arrays, donated)
    compile_new(launcher.program)
    return launcher


def sources(program: Program) -> list:
    """The kernels of a program with their sizes, each once."""
    from treadle.runtime.gpu.driver import Source

    steps = [s for s in program.steps if isinstance(s, KernelStep)]
    return list(dict.fromkeys(Source(program.prelude, program.kernels[s.kernel], s.sizes) for s in steps))


def compile_new(program: Program) -> None:
    """Compiles the kernels whose like was not compiled in this process."""
    from treadle.runtime.gpu.compile import compile_source

    for source in sources(program):
        kernel = source.kernel
        like = re.sub(r"\d+", "0", kernel.text.replace(kernel.symbol, "")), kernel.meta.pointers
        if like not in _seen:
            _seen.add(like)
            assert compile_source(source, CAPABILITY).cubin

