"""Batches made by worker processes, in the order in which one process would make them."""

from __future__ import annotations

import multiprocessing
import os
import queue
import random
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...frontend.functions.random import manual_seed
from .fetch import Source, fetcher

POLL = 5.0  # seconds between looks at whether the workers still live


@dataclass(slots=True)
class WorkerInfo:
    """What a worker process knows of itself."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: list[WorkerInfo] = []


def get_worker_info() -> WorkerInfo | None:
    """Returns the worker's id, the number of workers, its seed and its data set; None in the main process."""
    return _info[0] if _info else None


@dataclass(frozen=True, slots=True)
class _Failure:
    """An exception on its way from a worker."""

    kind: type
    text: str
    worker: int

    def reraise(self) -> None:
        message = f"Caught {self.kind.__name__} in DataLoader worker process {self.worker}.\nOriginal {self.text}"
        try:
            error = self.kind(message)
        except TypeError:  # its constructor wants something else
            error = RuntimeError(message)
        raise error


class _Ended:
    """A worker's iterable is used up."""


def _work(source: Source, tasks: Any, results: Any, init: Callable | None, info: WorkerInfo) -> None:
    """The life of one worker: answers (number, index) with (number, worker, batch) until it gets None."""
    random.seed(info.seed)
    manual_seed(info.seed)
    np.random.seed(info.seed % (1 << 32))
    info.dataset = source.dataset
    _info[:] = [info]

    def begin() -> Any:
        if init is not None and first:
            init(info.id)
        return fetcher(source)

    first = True
    fetch = _attempt(info, begin)
    first = False
    for task in _arriving(tasks):
        if task == "again":
            fetch = _attempt(info, begin)
            continue
        number, index = task
        results.put((number, info.id, _attempt(info, fetch, index) if callable(fetch) else fetch))


def _arriving(tasks: Any) -> Iterator:
    """The tasks, until the last one (None) or until nobody is left to work for."""
    parent = os.getppid()
    while True:
        try:
            task = tasks.get(timeout=POLL)
        except queue.Empty:
            if os.getppid() != parent:
                return
            continue
        if task is None:
            return
        yield task


def _attempt(info: WorkerInfo, call: Callable, *args: Any) -> Any:
    """What the call returns, or its failure as something that can be sent."""
    try:
        return call(*args)
    except StopIteration:
        return _Ended()
    except Exception as error:
        return _Failure(type(error), traceback.format_exc(), info.id)


class WorkerPass:
    """One pass over the data set by workers; with persistent workers, it is begun anew."""

    def __init__(self, loader: Any, source: Source, indices: Iterator, seed: int) -> None:
        self._loader, self._source = loader, source
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._results = context.Queue()
        self._tasks = [context.Queue() for _ in range(loader.num_workers)]
        self._processes = []
        for i, tasks in enumerate(self._tasks):
            info = WorkerInfo(i, loader.num_workers, seed + i, None)
            process = context.Process(target=_work, daemon=True, args=(
                source, tasks, self._results, loader.worker_init_fn, info))
            process.start()
            self._processes.append(process)
        self._begin(indices)

    def _begin(self, indices: Iterator) -> None:
        self._indices, self._sent, self._next = indices, 0, 0
        self._done: dict[int, Any] = {}
        self._owner: dict[int, int] = {}
        self._active = [True] * len(self._tasks)
        self._turn = 0
        self._more = True
        for _ in range(self._loader.prefetch_factor * len(self._tasks)):
            self._send()

    def again(self, indices: Iterator) -> None:
        """Starts another pass with the same processes."""
        while self._owner:  # what the last pass left under way
            number, _, _ = self._receive()
            self._owner.pop(number, None)
        for tasks in self._tasks:
            tasks.put("again")
        self._begin(indices)

    def _send(self) -> None:
        """Gives the next index to the next worker that still has data."""
        if not self._more or not any(self._active):
            return
        try:
            index = next(self._indices)
        except StopIteration:
            self._more = False
            return
        while not self._active[self._turn]:
            self._turn = (self._turn + 1) % len(self._tasks)
        self._tasks[self._turn].put((self._sent, index))
        self._owner[self._sent] = self._turn
        self._turn = (self._turn + 1) % len(self._tasks)
        self._sent += 1

    def _receive(self) -> tuple[int, int, Any]:
        timeout, waited = self._loader.timeout, 0.0
        while True:
            wait = min(POLL, timeout - waited) if timeout > 0 else POLL
            try:
                return self._results.get(timeout=wait)
            except queue.Empty:
                waited += wait
            dead = [p.pid for p in self._processes if not p.is_alive()]
            if dead:
                raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(map(str, dead))}) exited unexpectedly")
            if 0 < timeout <= waited:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")

    def __iter__(self) -> WorkerPass:
        return self

    def __next__(self) -> Any:
        while self._next < self._sent:
            if self._next not in self._done:
                number, worker, answer = self._receive()
                self._done[number] = answer
                if isinstance(answer, _Ended):
                    self._active[worker] = False
                self._owner.pop(number)
                self._send()
                continue
            answer = self._done.pop(self._next)
            self._next += 1
            if isinstance(answer, _Ended):
                continue
            if isinstance(answer, _Failure):
                self.close()
                answer.reraise()
            return answer
        if not self._loader.persistent_workers:
            self.close()
        raise StopIteration

    def close(self) -> None:
        """Ends the workers."""
        for tasks, process in zip(self._tasks, self._processes, strict=True):
            if process.is_alive():
                tasks.put(None)
        for process in self._processes:
            process.join(timeout=POLL)
            if process.is_alive():
                process.terminate()
        for channel in (*self._tasks, self._results):
            channel.cancel_join_thread()
            channel.close()
        self._processes, self._tasks, self._sent = [], [], self._next

    def __del__(self) -> None:
        if self._processes:
            self.close()
