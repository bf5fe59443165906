"""The Triton printer: a nest as the text of one kernel function, beside the C++ printer (cpp.py).

    @triton.jit
    def SYMBOL(b0, ..., err, n0: tl.constexpr, ..., X: tl.constexpr, R0: tl.constexpr, ...)

b: the step's buffers; err: two int64, a code and a value, where the kernel has checks; n: its integer parameters, known
at compile time since a program is compiled per shape; X and R: the sides of blocks. A launch runs
ceil(extent / grain) * columns programs.
"""

from __future__ import annotations

from hashlib import blake2s

from ..ir.program import Kernel, TritonMeta
from .loops import Nest
from .printing import Printed
from .triton_expr import ELEMENT
from .triton_form import Form
from .triton_scatter import ScatterForm
from .triton_tiles import tiles_of


def print_triton(nest: Nest, alias: dict[int, int]) -> Printed:
    """The Triton kernel of a nest; slots that `alias` maps to others are written over them."""
    tiles = tiles_of(nest)
    form = (ScatterForm if tiles.form == "scatter" else Form)(nest, alias, tiles)
    form.write()
    names = form.names
    blocks = {"X": tiles.x_block} | ({f"R{k}": n for k, n in enumerate(tiles.r_blocks)} if form.is_2d else {})
    special = {"grain": tiles.grain}
    sizes = tuple(special[v] if type(v) is str else v for v in names.sizes)
    body = "\n".join(form.lines) + "\n"
    parameters = [*names.pointers.values(), *(["err"] if form.has_checks else []),
                  *(f"{n}: tl.constexpr" for n in (*names.sizes.values(), *blocks))]
    combines = "".join(f"@triton.jit\ndef {name}{text}\n\n" for text, name in form.combines.items())
    meta = TritonMeta(tuple(ELEMENT[nest.slots[s].name] for s in names.pointers), form.has_checks, tiles.warps,
                      tiles.columns)
    kernel = make_kernel(combines, parameters, body, names.functions, meta)
    return Printed(kernel, tuple(names.pointers), (*sizes, *blocks.values()), tiles.rows, tiles.grain)


def make_kernel(before: str, parameters: list[str], body: str, functions: set[str], meta: TritonMeta) -> Kernel:
    """The kernel, named by its content."""
    content = repr((before, parameters, body, meta))
    symbol = "k" + blake2s(content.encode(), digest_size=8).hexdigest()
    text = f"{before}@triton.jit\ndef {symbol}({', '.join(parameters)}):\n{body}"
    return Kernel(symbol, text, frozenset((f, "") for f in functions), "triton", meta)
