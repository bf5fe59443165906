"""Independent blocks of work on several threads: NumPy lets go of Python's lock inside its loops."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

_pools: dict[int, object] = {}  # process id -> its executor: threads do not survive a fork


def _pool(threads: int):
    from concurrent.futures import ThreadPoolExecutor

    pid = os.getpid()
    if pid not in _pools:
        _pools.clear()
        _pools[pid] = ThreadPoolExecutor(threads, "treadle-eager")
    return _pools[pid]


def each(work: Callable, blocks: Sequence) -> None:
    """Calls work(block) for every block, on as many threads as kernels use if there are enough blocks.

    A block's result must not depend on which thread runs it, nor when.
    """
    if len(blocks) < 4:
        _run(work, iter(blocks))
        return
    from ...runtime.support import get_num_threads

    threads = min(get_num_threads(), len(blocks) // 2)
    todo = iter(blocks)  # taking the next of a list is one step under Python's lock
    if threads < 2:
        _run(work, todo)
        return
    others = [_pool(threads).submit(_run, work, todo) for _ in range(threads - 1)]
    try:
        _run(work, todo)
    finally:
        for other in others:
            other.result()


def _run(work: Callable, todo) -> None:
    with np.errstate(all="ignore"):
        for block in todo:
            work(block)
