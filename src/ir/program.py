"""The contract between codegen and runtime: what to build and the steps to run, in plain records.

A program works on a table of buffers. Buffers 0.. are the graph's placeholders in order; the others are
temporaries (all in one arena), fresh outputs, and constants. It is a pure function of its inputs except
for `writes`: outputs stored over an input buffer, in place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .type import TensorType


@dataclass(frozen=True, slots=True)
class Ref:
    """A place in a buffer: its number and a byte offset."""

    buffer: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Buffer:
    """role: input | output (fresh memory, leaves the program) | temp (in the arena at `offset`)."""

    nbytes: int
    role: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class TritonMeta:
    """What launching a Triton kernel needs beside its step, whose sizes are its compile-time parameters.

    A launch runs ceil(extent / grain) * columns programs. A kernel with checks gets a pointer to two int64,
    a code and a value, after its buffers.
    """

    pointers: tuple[str, ...]  # element types of its buffers in Triton's words: fp32, i64, u8, ...
    has_checks: bool
    warps: int
    columns: int = 1


@dataclass(frozen=True, slots=True)
class Kernel:
    """One function of generated text; kernels of equal text are one kernel.

    void symbol(void *const *p, const long *n, long begin, long end, long *err)
    """

    symbol: str
    text: str
    verbs: frozenset[tuple[str, str]]  # (verb, dtype name) pairs it needs from the prelude
    language: str = "c++"
    meta: TritonMeta | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """What a non-zero err code of a step means: an error for `node`, found at `line`."""

    code: int
    node: str
    message: str  # a format with {value}
    line: str
    error: str = "IndexError"  # or RuntimeError


@dataclass(frozen=True, slots=True)
class KernelStep:
    """Runs a kernel over [0, extent) in chunks of `grain`; err codes are explained by `checks`."""

    kernel: int
    refs: tuple[Ref, ...]
    sizes: tuple[int, ...]
    extent: int
    grain: int
    nodes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class DotStep:
    """C[b0, b1, m, n] = A[b0, b1, m, k] @ B[b0, b1, k, n]; strides in elements."""

    dtype: str
    batch: tuple[int, int]
    m: int
    n: int
    k: int
    a: Ref
    a_strides: tuple[int, int, int, int]  # b0 b1 m k
    b: Ref
    b_strides: tuple[int, int, int, int]  # b0 b1 k n
    c: Ref
    c_strides: tuple[int, int, int, int]  # b0 b1 m n; the last is 1
    node: str = ""


@dataclass(frozen=True, slots=True)
class HostStep:
    """An op run by its NumPy function: operands and results as contiguous arrays in buffers."""

    op: str
    attrs: tuple
    args: tuple[Any, ...]  # Ref, or a number
    arg_types: tuple[TensorType | None, ...]
    outs: tuple[Ref | None, ...]  # None: nobody reads it
    out_types: tuple[TensorType, ...]
    node: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True)
class CopyStep:
    """Copies nbytes from source to target (an in-place write that had to wait for readers)."""

    source: Ref
    target: Ref
    nbytes: int
    node: str = ""


Step = KernelStep | DotStep | HostStep | CopyStep


@dataclass(frozen=True, slots=True)
class Fusion:
    """One fused group for `explain()`: its nodes, why it ends where it does, bytes it moves."""

    nodes: tuple[str, ...]
    step: int
    read: int
    written: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    kernels: tuple[Kernel, ...]
    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    inputs: int  # buffers 0..inputs-1
    outputs: tuple[int, ...]  # the buffer that holds each graph output (maybe an input: written in place)
    output_types: tuple[TensorType, ...]
    arena: int  # bytes
    prelude: str = ""  # the text that stands before the kernels
    fusions: tuple[Fusion, ...] = field(default=())
