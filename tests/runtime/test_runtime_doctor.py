"""What the doctor says of a whole machine, and of a broken one."""

from __future__ import annotations

import pytest
from runtime.native_cases import script
from treadle.runtime import doctor
from treadle.runtime.doctor import Finding, examine

PARTS = ["compiler", "support library", "processor", "threads", "cache", "BLAS", "GPU", "triton"]


def _by_part() -> dict[str, Finding]:
    return {finding.part: finding for finding in examine()}


def test_a_whole_machine():
    found = _by_part()
    assert list(found) == PARTS
    for part in ("compiler", "support library", "threads", "cache"):
        assert found[part].status in ("ok", "warn"), found[part]


def test_each_fault_has_a_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("TREADLE_CXX", script(tmp_path / "c++", "exit 1"))
    monkeypatch.setenv("TREADLE_NUM_THREADS", "many")
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("treadle.runtime.cache._warned", True)
    found = _by_part()
    assert found["compiler"].status == found["threads"].status == "bad"
    assert found["cache"].status == "warn"
    for part in ("compiler", "threads", "cache"):
        assert found[part].remedy


def test_no_compiler(monkeypatch):
    monkeypatch.setattr(doctor, "find_toolchain", lambda: None)
    assert "treadle[cc]" in _by_part()["compiler"].remedy


@pytest.mark.parametrize(
    ("names", "driver", "status"),
    [(["H200"], True, "ok"), (["H200"], False, "bad"), ([], True, "warn"), ([], False, "ok")],
)
def test_gpus(monkeypatch, names, driver, status):
    monkeypatch.setattr(doctor, "_nvidia_names", lambda: names)
    monkeypatch.setattr(doctor, "_loads", lambda _name: driver)
    assert _by_part()["GPU"].status == status


def test_it_outlives_what_it_finds(monkeypatch):
    def fail():
        raise RuntimeError("surprise")

    monkeypatch.setattr(doctor, "find_blas", fail)
    assert "surprise" in _by_part()["BLAS"].found
