"""Generated text as triton functions: no files, one namespace per prelude."""

from __future__ import annotations

import linecache
from functools import lru_cache
from hashlib import blake2s
from typing import Any

import triton
import triton.language as tl
from triton.runtime.jit import JITFunction


@lru_cache(64)
def _namespace(text: str) -> dict[str, Any]:
    """What a prelude defines."""
    return _run(text, {"__name__": "treadle.generated", "triton": triton, "tl": tl}, "prelude")


@lru_cache(4096)
def load(prelude: str, text: str, symbol: str) -> JITFunction:
    """The kernel `symbol` that `text` defines, which may use what `prelude` defines."""
    return _run(text, dict(_namespace(prelude)), symbol)[symbol]


def _run(text: str, names: dict[str, Any], what: str) -> dict[str, Any]:
    """Runs text under a file name by which inspect finds its lines."""
    file = f"<treadle {what} {blake2s(text.encode(), digest_size=6).hexdigest()}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    return names
