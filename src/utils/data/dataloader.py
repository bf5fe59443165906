"""DataLoader: batches of a data set, in one process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...frontend.functions.create import from_numpy
from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset, Subset, TensorDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed

FROZEN = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Forever:
    """The sampler of iterable data sets, whose samples have no index."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader:
    """Iterates over a data set in batches, in PyTorch's random order for the same seed.

    Worker processes are not offered yet: num_workers above 0 raises NotImplementedError at iteration.

    >>> import treadle
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
        self.worker_init_fn, self.multiprocessing_context = worker_init_fn, multiprocessing_context
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
        if self.num_workers > 0:
            raise NotImplementedError(f"DataLoader with num_workers={self.num_workers}: worker processes are not "
                                      "offered yet; use num_workers=0")
        return _Pass(self)

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
        if loader.timeout != 0:
            raise AssertionError("timeout needs worker processes: expected timeout == 0")
        self._loader = loader
        self._indices = iter(loader._index_sampler)
        self._base_seed = draw_seed(loader.generator)  # drawn by PyTorch too, for its workers
        fetch = _from_iterable if loader._iterable else _from_map
        self._samples = fetch(loader, self._indices)
        self._yielded = 0

    def __iter__(self) -> _Pass:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)  # type: ignore[arg-type]

    def __next__(self) -> Any:
        data = next(self._samples)
        self._yielded += 1
        reported = self._loader._reported_length
        if self._loader._iterable and reported is not None and self._yielded > reported:
            warnings.warn(f"Length of IterableDataset {self._loader.dataset} was reported to be {reported}(when "
                          f"accessing len(dataloader)), but {self._yielded} samples have been fetched. ", stacklevel=2)
        return data


def _from_map(loader: DataLoader, indices: Iterator) -> Iterator:
    dataset, collate = loader.dataset, loader.collate_fn
    for index in indices:
        if not loader._auto_collation:
            yield collate(dataset[index])
            continue
        rows = _tensor_rows(dataset, index) if collate is default_collate else None
        if rows is not None:
            yield rows
            continue
        together = getattr(dataset, "__getitems__", None)
        yield collate(together(index) if together else [dataset[i] for i in index])


def _tensor_rows(dataset: Any, indices: Any) -> list | None:
    """The batch of a TensorDataset (or a Subset of one) by one indexing, equal to its rows stacked."""
    import numpy as np

    while type(dataset) is Subset:
        dataset, indices = dataset.dataset, [dataset.indices[i] for i in indices]
    if type(dataset) is not TensorDataset or any(t.requires_grad for t in dataset.tensors):
        return None
    places = np.asarray(indices)
    if places.dtype.kind not in "iu" or not places.size:
        return None
    index = from_numpy(places.astype(np.int64))
    return [t[index] for t in dataset.tensors]


def _from_iterable(loader: DataLoader, indices: Iterator) -> Iterator:
    samples = iter(loader.dataset)
    for index in indices:
        if not loader._auto_collation:
            try:
                sample = next(samples)
            except StopIteration:
                return
            yield loader.collate_fn(sample)
            continue
        batch = [sample for _, sample in zip(index, samples, strict=False)]
        if not batch or (loader.drop_last and len(batch) < len(index)):
            return
        yield loader.collate_fn(batch)
        if len(batch) < len(index):
            return


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


def _check_iterable(shuffle, sampler, batch_sampler) -> None:
    if shuffle not in (False, None):
        raise ValueError(f"DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle="
                         f"{shuffle}")
    for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if value is not None:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                             f"{name}={value}")
