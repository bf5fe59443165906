"""The disk cache under attack, under a limit, and where there is no place for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
import warnings
from pathlib import Path

import pytest
from runtime.native_cases import child, output
from treadle.runtime import cache as caches
from treadle.runtime.cache import Cache, cache_place, digest, trust
from treadle.runtime.errors import CacheWarning

KEY = digest("a", "b")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make files of other users")


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def cache(place):
    return Cache(place)


def test_keys_tell_the_bounds_of_their_parts():
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")


def test_what_was_put_is_read_back(cache):
    path = cache.put(KEY, ".so", b"machine code")
    assert cache.read(KEY, ".so") == b"machine code" == path.read_bytes()
    assert cache.get(KEY, ".so") == path
    assert cache.read(KEY, ".cpp") is None
    cache.put_text(KEY, ".json", "grün")
    assert cache.read_text(KEY, ".json") == "grün"
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("data", [b"", b"machine", b"machine codE", b"machine code and more"])
def test_a_damaged_entry_is_not_given_and_goes(cache, data):
    path = cache.put(KEY, ".so", b"machine code")
    path.write_bytes(data)
    assert cache.get(KEY, ".so") is None
    assert not path.exists()


def test_an_entry_without_its_sum_is_not_given(cache):
    path = cache.put(KEY, ".so", b"machine code")
    path.with_name(path.name + ".sum").unlink()
    assert cache.get(KEY, ".so") is None


def test_an_entry_that_is_a_link_is_not_given(cache, tmp_path):
    path = cache.put(KEY, ".so", b"machine code")
    twin = tmp_path / "twin"
    twin.write_bytes(b"machine code")
    path.unlink()
    path.symlink_to(twin)
    assert cache.get(KEY, ".so") is None


@as_root
def test_an_entry_of_another_user_is_not_given(cache):
    path = cache.put(KEY, ".so", b"machine code")
    os.chown(path, 12345, 12345)
    assert cache.get(KEY, ".so") is None


def test_the_oldest_use_goes_first_and_the_limit_holds(place):
    cache = Cache(place, limit=10_000)
    keys = [digest(str(number)) for number in range(20)]
    for age, key in enumerate(keys):
        path = cache.put(key, ".so", bytes(1000))
        os.utime(path, (age, age))
    cache.read(keys[0], ".so")  # used last
    assert cache.trim() == 12
    assert cache.info().bytes == 8_000
    assert cache.get(keys[0], ".so") is not None
    assert cache.get(keys[1], ".so") is None
    assert cache.get(keys[19], ".so") is not None
    assert cache.clear() == 8
    assert cache.info().entries == 0


def test_left_overs_of_killed_processes_go(cache, place):
    cache.put(KEY, ".so", b"x")
    with cache.workspace() as here, cache.lock([KEY]):
        left = [here / "unit0.cpp", place / "locks" / digest("old"), place / KEY[:2] / ".half"]
        for path in left:
            path.write_text("")
            os.utime(path, (0, 0))
        os.utime(here, (0, 0))
        cache.trim()
        assert not any(path.exists() for path in left)
    assert cache.get(KEY, ".so") is not None


def test_a_cache_removed_under_a_running_process_comes_back(cache, place):
    cache.put(KEY, ".so", b"x")
    shutil.rmtree(place)
    assert cache.get(KEY, ".so") is None
    with cache.lock([KEY]), cache.workspace():
        cache.put(KEY, ".so", b"x")
    assert cache.on_disk and place.stat().st_mode & 0o777 == 0o700
    assert cache.read(KEY, ".so") == b"x"


# --- which directory, and whether it can be trusted -----------------------------------------------


@pytest.mark.parametrize(
    ("named", "shared", "home", "want"),
    [
        ("/c/d", "/x", "/h", "/c/d"),
        ("", "/x", "/h", "/x/treadle"),
        (None, "relative", "/h", "/h/.cache/treadle"),
        (None, None, "/h", "/h/.cache/treadle"),
        (None, None, "relative", None),
    ],
)
def test_the_environment_names_the_place(monkeypatch, named, shared, home, want):
    names = ("TREADLE_CACHE_DIR", "XDG_CACHE_HOME", "HOME")
    for name, value in zip(names, (named, shared, home), strict=True):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert cache_place() == (None if want is None else Path(want))


def test_without_home_the_password_entry_serves(monkeypatch):
    for name in ("TREADLE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    place = cache_place()
    assert place is None or (place.is_absolute() and place.name == "treadle")


def test_a_missing_directory_is_made_private(tmp_path):
    place = tmp_path / "a" / "b" / "cache"
    assert trust(place) == ""
    assert place.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o755, 0o701])
def test_a_directory_open_to_others_is_refused(place, mode):
    place.chmod(mode)
    assert "0700" in trust(place)


def test_a_link_or_a_file_is_refused(place, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(place)
    assert "symbolic link" in trust(link)
    plain = tmp_path / "plain"
    plain.write_text("")
    assert "not a directory" in trust(plain)
    assert "cannot be made" in trust(plain / "below")


def test_a_directory_below_one_that_others_can_write_is_refused(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert "written by others" in trust(shared / "cache")
    shared.chmod(0o1777)  # sticky, as /tmp: others cannot rename what is ours
    assert trust(shared / "cache") == ""


@as_root
def test_a_directory_of_another_user_is_refused(place):
    os.chown(place, 12345, 12345)
    assert "belongs to user 12345" in trust(place)


def test_a_read_only_directory_is_refused(place, monkeypatch):
    def refuse(**_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(caches.tempfile, "mkstemp", refuse)
    assert "Read-only" in trust(place)


@as_root
def test_a_user_with_no_home_and_no_name_gets_memory_and_one_warning():
    code = """if True:
        import os, warnings
        from treadle.runtime.cache import open_cache
        os.setgid(54321); os.setuid(54321)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            first, second = open_cache(), open_cache()
            os.environ["XDG_CACHE_HOME"] = "/proc/nowhere"
            third = open_cache()
        path = first.put("ab" * 32, ".so", b"x")
        print(len(seen), first is second, first.on_disk, third.on_disk, path)
    """
    unset = {"TREADLE_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": None}
    said = output(child(code, **unset)).split()
    assert said[:4] == ["1", "True", "False", "False"]
    assert not Path(said[4]).exists()  # it goes with the process


def test_a_disk_that_fills_up_is_left_with_one_warning(cache, monkeypatch):
    monkeypatch.setattr(caches, "_warned", False)
    write, full = Cache._write, []

    def fail_once(self, *args):
        if not full:
            full.append(True)
            raise OSError(28, "No space left on device")
        return write(self, *args)

    monkeypatch.setattr(Cache, "_write", fail_once)
    with pytest.warns(CacheWarning, match="No space left"):
        cache.put(KEY, ".so", b"x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(KEY, ".cpp", b"y")
    assert not cache.on_disk
    assert cache.read(KEY, ".so") == b"x"


def test_a_forked_child_leaves_its_parents_temporary_files_alone():
    code = """if True:
        import os
        from treadle.runtime.cache import Cache
        cache = Cache(None)
        mine = cache.put("ab" * 32, ".so", b"x")
        child = os.fork()
        if child == 0:
            other = cache.put("ab" * 32, ".so", b"y")
            del cache
            os._exit(0 if other != mine else 1)
        _, status = os.waitpid(child, 0)
        print(status, mine.read_bytes())
    """
    assert output(child(code)) == "0 b'x'"


# --- locks ----------------------------------------------------------------------------------------


def test_one_thread_at_a_time_holds_a_key(cache):
    inside, seen = [0], []

    def enter():
        for _ in range(20):
            with cache.lock([KEY, digest("other")]):
                inside[0] += 1
                seen.append(inside[0])
                time.sleep(0.0002)
                inside[0] -= 1

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1] * 80
    assert not list((cache.root / "locks").iterdir())


def test_a_killed_holder_holds_nothing(place):
    code = """if True:
        import sys, time
        from pathlib import Path
        from treadle.runtime.cache import Cache
        with Cache(Path(sys.argv[1])).lock(["k"]):
            print("held", flush=True)
            time.sleep(60)
    """
    holder = child(code, str(place))
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    waited = []

    def wait():
        begun = time.monotonic()
        with Cache(place).lock(["k"]):
            waited.append(time.monotonic() - begun)

    waiter = threading.Thread(target=wait)
    waiter.start()
    time.sleep(0.2)
    assert not waited
    holder.kill()
    waiter.join(timeout=10)
    assert waited and waited[0] < 5
    holder.communicate()


def test_a_holder_that_stopped_is_waited_for_only_so_long(place, monkeypatch):
    from treadle.runtime import locks

    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    with Cache(place).lock(["k"]), Cache(place).lock(["k"]):
        pass


def test_no_compiler_inherits_a_lock(cache):
    with cache.lock([KEY]):
        sleeper = subprocess.Popen(["sleep", "30"])
    try:
        with cache.lock([KEY]):
            pass
    finally:
        sleeper.kill()
        sleeper.wait()
