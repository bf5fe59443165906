"""Machine code from the disk cache, or compiled and kept there.

The key is all that the code depends on: text, sizes, block and warp counts, the device, and triton's version.
"""

from __future__ import annotations

import json
from functools import lru_cache

import triton

from ..cache import digest, open_cache
from .compile import Binary, compile_source
from .driver import Source

CUBIN, FACTS = ".cubin", ".launch"


@lru_cache(4096)
def binary_of(source: Source, capability: int) -> Binary:
    """The machine code of a kernel for a compute capability; GpuError where triton refuses it."""
    key = digest("triton", triton.__version__, str(capability), source.prelude, source.kernel.text,
                 repr(source.kernel.meta), repr(source.sizes))
    store = open_cache()
    cubin, facts = store.read(key, CUBIN), store.read_text(key, FACTS)
    if cubin is not None and facts is not None:
        known = json.loads(facts)
        return Binary(cubin, known["name"], known["shared"], known["warps"], known["scratch"])
    made = compile_source(source, capability)
    store.put(key, CUBIN, made.cubin)
    facts = {"name": made.name, "shared": made.shared, "warps": made.warps, "scratch": made.scratch}
    store.put_text(key, FACTS, json.dumps(facts))
    return made
