"""A device without hardware: its memory is host memory, its kernels are interpreted.

Work is done at `synchronize`, as late as a GPU may do it, so that a program which reads too early is found out; and a
kernel that touches memory the device did not allocate is an error, as are two programs of a launch that write one
place.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from triton.runtime.jit import JITFunction

from . import compat, kernels
from .driver import Driver, Source
from .errors import GpuError
from .regions import Regions

_ALIGN = 256
_Work = Callable[[], object]


@dataclass(slots=True)
class _Stream:
    todo: list[_Work] = field(default_factory=list)
    captured: list[_Work] | None = None


@dataclass(frozen=True, slots=True)
class _Loaded:
    function: JITFunction
    pointers: tuple[str, ...]
    sizes: tuple[int, ...]


class FakeDriver(Driver):
    """Interprets kernels on host memory."""

    name = "interpreter"
    capability = 90
    shared_limit = 232448

    def __init__(self) -> None:
        self.regions = Regions(races=True)
        self._memory: dict[int, np.ndarray] = {}
        self._streams: dict[int, _Stream] = {}
        self._events: dict[int, float] = {}
        self._count = 0
        self.launches = 0

    # memory -------------------------------------------------------------------------------------
    def alloc(self, nbytes: int) -> int:
        block = np.full(nbytes + _ALIGN, 0xA5, np.uint8)  # what was there before is no zero
        address = -(-block.ctypes.data // _ALIGN) * _ALIGN
        self._memory[address] = block
        self.regions.add(address, nbytes)
        return address

    def free(self, address: int) -> None:
        if address not in self._memory:
            raise GpuError(f"expected the address of allocated memory, got {address:#x}")
        for stream in self._streams.values():
            self._run(stream)
        self.regions.remove(address)
        del self._memory[address]

    def memory(self) -> tuple[int, int]:
        used = sum(len(block) for block in self._memory.values())
        return (1 << 37) - used, 1 << 37

    def write(self, target: int, host: int, nbytes: int, stream: int) -> None:
        data = ctypes.string_at(host, nbytes)
        self._put(stream, lambda: self._move(target, 0, nbytes, data))

    def read(self, host: int, source: int, nbytes: int, stream: int) -> None:
        self._put(stream, lambda: self._check(source, nbytes) or ctypes.memmove(host, source, nbytes))

    def copy(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._put(stream, lambda: self._move(target, source, nbytes))

    def clear(self, target: int, nbytes: int, stream: int) -> None:
        self._put(stream, lambda: self._check(target, nbytes) or ctypes.memset(target, 0, nbytes))

    def _move(self, target: int, source: int, nbytes: int, data: bytes | None = None) -> None:
        self._check(target, nbytes)
        if data is None:
            self._check(source, nbytes)
        ctypes.memmove(target, source if data is None else data, nbytes)

    def _check(self, address: int, nbytes: int) -> None:
        if nbytes:
            self.regions.check_read(np.array([address], np.uint64), nbytes)

    # streams and events -------------------------------------------------------------------------
    def make_stream(self) -> int:
        self._count += 1
        self._streams[self._count] = _Stream()
        return self._count

    def drop_stream(self, stream: int) -> None:
        self._run(self._streams.pop(stream))

    def synchronize(self, stream: int) -> None:
        found = self._streams[stream]
        if found.captured is not None:
            raise GpuError("a stream that is being captured cannot be waited for")
        self._run(found)

    def _run(self, stream: _Stream) -> None:
        todo, stream.todo = stream.todo, []
        if not todo:
            return
        with compat.interpreting(self.regions):
            for work in todo:
                work()

    def _put(self, stream: int, work: _Work) -> None:
        found = self._streams[stream]
        (found.todo if found.captured is None else found.captured).append(work)

    def make_event(self) -> int:
        self._count += 1
        return self._count

    def record(self, event: int, stream: int) -> None:
        self._put(stream, lambda: self._events.__setitem__(event, time.perf_counter()))

    def wait(self, event: int, stream: int) -> None:
        """Streams are run one after the other: all that could have recorded the event is done first."""
        self._put(stream, lambda: [self._run(s) for s in self._streams.values()] and None)

    def elapsed(self, start: int, end: int) -> float:
        if start not in self._events or end not in self._events:
            raise GpuError("expected two events that have happened")
        return 1e3 * (self._events[end] - self._events[start])

    # kernels ------------------------------------------------------------------------------------
    def load(self, source: Source) -> _Loaded:
        kernel = source.kernel
        pointers = kernel.meta.pointers + (("i64",) if kernel.meta.has_checks else ())
        return _Loaded(kernels.load(source.prelude, kernel.text, kernel.symbol), pointers, source.sizes)

    def launch(self, loaded: _Loaded, programs: int, addresses: tuple[int, ...], stream: int) -> None:
        self._put(stream, lambda: self._interpret(loaded, programs, addresses))

    def _interpret(self, loaded: _Loaded, programs: int, addresses: tuple[int, ...]) -> None:
        self.launches += 1
        self.regions.new_launch()
        pointers = [compat.pointer(a, kind) for a, kind in zip(addresses, loaded.pointers, strict=True)]
        compat.interpret(loaded.function, programs, [*pointers, *loaded.sizes])

    # graphs -------------------------------------------------------------------------------------
    def begin_capture(self, stream: int) -> None:
        self._streams[stream].captured = []

    def end_capture(self, stream: int) -> list[_Work]:
        found = self._streams[stream]
        graph, found.captured = found.captured, None
        if graph is None:
            raise GpuError("expected a stream that is being captured")
        return graph

    def replay(self, graph: list[_Work], stream: int) -> None:
        for work in graph:
            self._put(stream, work)

    def drop_graph(self, graph: list[_Work]) -> None:
        graph.clear()
