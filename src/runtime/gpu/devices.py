"""Which device Triton programs run on: an NVIDIA GPU, or the interpreter where that is asked for."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.util import find_spec

from .driver import Driver
from .errors import GpuError

FAKE = "TREADLE_FAKE_CUDA"
REMEDY = (f"Install NVIDIA's driver, or set {FAKE}=1 to have kernels interpreted, which is slow but runs anywhere, or "
          "use backend='cpp'.")


def find_driver() -> Driver:
    """Returns the device of this process: the first GPU, else with TREADLE_FAKE_CUDA=1 the interpreter.

    Raises GpuError with a remedy where there is neither, or no triton.
    """
    if find_spec("triton") is None:
        raise GpuError("backend='triton' needs the package triton. Install it: pip install 'treadle[cuda]'")
    return _driver(os.environ.get(FAKE, "0") not in ("", "0"))


@lru_cache(2)
def _driver(may_fake: bool) -> Driver:
    from .cuda import CudaDriver, NoGpu

    try:
        return CudaDriver()
    except NoGpu as error:
        if not may_fake:
            raise GpuError(f"backend='triton': {error}. {REMEDY}") from None
    from .fake import FakeDriver

    return FakeDriver()
