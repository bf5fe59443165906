"""Which C++ compiler this machine has, and what its processor understands."""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib import util

VERSION_LIMIT = 10.0  # seconds a compiler may take to say its version


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A C++ compiler: how to call it, its family, what it says of itself, and the processor's ISA.

    `version` is empty where the compiler gave no sane answer: it is probably broken.
    """

    argv: tuple[str, ...]
    kind: str  # gcc | clang | zig
    version: str
    isa: str


def find_toolchain() -> Toolchain | None:
    """Returns the C++ compiler to use, or None: TREADLE_CXX, g++, clang++, then pip's ziglang."""
    wanted = os.environ.get("TREADLE_CXX", "").strip()
    return _find(wanted, os.environ.get("PATH", ""))


@cache
def _find(wanted: str, _path: str) -> Toolchain | None:
    if wanted:
        return _describe(tuple(shlex.split(wanted)))
    for name in ("g++", "clang++"):
        found = shutil.which(name)
        if found:
            return _describe((found,))
    if util.find_spec("ziglang") is not None:
        from importlib import metadata  # slow to import, and rarely needed

        argv = (sys.executable, "-m", "ziglang", "c++")
        return Toolchain(argv, "zig", f"zig {metadata.version('ziglang')}", isa())
    return None


def _describe(argv: tuple[str, ...]) -> Toolchain:
    said = _ask_version(argv)
    head = said.splitlines()[0].strip() if said.strip() else ""
    words = f"{said} {' '.join(argv)}".lower()
    kind = "zig" if "zig" in words else "clang" if "clang" in words else "gcc"
    return Toolchain(argv, kind, head, isa())


def _ask_version(argv: tuple[str, ...]) -> str:
    try:
        run = subprocess.run(
            [*argv, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=VERSION_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.decode("utf-8", "replace") if run.returncode == 0 else ""


@cache
def isa() -> str:
    """Returns a short name of this processor's instruction set that is equal on equal processors.

    `-march=native` reads the model and the feature flags, so the digest covers both.
    """
    facts = _processor_facts()
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
    return f"{platform.machine() or 'unknown'}-{simd_level()}-{digest}"


@cache
def simd_level() -> str:
    """Returns the widest vector unit that the kernels are tuned for: avx512, avx2, neon or base."""
    words = set(" ".join(_processor_facts()).lower().split())
    if "avx512f" in words:
        return "avx512"
    if "avx2" in words:
        return "avx2"
    return "neon" if platform.machine() in ("aarch64", "arm64") else "base"


_KEPT = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU implementer", "CPU part")


@cache
def _processor_facts() -> tuple[str, ...]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read().split("\n\n", 1)[0]
    except OSError:
        return _sysctl_facts()
    facts = []
    for line in first.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in _KEPT:
            facts.append(f"{name.strip()} {' '.join(sorted(value.split()))}")
    return tuple(facts) or (platform.machine(), platform.processor())


def _sysctl_facts() -> tuple[str, ...]:
    names = ["machdep.cpu.brand_string", "machdep.cpu.features", "machdep.cpu.leaf7_features"]
    try:
        run = subprocess.run(
            ["sysctl", "-n", *names], capture_output=True, timeout=VERSION_LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return (platform.machine(), platform.processor())
    return (platform.machine(), *run.stdout.decode("utf-8", "replace").lower().split())


def flags_for(toolchain: Toolchain) -> tuple[str, ...]:
    """Returns the flags of every kernel: full optimisation, native ISA, IEEE meaning kept."""
    common = (
        "-O3",
        "-march=native",
        "-fopenmp-simd",
        "-shared",
        "-fPIC",
        "-ffp-contract=off",
        "-fwrapv",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fno-semantic-interposition",
    )
    if toolchain.kind == "zig":  # zig adds undefined-behaviour traps of its own
        return (*common, "-fno-sanitize=undefined")
    return (*common, "-pipe") if toolchain.kind == "gcc" else common


def kernel_link_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """Returns what a kernel is linked with: no C++ library, and with GCC no start files either.

    They double the time a small kernel takes to build, and no kernel uses them.
    """
    if toolchain.kind == "gcc" and sys.platform == "linux":
        return ("-nostdlib", "-lm", "-lc", "-lgcc")
    return ("-nostdlib++", "-lm")


def library_link_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """Returns what the support library is linked with: threads, but no C++ library.

    Building that library is what makes zig's first compilation take a minute.
    """
    if sys.platform == "darwin":
        return ("-undefined", "dynamic_lookup")
    if toolchain.kind == "gcc":
        return ("-nodefaultlibs", "-lpthread", "-lm", "-lc", "-lgcc")
    return ("-nostdlib++", "-pthread", "-lm")
