"""Programs as callables: kernels built, steps planned, and each call's memory leased.

    launcher = Launcher(program)
    outputs = launcher([array.__array_interface__["data"][0] for array in inputs])

A call takes the inputs' addresses and returns one array per output, None for those written over an input.
Calls may overlap (threads): each leases an address table and an arena of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from ..ir import program as ir
from ..ir.ops import TABLE
from ..progress import building
from . import plan as rt
from .build import build
from .errors import StepError
from .memory import alloc

_ERRORS = {"IndexError": IndexError, "RuntimeError": RuntimeError}


class Launcher:
    """A built program. Raises BuildError where a kernel does not compile."""

    def __init__(self, program: ir.Program):
        self.program = program
        self.built = 0  # kernels that no cache had
        self.kernels = self._build()
        self.plan = rt.make_plan([_step(s, self.kernels) for s in program.steps], len(program.buffers))
        self._leases: list[_Lease] = []
        self._fresh = [
            (k, b, t.shape, t.dtype.np, program.buffers[b].nbytes)
            for k, (b, t) in enumerate(zip(program.outputs, program.output_types, strict=True))
            if program.buffers[b].role == "output"
        ]
        self._inputs = program.inputs
        self._results = len(program.outputs)

    def _build(self) -> list[int]:
        """The addresses of the program's kernels."""
        program = self.program
        if not program.kernels:
            return []
        with building() as show:

            def tell(done: int, total: int) -> None:
                self.built = total
                show(done, total)

            texts = [(k.symbol, k.text) for k in program.kernels]
            built = build(texts, prelude=program.prelude, progress=tell)
        for kernel in built:
            if kernel.error is not None:
                raise kernel.error
        return [b.address for b in built]

    def __call__(self, addresses: Sequence[int]) -> list[np.ndarray | None]:
        """Runs the program; raises IndexError (or RuntimeError) where a kernel's check fails."""
        lease = self.lease()
        view = lease.view
        for slot, address in enumerate(addresses):
            view[slot] = address
        return self.run(lease)

    def lease(self) -> _Lease:
        """An address table and an arena for one call; inputs are slots 0.. of `.view`, and stay stored."""
        try:
            return self._leases.pop()
        except IndexError:
            return _Lease(self)

    def look(self, lease: _Lease) -> None:
        """Nothing can be said of the data before it is computed."""

    def give_back(self, lease: _Lease) -> None:
        """Returns a lease that was not run."""
        self._leases.append(lease)

    def run(self, lease: _Lease) -> list[np.ndarray | None]:
        """Runs the program on a lease whose input slots are filled; the lease is given back."""
        view = lease.view
        results: list[np.ndarray | None] = [None] * self._results
        for k, slot, shape, dtype, nbytes in self._fresh:
            block = alloc(nbytes)
            view[slot] = block.address
            results[k] = np.ndarray(shape, dtype, block)
        try:
            self.plan.run(lease.table, lease.host)
        except StepError as error:
            raise self._explained(error) from None
        finally:
            self._leases.append(lease)
        return results

    def _explained(self, error: StepError) -> Exception:
        """The error of a failed check, in the words of the op and with the user's line."""
        step = self.program.steps[error.step]
        check = next((c for c in step.checks if c.code == error.code), None)
        if check is None:
            return error
        found = _ERRORS[check.error](check.message.format(value=error.value))
        found.add_note(
            f"while executing %{check.node}" + (f", recorded at {check.line}" if check.line else "")
        )
        return found


class _Lease:
    """What one call at a time uses: a table of addresses and an arena."""

    __slots__ = ("arena", "stamp", "table", "view")

    def __init__(self, launcher: Launcher):
        program = launcher.program
        self.table = launcher.plan.new_table()
        self.view = self.table.view
        self.stamp = None  # the caller's mark of which inputs it has stored
        self.arena = alloc(program.arena)
        for slot, buffer in enumerate(program.buffers):
            if buffer.role == "temp":
                self.table[slot] = self.arena.address + buffer.offset

    def host(self, step: ir.HostStep, table: rt.Table) -> None:
        """Runs one op by its NumPy function, on arrays over the buffers."""
        args = [
            _array(table, a, t) if isinstance(a, ir.Ref) else a
            for a, t in zip(step.args, step.arg_types, strict=True)
        ]
        try:
            out = TABLE[step.op].eager(*args, **dict(step.attrs))
        except Exception as error:
            error.add_note(
                f"while executing %{step.node} = {step.op}"
                + (f", recorded at {step.line}" if step.line else "")
            )
            raise
        outs = out if len(step.out_types) > 1 or isinstance(out, tuple) else (out,)
        for ref, t, value in zip(step.outs, step.out_types, outs, strict=True):
            if ref is not None and t.numel:
                _array(table, ref, t)[...] = value


def _array(table: rt.Table, ref: ir.Ref, t) -> np.ndarray:
    """The array over a buffer, contiguous and of this type."""
    if not t.numel:
        return np.empty(t.shape, t.dtype.np)
    raw = (ctypes.c_char * t.nbytes).from_address(table[ref.buffer] + ref.offset)
    return np.frombuffer(raw, t.dtype.np).reshape(t.shape)


# steps --------------------------------------------------------------------------------------------
def _step(step: ir.Step, kernels: list[int]) -> rt.Step:
    match step:
        case ir.KernelStep():
            return rt.KernelStep(
                kernels[step.kernel], tuple(map(_ref, step.refs)), step.sizes, step.extent, step.grain
            )
        case ir.DotStep():
            return _gemm(step)
        case ir.HostStep():
            return rt.HostStep(step)
        case ir.CopyStep():
            return rt.CopyStep(_ref(step.target), _ref(step.source), step.nbytes)


def _ref(ref: ir.Ref) -> rt.Ref:
    return rt.Ref(ref.buffer, ref.offset)


def _gemm(step: ir.DotStep) -> rt.GemmStep:
    def matrix(ref, rows, columns, strides):
        return rt.Matrix(_ref(ref), rows, columns, strides[2:], strides[:2])

    return rt.GemmStep(
        step.dtype,
        matrix(step.a, step.m, step.k, step.a_strides),
        matrix(step.b, step.k, step.n, step.b_strides),
        matrix(step.c, step.m, step.n, step.c_strides),
        step.batch,
    )
