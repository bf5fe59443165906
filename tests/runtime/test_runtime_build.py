"""From text to machine code: what is built, kept, shared, told of a failure, and stopped."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from runtime.native_cases import (
    HEAD,
    call_fill,
    child,
    counting_compiler,
    fill_text,
    output,
    run_steps,
    script,
)
from treadle.runtime import build as builds
from treadle.runtime import compiler, toolchain
from treadle.runtime.build import build
from treadle.runtime.errors import BrokenCompilerError, BuildError, NoCompilerError
from treadle.runtime.support import core
from treadle.runtime.toolchain import find_toolchain


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache of this test alone; the support library is not in it."""
    core()
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def forgetful(monkeypatch):
    """Makes the process forget what it has loaded."""

    def forget():
        monkeypatch.setattr(builds, "_loaded", {})
        monkeypatch.setattr(builds, "_addresses", {})

    forget()
    return forget


@pytest.fixture
def no_compiling(monkeypatch):
    """From its call on, starting a compiler fails the test."""

    def refuse(*_args, **_named):
        raise AssertionError("a compiler was started")

    return lambda: monkeypatch.setattr(builds, "compile_units", refuse)


def test_kernels_are_built_once_and_run(own_cache, forgetful, no_compiling):
    kernels = [(f"fill{value}", fill_text(f"fill{value}", value)) for value in range(5)]
    for value, built in enumerate(build(kernels)):
        assert built.error is None
        assert call_fill(built.address).tolist() == [value] * 5
    assert len(list(own_cache.rglob("*.so"))) == 2  # five kernels, two units
    no_compiling()
    assert build(kernels) == build(kernels[::-1])[::-1]
    forgetful()
    assert call_fill(build(kernels)[3].address).tolist() == [3] * 5


def test_no_kernels_and_twice_the_same():
    assert build([]) == ()
    first, second = build([("fill8", fill_text("fill8", 8))] * 2)
    assert first == second and first.address


def test_equal_names_of_kernels_and_helpers_do_not_meet():
    texts = [
        f'static int help() {{ return {value}; }}\nextern "C" void twin{HEAD} {{\n'
        f"    for (long i = begin; i < end; i++) ((float *)p[0])[i] = help() + scale();\n}}"
        for value in (1, 2, 3)
    ]
    prelude = "static inline int scale() { return 10; }"
    made = build([("twin", text) for text in texts], prelude=prelude)
    assert [call_fill(built.address)[0] for built in made] == [11, 12, 13]
    other = build([("twin", texts[0])], prelude=prelude.replace("10", "20"))
    assert call_fill(other[0].address)[0] == 21


def test_flags_are_part_of_the_key():
    text = fill_text("flagged", 1).replace("= 1;", "= VALUE;")
    made = [build([("flagged", text)], flags=[f"-DVALUE={value}"])[0] for value in (4, 5)]
    assert [call_fill(built.address)[0] for built in made] == [4, 5]


def test_floats_keep_their_meaning():
    text = f"""extern "C" void exact{HEAD} {{
        double *x = (double *)p[0];
        x[0] = x[0] * x[0] - x[1] * x[1];  // no fused multiply-add: exactly zero
        x[2] = 0.0 * x[2] - x[2];          // -0.0 and NaN stay what they are
    }}"""
    import numpy as np

    x = np.array([0.1, 0.1, np.inf])
    run_steps([_step(build([("exact", text)])[0].address)], x)
    assert x[0] == 0.0 and np.isnan(x[2])


def _step(address):
    from treadle.runtime.plan import KernelStep, Ref

    return KernelStep(address, (Ref(0),), (), 1, 1)


def test_progress_goes_from_none_to_all(own_cache):
    seen = []
    kernels = [(f"step{value}", fill_text(f"step{value}", value)) for value in range(6)]
    build(kernels, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 6) and seen[-1] == (6, 6) and seen == sorted(seen)
    build(kernels, progress=lambda *_: pytest.fail("nothing was left to build"))


