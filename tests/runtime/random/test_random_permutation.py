"""Permutations: the loop, the runs of independent exchanges, and the variant for huge sizes."""

import numpy as np
import pytest
from random_cases import digest, to_numpy

from treadle.runtime.random import Generator, permutation, randperm

SIZES = (0, 1, 2, 3, 16, 17, 1000, 30011, 40009, 250007)
# digest of torch.randperm(n) from a generator seeded with n, PyTorch 2.13
STORED = {
    0: "e3b0c44298fc1c14", 1: "af5570f5a1810b7a", 2: "9d34149fbd1fe777", 3: "23e8d60b496f9e37",
    16: "17d36b0e6cbdaf09", 17: "fa048783b1a80cb8", 1000: "313436d4164242d9",
    30011: "19bd08ae0d2aad7f", 40009: "181adaf335381ab1", 250007: "f66c953b781f14f8",
}  # fmt: skip


def plain(n: int, g: Generator) -> list[int]:
    """The shuffle as it is defined."""
    words, order = g.words(max(n - 1, 0)).tolist(), list(range(n))
    for i, word in enumerate(words):
        j = i + word % (n - i)
        order[i], order[j] = order[j], order[i]
    return order


@pytest.mark.parametrize("n", SIZES)
def test_equals_torch(n):
    torch = pytest.importorskip("torch")
    g, theirs = Generator().manual_seed(n), torch.Generator().manual_seed(n)
    assert (randperm(n, np.int64, g) == torch.randperm(n, generator=theirs).numpy()).all()
    assert (g.get_state() == theirs.get_state().numpy()).all()


@pytest.mark.parametrize("n", STORED)
def test_equals_stored(n):
    assert digest(randperm(n, np.int64, Generator().manual_seed(n))) == STORED[n]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "float16", "bfloat16",
                                   "float32", "float64"])  # fmt: skip
def test_dtypes_equal_torch(dtype):
    torch = pytest.importorskip("torch")
    g, theirs = Generator().manual_seed(5), torch.Generator().manual_seed(5)
    from treadle.ir.dtype import by_name

    expected = to_numpy(torch.randperm(100, dtype=getattr(torch, dtype), generator=theirs))
    found = randperm(100, by_name(dtype), g)
    assert found.dtype == expected.dtype and (found == expected).all()


@pytest.mark.parametrize("n", [*range(8), 100, 999, 5000])
def test_runs_equal_the_plain_shuffle(n, monkeypatch):
    monkeypatch.setattr(permutation, "_LOOP", 0)
    for seed in range(3):
        expected = plain(n, Generator().manual_seed(seed))
        assert randperm(n, np.int64, Generator().manual_seed(seed)).tolist() == expected


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 1000, 70000])
def test_huge_variant_equals_its_definition(n, monkeypatch):
    monkeypatch.setattr(permutation, "LARGE", 0)
    g = Generator().manual_seed(n)
    order = list(range(n))
    for i, word in enumerate(Generator().manual_seed(n).words64(n).tolist()):
        j = word % (i + 1)
        order[i] = order[j]
        order[j] = i
    assert randperm(n, np.int64, g).tolist() == order
    rest = Generator().manual_seed(n)
    rest.words64(n)
    assert (g.get_state() == rest.get_state()).all()


@pytest.mark.parametrize(
    ("n", "dtype", "error", "words"),
    [
        (-1, "int64", RuntimeError, "Trying to create tensor with negative dimension -1"),
        (257, "uint8", RuntimeError, "value cannot be converted to type uint8_t without overflow"),
        (129, "int8", RuntimeError, "value cannot be converted to type int8_t without overflow"),
        (2050, "float16", RuntimeError, "n cannot be greater than 2049 for Half type"),
        (2, "bool", NotImplementedError, "\"randperm\" not implemented for 'Bool'"),
        (2, "complex64", NotImplementedError, "\"randperm\" not implemented for 'ComplexFloat'"),
    ],
)
def test_errors(n, dtype, error, words):
    with pytest.raises(error, match=words):
        randperm(n, np.dtype(dtype), Generator())
    if n > 0 and error is RuntimeError:
        assert randperm(n - 1, np.dtype(dtype), Generator()).size == n - 1
