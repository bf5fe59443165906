"""Runs the C++ compiler: several units side by side, with a time limit, stopped by Ctrl-C."""

import atexit
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .toolchain import Toolchain

LIMIT = 300.0  # seconds one unit may take
LIMIT_UNKNOWN = 20.0  # where the compiler could not even say its version


@dataclass(frozen=True, slots=True)
class Unit:
    """One text to compile into one shared library with these flags."""

    text: str
    flags: tuple[str, ...]
    link: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a unit: the library's bytes, or empty and the log that says why."""

    library: bytes
    log: str


@dataclass(slots=True)
class _Job:
    index: int
    process: subprocess.Popen[bytes]
    deadline: float
    source: Path


_running: list[subprocess.Popen[bytes]] = []  # killed when the interpreter ends


def compile_units(
    toolchain: Toolchain,
    units: list[Unit],
    workspace: Path,
    *,
    on_done: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """Returns the outcome of each unit, in order; at most one compiler per processor, and two.

    `on_done(index)` is told of each unit as it ends. Any exception, KeyboardInterrupt too, kills
    the compilers with all their children first.
    """
    outcomes: dict[int, Outcome] = {}
    waiting = list(enumerate(units))
    jobs: list[_Job] = []
    try:
        while waiting or jobs:
            while waiting and len(jobs) < side_by_side():
                index, unit = waiting.pop(0)
                started = _start(toolchain, unit, index, workspace)
                if isinstance(started, Outcome):
                    outcomes[index] = started
                else:
                    jobs.append(started)
            for job in _wait_for_some(jobs):
                jobs.remove(job)
                outcomes[job.index] = _finish(job)
                if on_done is not None:
                    on_done(job.index)
    finally:
        for job in jobs:
            _kill(job.process)
    return [outcomes[index] for index in range(len(units))]


def side_by_side() -> int:
    """Returns how many compilers run at once."""
    return max(1, min(2, os.cpu_count() or 1))


def _start(toolchain: Toolchain, unit: Unit, index: int, workspace: Path) -> _Job | Outcome:
    source = workspace / f"unit{index}.cpp"
    source.write_text(unit.text, encoding="utf-8")
    log = source.with_suffix(".log")
    library = source.with_suffix(".so").name  # names without the folder: the log outlives it
    command = [*toolchain.argv, *unit.flags, source.name, "-o", library]
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, *unit.link],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=workspace,
                env=_environment(workspace),
                start_new_session=True,  # its own group: one signal reaches cc1plus, as and ld
            )
    except OSError as error:
        return Outcome(b"", f"{toolchain.argv[0]} cannot be started: {error}")
    _running.append(process)
    limit = LIMIT if toolchain.version else LIMIT_UNKNOWN
    return _Job(index, process, time.monotonic() + limit, source)


def _environment(workspace: Path) -> dict[str, str]:
    environment = {**os.environ, "TMPDIR": str(workspace), "LC_ALL": "C"}
    if "HOME" not in environment:  # zig wants a place for what it builds once
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(workspace))
    return environment


def _wait_for_some(jobs: list[_Job]) -> list[_Job]:
    """Returns the jobs that have ended, or run past their limit, after waiting for one at least."""
    pause = 0.0005
    while jobs:
        now = time.monotonic()
        ended = [job for job in jobs if job.process.poll() is not None or now > job.deadline]
        if ended:
            return ended
        time.sleep(pause)
        pause = min(pause * 1.2, 0.01)
    return []


def _finish(job: _Job) -> Outcome:
    late = job.process.poll() is None
    _kill(job.process)
    log = job.source.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
    if late:
        return Outcome(b"", f"{log}\nthe compiler was stopped: it ran past its time limit")
    code = job.process.returncode
    if code != 0:
        how = f"signal {-code}" if code < 0 else f"status {code}"
        return Outcome(b"", f"{log}\nthe compiler ended with {how}")
    try:
        library = job.source.with_suffix(".so").read_bytes()
    except OSError:
        library = b""
    return Outcome(library, log if library else f"{log}\nthe compiler wrote no library")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a compiler with its children and collects it; harmless where it has ended."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with contextlib.suppress(ValueError):
        _running.remove(process)


@atexit.register
def _kill_all() -> None:
    while _running:
        _kill(_running[0])
