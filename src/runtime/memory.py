"""Memory for tensors: aligned blocks that are kept when freed and given out again.

    block = alloc(nbytes)                              # 64-byte aligned, at least nbytes long
    array = np.ndarray(shape, dtype, buffer=block)     # keeps the block; views of it do too
    block.address                                      # of its first byte

A block goes back when the last array over it dies. Fresh pages cost more than most kernels, so up to
a quarter of the peak in use (and at least 256 MB) is kept; blocks of 4 MB and more lie on huge pages.
The contents of a block are whatever was there before.
"""

import mmap
import os
import sys
import threading
from dataclasses import dataclass

import numpy as np

ALIGN = 64
SMALL = 32 << 10  # up to here blocks are cut from slabs, which are never given back
SLAB = 1 << 20
HUGE = 4 << 20
HUGE_PAGE = 2 << 20
KEPT_AT_LEAST = 256 << 20
KEPT_PART = 4  # a quarter of the peak

_Entry = tuple[memoryview, int]  # the memory and its address


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """Bytes: held from the system, in use now, most ever in use, and how many may lie idle."""

    held: int
    in_use: int
    peak: int
    limit: int

    @property
    def idle(self) -> int:
        """Bytes held that no array uses."""
        return self.held - self.in_use


class Block(np.ndarray):
    """A flat uint8 array over one block of memory; when it dies the memory is free again.

    Its finaliser runs once in its life, so the memory gets a new Block each time it is given out.
    """

    __slots__ = ("address", "entry", "home")

    address: int
    entry: _Entry
    home: "list[_Entry] | _LargeHome"

    def __del__(self) -> None:
        try:
            self.home.append(self.entry)
        except AttributeError:  # a view or copy of a Block, which owns nothing
            return


