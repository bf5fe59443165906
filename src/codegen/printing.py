"""The text of a kernel and what its launch needs, from a nest."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2s
from math import prod

from ..ir.program import Kernel
from .cpp import BLOCK, Printer
from .cpp_forms import FlatForm, InnerForm
from .cpp_rows import RowsForm
from .cpp_tiles import TILE, TileForm, tile_count, turned_accesses
from .loops import Expr, Nest

_FORMS = {"inner": InnerForm, "rows": RowsForm, "flat": FlatForm}


@dataclass(frozen=True, slots=True)
class Printed:
    """A kernel, its slots in the order of its pointers, its integer parameters, and how its range is cut."""

    kernel: Kernel
    slots: tuple[int, ...]
    sizes: tuple[int, ...]
    extent: int
    grain: int


def extent_of(nest: Nest) -> int:
    """How many units a kernel's range has: points, rows, or blocks of rows."""
    if nest.lanes == "flat":
        return nest.row_size
    if nest.lanes == "rows":
        return prod(v.extent for v in nest.rows[:-1]) * -(-nest.rows[-1].extent // BLOCK)
    return prod(v.extent for v in nest.rows)


def print_cpp(nest: Nest, grain: int, alias: dict[int, int]) -> Printed:
    """The C++ kernel of a nest; slots that `alias` maps to others are written over them."""
    form = TileForm if turned_accesses(nest) else _FORMS[nest.lanes]
    printer: Printer = form(nest, alias)
    extent = tile_count(nest) if form is TileForm else extent_of(nest)
    if form is TileForm:
        grain = -(-grain // TILE)
    _uniform(printer)
    printer.write()
    names = printer.names
    head = "\n".join("  " + line for line in names.declarations())
    body = f"{head}\n" + "\n".join(printer.lines) + "\n}\n"
    symbol = "k" + blake2s(body.encode(), digest_size=8).hexdigest()
    signature = f'extern "C" void {symbol}(void *const *p, const long *n, long begin, long end, long *err) {{\n'
    special = {"grain": grain, "extent": extent}
    sizes = tuple(special[v] if type(v) is str else v for v in names.sizes)
    kernel = Kernel(symbol, signature + body, frozenset(names.verbs))
    return Printed(kernel, tuple(names.pointers), sizes, extent, grain)


def _uniform(printer: Printer) -> None:
    """Values that no loop changes are computed first."""
    roots: list[Expr] = []
    for step in printer.nest.passes:
        roots += step.roots()
    seen: set[Expr] = set()
    stack = list(reversed(roots))
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if not e.vars and not e.folds:
            if e.kind != "const":
                printer.name(e)
        else:
            stack += reversed(printer._operands(e))
