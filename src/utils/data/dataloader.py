"""DataLoader: batches of a data set, made here or by worker processes."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset
from .fetch import Source, fetcher
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed
from .workers import WorkerPass

FROZEN = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Forever:
    """The sampler of iterable data sets, whose samples have no index."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader:
    """Iterates over a data set in batches, in PyTorch's random order for the same seed.

    With num_workers above 0 that many processes make the batches, which come in the same order.

    >>> import treadle
    >>> from treadle.utils.data import TensorDataset
    >>> loader = DataLoader(TensorDataset(treadle.arange(5)), batch_size=2)
    >>> [batch.tolist() for batch, in loader]
    [[0, 1], [2, 3], [4]]
    """

    _initialized = False

    def __init__(self, dataset: Dataset | Any, batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Iterable | None = None, batch_sampler: Iterable | None = None, num_workers: int = 0,
                 collate_fn: Callable | None = None, pin_memory: bool = False, drop_last: bool = False,
                 timeout: float = 0, worker_init_fn: Callable | None = None,
                 multiprocessing_context: Any = None, generator: Any = None, *,
                 prefetch_factor: int | None = None, persistent_workers: bool = False,
                 pin_memory_device: str = "", in_order: bool = True) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self.dataset, self.num_workers = dataset, num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.timeout = pin_memory, pin_memory_device, timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = _context(multiprocessing_context)
        self.in_order = in_order
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                                 "drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            sampler = (_Forever() if self._iterable else
                       RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset))
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn, self.persistent_workers = collate_fn, persistent_workers
        self._reported_length: int | None = None
        self._pass: _Pass | None = None  # kept with its workers where they are persistent
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in FROZEN:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Iterable:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Iterator:
        if not self.persistent_workers:
            return _Pass(self)
        if self._pass is None:
            self._pass = _Pass(self)
            return self._pass
        return self._pass.again()

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)  # type: ignore[arg-type]
        self._reported_length = length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


class _Pass:
    """One pass over the data set."""

    def __init__(self, loader: DataLoader) -> None:
        if loader.timeout != 0 and loader.num_workers == 0:
            raise AssertionError("timeout needs worker processes: expected timeout == 0")
        self._loader = loader
        self._source = Source(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)
        self._indices = iter(loader._index_sampler)
        seed = draw_seed(loader.generator)  # drawn by PyTorch too when there are no workers
        self._workers = (WorkerPass(loader, self._source, self._indices, seed) if loader.num_workers else None)
        self._fetch = None if loader.num_workers else fetcher(self._source)
        self._yielded = 0

    def again(self) -> _Pass:
        """Starts another pass with the same workers."""
        self._indices, self._yielded = iter(self._loader._index_sampler), 0
        self._workers.again(self._indices)
        return self

    def __iter__(self) -> _Pass:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)  # type: ignore[arg-type]

    def __next__(self) -> Any:
        data = next(self._workers) if self._workers is not None else self._fetch(next(self._indices))
        self._yielded += 1
        reported = self._loader._reported_length
        if self._source.iterable and reported is not None and self._yielded > reported:
            warnings.warn(f"Length of IterableDataset {self._loader.dataset} was reported to be {reported}(when "
                          f"accessing len(dataloader)), but {self._yielded} samples have been fetched. ", stacklevel=2)
        return data


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, context) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to "
                         "enable multiprocessing, otherwise set prefetch_factor to None.")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if context is not None and num_workers == 0:
        raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but "
                         f"got num_workers={num_workers}")


def _context(given: Any) -> Any:
    """A multiprocessing context from its name or itself."""
    if not isinstance(given, str):
        return given
    methods = multiprocessing.get_all_start_methods()
    if given not in methods:
        raise ValueError(f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                         f"multiprocessing_context={given!r}")
    return multiprocessing.get_context(given)


def _check_iterable(shuffle, sampler, batch_sampler) -> None:
    if shuffle not in (False, None):
        raise ValueError(f"DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle="
                         f"{shuffle}")
    for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if value is not None:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                             f"{name}={value}")
