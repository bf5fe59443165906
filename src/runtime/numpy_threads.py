"""NumPy's import, so that idle threads of its BLAS soon leave their cores to others.

OpenBLAS keeps a thread spinning for 26 ms after each product; eager functions that run on several threads of
ours between two products would share a core with it. The time can be set only while the library is loaded: when
a program imports NumPy first, or names a time itself, that stays.
"""

from __future__ import annotations

import os
import sys

_VARIABLE, _TIMEOUT = "OPENBLAS_THREAD_TIMEOUT", "20"  # 2^20 cycles: the time between two products of a model


def load() -> None:
    """Imports NumPy; the environment is afterwards as before."""
    if "numpy" in sys.modules or _VARIABLE in os.environ:
        return
    os.environ[_VARIABLE] = _TIMEOUT
    try:
        import numpy as _numpy  # noqa: F401
    finally:
        del os.environ[_VARIABLE]


load()
