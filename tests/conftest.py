"""Shared by all tests: a private cache, fixed seeds, golden files, and which tests run where.

    pytest                   everything that needs neither torch nor triton nor much time
    pytest --all             also tests marked torch, triton (where installed) and slow
    pytest --update-golden   writes the golden files anew; read the diff before committing it
"""

from __future__ import annotations

import os
import random
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).parent / "golden"
_OPTIONAL = ("torch", "triton")


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="also run tests marked torch, triton and slow")
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")


def pytest_collection_modifyitems(config, items):
    run_all = config.getoption("--all")
    for item in items:
        for name in (*_OPTIONAL, "slow"):
            if item.get_closest_marker(name) is None:
                continue
            if not run_all:
                item.add_marker(pytest.mark.skip(reason=f"{name}: runs with --all"))
            elif name in _OPTIONAL and find_spec(name) is None:
                item.add_marker(pytest.mark.skip(reason=f"{name} is not installed"))


@pytest.fixture(scope="session", autouse=True)
def _private_cache(tmp_path_factory):
    """Tests neither read nor fill the user's cache."""
    before = os.environ.get("TREADLE_CACHE_DIR")
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    os.environ["TREADLE_CACHE_DIR"] = str(folder)
    yield folder
    if before is None:
        del os.environ["TREADLE_CACHE_DIR"]
    else:
        os.environ["TREADLE_CACHE_DIR"] = before


@pytest.fixture(autouse=True)
def _seeds():
    """Each test starts from the same random numbers, in any order of tests."""
    random.seed(0)
    np.random.seed(0)


@pytest.fixture(scope="session", autouse=True)
def _verified_passes():
    """Every pass's result is verified while tests run."""
    from treadle.ir.passes import checks

    checks.each_pass = True
    yield
    checks.each_pass = False


class Golden:
    """Compares text with a file under tests/golden, or writes it with --update-golden."""

    def __init__(self, update: bool):
        self.update = update

    def check(self, name: str, text: str) -> None:
        path = GOLDEN / name
        text = text.rstrip() + "\n"
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"{path} is missing: run pytest --update-golden and read what it wrote"
        want = path.read_text(encoding="utf-8")
        assert text == want, f"differs from {path}; if the change is meant, run pytest --update-golden"


@pytest.fixture
def golden(request) -> Golden:
    """`golden.check("folder/name.ir", text)`."""
    return Golden(request.config.getoption("--update-golden"))