class _LargeHome:
    """The free blocks of one large size: a list that keeps count and a bound over all of them."""

    __slots__ = ("entries", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.entries: list[_Entry] = []

    def append(self, entry: _Entry) -> None:
        self.entries.append(entry)
        _state.idle += self.size
        if _state.idle > _state.limit():
            _shrink(_state.limit())

    def pop(self) -> _Entry:
        entry = self.entries.pop()
        _state.idle -= self.size
        in_use = _state.held - _state.idle
        if in_use > _state.peak:
            _state.peak = in_use
        return entry


class _State:
    """Counts and lists. Lists are atomic under threads; the counts of idle bytes may drift and are
    counted anew before anything is given back."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a finaliser may come while this thread holds it
        self.small: dict[int, list[_Entry]] = {}
        self.large: dict[int, _LargeHome] = {}
        self.held = 0  # of large blocks
        self.idle = 0  # of large blocks
        self.peak = 0
        self.slabs = 0  # bytes of all slabs
        self.slab: memoryview | None = None
        self.slab_address = 0
        self.slab_used = 0
        self.lost = 0  # the rests of full slabs

    def limit(self) -> int:
        return max(KEPT_AT_LEAST, self.peak // KEPT_PART)

    def count_idle(self) -> int:
        return sum(home.size * len(home.entries) for home in list(self.large.values()))


_state = _State()
_homes: dict[int, tuple[int, "list[_Entry] | _LargeHome"]] = {}  # by exact bytes asked for
_HOMES_LIMIT = 4096
_UINT8 = np.dtype(np.uint8)
_new = np.ndarray.__new__


def alloc(nbytes: int) -> Block:
    """Returns a block of at least `nbytes`, aligned to 64 bytes, with undefined contents.

    Raises MemoryError where the system has none left.

    >>> alloc(1000).address % 64
    0
    """
    found = _homes.get(nbytes) or _find_home(nbytes)
    size, home = found
    try:
        entry = home.pop()
    except IndexError:
        entry = _fresh(size, home)
    block = _new(Block, size, _UINT8, entry[0])
    block.entry = entry
    block.home = home
    block.address = entry[1]
    return block


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Returns an uninitialised C-contiguous array over a block of its own.

    >>> empty((2, 3), np.dtype("float32")).shape
    (2, 3)
    """
    count = dtype.itemsize
    for length in shape:
        count *= length
    return np.ndarray(shape, dtype, alloc(count))


def stats() -> MemoryStats:
    """Returns what is held, in use, and was in use at most.

    >>> stats().held >= stats().in_use
    True
    """
    free = sum(size * len(entries) for size, entries in list(_state.small.items()))
    uncut = SLAB - _state.slab_used if _state.slab is not None else 0
    small = _state.slabs - free - uncut - _state.lost
    in_use = _state.held - _state.count_idle() + small
    return MemoryStats(_state.held + _state.slabs, in_use, max(_state.peak, in_use), _state.limit())


def release_idle() -> None:
    """Gives all idle large blocks back to the system."""
    _shrink(0)


def size_class(nbytes: int) -> int:
    """Returns the block size that serves `nbytes`: four sizes to each doubling.

    >>> [size_class(n) for n in (0, 64, 65, 1000, 5000)]
    [64, 64, 128, 1024, 5120]
    """
    if nbytes <= ALIGN:
        return ALIGN
    step = max(ALIGN, 1 << ((nbytes - 1).bit_length() - 3))
    if nbytes > SMALL:
        step = max(step, mmap.PAGESIZE)
    return -(-nbytes // step) * step


def _renew_lock() -> None:  # a thread that held it did not come along into the forked child
    _state.lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


def _find_home(nbytes: int) -> tuple[int, "list[_Entry] | _LargeHome"]:
    if nbytes < 0:
        raise ValueError(f"alloc expected a size of 0 or more bytes, got {nbytes}")
    size = size_class(nbytes)
    if size <= SMALL:
        found = size, _state.small.setdefault(size, [])
    else:
        found = size, _state.large.setdefault(size, _LargeHome(size))
    if len(_homes) >= _HOMES_LIMIT:
        _homes.clear()
    _homes[nbytes] = found
    return found


def _fresh(size: int, home: "list[_Entry] | _LargeHome") -> _Entry:
    if isinstance(home, _LargeHome):
        return _fresh_large(size)
    with _state.lock:
        return _cut(size)


def _fresh_large(size: int) -> _Entry:
    try:
        entry = _map(size)
    except OSError:  # no more: give back what lies idle and ask once again
        release_idle()
        try:
            entry = _map(size)
        except OSError as error:
            raise MemoryError(f"alloc found no {size} bytes of memory: {error}") from error
    with _state.lock:
        _state.held += size
        _state.idle = _state.count_idle()
        _state.peak = max(_state.peak, _state.held - _state.idle)
    return entry


def _cut(size: int) -> _Entry:
    """Cuts a block from the current slab; the rest of a full slab is left."""
    if _state.slab is None or _state.slab_used + size > SLAB:
        _state.lost += SLAB - _state.slab_used if _state.slab is not None else 0
        _state.slab, _state.slab_address = _map(SLAB)
        _state.slabs += SLAB
        _state.slab_used = 0
    start = _state.slab_used
    _state.slab_used += size
    return _state.slab[start : start + size], _state.slab_address + start


def _map(size: int) -> _Entry:
    """Returns fresh zero pages, private to this process; the pages go when the view dies."""
    spare = HUGE_PAGE if size >= HUGE else 0
    if sys.platform == "win32":
        memory = mmap.mmap(-1, size + spare)
    else:  # the default is memory shared with forked children
        memory = mmap.mmap(-1, size + spare, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if spare and sys.platform == "linux":
        memory.madvise(mmap.MADV_HUGEPAGE)
    address = int(np.frombuffer(memory, np.uint8).__array_interface__["data"][0])
    start = -address % HUGE_PAGE if spare else 0
    return memoryview(memory)[start : start + size], address + start


def _shrink(limit: int) -> None:
    """Gives idle large blocks back, the largest first, until no more than `limit` lie idle."""
    with _state.lock:
        idle = _state.count_idle()
        for size in sorted(_state.large, reverse=True):
            entries = _state.large[size].entries
            while idle > limit:
                try:
                    entries.pop()
                except IndexError:
                    break
                idle -= size
                _state.held -= size
        _state.idle = idle
