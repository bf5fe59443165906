"""Triton programs as callables on arrays in host memory: what `runtime.launch` is for C++, on a device.

Tensors live on the host, so inputs are copied to the device before a call and results back after it. What a call writes
over its inputs reaches the host only when all of it went well. From a lease's second call on, the steps of a program
without host steps are replayed as one captured graph.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...ir import program as ir
from ...ir.ops import TABLE
from ...ir.type import TensorType
from ..memory import alloc
from .driver import Driver, Source

_ERRORS = {"IndexError": IndexError, "RuntimeError": RuntimeError}
_RECORD = 16  # bytes of a step's error record: two int64, a code and a value


@dataclass(eq=False, slots=True, weakref_slot=True)
class _Lease:
    """Device memory and a stream for one call at a time; `view` takes the host addresses of the inputs."""

    view: list[int]
    table: list[int]  # device addresses of the program's buffers
    errors: int
    stream: int
    stamp: object = None  # the caller's mark of which inputs it has stored
    calls: int = 0
    graphs: list[object] = field(default_factory=list)  # the steps, once they are captured


@dataclass(frozen=True, slots=True)
class _Input:
    """An input as it lies on the host: the bytes from its first element to its last, and strides in bytes."""

    type: TensorType
    nbytes: int
    strides: tuple[int, ...] | None


class Launcher:
    """A loaded program; inputs have `types`, and `layouts`: strides in elements, None where contiguous.

    launcher = Launcher(program, driver, types, layouts)
    outputs = launcher([array.__array_interface__["data"][0] for array in inputs])

    A call gives one array per output, None for those written over an input. Calls may overlap (threads).
    """

    def __init__(self, program: ir.Program, driver: Driver, types: Sequence[TensorType],
                 layouts: Sequence[tuple[int, ...] | None]):
        self.program, self.driver = program, driver
        self.kernels = [k.symbol for k in program.kernels]
        self.loaded = [_load(step, program, driver) for step in program.steps]
        self.built = len(self.kernels)
        self._inputs = [_input(t, s) for t, s in zip(types, layouts, strict=True)]
        self._checked = [k for k, s in enumerate(program.steps) if isinstance(s, ir.KernelStep) and s.checks]
        self._has_host = any(isinstance(s, ir.HostStep) for s in program.steps)
        self._leases: list[_Lease] = []
        self._lock = threading.Lock()  # a device's streams are filled by one thread at a time

    def __call__(self, addresses: Sequence[int]) -> list[np.ndarray | None]:
        """Runs the program; raises IndexError (or RuntimeError) where a kernel's check fails."""
        lease = self.lease()
        lease.view[:] = addresses
        return self.run(lease)

    def lease(self) -> _Lease:
        """What one call at a time uses; host addresses put into `.view` stay there."""
        try:
            return self._leases.pop()
        except IndexError:
            return self._new_lease()

    def look(self, lease: _Lease) -> None:
        """Nothing can be said of the data before it is computed."""

    def give_back(self, lease: _Lease) -> None:
        """Returns a lease that was not run."""
        self._leases.append(lease)

    def run(self, lease: _Lease) -> list[np.ndarray | None]:
        """Runs the program on a lease whose `.view` is filled in; the lease is given back."""
        try:
            with self._lock:
                self._write_inputs(lease)
                self._launch(lease)
                self._raise_errors(lease)
                return self._read_outputs(lease)
        finally:
            self._leases.append(lease)

    # device memory ------------------------------------------------------------------------------
    def _new_lease(self) -> _Lease:
        driver, program = self.driver, self.program
        arena = driver.alloc(max(program.arena, 1))
        errors = driver.alloc(max(_RECORD * len(self._checked), 1))
        table, own = [], [arena, errors]
        for k, buffer in enumerate(program.buffers):
            if buffer.role == "temp":
                table.append(arena + buffer.offset)
                continue
            nbytes = self._inputs[k].nbytes if k < program.inputs else buffer.nbytes
            table.append(driver.alloc(max(nbytes, 1)))
            own.append(table[-1])
        lease = _Lease([0] * program.inputs, table, errors, driver.make_stream())
        weakref.finalize(lease, _release, driver, own, lease.stream, lease.graphs).atexit = False
        return lease

    # one call -----------------------------------------------------------------------------------
    def _write_inputs(self, lease: _Lease) -> None:
        for item, host, target in zip(self._inputs, lease.view, lease.table, strict=False):
            if item.nbytes:
                self.driver.write(target, host, item.nbytes, lease.stream)

    def _launch(self, lease: _Lease) -> None:
        """All steps; captured at the second call, since the first may still build and allocate."""
        driver, stream = self.driver, lease.stream
        lease.calls += 1
        if lease.calls < 2 or self._has_host:
            self._steps(lease)
            return
        if not lease.graphs:
            driver.begin_capture(stream)
            try:
                self._steps(lease)
            finally:
                lease.graphs.append(driver.end_capture(stream))
        driver.replay(lease.graphs[0], stream)

    def _steps(self, lease: _Lease) -> None:
        if self._checked:
            self.driver.clear(lease.errors, _RECORD * len(self._checked), lease.stream)
        for number, step in enumerate(self.program.steps):
            match step:
                case ir.KernelStep():
                    self._kernel(lease, number, step)
                case ir.CopyStep():
                    target, source = self._address(lease, step.target), self._address(lease, step.source)
                    self.driver.copy(target, source, step.nbytes, lease.stream)
                case ir.HostStep():
                    self._host(lease, step)
                case _:
                    raise TypeError(f"expected a step of a Triton program, got {type(step).__name__}")

    def _address(self, lease: _Lease, ref: ir.Ref) -> int:
        return lease.table[ref.buffer] + ref.offset

    def _kernel(self, lease: _Lease, number: int, step: ir.KernelStep) -> None:
        meta = self.program.kernels[step.kernel].meta
        addresses = [self._address(lease, ref) for ref in step.refs]
        if meta.has_checks:
            addresses.append(lease.errors + _RECORD * self._checked.index(number))
        programs = -(-step.extent // step.grain) * meta.columns
        if programs:
            self.driver.launch(self.loaded[number], programs, tuple(addresses), lease.stream)

    def _host(self, lease: _Lease, step: ir.HostStep) -> None:
        """Runs one op by its NumPy function, on copies of its operands."""
        args = [self._fetched(lease, a, t) if isinstance(a, ir.Ref) else a
                for a, t in zip(step.args, step.arg_types, strict=True)]
        self.driver.synchronize(lease.stream)
        try:
            out = TABLE[step.op].eager(*args, **dict(step.attrs))
        except Exception as error:
            error.add_note(f"while executing %{step.node} = {step.op}"
                           + (f", recorded at {step.line}" if step.line else ""))
            raise
        outs = out if len(step.out_types) > 1 or isinstance(out, tuple) else (out,)
        for ref, t, value in zip(step.outs, step.out_types, outs, strict=True):
            if ref is not None and t.numel:
                array = np.ascontiguousarray(value, t.dtype.np)
                self.driver.write(self._address(lease, ref), _host_address(array), t.nbytes, lease.stream)

    def _fetched(self, lease: _Lease, ref: ir.Ref, t: TensorType) -> np.ndarray:
        """An array that has the buffer's content after the next synchronize."""
        array = np.empty(t.shape, t.dtype.np)
        if t.numel:
            self.driver.read(_host_address(array), self._address(lease, ref), t.nbytes, lease.stream)
        return array

    def _raise_errors(self, lease: _Lease) -> None:
        """The error of the first failed check, in the words of the op and with the user's line."""
        if not self._checked:
            return
        records = np.zeros((len(self._checked), 2), np.int64)
        self.driver.read(_host_address(records), lease.errors, records.nbytes, lease.stream)
        self.driver.synchronize(lease.stream)
        for number, (code, value) in zip(self._checked, records.tolist(), strict=True):
            if code:
                check = next(c for c in self.program.steps[number].checks if c.code == code)
                found = _ERRORS[check.error](check.message.format(value=value))
                found.add_note(f"while executing %{check.node}" + (f", recorded at {check.line}" if check.line else ""))
                raise found

    def _read_outputs(self, lease: _Lease) -> list[np.ndarray | None]:
        """Fresh arrays, and the inputs that were written over."""
        driver, program = self.driver, self.program
        results: list[np.ndarray | None] = [None] * len(program.outputs)
        strided: list[tuple[int, np.ndarray]] = []
        for k, (number, t) in enumerate(zip(program.outputs, program.output_types, strict=True)):
            buffer, source = program.buffers[number], lease.table[number]
            if buffer.role == "output":
                block = alloc(buffer.nbytes)
                results[k] = np.ndarray(t.shape, t.dtype.np, block)
                if buffer.nbytes:
                    driver.read(block.address, source, buffer.nbytes, lease.stream)
            elif self._inputs[number].strides is None:
                if buffer.nbytes:
                    driver.read(lease.view[number], source, buffer.nbytes, lease.stream)
            elif self._inputs[number].nbytes:
                span = np.empty(self._inputs[number].nbytes, np.uint8)
                driver.read(_host_address(span), source, span.nbytes, lease.stream)
                strided.append((number, span))
        driver.synchronize(lease.stream)
        for number, span in strided:  # only its elements: what lies between them belongs to others
            item = self._inputs[number]
            np.copyto(_over(lease.view[number], item), _over(_host_address(span), item))
        return results


def _load(step: ir.Step, program: ir.Program, driver: Driver) -> object:
    if not isinstance(step, ir.KernelStep):
        return None
    return driver.load(Source(program.prelude, program.kernels[step.kernel], step.sizes))


def _input(t: TensorType, layout: tuple[int, ...] | None) -> _Input:
    size = t.dtype.itemsize
    if layout is None or not t.numel:
        return _Input(t, t.nbytes, None)
    span = 1 + sum((n - 1) * s for n, s in zip(t.shape, layout, strict=True))
    return _Input(t, span * size, tuple(s * size for s in layout))


def _over(address: int, item: _Input) -> np.ndarray:
    """The strided array over host memory that lives at `address`."""
    raw = np.frombuffer((ctypes.c_char * item.nbytes).from_address(address), item.type.dtype.np)
    return np.lib.stride_tricks.as_strided(raw, item.type.shape, item.strides)


def _host_address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _release(driver: Driver, addresses: list[int], stream: int, graphs: list[object]) -> None:
    driver.drop_stream(stream)
    for graph in graphs:
        driver.drop_graph(graph)
    for address in addresses:
        driver.free(address)
