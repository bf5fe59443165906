"""The state of the stream: PyTorch's bytes both ways, seeds, copies, threads."""

import copy
import pickle
import threading

import numpy as np
import pytest
from random_cases import SEEDS

from treadle.runtime import random as ours
from treadle.runtime.random import Generator, default_generator, next_seed

# The first words of mt19937 seeded with 5489, of the reference implementation's published output.
REFERENCE_5489 = [3499211612, 581869302, 3890346734, 3586334585, 545404204]


def test_words_are_mt19937():
    g = Generator().manual_seed(5489)
    assert g.words(5).tolist() == REFERENCE_5489
    g.manual_seed(5489)
    assert g.words(10000)[-1] == 4123659995  # the value the C++ standard fixes for std::mt19937


@pytest.mark.parametrize("sizes", [(1, 1, 622, 1, 624, 3), (5000, 1, 1025, 623)])
def test_word_order_does_not_depend_on_the_way_they_are_drawn(sizes):
    whole = Generator().manual_seed(3).words(sum(sizes))
    g = Generator().manual_seed(3)
    assert (np.concatenate([g.words(n) for n in sizes]) == whole).all()
    pairs = whole[: whole.size // 2 * 2].astype(np.uint64).reshape(-1, 2)
    wide = Generator().manual_seed(3).words64(len(pairs))
    assert (wide == (pairs[:, 0] << np.uint64(32) | pairs[:, 1])).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_state_round_trips_with_torch(seed):
    torch = pytest.importorskip("torch")
    theirs, g = torch.Generator().manual_seed(seed), Generator().manual_seed(seed)
    for used in (0, 1, 622, 1, 1, 5000):
        g.words(used)
        torch.empty(used, dtype=torch.int32).random_(generator=theirs)
        assert (g.get_state() == theirs.get_state().numpy()).all()
        other = Generator()
        other.set_state(theirs.get_state().numpy())
        assert other.initial_seed() == seed and (other.get_state() == g.get_state()).all()
        back = torch.Generator()
        back.set_state(torch.from_numpy(g.get_state()))
        assert torch.rand(3, generator=back).numpy().tolist() == (
            ours.rand((3,), np.float32, other).tolist()
        )


def test_cached_normals_travel_with_the_state():
    g = Generator().manual_seed(0)
    ours.randn((3,), np.float32, g)
    g.next_float_normal = np.float32(0.5)
    other = Generator()
    other.set_state(g.get_state())
    assert other.next_normal == g.next_normal is not None and other.next_float_normal == 0.5
    torch = pytest.importorskip("torch")
    theirs = torch.Generator()
    theirs.set_state(torch.from_numpy(g.get_state()))
    assert (theirs.get_state().numpy() == g.get_state()).all()
    assert torch.randn(1, generator=theirs).numpy() == ours.randn((1,), np.float32, g)
    assert g.next_normal is None and g.manual_seed(0).next_float_normal is None


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 + 1, 2**40 + 5, 2**64 - 1, -1, -(2**63)])
def test_seeds(seed):
    g = Generator()
    assert g.manual_seed(seed) is g
    assert g.initial_seed() == seed % 2**64
    assert (g.words(3) == Generator().manual_seed(seed % 2**32).words(3)).all()


def test_fresh_generators():
    assert Generator().initial_seed() == 67280421310721
    g = Generator()
    assert g.seed() == g.initial_seed() != Generator().seed()
    assert isinstance(default_generator, Generator)
    assert str(Generator("cuda:1").device) == "cuda:1"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda g: g.manual_seed(1.0), RuntimeError, "manual_seed expected a long, but got float"),
        (lambda g: g.manual_seed(True), RuntimeError, "manual_seed expected a long, but got bool"),
        (lambda g: g.manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
        (lambda g: g.manual_seed(-(2**63) - 1), ValueError, "Overflow when unpacking long long"),
        (lambda g: g.set_state([1]), TypeError, "RNG state must be a torch.ByteTensor"),
        (lambda g: g.set_state(np.zeros(5056)), TypeError, "RNG state must be a torch.ByteTensor"),
        (lambda g: g.set_state(np.zeros(5048, np.uint8)), RuntimeError,
         "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size"),
        (lambda g: g.set_state(np.zeros(5056, np.uint8)), RuntimeError, "Invalid mt19937 state"),
        (lambda g: Generator("meta"), RuntimeError, "META device type not an accelerator"),
        (lambda g: Generator("tpu"), RuntimeError, "Expected one of cpu"),
    ],
)  # fmt: skip
def test_errors_leave_the_state(call, error, words):
    g = Generator().manual_seed(4)
    g.words(3)
    before = g.get_state()
    with pytest.raises(error, match=words):
        call(g)
    assert (g.get_state() == before).all()


def test_impossible_position_is_refused():
    state = Generator().get_state()
    for left, following in ((0, 0), (625, 0), (100, 0), (1, 625), (300, 326)):
        record = state.copy()
        record[8:12] = np.array([left], np.int32).view(np.uint8)
        record[16:24] = np.array([following], np.uint64).view(np.uint8)
        with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
            Generator().set_state(record)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)),
                                   Generator.clone_state])  # fmt: skip
def test_clones_go_on_alone(clone):
    g = Generator().manual_seed(9)
    ours.randn((3,), np.float64, g)
    other = clone(g)
    assert (other.get_state() == g.get_state()).all()
    other.words(1)
    assert (other.get_state() != g.get_state()).any()


def test_next_seed_is_one_word():
    g, h = Generator().manual_seed(2), Generator().manual_seed(2)
    assert [next_seed(g), next_seed(g)] == h.words(2).tolist()
    assert type(next_seed(g)) is int


def test_threads_share_a_stream_without_loss():
    g = Generator().manual_seed(6)
    drawn = []
    threads = [
        threading.Thread(target=lambda: drawn.append(ours.rand((70000,), np.float32, g)))
        for _ in range(4)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    whole = ours.rand((4 * 70000,), np.float32, Generator().manual_seed(6)).reshape(4, -1)
    assert sorted(a.tobytes() for a in drawn) == sorted(a.tobytes() for a in whole)
