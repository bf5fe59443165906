"""An NVIDIA GPU through its driver library, by ctypes: no package and no compiler is needed for it.

Written from the driver's documented interface. Its calls are tested against a library that records them; no GPU has
run them yet.
"""

from __future__ import annotations

import ctypes
import threading
from ctypes import c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_ubyte, c_void_p
from dataclasses import dataclass

from .driver import Driver, Source
from .errors import GpuError

_MAJOR, _MINOR, _SHARED_OPTIN = 75, 76, 97  # device attributes
_MAX_DYNAMIC_SHARED = 8  # a function's attribute
_SHARED_WITHOUT_ASKING = 48 << 10
_POOL_RELEASE_THRESHOLD = 4
_NON_BLOCKING, _RELAXED = 1, 2
_NO_DEVICE = 100

_SIGNATURES: dict[str, tuple] = {
    "cuInit": (c_uint,),
    "cuDeviceGetCount": (c_void_p,),
    "cuDeviceGet": (c_void_p, c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (c_void_p, c_int, c_int),
    "cuDevicePrimaryCtxRetain": (c_void_p, c_int),
    "cuDeviceGetDefaultMemPool": (c_void_p, c_int),
    "cuMemPoolSetAttribute": (c_void_p, c_int, c_void_p),
    "cuCtxSetCurrent": (c_void_p,),
    "cuGetErrorName": (c_int, c_void_p),
    "cuGetErrorString": (c_int, c_void_p),
    "cuMemAllocAsync": (c_void_p, c_size_t, c_void_p),
    "cuMemFreeAsync": (c_uint64, c_void_p),
    "cuMemGetInfo_v2": (c_void_p, c_void_p),
    "cuMemcpyHtoDAsync_v2": (c_uint64, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, c_uint64, c_size_t, c_void_p),
    "cuMemcpyDtoDAsync_v2": (c_uint64, c_uint64, c_size_t, c_void_p),
    "cuMemsetD8Async": (c_uint64, c_ubyte, c_size_t, c_void_p),
    "cuStreamCreate": (c_void_p, c_uint),
    "cuStreamDestroy_v2": (c_void_p,),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuStreamBeginCapture_v2": (c_void_p, c_int),
    "cuStreamEndCapture": (c_void_p, c_void_p),
    "cuGraphInstantiateWithFlags": (c_void_p, c_void_p, c_uint64),
    "cuGraphLaunch": (c_void_p, c_void_p),
    "cuGraphDestroy": (c_void_p,),
    "cuGraphExecDestroy": (c_void_p,),
    "cuEventCreate": (c_void_p, c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventSynchronize": (c_void_p,),
    "cuEventElapsedTime": (c_void_p, c_void_p, c_void_p),
    "cuModuleLoadData": (c_void_p, c_char_p),
    "cuModuleGetFunction": (c_void_p, c_void_p, c_char_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuLaunchKernel": (c_void_p, *(c_uint,) * 7, c_void_p, c_void_p, c_void_p),
}


class NoGpu(GpuError):
    """There is no driver library, or it sees no GPU."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    function: int
    threads: int
    shared: int
    scratch: int
    pointers: int


class CudaDriver(Driver):
    """The GPU with this number. `library` is the driver's file."""

    def __init__(self, number: int = 0, library: str = "libcuda.so.1") -> None:
        self._library, self._threads = _open(library), threading.local()
        count = c_int()
        status = self._library.cuInit(0) or self._library.cuDeviceGetCount(ctypes.byref(count))
        if status == _NO_DEVICE or not status and count.value <= number:
            raise NoGpu(f"expected a GPU with number {number}, the driver sees {count.value}")
        self._check("start the driver", status)
        device, context = c_int(), c_void_p()
        self._call("cuDeviceGet", ctypes.byref(device), number)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._device, self._context = device.value, context
        self.name = self._name()
        self.capability = 10 * self._attribute(_MAJOR) + self._attribute(_MINOR)
        self.shared_limit = self._attribute(_SHARED_OPTIN)
        self._keep_freed_memory()
        self._scratch: dict[int, tuple[int, int]] = {}  # stream -> (address, bytes)

    # calling ------------------------------------------------------------------------------------
    def _call(self, name: str, *args) -> None:
        self._check(name, getattr(self._library, name)(*args))

    def _check(self, what: str, status: int) -> None:
        if status:
            name, text = c_char_p(), c_char_p()
            self._library.cuGetErrorName(status, ctypes.byref(name))
            self._library.cuGetErrorString(status, ctypes.byref(text))
            told = " ".join(t.value.decode() for t in (name, text) if t.value)
            raise GpuError(f"{what}: the CUDA driver answers {status} {told}")

    def _on(self, name: str, *args) -> None:
        """A call that needs the context, which each thread has to set once."""
        if self._threads.__dict__.get("context") is None:
            self._call("cuCtxSetCurrent", self._context)
            self._threads.context = self._context
        self._call(name, *args)

    def _attribute(self, number: int) -> int:
        value = c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), number, self._device)
        return value.value

    def _name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", text, len(text), self._device)
        return text.value.decode()

    def _keep_freed_memory(self) -> None:
        """The pool keeps what is freed: giving pages back and forth costs more than most kernels."""
        pool, most = c_void_p(), c_uint64((1 << 64) - 1)
        self._call("cuDeviceGetDefaultMemPool", ctypes.byref(pool), self._device)
        self._call("cuMemPoolSetAttribute", pool, _POOL_RELEASE_THRESHOLD, ctypes.byref(most))

    # memory -------------------------------------------------------------------------------------
    def alloc(self, nbytes: int) -> int:
        address = c_uint64()
        self._on("cuMemAllocAsync", ctypes.byref(address), nbytes, None)
        self._call("cuStreamSynchronize", None)  # other streams may use it from now on
        return address.value

    def free(self, address: int) -> None:
        self._on("cuMemFreeAsync", address, None)

    def memory(self) -> tuple[int, int]:
        free, total = c_size_t(), c_size_t()
        self._on("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def write(self, target: int, host: int, nbytes: int, stream: int) -> None:
        self._on("cuMemcpyHtoDAsync_v2", target, host, nbytes, stream)  # pageable memory is staged at once

    def read(self, host: int, source: int, nbytes: int, stream: int) -> None:
        self._on("cuMemcpyDtoHAsync_v2", host, source, nbytes, stream)

    def copy(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._on("cuMemcpyDtoDAsync_v2", target, source, nbytes, stream)

    def clear(self, target: int, nbytes: int, stream: int) -> None:
        self._on("cuMemsetD8Async", target, 0, nbytes, stream)

    # streams and events -------------------------------------------------------------------------
    def make_stream(self) -> int:
        stream = c_void_p()
        self._on("cuStreamCreate", ctypes.byref(stream), _NON_BLOCKING)
        return stream.value or 0

    def drop_stream(self, stream: int) -> None:
        self._on("cuStreamSynchronize", stream)
        self._call("cuStreamDestroy_v2", stream)
        address, _ = self._scratch.pop(stream, (0, 0))
        if address:
            self.free(address)

    def synchronize(self, stream: int) -> None:
        self._on("cuStreamSynchronize", stream)

    def make_event(self) -> int:
        event = c_void_p()
        self._on("cuEventCreate", ctypes.byref(event), 0)
        return event.value or 0

    def record(self, event: int, stream: int) -> None:
        self._on("cuEventRecord", event, stream)

    def wait(self, event: int, stream: int) -> None:
        self._on("cuStreamWaitEvent", stream, event, 0)

    def elapsed(self, start: int, end: int) -> float:
        milliseconds = c_float()
        self._on("cuEventSynchronize", end)
        self._call("cuEventElapsedTime", ctypes.byref(milliseconds), start, end)
        return milliseconds.value

    # kernels ------------------------------------------------------------------------------------
    def load(self, source: Source) -> _Loaded:
        from .binaries import binary_of

        binary = binary_of(source, self.capability)
        if binary.shared > self.shared_limit:
            raise GpuError(f"{source.kernel.symbol}: expected at most {self.shared_limit} bytes of shared memory on "
                           f"{self.name}, got {binary.shared}")
        module, function = c_void_p(), c_void_p()
        self._on("cuModuleLoadData", ctypes.byref(module), binary.cubin)
        self._call("cuModuleGetFunction", ctypes.byref(function), module, binary.name.encode())
        if binary.shared > _SHARED_WITHOUT_ASKING:
            self._call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, binary.shared)
        meta = source.kernel.meta
        return _Loaded(function.value or 0, 32 * binary.warps, binary.shared, binary.scratch,
                       len(meta.pointers) + meta.has_checks)

    def launch(self, loaded: _Loaded, programs: int, addresses: tuple[int, ...], stream: int) -> None:
        if len(addresses) != loaded.pointers:
            raise GpuError(f"expected {loaded.pointers} addresses, got {len(addresses)}")
        if any(a % 16 for a in addresses):
            raise GpuError(f"expected addresses that are multiples of 16, got {[hex(a) for a in addresses]}")
        scratch = self._scratch_of(stream, loaded.scratch * programs)
        values = (c_uint64 * (len(addresses) + 2))(*addresses, scratch, 0)
        first, size = ctypes.addressof(values), ctypes.sizeof(c_uint64)
        parameters = (c_void_p * len(values))(*(first + k * size for k in range(len(values))))
        self._on("cuLaunchKernel", loaded.function, programs, 1, 1, loaded.threads, 1, 1, loaded.shared, stream,
                 parameters, None)

    def _scratch_of(self, stream: int, nbytes: int) -> int:
        """Global scratch memory for the launches of one stream, one after the other."""
        if not nbytes:
            return 0
        address, room = self._scratch.get(stream, (0, 0))
        if room < nbytes:
            if address:
                self.synchronize(stream)
                self.free(address)
            address = self.alloc(nbytes)
            self._scratch[stream] = address, nbytes
        return address

    # graphs -------------------------------------------------------------------------------------
    def begin_capture(self, stream: int) -> None:
        self._on("cuStreamBeginCapture_v2", stream, _RELAXED)

    def end_capture(self, stream: int) -> int:
        graph, made = c_void_p(), c_void_p()
        self._on("cuStreamEndCapture", stream, ctypes.byref(graph))
        self._call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, 0)
        self._call("cuGraphDestroy", graph)
        return made.value or 0

    def replay(self, graph: int, stream: int) -> None:
        self._on("cuGraphLaunch", graph, stream)

    def drop_graph(self, graph: int) -> None:
        self._on("cuGraphExecDestroy", graph)


def _open(file: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(file)
    except OSError:
        raise NoGpu(f"there is no NVIDIA driver: {file} does not load") from None
    for name, arguments in _SIGNATURES.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise NoGpu(f"the NVIDIA driver is too old: {file} has no {name}") from None
        function.argtypes, function.restype = arguments, c_int
    return library
