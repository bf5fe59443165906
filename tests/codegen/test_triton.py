"""What C++ kernels must do, Triton kernels must: the same tests, interpreted, and each kernel compiled for sm_90."""

import pytest

from . import helpers, test_elementwise, test_programs, test_reduce, test_steps, triton_helpers
from .triton_helpers import launcher_of

pytestmark = pytest.mark.triton


@pytest.fixture(autouse=True)
def as_triton(monkeypatch):
    for module in (helpers, test_elementwise, test_programs, test_reduce, test_steps):
        monkeypatch.setattr(module, "compiled", launcher_of)


@pytest.mark.parametrize("row", test_elementwise.ROWS, ids=lambda r: r.name)
def test_elementwise_row(row):
    test_elementwise.test_row(row)


@pytest.mark.parametrize("row", test_reduce.ROWS, ids=lambda r: r.name)
def test_reduction_row(row):
    test_reduce.test_rows(row)


def test_many_kernels_were_compiled():
    assert triton_helpers.compiled_count() > 200
