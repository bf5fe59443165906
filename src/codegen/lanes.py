"""Which variable is vectorised: the one along which most memory lies side by side."""

from __future__ import annotations

from math import prod

from .index import Var, coefficient, variables
from .loops import Nest
from .space import WORK
from .stages import walk

SHORT = 32  # rows of fewer points are done side by side
LEAST = 8  # a shorter variable makes poor lanes


def arrange(nest: Nest, in_rows: bool) -> None:
    """Sets the nest's form and puts the vectorised variable last among its own.

    `in_rows` tells that the last dim of the kernel's shape is one of its rows.
    """
    if nest.lanes == "flat" or not nest.rows:
        return
    folds = [f for p in nest.passes for f in p.folds]
    if any(f.how != "along" for f in folds):
        _inner_last(nest, _best(nest, _inner(nest)))
        return
    if len(nest.passes[0].walks) > 1:
        nest.lanes = "rows" if in_rows else "inner"
        return
    inner = _inner(nest)
    default = nest.rows[-1] if in_rows or not inner else inner[-1]
    best = _best(nest, (*nest.rows, *inner), default)
    if not folds and not in_rows:
        _reshare(nest, best)
        return
    if best in inner and nest.row_size >= SHORT:
        _inner_last(nest, best)
    elif best in nest.rows or nest.rows[-1].extent >= SHORT // 2:
        nest.lanes = "rows"
        nest.rows = _last(nest.rows, best) if best in nest.rows else lane_last(nest.rows)


def lane_last(rows: tuple[Var, ...]) -> tuple[Var, ...]:
    """The rows with the variable that makes the best lanes last: not a short digit of the last dim."""
    if not rows:
        return (Var("one", 1),)
    if len(rows) > 1 and rows[-1].extent < LEAST and rows[-2].extent > rows[-1].extent:
        return (*rows[:-2], rows[-1], rows[-2])
    return rows


def _inner(nest: Nest) -> tuple[Var, ...]:
    """The inner variables of a nest of one segment."""
    walks = nest.passes[0].walks
    return walks[0].inner if len(walks) == 1 else ()


def _best(nest: Nest, among: tuple[Var, ...], default: Var | None = None) -> Var | None:
    """The variable along which most elements are accessed in unit steps; the default where it is as good."""
    places = {}
    for step in nest.passes:
        places |= {e.data: None for e in walk(step.roots()) if e.kind == "access"}
        stores = [s for w in step.walks for s in w.stores] + step.row_stores
        places |= {(s.slot, s.offset): None for s in stores}
    sizes = {p: prod(v.extent for v in variables(p[1]) if isinstance(v, Var)) for p in places}
    default = default or (among[-1] if among else None)

    def votes(v: Var) -> int:
        return sum(size for place, size in sizes.items() if coefficient(place[1], v) == 1)

    best, most = default, votes(default) if default and default.extent >= LEAST else 0
    for v in among:
        if v.extent >= LEAST and votes(v) > most:
            best, most = v, votes(v)
    return best


def _last(variables: tuple[Var, ...], var: Var) -> tuple[Var, ...]:
    return (*(v for v in variables if v is not var), var)


def _inner_last(nest: Nest, var: Var | None) -> None:
    if var is not None:
        for step in nest.passes:
            for w in step.walks:
                if var in w.inner:
                    w.inner = _last(w.inner, var)


def _reshare(nest: Nest, best: Var | None) -> None:
    """Pointwise: rows and inner variables anew, the best one innermost."""
    inner = _inner(nest)
    if best is None or best not in nest.rows:
        _inner_last(nest, best)
        return
    order = _last((*nest.rows, *inner), best)
    at = len(order) - 1
    while at > 1 and prod(v.extent for v in order[at:]) < WORK:
        at -= 1
    nest.rows = order[:at]
    for w in nest.passes[0].walks:
        w.inner = order[at:]
