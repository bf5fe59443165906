"""Advisory file locks that end with their holder: many processes, one build."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a POSIX system: every process builds for itself
    fcntl = None

PATIENCE = 120.0  # seconds to wait for a living holder that may have been stopped


@contextlib.contextmanager
def lock_files(paths: list[Path]) -> Iterator[None]:
    """Holds all paths, taken in the order given; equal orders everywhere make it free of deadlock.

    Where the file system knows no locks, or a holder outlasts `PATIENCE`, goes on without: entries
    are written whole, so the worst is work done twice.
    """
    if fcntl is None:
        yield
        return
    held: list[tuple[int, Path]] = []
    deadline = time.monotonic() + PATIENCE
    try:
        for path in paths:
            handle = _take(path, deadline)
            if handle is not None:
                held.append((handle, path))
        yield
    finally:
        for handle, path in reversed(held):
            _give_back(handle, path)


def _take(path: Path, deadline: float) -> int | None:
    """Returns a locked handle on the file that the path names now, or None."""
    pause = 0.001
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        locked = _try_lock(handle)
        if locked and _is_still(handle, path):
            return handle
        os.close(handle)
        if locked is None or time.monotonic() > deadline:
            return None
        if not locked:
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)


def _try_lock(handle: int) -> bool | None:
    """Tells whether the lock was taken; None where the file system knows no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_still(handle: int, path: Path) -> bool:
    """Tells whether the locked file is not one that its last holder has just removed."""
    mine = os.fstat(handle)
    try:
        named = os.lstat(path)
    except FileNotFoundError:
        return False
    return (mine.st_dev, mine.st_ino) == (named.st_dev, named.st_ino)


def _give_back(handle: int, path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()  # while still held: who opened it meanwhile sees that it is gone
    os.close(handle)
