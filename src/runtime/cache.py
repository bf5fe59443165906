"""The disk cache: content-addressed, checked on read, bounded, private, safe among processes.

A directory that others can write is a way to run their code here, so one that is not wholly the
user's own is refused, and what is built then lives in a private temporary directory.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
import warnings
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import CacheWarning
from .locks import lock_files

FORMAT = "1"  # part of every key: raised when the meaning of an entry changes
LIMIT = 2 << 30
STALE = 3600.0  # seconds after which a left-over temporary file is nobody's
_SUM = ".sum"


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds: place, whether it outlives the process, why not, entries, bytes."""

    path: str
    on_disk: bool
    reason: str
    entries: int
    bytes: int
    limit: int


def digest(*parts: str) -> str:
    """Returns the key of a content: the sha256 of its parts, each with its length."""
    whole = hashlib.sha256(FORMAT.encode())
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        whole.update(b"%d:" % len(data))
        whole.update(data)
    return whole.hexdigest()


class Cache:
    """Entries named by key and suffix in one directory; files appear whole or not at all."""

    def __init__(self, root: Path | None, *, reason: str = "", limit: int = LIMIT) -> None:
        self.limit = limit
        self.reason = reason
        self.on_disk = root is not None
        self._root = root
        self._owner = os.getpid()
        self._puts = 0

    @property
    def root(self) -> Path:
        """The directory; a temporary one is made at need, and anew in a forked child."""
        if self._root is None or (not self.on_disk and self._owner != os.getpid()):
            self._owner = os.getpid()
            self._root = _private_directory(self)
        return self._root

    def path_of(self, key: str, suffix: str) -> Path:
        """Returns where an entry lies, be it there or not."""
        return self.root / key[:2] / f"{key[2:]}{suffix}"

    def get(self, key: str, suffix: str) -> Path | None:
        """Returns the path of a whole and unaltered entry, else None; a bad one is removed."""
        return None if self.read(key, suffix) is None else self.path_of(key, suffix)

    def read(self, key: str, suffix: str) -> bytes | None:
        """Returns the bytes of a whole and unaltered entry, else None; a bad one is removed."""
        path = self.path_of(key, suffix)
        try:
            data = _read_own(path)
            wanted = _read_own(path.with_name(path.name + _SUM))
        except OSError:
            return None
        if hashlib.sha256(data).hexdigest().encode() != wanted:
            self.drop(key, suffix)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the clock of "least recently used"
        return data

    def put(self, key: str, suffix: str, data: bytes) -> Path:
        """Returns the path of the entry now written; the last writer of equal content wins."""
        try:
            path = self._write(key, suffix, data)
        except OSError as error:
            if not self.on_disk:
                raise
            self._leave_disk(f"{self._root} cannot be written ({error.strerror or error})")
            path = self._write(key, suffix, data)
        self._puts += 1
        if self._puts % 64 == 1:
            self.trim()
        return path

    def _write(self, key: str, suffix: str, data: bytes) -> Path:
        path = self.path_of(key, suffix)
        self._folder(path.parent.name)
        sum_path = path.with_name(path.name + _SUM)
        with contextlib.suppress(FileNotFoundError):
            sum_path.unlink()  # no old sum beside new data
        _replace(path, data)
        _replace(sum_path, hashlib.sha256(data).hexdigest().encode())
        return path

    def _leave_disk(self, reason: str) -> None:
        self.on_disk, self._root, self.reason = False, None, reason
        _warn(reason)

    def read_text(self, key: str, suffix: str) -> str | None:
        """Returns the text of an entry, else None."""
        data = self.read(key, suffix)
        return None if data is None else data.decode("utf-8")

    def put_text(self, key: str, suffix: str, text: str) -> Path:
        """Returns the path of the text entry now written."""
        return self.put(key, suffix, text.encode("utf-8"))

    def drop(self, key: str, suffix: str) -> None:
        """Removes an entry, if it is there."""
        path = self.path_of(key, suffix)
        for victim in (path.with_name(path.name + _SUM), path):
            with contextlib.suppress(OSError):
                victim.unlink()

    @contextlib.contextmanager
    def lock(self, keys: list[str]) -> Iterator[None]:
        """Holds the keys against other processes and threads; a dead holder holds nothing."""
        directory = self.root / "locks"
        with contextlib.suppress(OSError):
            self._folder("locks")
        with lock_files([directory / key for key in sorted(set(keys))]):
            yield

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        """Gives a fresh private directory on the cache's disk, removed at the end."""
        try:
            place = self._make_workspace()
        except OSError as error:
            if not self.on_disk:
                raise
            self._leave_disk(f"{self._root} cannot be written ({error.strerror or error})")
            place = self._make_workspace()
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _make_workspace(self) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=self._folder("tmp")))

    def _folder(self, name: str) -> Path:
        folder = self.root / name
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except FileNotFoundError:  # someone removed the cache under a running process
            _make_private(self.root)
            folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def trim(self) -> int:
        """Returns how many entries were removed, oldest use first, to come under the limit."""
        _remove_stale(self.root)
        entries = sorted(_entries(self.root))
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return 0
        removed = 0
        for _, size, path in entries:
            if total <= self.limit * 4 // 5:
                break
            _unlink_entry(path)
            total -= size
            removed += 1
        return removed

    def info(self) -> CacheInfo:
        """Returns what the cache holds now."""
        entries = list(_entries(self.root))
        size = sum(size for _, size, _ in entries)
        return CacheInfo(str(self.root), self.on_disk, self.reason, len(entries), size, self.limit)

    def clear(self) -> int:
        """Returns how many entries were removed; libraries already loaded stay usable."""
        count = 0
        for _, _, path in list(_entries(self.root)):
            _unlink_entry(path)
            count += 1
        return count


