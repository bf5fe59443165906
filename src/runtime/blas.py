"""NumPy's bundled OpenBLAS as a rival of our own matrix product: where it is, and which to use.

Measured on two cores of a Zen 4 (float32, GFLOP/s, ours and OpenBLAS's): 1024x256x1024 210 and 207,
128x784x512 214 and 197, batch 64 of 128x128x32 212 and 112, 4x512x784 92 and 44. A product followed
by six small loops costs 1.00 to 1.04 times the sum of its parts with ours, 1.04 to 1.27 with OpenBLAS,
whose threads are not our pool's. With a neighbour on one core OpenBLAS waits for whole time slices, and
ours does not. So ours is always used, and OpenBLAS is here to be compared with.
"""

import ctypes
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np


@dataclass(frozen=True, slots=True)
class Blas:
    """A CBLAS with 64-bit integers: its file, and the addresses of its matrix products."""

    path: str
    sgemm: int
    dgemm: int

    def gemm(self, dtype: str) -> int:
        """Returns the address of the product of "float32" or "float64"."""
        return {"float32": self.sgemm, "float64": self.dgemm}[dtype]


@cache
def find_blas() -> Blas | None:
    """Returns NumPy's bundled OpenBLAS, or None where NumPy was built against another library.

    The library is loaded already by NumPy itself; this takes pointers into it.
    """
    for path in _candidates():
        try:
            library = ctypes.CDLL(str(path))
            sgemm, dgemm = library.scipy_cblas_sgemm64_, library.scipy_cblas_dgemm64_
        except (OSError, AttributeError):
            continue
        return Blas(str(path), _address(sgemm), _address(dgemm))
    return None


def _candidates() -> list[Path]:
    package = Path(np.__file__).parent
    if sys.platform == "darwin":
        return sorted((package / ".dylibs").glob("libscipy_openblas64_*"))
    return sorted((package.parent / "numpy.libs").glob("libscipy_openblas64_*"))


def _address(function: ctypes._CFuncPtr) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
