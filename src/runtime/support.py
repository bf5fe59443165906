"""The support library: thread pool, plan executor, matrix products; built once per machine.

    threads = get_num_threads()
    launch = core().launch          # launch(plan address, table address, start) -> result
    address = gemm_address("float32")

What is native lies in native/, as text: the wheel holds no machine code.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .build import Library, address_of, compile_libraries, compile_library, load_library
from .threads import default_threads

NATIVE = Path(__file__).parent / "native"
CORE = ("abi.cpp", "pool.cpp", "executor.cpp", "launcher.cpp")
GEMM = ("abi.cpp", "vectors.cpp", "tile.cpp", "gemm.cpp")
REALS = {"float32": ("float", "int"), "float64": ("double", "long")}  # and an index of equal size


@dataclass(frozen=True, slots=True)
class Core:
    """The loaded core: the library and `launch`, which runs a plan (see plan.py)."""

    library: ctypes.CDLL
    launch: Callable[[int, int, int], int]
    is_builtin: bool  # launch is a function of the stable ABI, not ctypes


_lock = threading.Lock()


def _renew_lock() -> None:  # a thread that held it did not come along into the forked child
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def prepare(dtypes: tuple[str, ...] = ("float32",)) -> None:
    """Builds core and products side by side, where the cache lacks them (a second, once).

    Worth calling from a thread as soon as it is clear that something will be compiled. Raises
    BuildError where they cannot be built.
    """
    compile_libraries([_core_library(), *map(_gemm_library, dtypes)])


def core() -> Core:
    """Returns the core, built and loaded at first use. Raises BuildError where it cannot be."""
    with _lock:
        return _core()


def _core_library() -> Library:
    return Library(_text(CORE))


@cache
def _core() -> Core:
    library = load_library(compile_library(_core_library()))
    library.td_run.restype = ctypes.c_long
    library.td_set_threads(ctypes.c_long(_wanted_threads()))
    builtin = _builtin_launcher(library)
    launch = builtin or _ctypes_launcher(library)
    return Core(library, launch, builtin is not None)


def _builtin_launcher(library: ctypes.CDLL) -> Callable[[int, int, int], int] | None:
    if sys.implementation.name != "cpython":
        return None
    holding_gil = ctypes.PyDLL(library._name, handle=library._handle)
    make = holding_gil.td_make_launcher
    make.restype = ctypes.py_object
    try:
        return make()
    except ValueError:  # null: this process does not export the stable ABI
        return None


def _ctypes_launcher(library: ctypes.CDLL) -> Callable[[int, int, int], int]:
    run = library.td_run
    run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p]

    def launch(plan: int, table: int, start: int) -> int:
        slots = ctypes.c_long.from_address(plan + 8).value
        return run(plan, table, start, table + 8 * slots)

    return launch


def gemm_address(dtype: str) -> int:
    """Returns the address of the matrix product of "float32" or "float64" (td_gemm in abi.cpp)."""
    with _lock:
        return _gemm(dtype)


def _gemm_library(dtype: str, *more: str) -> Library:
    """The product of one dtype. Fused multiply-adds are its nature; -O3 takes twice as long."""
    real, integer = REALS[dtype]
    flags = ("-O2", "-ffp-contract=fast", f"-DTD_REAL={real}", f"-DTD_INTEGER={integer}")
    return Library(_text(GEMM), (*flags, *more))


@cache
def _gemm(dtype: str) -> int:
    library = load_library(compile_library(_gemm_library(dtype)))
    core_library = _core().library
    names = ("td_parallel_for", "td_get_threads")
    library.td_gemm_init(*(ctypes.c_void_p(address_of(core_library, name)) for name in names))
    return address_of(library, "td_gemm_run")


def _text(names: tuple[str, ...]) -> str:
    return "\n".join((NATIVE / name).read_text(encoding="utf-8") for name in names)


_threads: list[int] = []  # what set_num_threads was told last; it may come before the library


def _wanted_threads() -> int:
    return _threads[-1] if _threads else default_threads()


def get_num_threads() -> int:
    """Returns how many threads kernels run on, the calling one included."""
    return _wanted_threads()


def set_num_threads(count: int) -> None:
    """Sets how many threads kernels run on; raises ValueError below 1. Builds nothing."""
    if count < 1:
        raise ValueError(f"set_num_threads expected a positive integer, got {count}")
    with _lock:
        _threads[:] = [count]
        if _core.cache_info().currsize:
            _core().library.td_set_threads(ctypes.c_long(count))


def parallel_for_address() -> int:
    """Returns the address of td_parallel_for(fn, p, n, extent, grain, err) in the core."""
    return address_of(core().library, "td_parallel_for")
