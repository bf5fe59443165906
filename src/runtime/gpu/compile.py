"""Kernel text to GPU machine code, without a GPU: what a launch needs of it, and what it costs.

Parameters of the machine code are a kernel's buffers (all 16-byte aligned), then always two pointers to scratch memory.
Multiplications and additions are not fused: a kernel says fma where it means it.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from . import compat, kernels
from .driver import Source
from .errors import GpuError

SCRATCH = 2  # pointers that follow a kernel's own: global and profiling scratch
_RESOURCE = re.compile(r"\b(REG|STACK|SHARED|LOCAL):(\d+)")
_ENTRY = re.compile(r"\.entry[^(]*\((.*?)\)", re.S)


@dataclass(frozen=True, slots=True)
class Binary:
    """Machine code and how to launch it."""

    cubin: bytes
    name: str  # of its function
    shared: int  # bytes of shared memory
    warps: int
    scratch: int  # bytes of global scratch per program


@dataclass(frozen=True, slots=True)
class Report:
    """What a compiled kernel uses: per thread registers and stack (not 0 where registers were spilled), per
    program shared memory; loads in its text, those of 16 bytes among them; tensor core operations."""

    registers: int
    stack: int
    shared: int
    parameters: int
    loads: int
    wide_loads: int
    wgmma: int
    mma: int
    programs_per_processor: int


def compile_source(source: Source, capability: int) -> Binary:
    """The machine code of a kernel for a compute capability such as 90; GpuError where triton refuses it."""
    compiled = _compiled(source, capability)
    m = compiled.metadata
    if m.num_ctas != 1:
        raise GpuError(f"{source.kernel.symbol}: expected one block per program, got {m.num_ctas}")
    return Binary(compiled.asm["cubin"], m.name, m.shared, m.num_warps, m.global_scratch_size)


def report(source: Source, capability: int) -> Report:
    """What the kernel uses when compiled for a compute capability."""
    compiled = _compiled(source, capability)
    m, ptx = compiled.metadata, compiled.asm["ptx"]
    used = _resources(compiled.asm["cubin"])
    threads = 32 * m.num_warps
    registers = -(-used["REG"] // 8) * 8
    return Report(
        used["REG"], used["STACK"], m.shared, _ENTRY.search(ptx)[1].count(".param"),
        len(re.findall(r"ld\.global\b", ptx)), len(re.findall(r"ld\.global\.(?:\w+\.)*v(?:4\.b32|2\.b64)", ptx)),
        ptx.count("wgmma.mma_async"), ptx.count("mma.sync"),
        min(65536 // (registers * threads), 2048 // threads, 233472 // (m.shared + 1024)),
    )


@lru_cache(1024)
def _compiled(source: Source, capability: int) -> Any:
    compat.version()
    kernel = source.kernel
    function = kernels.load(source.prelude, kernel.text, kernel.symbol)
    pointers = [f"*{kind}" for kind in kernel.meta.pointers] + ["*i64"] * kernel.meta.has_checks
    names = list(function.arg_names)
    kinds = pointers + ["constexpr"] * len(source.sizes)
    made = ASTSource(
        fn=function, signature=dict(zip(names, kinds, strict=True)),
        constexprs={(len(pointers) + k,): n for k, n in enumerate(source.sizes)},
        attrs={(k,): [["tt.divisibility", 16]] for k in range(len(pointers))},
    )
    options = {"num_warps": kernel.meta.warps, "enable_fp_fusion": False}
    _keep_cache_private()
    try:
        compiled = triton.compile(made, target=GPUTarget("cuda", capability, 32), options=options)
    except Exception as error:
        raise GpuError(f"{kernel.symbol}: triton could not compile it for compute capability {capability / 10}: "
                       f"{error}\n{kernel.text}") from error
    found = _ENTRY.search(compiled.asm["ptx"])[1].count(".param")
    if found != len(pointers) + SCRATCH:
        raise GpuError(f"{kernel.symbol}: expected {len(pointers) + SCRATCH} parameters, got {found}: this version "
                       "of triton passes them in another way")
    return compiled


@lru_cache(1)
def _keep_cache_private() -> None:
    """triton's own cache of files lives as long as the process: what lasts is in ours."""
    if "TRITON_CACHE_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="treadle-triton-")
        _kept.append(folder)
        triton.knobs.cache.dir = folder.name


_kept: list[tempfile.TemporaryDirectory] = []


def _resources(cubin: bytes) -> dict[str, int]:
    """Registers, stack, shared and local bytes as the machine code states them."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([str(tool), "--dump-resource-usage", file.name], capture_output=True, text=True,
                              check=True)
    return {name: int(n) for name, n in _RESOURCE.findall(done.stdout)}
