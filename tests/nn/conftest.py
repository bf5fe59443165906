"""The same test code on treadle and, with --all, on PyTorch itself: what it expects is what PyTorch does."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture(params=["treadle", pytest.param("torch", marks=pytest.mark.torch)])
def T(request):
    """A module with torch's API."""
    return importlib.import_module(request.param)
