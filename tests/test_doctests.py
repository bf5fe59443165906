"""The examples in docstrings and documents run and give what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import treadle

ROOT = Path(__file__).parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = ["treadle", *sorted(m.name for m in pkgutil.walk_packages(treadle.__path__, "treadle.")
                              if not m.name.endswith("__main__"))]
DOCUMENTS = sorted(p for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")] if ">>>" in p.read_text())


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=FLAGS)
    assert not failed


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_document(path):
    failed, _ = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert not failed
