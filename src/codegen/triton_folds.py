"""Reductions of blocks in a Triton kernel: the functions that combine states, accumulators, masked elements."""

from __future__ import annotations

from .loops import Expr, Fold
from .triton_blocks import Blocks
from .triton_expr import typed


class Folds(Blocks):
    """Writes reductions; `combines` are the functions they reduce by."""

    def __init__(self, nest, alias, tiles):
        super().__init__(nest, alias, tiles)
        self.combines: dict[str, str] = {}  # text -> name

    def combine(self, fold: Fold) -> str:
        """The name of the function that combines two states of a fold."""
        kept = self.lines, self.scopes, self.depth, self.count
        a, b = ([f"{side}{k}" for k in range(len(fold.dtypes))] for side in "ab")
        self.lines, self.depth, self.count = [], 1, 0
        self.scopes = [_states(fold, a, b)]
        out = [self.names.alone(e, self.name) for e in fold.combine]
        lines = [f"({', '.join(a + b)}):", *self.lines, f"    return {', '.join(out)}"]
        self.lines, self.scopes, self.depth, self.count = kept
        return self.combines.setdefault("\n".join(lines) + "\n", f"combine{len(self.combines)}")

    def combined(self, fold: Fold, a: list[str], b: list[str]) -> list[str]:
        """Names of the state made of two."""
        out = [self.fresh("s") for _ in a]
        self.put(f"{', '.join(out)} = {self.combine(fold)}({', '.join(a + b)})")
        return out

    def reduced(self, fold: Fold, values: list[str], axis: int | None) -> list[str]:
        """Names of the states left when an axis of blocks is reduced (None: all of them, to a scalar)."""
        out = [self.fresh("s") for _ in values]
        given = values[0] if len(values) == 1 else f"({', '.join(values)})"
        keep = "" if axis is None else ", keep_dims=True"
        self.put(f"{', '.join(out)} = tl.reduce({given}, {axis}, {self.combine(fold)}{keep})")
        return out

    def blocks(self, fold: Fold, element: tuple[Expr, ...], shape: str, dims: str) -> list[str]:
        """The element as whole blocks, the identity in lanes that are off."""
        out = []
        mask = self.mask(dims)
        for e, d, start in zip(element, fold.dtypes, fold.identity, strict=True):
            text = self.names.alone(e, self.name)
            if self.dims(e) != frozenset(dims):
                text = f"tl.broadcast_to({text}, {shape})"
            name = self.fresh("s")
            self.put(f"{name} = {f'tl.where({mask}, {text}, {typed(start, d)})' if mask else text}")
            out.append(name)
        return out

    def accumulators(self, fold: Fold, shape: str) -> list[str]:
        """Blocks of a fold's identity."""
        out = []
        for d, start in zip(fold.dtypes, fold.identity, strict=True):
            name = self.fresh("a")
            self.put(f"{name} = tl.broadcast_to({typed(start, d)}, {shape})")
            out.append(name)
        return out

    def accumulate(self, fold: Fold, into: list[str], values: list[str]) -> None:
        """into = combine(into, values), for blocks of one shape."""
        names = ", ".join(into)
        self.put(f"{names} = {self.combine(fold)}({', '.join(into + values)})")


def _states(fold: Fold, a: list[str], b: list[str]) -> dict[Expr, str]:
    """The names of a combine function's parameters by the exprs that stand for them."""
    found: dict[Expr, str] = {}
    stack = list(fold.combine)
    while stack:
        e = stack.pop()
        if e.kind == "state":
            side, k = e.data
            found[e] = (a if side == "a" else b)[k]
        stack += e.args
    return found
