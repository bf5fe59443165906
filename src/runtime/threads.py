"""How many threads the kernels run on."""

import math
import os
from functools import cache
from pathlib import Path


def default_threads() -> int:
    """Returns TREADLE_NUM_THREADS, else the cores that this process may use.

    Two hardware threads of one core count once, and a container's processor quota is an upper
    bound. Raises ValueError where TREADLE_NUM_THREADS is no positive integer.
    """
    said = os.environ.get("TREADLE_NUM_THREADS", "").strip()
    if said:
        if not said.isascii() or not said.isdigit() or int(said) < 1:
            raise ValueError(f"TREADLE_NUM_THREADS expected a positive integer, got {said!r}")
        return int(said)
    cores = _usable_cores()
    quota = _quota()
    return max(1, cores if quota is None else min(cores, math.ceil(quota)))


@cache
def _usable_cores() -> int:
    try:
        usable = os.sched_getaffinity(0)
    except AttributeError:  # not on this system
        return os.cpu_count() or 1
    cores = set()
    for number in usable:
        place = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
        try:
            cores.add(place.read_text())
        except OSError:
            cores.add(str(number))
    return len(cores)


@cache
def _quota() -> float | None:
    """Returns how many processors' time the control group grants, or None for no limit."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if limit == "max" else float(limit) / float(period)
    except (OSError, ValueError):
        return None