def test_a_bad_kernel_does_not_take_the_others_with_it(own_cache):
    good = [(f"good{value}", fill_text(f"good{value}", value)) for value in range(4)]
    bad = ("bad", fill_text("bad", 0).replace("out[i]", "nonsense[i]"))
    made = build([*good[:2], bad, *good[2:]])
    assert [built.error is None for built in made] == [True, True, False, True, True]
    assert call_fill(made[4].address)[0] == 3
    error = made[2].error
    assert isinstance(error, BuildError) and made[2].address == 0
    assert "nonsense" in str(error) and error.source in str(error) and error.log in str(error)
    assert "nonsense" in Path(error.source).read_text()
    assert "nonsense" in Path(error.log).read_text()


def test_without_a_disk_the_error_holds_the_text(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("treadle.runtime.cache._warned", True)
    bad = fill_text("bad", 0).replace("out[i]", "nonsense[i]")
    error = build([("bad", bad)])[0].error
    assert bad in str(error)
    good = build([("memory", fill_text("memory", 6))])[0]
    assert call_fill(good.address)[0] == 6


@pytest.mark.parametrize("suffix", [".so", ".json", ".so.sum"])
@pytest.mark.parametrize("how", ["truncate", "alter", "link", "remove"])
def test_a_damaged_cache_is_built_anew(own_cache, forgetful, tmp_path, suffix, how):
    kernel = ("sound", fill_text("sound", 9))
    build([kernel])
    path = next(own_cache.rglob(f"*{suffix}"))
    data = path.read_bytes()
    path.unlink()  # the loaded library keeps its bytes: only the name is attacked
    if how == "truncate":
        path.write_bytes(data[: len(data) // 2])
    elif how == "alter":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif how == "link":
        (tmp_path / "evil").write_bytes(data)
        path.symlink_to(tmp_path / "evil")
    forgetful()
    assert call_fill(build([kernel])[0].address)[0] == 9


def test_a_library_that_lacks_the_kernel_is_built_anew(own_cache, forgetful):
    kernel, other = ("wanted", fill_text("wanted", 1)), ("other", fill_text("other", 2))
    build([kernel])
    entry = next(own_cache.rglob("*.json"))
    build([other])
    wrong = next(path for path in own_cache.rglob("*.json") if path != entry)
    for ending in ("", ".sum"):
        entry.with_name(entry.name + ending).write_bytes(wrong.with_name(wrong.name + ending).read_bytes())
    forgetful()
    assert call_fill(build([kernel])[0].address)[0] == 1


def test_libraries_are_built_side_by_side(own_cache, no_compiling):
    texts = [f'extern "C" int number() {{ return {value}; }}' for value in (1, 2)]
    libraries = [builds.Library(text) for text in texts]
    paths = builds.compile_libraries(libraries)
    assert [builds.load_library(path).number() for path in paths] == [1, 2]
    bad = builds.Library("nonsense")
    with pytest.raises(BuildError, match="nonsense"):
        builds.compile_libraries([*libraries, bad])
    no_compiling()
    assert builds.compile_libraries(libraries) == paths


def test_where_nothing_may_be_executed_a_file_in_memory_serves(own_cache, forgetful, monkeypatch):
    load, refused = builds.ctypes.CDLL, []

    def refuse(path, *args, **named):
        if str(path).startswith(str(own_cache)):
            refused.append(path)
            raise OSError("failed to map segment from shared object")
        return load(path, *args, **named)

    monkeypatch.setattr(builds.ctypes, "CDLL", refuse)
    made = build([("moved", fill_text("moved", 4))])
    assert refused and call_fill(made[0].address)[0] == 4


# --- many processes, and being stopped ------------------------------------------------------------

BUILD_ONE = """if True:
    import sys
    sys.path.insert(0, sys.argv[1])
    from runtime.native_cases import call_fill, fill_text
    from treadle.runtime.build import build
    names = [f"shared{value}" for value in range(4)]
    made = build([(name, fill_text(name, 3)) for name in names])
    print(int(sum(call_fill(built.address)[0] for built in made)))
"""
HERE = str(Path(__file__).parent.parent)


def test_eight_processes_compile_once(own_cache, tmp_path):
    log = tmp_path / "log"
    compiler_path = counting_compiler(tmp_path, log)
    children = [child(BUILD_ONE, HERE, TREADLE_CXX=compiler_path) for _ in range(8)]
    assert [output(process) for process in children] == ["12"] * 8
    core_and_kernels = 1 + 2  # the support library, and two units of two kernels
    assert len(log.read_text().split()) == core_and_kernels


def test_ctrl_c_kills_the_compilers_and_leaves_the_cache_sound(own_cache, tmp_path):
    pids = tmp_path / "pids"
    body = f'[ "$1" = --version ] && exec g++ --version\nsleep 60 &\necho $! >> {pids}\nwait'
    process = child(BUILD_ONE, HERE, TREADLE_CXX=script(tmp_path / "slow-c++", body))
    _wait_for(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert time.monotonic() - begun < 5
    assert "KeyboardInterrupt" in errors and process.returncode != 0
    _wait_for(lambda: not any(map(_is_alive, pids.read_text().split())))
    assert list((own_cache / "tmp").iterdir()) == []
    assert list((own_cache / "locks").iterdir()) == []
    assert output(child(BUILD_ONE, HERE, TREADLE_CXX=None)) == "12"


def _wait_for(condition, limit: float = 20.0):
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_alive(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


# --- compilers that are missing or broken ----------------------------------------------------------


def test_no_compiler_at_all(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("TREADLE_CXX", raising=False)
    monkeypatch.setattr(toolchain.util, "find_spec", lambda _name: None)
    assert find_toolchain() is None
    with pytest.raises(NoCompilerError, match="treadle\\[cc\\]"):
        build([("fill", fill_text("fill", 1))])


@pytest.mark.parametrize("body", ["exit 1", "kill -SEGV $$", "exit 0", "sleep 60"])
def test_a_broken_compiler_is_found_out(own_cache, tmp_path, monkeypatch, body):
    monkeypatch.setattr(toolchain, "VERSION_LIMIT", 0.2)
    monkeypatch.setattr(compiler, "LIMIT_UNKNOWN", 0.2)
    monkeypatch.setenv("TREADLE_CXX", script(tmp_path / "broken-c++", body))
    kernels = [(f"k{value}", fill_text(f"k{value}", 1)) for value in range(4)]
    with pytest.raises(BrokenCompilerError, match="TREADLE_CXX") as first:
        build(kernels)
    assert Path(first.value.source).exists() and Path(first.value.log).exists()
    begun = time.monotonic()
    with pytest.raises(BrokenCompilerError):  # found out once: not tried again
        build(kernels)
    assert time.monotonic() - begun < 0.1


def test_a_compiler_that_is_not_there(own_cache, monkeypatch):
    monkeypatch.setenv("TREADLE_CXX", "/nowhere/c++ -v")
    with pytest.raises(BrokenCompilerError, match="/nowhere/c\\+\\+"):
        build([("fill", fill_text("fill", 1))])


def test_a_unit_past_its_limit_is_stopped(own_cache, tmp_path, monkeypatch):
    body = "for word; do case $word in *.cpp) grep -q endless $word && sleep 60;; esac; done"
    monkeypatch.setenv("TREADLE_CXX", script(tmp_path / "stuck-c++", f'{body}\nexec g++ "$@"'))
    monkeypatch.setattr(compiler, "LIMIT", 1.0)
    made = build([("endless", fill_text("endless", 1)), ("quick", fill_text("quick", 2))])
    assert "time limit" in Path(made[0].error.log).read_text()
    assert call_fill(made[1].address)[0] == 2


def test_the_toolchain_knows_itself():
    found = find_toolchain()
    assert found is not None and found.version and found.isa == toolchain.isa()
    assert toolchain.simd_level() in ("avx512", "avx2", "neon", "base")
    assert os.access(found.argv[0], os.X_OK)
