"""utils.data: the loader's order under a seed, samplers, data sets, collation."""

from __future__ import annotations

import importlib
from collections import namedtuple

import numpy as np
import pytest

Point = namedtuple("Point", "x y")


@pytest.fixture(params=["treadle", pytest.param("torch", marks=pytest.mark.torch)])
def T(request):
    importlib.import_module(f"{request.param}.utils.data.distributed")
    return importlib.import_module(request.param)


def batches(loader):
    return [b[0].tolist() if isinstance(b, (list, tuple)) else b.tolist() for b in loader]


def test_shuffled_order_and_the_stream_after_it(T):
    D = T.utils.data
    T.manual_seed(5)
    loader = D.DataLoader(D.TensorDataset(T.arange(7)), batch_size=3, shuffle=True)
    assert batches(loader) == [[0, 3, 6], [2, 1, 4], [5]]
    assert batches(loader) == [[1, 2, 5], [3, 6, 4], [0]]
    assert float(T.rand(1)) == 0.0332646369934082


def test_samplers(T):
    D = T.utils.data
    T.manual_seed(7)
    assert list(D.RandomSampler(range(5), True, 8)) == [3, 0, 2, 1, 0, 2, 3, 1]
    assert list(D.RandomSampler(range(5), False, 7)) == [3, 2, 0, 4, 1, 4, 0]
    assert list(D.SubsetRandomSampler([3, 5, 7, 9])) == [9, 5, 3, 7]
    assert list(D.WeightedRandomSampler([0.1, 0.2, 0.5, 0.9], 6)) == [0, 3, 2, 3, 3, 3]
    assert list(D.WeightedRandomSampler([0.1, 0.2, 0.5, 0.9], 3, False)) == [3, 2, 1]
    assert [s.indices for s in D.random_split(range(7), [0.5, 0.3, 0.2])] == [[3, 1, 5, 6], [2, 4], [0]]
    assert list(D.RandomSampler(range(5), generator=T.Generator().manual_seed(3))) == [1, 0, 3, 4, 2]
    share = D.distributed.DistributedSampler
    assert list(share(range(7), 3, 1, seed=4)) == [1, 2, 3]
    assert list(share(range(7), 3, 2, shuffle=False, drop_last=True)) == [2, 5]
    assert list(D.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(D.BatchSampler(range(5), 2, False)) == 3 and list(D.SequentialSampler(range(2))) == [0, 1]


def test_batches_of_all_kinds(T):
    D = T.utils.data
    data = D.TensorDataset(T.arange(10), T.arange(20).reshape(10, 2) / 2)
    shapes = [tuple(x.shape for x in b) for b in D.DataLoader(data, 4)]
    assert shapes == [((4,), (4, 2)), ((4,), (4, 2)), ((2,), (2, 2))]
    assert len(D.DataLoader(data, 4, drop_last=True)) == 2
    assert batches(D.DataLoader(data, sampler=[3, 1], batch_size=2)) == [[3, 1]]
    assert batches(D.DataLoader(data, batch_sampler=[[0], [5, 6]])) == [[0], [5, 6]]
    assert [b[0].tolist() for b in D.DataLoader(D.Subset(data, [9, 4, 2]), 2)] == [[9, 4], [2]]
    assert next(iter(D.DataLoader(data, batch_size=None)))[0].tolist() == 0
    assert batches(D.DataLoader([1, 2, 3], 2, collate_fn=lambda b: T.tensor(b) * 10)) == [[10, 20], [30]]


def test_iterable_data_sets(T):
    D = T.utils.data

    class Count(D.IterableDataset):
        def __iter__(self):
            return iter(range(7))

    assert batches(D.DataLoader(Count(), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert batches(D.DataLoader(Count(), 3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]
    assert list(D.DataLoader(Count(), None)) == list(range(7))
    assert len(list(Count() + Count())) == 14


def test_data_sets(T):
    D = T.utils.data
    both = D.ConcatDataset([[1, 2], [3]])
    assert len(both) == 3 and both[2] == 3 and both[-3] == 1 and both.cumulative_sizes == [2, 3]
    stacked = D.StackDataset(a=[1, 2], b=[3, 4])
    assert stacked[1] == {"a": 2, "b": 4} and stacked.__getitems__([0, 1]) == [{"a": 1, "b": 3}, {"a": 2, "b": 4}]
    assert D.StackDataset([1, 2], [3, 4])[0] == (1, 3)
    assert [len(s) for s in D.random_split(range(10), [3, 7])] == [3, 7]


CASES = [
    [{"a": 1, "b": [1.0, 2]}, {"a": 2, "b": [3.0, 4]}],
    [(1, "x"), (2, "y")],
    [np.ones(2, np.float32), np.zeros(2, np.float32)],
    [Point(1, 2.0), Point(3, 4.0)],
    [np.float32(1), np.float32(2)],
    [np.int64(3), np.int64(4)],
    [True, False],
    [[1, 2], [3, 4]],
    [b"a", b"b"],
]
TEXTS = [
    "{'a': tensor([1, 2]), 'b': [tensor([1., 3.], dtype=torch.float64), tensor([2, 4])]}",
    "[tensor([1, 2]), ('x', 'y')]",
    "tensor([[1., 1.],\n        [0., 0.]])",
    "Point(x=tensor([1, 3]), y=tensor([2., 4.], dtype=torch.float64))",
    "tensor([1., 2.])",
    "tensor([3, 4])",
    "tensor([ True, False])",
    "[tensor([1, 3]), tensor([2, 4])]",
    "[b'a', b'b']",
]


@pytest.mark.parametrize("row", range(len(CASES)))
def test_collation(T, row):
    assert repr(T.utils.data.default_collate(CASES[row])).replace("treadle.", "torch.") == TEXTS[row]


def test_conversion(T):
    out = T.utils.data.default_convert({"a": np.ones(2), "b": (np.int64(3), "s"), "c": [np.zeros(1)]})
    assert out["a"].dtype is T.float64 and int(out["b"][0]) == 3 and out["b"][1] == "s"
    assert isinstance(out["c"][0], T.Tensor)


ERRORS = [
    (lambda D: D.DataLoader([1], num_workers=-1), ValueError, "num_workers option should be non-negative"),
    (lambda D: D.DataLoader([1], timeout=-1), ValueError, "timeout option should be non-negative"),
    (lambda D: D.DataLoader([1], prefetch_factor=2), ValueError, "prefetch_factor option could only be specified"),
    (lambda D: D.DataLoader([1], persistent_workers=True), ValueError, "persistent_workers option needs"),
    (lambda D: D.DataLoader([1], shuffle=True, sampler=[0]), ValueError, "sampler option is mutually exclusive"),
    (lambda D: D.DataLoader([1], batch_sampler=[[0]], batch_size=2), ValueError, "batch_sampler option is mutually"),
    (lambda D: D.DataLoader([1], batch_size=None, drop_last=True), ValueError, "batch_size=None option disables"),
    (lambda D: D.DataLoader([1], batch_size=0), ValueError, "batch_size should be a positive integer value"),
    (lambda D: setattr(D.DataLoader([1]), "batch_size", 3), ValueError, "batch_size attribute should not be set"),
    (lambda D: D.RandomSampler([], num_samples=0), ValueError, "num_samples should be a positive integer value"),
    (lambda D: D.RandomSampler([1], replacement=1), TypeError, "replacement should be a boolean value"),
    (lambda D: D.random_split([1, 2], [3]), ValueError, "Sum of input lengths does not equal the length"),
    (lambda D: D.StackDataset(), ValueError, "At least one dataset should be passed"),
    (lambda D: D.ConcatDataset([]), AssertionError, "datasets should not be an empty iterable"),
    (lambda D: D.default_collate([[1], [1, 2]]), RuntimeError, "each element in list of batch should be of equal"),
    (lambda D: D.default_collate([object()]), TypeError, "default_collate: batch must contain tensors, numpy arrays"),
    (lambda D: D.Dataset()[0], NotImplementedError, "Subclasses of Dataset should implement __getitem__"),
]


@pytest.mark.parametrize("row", range(len(ERRORS)))
def test_errors(T, row):
    act, kind, words = ERRORS[row]
    with pytest.raises(kind, match=words):
        act(T.utils.data)


# workers ---------------------------------------------------------------------------------------------
class Squares:
    def __len__(self):
        return 11

    def __getitem__(self, index):
        if index == 100:
            raise KeyError("no such square")
        return index * index


def test_workers_keep_the_order(T):
    D = T.utils.data
    T.manual_seed(5)
    plain = batches(D.DataLoader(Squares(), 2, shuffle=True))
    T.manual_seed(5)
    loader = D.DataLoader(Squares(), 2, shuffle=True, num_workers=2)
    assert batches(loader) == plain and len(loader) == 6
    kept = D.DataLoader(Squares(), 3, num_workers=2, persistent_workers=True, prefetch_factor=1)
    assert batches(kept) == batches(kept) == [[0, 1, 4], [9, 16, 25], [36, 49, 64], [81, 100]]


def test_workers_of_iterable_data_sets(T):
    D = T.utils.data

    class Share(D.IterableDataset):
        def __iter__(self):
            info = D.get_worker_info()
            return iter(range(info.id, 9, info.num_workers))

    assert D.get_worker_info() is None
    assert batches(D.DataLoader(Share(), 2, num_workers=2)) == [[0, 2], [1, 3], [4, 6], [5, 7], [8]]


def test_worker_seed_and_init(T):
    D = T.utils.data
    T.manual_seed(3)
    seen = [b.tolist() for b in D.DataLoader(
        [0, 1], 1, num_workers=2, worker_init_fn=lambda i: None,
        collate_fn=lambda batch: T.tensor([D.get_worker_info().seed % 1000, int(T.randint(1000, (1,)))]))]
    T.manual_seed(3)
    base = int(T.empty((), dtype=T.int64).random_().item())
    draws = [int(T.randint(1000, (1,), generator=T.Generator().manual_seed(base + i))) for i in range(2)]
    assert seen == [[(base + i) % 1000, draws[i]] for i in range(2)]


def test_worker_errors_come_back(T):
    D = T.utils.data
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 0"):
        list(D.DataLoader(Squares(), sampler=[1, 100], batch_size=2, num_workers=1))
