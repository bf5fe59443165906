"""The command `treadle`: what it prints, where, and its exit codes."""

import os
import subprocess
import sys

import pytest

from treadle import cli
from treadle.runtime import doctor
from treadle.runtime.cache import open_cache
from treadle.runtime.doctor import BAD, OK, WARN, Finding


def run(*argv, **env):
    """`python -m treadle` in a process of its own."""
    return subprocess.run([sys.executable, "-m", "treadle", *argv], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **env}, check=False)


@pytest.fixture
def cache_dir(tmp_path, monkeypatch):
    place = tmp_path / "kernels"
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(place))
    return place


def test_no_command_prints_help_and_fails(capsys):
    assert cli.main([]) == 2
    out = capsys.readouterr().out
    assert "doctor" in out and "cache" in out


@pytest.mark.parametrize("argv", [["cache"], ["nonsense"], ["cache", "burn"]])
def test_wrong_use_is_said_on_stderr(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(argv)
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("usage: treadle")


def test_version():
    said = run("--version")
    assert said.returncode == 0 and said.stdout.startswith("treadle ") and said.stderr == ""


def test_cache_info_and_clear(cache_dir, capsys):
    open_cache().put_text("ab" * 32, ".cpp", "int x;\n" * 1000)
    assert cli.main(["cache", "info"]) == 0
    out = capsys.readouterr().out
    assert str(cache_dir) in out and "entries  1" in out and "7.0 kB" in out
    assert cli.main(["cache", "clear"]) == 0
    assert "removed 1 entries" in capsys.readouterr().out
    assert cli.main(["cache", "info"]) == 0
    assert "entries  0" in capsys.readouterr().out


def test_cache_that_cannot_be(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert cli.main(["cache", "info"]) == 0
    out = capsys.readouterr().out
    assert "cannot be made" in out and "TREADLE_CACHE_DIR" in out
    assert cli.main(["cache", "clear"]) == 1
    assert "cannot be made" in capsys.readouterr().err


def findings(*rows):
    return lambda: tuple(Finding(*row) for row in rows)


def test_doctor_prints_remedies_and_fails_where_something_is_bad(monkeypatch, capsys):
    rows = [("compiler", BAD, "none found\nnot even clang", "install g++"), ("cache", WARN, "off", "set it")]
    monkeypatch.setattr(doctor, "examine", findings(*rows))
    assert cli.main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[:2] == ["bad   compiler  none found", "                not even clang"]
    assert "install g++" in out and "set it" in out and out.endswith("to mend: compiler\n")


def test_doctor_is_content_with_warnings(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "examine", findings(("GPU", OK, "none"), ("cache", WARN, "off", "set it")))
    assert cli.main(["doctor"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_doctor_on_this_machine(tmp_path):
    said = run("doctor", TREADLE_CACHE_DIR=str(tmp_path / "c"))
    assert said.returncode in (0, 1) and said.stderr == ""
    for part in ("compiler", "processor", "threads", "cache", "GPU"):
        assert f"  {part}" in said.stdout


def test_doctor_without_a_compiler(tmp_path):
    said = run("doctor", TREADLE_CACHE_DIR=str(tmp_path / "c"), TREADLE_CXX=str(tmp_path / "no-such-compiler"))
    assert said.returncode == 1
    assert "bad   compiler" in said.stdout and "TREADLE_CXX" in said.stdout


def test_long_text_is_wrapped_but_paths_are_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    path = "/" + "x" * 90
    text = cli._wrapped(f"{'word ' * 30}{path}", "      ")
    assert path in text and max(len(i) for i in text.splitlines() if path not in i) <= 60
