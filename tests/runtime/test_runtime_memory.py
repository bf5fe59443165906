"""The caching allocator: alignment, reuse, lifetime, bounds, threads, fork."""

from __future__ import annotations

import gc
import os
import threading

import numpy as np
import pytest
from treadle.runtime import memory
from treadle.runtime.memory import alloc, empty, release_idle, size_class, stats

MB = 1 << 20


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 1000, 4097, 32 << 10, (32 << 10) + 1, MB, 9 * MB])
def test_blocks_are_aligned_and_long_enough(nbytes):
    block = alloc(nbytes)
    assert block.dtype == np.uint8 and block.nbytes >= nbytes
    assert block.address % 64 == 0 and block.address == block.ctypes.data
    block[:] = 255  # all of it is ours
    assert block.nbytes <= max(64, nbytes * 5 // 4 + 4096)


def test_size_classes_grow_and_waste_little():
    sizes = [size_class(nbytes) for nbytes in range(1, 200_000, 37)]
    assert sizes == sorted(sizes)
    assert all(size_class(size) == size for size in sizes)
    with pytest.raises(ValueError, match="-1"):
        alloc(-1)


@pytest.mark.parametrize("nbytes", [100, 100_000, 8 * MB])
def test_what_was_freed_is_given_out_again(nbytes):
    first = alloc(nbytes)
    address = first.address
    del first
    for _ in range(5):  # more than once: a finaliser runs once in an object's life
        again = alloc(nbytes)
        assert again.address == address
        other = alloc(nbytes)
        assert other.address != address
        del other
        del again


@pytest.mark.parametrize("shape", [(), (0,), (7, 3), (500, 700)])
def test_arrays_and_views_keep_their_block(shape):
    array = empty(shape, np.dtype("float64"))
    assert array.shape == shape and array.flags.c_contiguous and type(array) is np.ndarray
    array[...] = 3
    address = array.ctypes.data
    view = array.reshape(-1)[::-1].T.view(np.int64)
    del array
    others = [empty(shape, np.dtype("float64")) for _ in range(20)]
    for other in others:
        other[...] = 5
        assert other.ctypes.data != address
    assert (view.view(np.float64) == 3).all()
    del view, others, other


def test_views_and_copies_of_a_block_own_nothing():
    block = alloc(100_000)
    before = stats().in_use
    part, copy = block[10:20], block.copy()
    del part, copy
    assert stats().in_use == before


def test_a_cycle_is_freed_by_the_collector():
    gc.collect()  # what others left behind
    before = stats().in_use
    ring = [empty((MB,), np.dtype("float32"))]
    ring.append(ring)
    assert stats().in_use >= before + 4 * MB
    del ring
    gc.collect()
    assert stats().in_use == before


def test_counts():
    release_idle()
    start = stats()
    blocks = [alloc(MB) for _ in range(10)]
    now = stats()
    assert now.in_use - start.in_use == 10 * MB == now.held - start.held
    assert now.peak >= now.in_use and now.idle == now.held - now.in_use
    del blocks
    after = stats()
    assert after.in_use == start.in_use and after.held == now.held and after.peak == now.peak
    release_idle()
    assert stats().held == start.held


def test_what_lies_idle_is_bounded(monkeypatch):
    release_idle()
    monkeypatch.setattr(memory, "KEPT_AT_LEAST", 8 * MB)
    monkeypatch.setattr(memory._state, "peak", 0)
    blocks = [alloc(MB) for _ in range(64)]
    limit = stats().limit
    assert limit >= 16 * MB
    del blocks
    assert stats().idle - _small_idle() <= limit
    release_idle()


def _small_idle() -> int:
    return memory._state.slabs


def test_memory_that_is_not_there():
    with pytest.raises(MemoryError):
        alloc(1 << 60)
    alloc(100)  # and life goes on


def test_many_threads():
    errors = []

    def work(seed):
        random = np.random.default_rng(seed)
        kept = []
        for turn in range(400):
            block = alloc(int(random.integers(0, 200_000)))
            block[:8] = turn % 251
            kept.append((block, turn % 251))
            if len(kept) > 20:
                old, value = kept.pop(int(random.integers(0, 20)))
                if not (old[:8] == value).all():
                    errors.append(turn)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_forked_child_has_memory_of_its_own():
    arrays = [empty(shape, np.dtype("uint8")) for shape in ((100,), (100_000,), (5 * MB,))]
    for array in arrays:
        array[...] = 1
    child = os.fork()
    if child == 0:
        for array in arrays:
            array[...] = 2
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert all((array == 1).all() for array in arrays)