def _entries(root: Path) -> Iterator[tuple[float, int, Path]]:
    """Yields (last use, bytes, path) of each entry."""
    for folder in root.glob("[0-9a-f][0-9a-f]"):
        for path in folder.iterdir():
            if path.name.endswith(_SUM) or path.name.startswith("."):
                continue
            with contextlib.suppress(OSError):
                facts = path.lstat()
                yield facts.st_mtime, facts.st_size, path


def _unlink_entry(path: Path) -> None:
    for victim in (path.with_name(path.name + _SUM), path):
        with contextlib.suppress(OSError):
            victim.unlink()


def _remove_stale(root: Path) -> None:
    """Removes what killed processes left behind: workspaces, half-written files, lock files."""
    before = time.time() - STALE
    left = [*root.glob("tmp/*"), *root.glob("locks/*"), *root.glob("[0-9a-f][0-9a-f]/.*")]
    for path in left:
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime > before:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def _read_own(path: Path) -> bytes:
    """Returns the bytes of a plain file of this user; a link or another's file is an OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
            raise PermissionError(f"{path} is not a plain file of this user")
        return file.read()


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _private_directory(cache: Cache) -> Path:
    path = Path(tempfile.mkdtemp(prefix="treadle-"))
    weakref.finalize(cache, _remove_if_mine, str(path), os.getpid())
    return path


def _remove_if_mine(path: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not take its parent's files away
        shutil.rmtree(path, ignore_errors=True)


_warned = False


def _warn(reason: str) -> None:
    global _warned
    if _warned:
        return
    _warned = True
    warnings.warn(
        f"the disk cache is off: {reason}. Kernels are kept for this process only; "
        "set TREADLE_CACHE_DIR to a directory of your own with mode 0700",
        CacheWarning,
        stacklevel=3,
    )


_caches: dict[tuple[str | None, ...], Cache] = {}


def open_cache() -> Cache:
    """Returns the cache that the environment names; a place not to be trusted warns once."""
    names = ("TREADLE_CACHE_DIR", "XDG_CACHE_HOME", "HOME")
    key = tuple(os.environ.get(name) for name in names)
    found = _caches.get(key)
    if found is None:
        found = _caches.setdefault(key, _open())
    return found


def _open() -> Cache:
    place = cache_place()
    if place is None:
        reason = "no home directory is known (TREADLE_CACHE_DIR, XDG_CACHE_HOME, HOME)"
    else:
        reason = trust(place)
    if reason:
        _warn(reason)
        return Cache(None, reason=reason)
    return Cache(place)


def cache_place() -> Path | None:
    """Returns where the environment wants the cache, or None where it names no place."""
    named = os.environ.get("TREADLE_CACHE_DIR")
    if named:
        return Path(os.path.abspath(named))
    shared = os.environ.get("XDG_CACHE_HOME")
    if shared and os.path.isabs(shared):  # a relative one is to be ignored, says its standard
        return Path(shared) / "treadle"
    home = os.path.expanduser("~")
    if not os.path.isabs(home):  # no HOME and no password entry
        return None
    return Path(home) / ".cache" / "treadle"


def trust(place: Path) -> str:
    """Returns why a directory cannot be trusted with code, or "" where it can; makes it at need."""
    try:
        _make_private(place)
        facts = place.lstat()
    except OSError as error:
        return f"{place} cannot be made ({error.strerror or error})"
    if stat.S_ISLNK(facts.st_mode):
        return f"{place} is a symbolic link"
    if not stat.S_ISDIR(facts.st_mode):
        return f"{place} is not a directory"
    if facts.st_uid != os.geteuid():
        return f"{place} belongs to user {facts.st_uid}, not to you ({os.geteuid()})"
    if stat.S_IMODE(facts.st_mode) & 0o077:
        return f"{place} has mode {stat.S_IMODE(facts.st_mode):04o}, not 0700 (chmod 700 {place})"
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        return f"{place} cannot be written"
    return _trust_parents(place) or _try_write(place)


def _make_private(place: Path) -> None:
    if os.path.lexists(place):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        place.mkdir(mode=0o700)


def _trust_parents(place: Path) -> str:
    """Returns which directory above could be swapped by another user, or ""."""
    for parent in Path(os.path.realpath(place)).parents:
        facts = parent.stat()
        if facts.st_uid not in (0, os.geteuid()):
            return f"{parent}, above the cache, belongs to user {facts.st_uid}"
        open_to = 0o002 if facts.st_gid == facts.st_uid else 0o022  # a private group is its user
        if facts.st_mode & open_to and not facts.st_mode & stat.S_ISVTX:
            return f"{parent}, above the cache, can be written by others"
    return ""


def _try_write(place: Path) -> str:
    """Returns why no file can be made, or "": a read-only mount passes every check before it."""
    try:
        handle, name = tempfile.mkstemp(prefix=".", dir=place)
    except OSError as error:
        return f"{place} cannot be written ({error.strerror or error})"
    os.close(handle)
    os.unlink(name)
    return ""
