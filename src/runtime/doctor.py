"""What of this machine matters to treadle, and what to do where something is missing.

`examine()` returns one finding for each part: compiler, ISA, threads, cache, BLAS, GPU.
"""

import ctypes
import ctypes.util
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import util

import numpy as np

from .blas import find_blas
from .build import Library, compile_library, load_library
from .cache import open_cache
from .errors import BuildError
from .support import core, get_num_threads
from .threads import default_threads
from .toolchain import find_toolchain, isa, simd_level

OK, WARN, BAD = "ok", "warn", "bad"
_ASK_LIMIT = 10.0  # seconds a tool may take to answer


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of the machine: its state (ok, warn or bad), what was found, and what to do."""

    part: str
    status: str
    found: str
    remedy: str = ""


def examine() -> tuple[Finding, ...]:
    """Returns the findings in the order in which they matter. Never raises."""
    parts: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("compiler", _compiler),
        ("support library", _support),
        ("processor", _processor),
        ("threads", _threads),
        ("cache", _cache),
        ("BLAS", _blas),
        ("GPU", _gpu),
        ("triton", _triton),
    )
    return tuple(_examine_one(part, look) for part, look in parts)


def _examine_one(part: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except Exception as error:  # a doctor must not die of what it finds
        return Finding(part, BAD, f"{type(error).__name__}: {error}", "report this as a bug")


def _compiler() -> Finding:
    tool = find_toolchain()
    if tool is None:
        remedy = (
            "install g++ or clang++, or run: pip install treadle[cc]; until then compiled "
            "functions run in the interpreter"
        )
        return Finding("compiler", BAD, "none found", remedy)
    name = f"{' '.join(tool.argv)} ({tool.version or 'says no version'})"
    text = f'extern "C" int td_doctor() {{ return {time.time_ns() % 1000}; }}\n'
    begun = time.perf_counter()
    try:
        load_library(compile_library(Library(text)))
    except BuildError as error:
        remedy = "set TREADLE_CXX to a working compiler, or repair this one"
        return Finding("compiler", BAD, f"{name} does not work: {error}", remedy)
    took = time.perf_counter() - begun
    found = f"{name}, a small kernel in {took:.2f} s"
    if took > 1.0:
        return Finding("compiler", WARN, found, "g++ on a local disk builds in about 0.05 s")
    return Finding("compiler", OK, found)


def _support() -> Finding:
    try:
        loaded = core()
    except BuildError as error:
        return Finding("support library", BAD, str(error), "see the compiler above")
    if not loaded.is_builtin:
        remedy = "this Python does not export its stable ABI: each call costs 1 us more"
        return Finding("support library", WARN, "loaded, called through ctypes", remedy)
    return Finding("support library", OK, "loaded, called directly")


def _processor() -> Finding:
    level = simd_level()
    if level == "base":
        remedy = "kernels run on 128-bit vectors; a processor with AVX2 would be 2 to 4 times faster"
        return Finding("processor", WARN, isa(), remedy)
    return Finding("processor", OK, isa())


def _threads() -> Finding:
    try:
        usual = default_threads()
    except ValueError as error:
        return Finding("threads", BAD, str(error), "unset TREADLE_NUM_THREADS, or set it to 1, 2, ...")
    return Finding("threads", OK, f"{get_num_threads()} in use, {usual} by default")


def _cache() -> Finding:
    cache = open_cache()
    facts = cache.info()
    held = f"{facts.entries} entries, {facts.bytes / 1e6:.1f} of {facts.limit / 1e6:.0f} MB"
    if not facts.on_disk:
        remedy = "set TREADLE_CACHE_DIR to a directory of your own with mode 0700"
        return Finding("cache", WARN, f"kept for this process only: {facts.reason}", remedy)
    return Finding("cache", OK, f"{facts.path}: {held}")


def _blas() -> Finding:
    blas = find_blas()
    if blas is None:
        remedy = "nothing to do: treadle's own matrix product is used"
        return Finding("BLAS", OK, f"NumPy {np.__version__} bundles no OpenBLAS", remedy)
    return Finding("BLAS", OK, blas.path)


def _gpu() -> Finding:
    names = _nvidia_names()
    driver = _loads("libcuda.so.1")
    if names and driver:
        return Finding("GPU", OK, "; ".join(names))
    if names:
        remedy = "install the NVIDIA driver's libcuda where the loader finds it"
        return Finding("GPU", BAD, f"{'; '.join(names)}, but libcuda does not load", remedy)
    if driver:
        remedy = "the driver is there but shows no GPU: check nvidia-smi"
        return Finding("GPU", WARN, "libcuda loads, no GPU is seen", remedy)
    return Finding("GPU", OK, "none")


def _nvidia_names() -> list[str]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    query = [tool, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        run = subprocess.run(query, capture_output=True, timeout=_ASK_LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = run.stdout.decode("utf-8", "replace").splitlines() if run.returncode == 0 else []
    return [line.strip() for line in lines if line.strip()]


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _triton() -> Finding:
    if util.find_spec("triton") is not None:
        from importlib import metadata

        return Finding("triton", OK, metadata.version("triton"))
    if _nvidia_names():
        return Finding("triton", BAD, "not installed", "run: pip install treadle[cuda]")
    return Finding("triton", OK, "not installed, and not needed without a GPU")
