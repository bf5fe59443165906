"""Every expression of tests/frontend/cases gives what PyTorch gives: values, dtypes, gradients, errors."""

from pathlib import Path

import pytest
import treadle

from oracle import all_cases, cases, differs, have_torch, run, stored, torch_says

FILES = sorted(p.stem for p in Path(__file__).with_name("cases").glob("*.txt"))
_stored: dict = {}


def expected(expression):
    if have_torch():
        return torch_says(expression)
    if not _stored:
        _stored.update(stored())
    return _stored[expression]


@pytest.mark.parametrize("expression", [e for name in FILES for e in cases(name)])
def test_as_torch(expression):
    said = differs(run(treadle, expression), expected(expression))
    assert not said, f"{expression}: {said}"


def test_every_case_has_a_stored_answer():
    assert not set(all_cases()) - set(stored())
