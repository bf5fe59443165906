"""Products in Triton: one kernel for any strides and batches, a block of the result per program."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.program import DotStep, Kernel, KernelStep, TritonMeta
from .triton_expr import ELEMENT
from .triton_tiles import power

LEAST = 16  # a side of tl.dot
GROUP = 8  # rows of blocks done together, whose operands then stay in the cache
_LIMIT = (1 << 31) - (1 << 16)


@dataclass(frozen=True, slots=True)
class _Blocks:
    m: int
    n: int
    k: int
    warps: int


_MOST = {"float64": _Blocks(32, 32, 16, 4), "float32": _Blocks(64, 64, 32, 4)}
_HALF = _Blocks(128, 128, 64, 8)

_TEXT = """\
    pid = tl.program_id(0){wide}
    rows = (M + BM - 1) // BM
    columns = (N + BN - 1) // BN
    batch = pid // (rows * columns)
    pid = pid % (rows * columns)
    group = pid // ({group} * columns) * {group}
    height = tl.minimum(rows - group, {group})
    row = group + pid % ({group} * columns) % height
    column = pid % ({group} * columns) // height
    a = b0 + batch // BATCH * A0 + batch % BATCH * A1
    b = b1 + batch // BATCH * B0 + batch % BATCH * B1
    c = b2 + batch // BATCH * C0 + batch % BATCH * C1
    m = row * BM + tl.arange(0, BM)[:, None]
    n = column * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), {accumulator})
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        left = tl.load(a + m * AM + k[None, :] * AK{mask_a})
        right = tl.load(b + k[:, None] * BK_STRIDE + n * BN_STRIDE{mask_b})
        total = tl.dot(left, right, total, input_precision="ieee", out_dtype={accumulator})
    tl.store(c + m * CM + n, total{cast}{mask_c})
"""
_SIZES = ("M", "N", "K", "BATCH", "A0", "A1", "AM", "AK", "B0", "B1", "BK_STRIDE", "BN_STRIDE", "C0", "C1", "CM", "BM",
          "BN", "BK")


def print_product(step: DotStep) -> tuple[Kernel, KernelStep]:
    """The kernel of a product and the step that runs it, whose kernel number is not known yet (-1)."""
    from .triton import make_kernel

    most = _MOST.get(step.dtype, _HALF)
    block = _Blocks(*(max(LEAST, min(side, power(size))) for side, size in
                      zip((most.m, most.n, most.k), (step.m, step.n, step.k), strict=True)), most.warps)
    element = ELEMENT[step.dtype]
    body = _TEXT.format(
        group=GROUP, wide=".to(tl.int64)" if _is_wide(step) else "",
        accumulator="tl.float64" if step.dtype == "float64" else "tl.float32",
        cast=f".to(tl.{step.dtype})" if element in ("fp16", "bf16") else "",
        mask_a=_mask(("m", step.m, block.m), ("k[None, :]", step.k, block.k), other=True),
        mask_b=_mask(("k[:, None]", step.k, block.k), ("n", step.n, block.n), other=True),
        mask_c=_mask(("m", step.m, block.m), ("n", step.n, block.n)),
    )
    parameters = ["b0", "b1", "b2", *(f"{name}: tl.constexpr" for name in _SIZES)]
    kernel = make_kernel("", parameters, body, set(), TritonMeta((element,) * 3, False, block.warps))
    blocks = -(-step.m // block.m) * -(-step.n // block.n)
    sizes = (step.m, step.n, step.k, step.batch[1], *step.a_strides, *step.b_strides, *step.c_strides[:3],
             block.m, block.n, block.k)
    extent = step.batch[0] * step.batch[1] * blocks
    return kernel, KernelStep(-1, (step.a, step.b, step.c), sizes, extent, 1, (step.node,))


def _mask(*sides: tuple[str, int, int], other: bool = False) -> str:
    """The mask of a block, for the sides that do not end with a block."""
    parts = [f"({name} < {letter})" for (name, size, block) in sides if size % block
             for letter in ("M" if name == "m" else "N" if name == "n" else "K")]
    return f", mask={' & '.join(parts)}{', other=0.0' if other else ''}" if parts else ""


def _is_wide(step: DotStep) -> bool:
    """Whether some place needs more than 32 bits."""
    batch = step.batch
    sizes = ((step.a_strides, (*batch, step.m, step.k)), (step.b_strides, (*batch, step.k, step.n)),
             (step.c_strides, (*batch, step.m, step.n)))
    return any(sum(abs(s) * n for s, n in zip(strides, shape, strict=True)) > _LIMIT for strides, shape in sizes)
