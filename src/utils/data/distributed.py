"""DistributedSampler: each process's share of the indices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

from ...frontend.functions.random import randperm
from ...runtime.random import Generator
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every num_replicas-th index from `rank` on, in an order all processes share."""

    def __init__(self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None,
                 shuffle: bool = True, seed: int = 0, drop_last: bool = False) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available: pass num_replicas and rank")
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.drop_last, self.shuffle, self.seed = 0, drop_last, shuffle, seed
        size = len(dataset)
        whole = drop_last and size % num_replicas != 0
        self.num_samples = math.ceil((size - num_replicas) / num_replicas) if whole else math.ceil(
            size / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = randperm(size, generator=generator).tolist()
        else:
            indices = list(range(size))
        if not self.drop_last:
            missing = self.total_size - len(indices)
            indices += (indices * math.ceil(missing / max(size, 1)))[:missing]
        indices = indices[: self.total_size]
        return iter(indices[self.rank:self.total_size:self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Makes the next pass use the order of `epoch`."""
        self.epoch = epoch
