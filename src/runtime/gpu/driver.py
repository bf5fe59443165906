"""What a device can do, in some twenty calls: the interface between programs and a GPU.

Addresses are device addresses; `host` ones are those of this process's memory. Work goes to a stream in order and is
not done before `synchronize`; a host address given to `read` must stay alive until then. `cuda.py` speaks to NVIDIA's
driver, `fake.py` interprets on host memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ...ir.program import Kernel


@dataclass(frozen=True, slots=True)
class Source:
    """A kernel to load: its prelude and text, and the values of its compile-time parameters."""

    prelude: str
    kernel: Kernel
    sizes: tuple[int, ...]


class Driver(ABC):
    """One device. Methods raise GpuError where the device refuses."""

    name: str
    capability: int  # 90 for compute capability 9.0
    shared_limit: int  # bytes of shared memory a program may ask for

    # memory -------------------------------------------------------------------------------------
    @abstractmethod
    def alloc(self, nbytes: int) -> int:
        """Returns the address of new memory, at least 256-byte aligned."""

    @abstractmethod
    def free(self, address: int) -> None:
        """Gives memory back; work already on streams may still use it."""

    @abstractmethod
    def memory(self) -> tuple[int, int]:
        """Returns the free and the total bytes of the device."""

    @abstractmethod
    def write(self, target: int, host: int, nbytes: int, stream: int) -> None:
        """Copies host memory to the device; the host memory may change after the call."""

    @abstractmethod
    def read(self, host: int, source: int, nbytes: int, stream: int) -> None:
        """Copies device memory to the host."""

    @abstractmethod
    def copy(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copies within the device."""

    @abstractmethod
    def clear(self, target: int, nbytes: int, stream: int) -> None:
        """Writes zero bytes."""

    # streams and events -------------------------------------------------------------------------
    @abstractmethod
    def make_stream(self) -> int:
        """Returns a new stream."""

    @abstractmethod
    def drop_stream(self, stream: int) -> None:
        """Destroys a stream."""

    @abstractmethod
    def synchronize(self, stream: int) -> None:
        """Waits until the stream's work is done; raises what went wrong in it."""

    @abstractmethod
    def make_event(self) -> int:
        """Returns a new event."""

    @abstractmethod
    def record(self, event: int, stream: int) -> None:
        """The event happens when the stream's work so far is done."""

    @abstractmethod
    def wait(self, event: int, stream: int) -> None:
        """The stream's later work waits for the event."""

    @abstractmethod
    def elapsed(self, start: int, end: int) -> float:
        """Returns the milliseconds between two recorded events, once both have happened."""

    # kernels ------------------------------------------------------------------------------------
    @abstractmethod
    def load(self, source: Source) -> object:
        """Returns a kernel ready to launch, compiled if it was not yet."""

    @abstractmethod
    def launch(self, loaded: object, programs: int, addresses: tuple[int, ...], stream: int) -> None:
        """Runs programs 0 to `programs` - 1 of a kernel on these buffers."""

    # graphs -------------------------------------------------------------------------------------
    @abstractmethod
    def begin_capture(self, stream: int) -> None:
        """What is put on the stream from now on is kept, not done."""

    @abstractmethod
    def end_capture(self, stream: int) -> object:
        """Returns what was kept, ready to replay."""

    @abstractmethod
    def replay(self, graph: object, stream: int) -> None:
        """Puts kept work on a stream, in one call."""

    @abstractmethod
    def drop_graph(self, graph: object) -> None:
        """Forgets kept work."""
