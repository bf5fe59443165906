"""What programs are printed for: how a nest becomes a kernel, a product a step, and which prelude kernels need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ..ir.program import DotStep, Kernel, KernelStep
from .cpp import SUPPORT
from .cpp_tiles import SUPPORT as TILE_SUPPORT
from .loops import Nest
from .prelude import cpp_prelude
from .printing import Printed, print_cpp
from .schedule import grain
from .triton import print_triton
from .triton_dot import print_product
from .triton_prelude import triton_prelude


@dataclass(frozen=True, slots=True)
class Target:
    """One language kernels are printed in."""

    name: str
    kernel: Callable[[Nest, dict[int, int]], Printed]
    product: Callable[[DotStep], tuple[Kernel, KernelStep] | None]  # None: the runtime has products itself
    prelude: Callable[[frozenset[tuple[str, str]]], str]
    half_products: bool = False  # whether products take float16 and bfloat16 as they are


def _cpp(nest: Nest, alias: dict[int, int]) -> Printed:
    return print_cpp(nest, grain(nest), alias)


@lru_cache(256)
def _cpp_prelude(verbs: frozenset[tuple[str, str]]) -> str:
    return cpp_prelude(set(verbs)) + SUPPORT + TILE_SUPPORT


@lru_cache(256)
def _triton_prelude(verbs: frozenset[tuple[str, str]]) -> str:
    return triton_prelude(frozenset(name for name, _ in verbs))


TARGETS = {
    "cpp": Target("cpp", _cpp, lambda step: None, _cpp_prelude),
    "triton": Target("triton", print_triton, print_product, _triton_prelude, half_products=True),
}
