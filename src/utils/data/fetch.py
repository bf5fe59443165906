"""From what a sampler gives to a batch: the samples of a data set, collated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...frontend.functions.create import from_numpy
from .collate import default_collate
from .dataset import IterableDataset, Subset, TensorDataset


@dataclass(frozen=True, slots=True)
class Source:
    """What has to be known to make batches, also in a worker process."""

    dataset: Any
    auto_collation: bool
    collate: Callable
    drop_last: bool

    @property
    def iterable(self) -> bool:
        """Whether samples come by iteration, not by index."""
        return isinstance(self.dataset, IterableDataset)


def fetcher(source: Source) -> Callable[[Any], Any]:
    """A function from an index (or a list of them) to a batch; StopIteration at the end of an iterable."""
    return _FromIterable(source) if source.iterable else lambda index: _from_map(source, index)


def _from_map(source: Source, index: Any) -> Any:
    dataset, collate = source.dataset, source.collate
    if not source.auto_collation:
        return collate(dataset[index])
    rows = _tensor_rows(dataset, index) if collate is default_collate else None
    if rows is not None:
        return rows
    together = getattr(dataset, "__getitems__", None)
    return collate(together(index) if together else [dataset[i] for i in index])


def _tensor_rows(dataset: Any, indices: Any) -> list | None:
    """The batch of a TensorDataset (or a Subset of one) by one indexing, equal to its rows stacked."""
    while type(dataset) is Subset:
        dataset, indices = dataset.dataset, [dataset.indices[i] for i in indices]
    if type(dataset) is not TensorDataset or any(t.requires_grad for t in dataset.tensors):
        return None
    places = np.asarray(indices)
    if places.dtype.kind not in "iu" or not places.size:
        return None
    index = from_numpy(places.astype(np.int64))
    return [t[index] for t in dataset.tensors]


class _FromIterable:
    def __init__(self, source: Source) -> None:
        self.source, self.samples, self.ended = source, iter(source.dataset), False

    def __call__(self, index: Any) -> Any:
        source = self.source
        if self.ended:
            raise StopIteration
        if not source.auto_collation:
            return source.collate(next(self.samples))
        batch = [sample for _, sample in zip(index, self.samples, strict=False)]
        self.ended = len(batch) < len(index)
        if not batch or (source.drop_last and self.ended):
            raise StopIteration
        return source.collate(batch)
