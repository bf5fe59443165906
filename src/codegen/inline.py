"""Evaluates graph nodes at an index: movement becomes index arithmetic, elementwise ops become exprs.

`Inliner.at(node, index)` is the expr of one element. A node that has memory (or will have) is a load;
what is not realized is inlined, whatever its kind.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.dtype import DType, bool_, int64
from ..ir.graph import Node
from ..ir.op import Kind
from ..ir.ops.gather import At, range_message
from ..ir.scalar import COMPARE, Scalar
from ..ir.type import contiguous_strides
from .index import Ix, Read, flatten, held, index_of
from .loops import Expr, Table, constant
from .scatter import places_of, read_scatter, source_index

_COMPARE = frozenset(COMPARE)
_BOUNDS = {"ge": (0, None), "gt": (1, None), "lt": (None, 0), "le": (None, 1), "eq": (0, 1), "ne": (0, 1)}
_HAS_ZERO = frozenset(["floordiv", "mod", "fmod", "div"])


class Emitter(Scalar):
    """The scalar protocol over exprs; numbers take the dtype of the other operands."""

    def __init__(self, table: Table, check_zero):
        self.table = table
        self.check_zero = check_zero

    def verb(self, name: str, args: tuple) -> Expr:
        like = _like(name, args)
        exprs = tuple(a if type(a) is Expr else constant(self.table, a, bool_ if i == 0 and name == "select"
                                                         else like) for i, a in enumerate(args))
        if name in _HAS_ZERO and like.kind in "uib":
            self.check_zero(exprs[1])
        if name == "select" and exprs[0].kind == "const":
            return exprs[1] if exprs[0].data.value else exprs[2]
        if name in _COMPARE and like is int64:
            decided = self._compare(name, *exprs)
            if decided is not None:
                return decided
        dtype = bool_ if name in _COMPARE else like
        return self.table.make("call", dtype, name, exprs)

    def _compare(self, name: str, a: Expr, b: Expr) -> Expr | None:
        """A comparison of indices as a bound on their difference, which loops can decide or cut at."""
        if {a.kind, b.kind} not in ({"index"}, {"index", "const"}):
            return None
        ix = (a.data if a.kind == "index" else a.data.value) - (b.data if b.kind == "index" else b.data.value)
        low, high = _BOUNDS[name]
        inside = within(self.table, ix, low, high)
        return self.table.make("call", bool_, "not_", (inside,)) if name == "ne" else inside

    def const(self, value, like) -> Expr:
        return constant(self.table, value, like.dtype)

    def constant(self, value, dtype: DType) -> Expr:
        return constant(self.table, value, dtype)

    def index(self, index, dtype: DType) -> Expr:
        """An index as a number; floats convert from int64."""
        if type(index) is int:
            return constant(self.table, index, dtype)
        expr = self.table.make("index", int64, index, (), (index,))
        return self.convert(expr, dtype)

    def convert(self, x, dtype: DType) -> Expr:
        if type(x) is not Expr:
            return constant(self.table, x, dtype)
        if x.dtype is dtype:
            return x
        if x.kind == "const" and x.dtype.itemsize > 2 and dtype.itemsize > 2 and dtype.kind == x.dtype.kind == "f":
            return constant(self.table, _rounded(x.data.value, x.dtype), dtype)
        return self.table.make("call", dtype, "convert", (x,))

    def philox(self, seed: Expr, place: Expr, dtype: DType) -> Expr:
        """A uniform draw of this dtype at a place of the seed's sequence."""
        return self.table.make("call", dtype, "philox", (seed, place))

    def dtype(self, x) -> DType | None:
        return x.dtype if type(x) is Expr else None

    def value(self, x):
        """The Python number of a constant, or None."""
        if type(x) is not Expr:
            return x
        return x.data.value if x.kind == "const" else None


def within(table: Table, ix: Ix | int, low: int | None, high: int | None) -> Expr:
    """Whether low <= ix < high (None: no bound), as a constant where the ranges of variables decide it."""
    lo, hi = (ix, ix) if type(ix) is int else (ix.lo, ix.hi)
    if low is not None and hi < low or high is not None and lo >= high:
        return constant(table, False, bool_)
    low = None if low is None or lo >= low else low
    high = None if high is None or hi < high else high
    if low is None and high is None:
        return constant(table, True, bool_)
    return table.make("within", bool_, (ix, low, high), (), (ix,))


def _rounded(value: float, dtype: DType) -> float:
    return float(dtype.np.type(value))


def _like(name: str, args: tuple) -> DType:
    """The dtype of a verb's operands: that of its first expr (a select's condition aside)."""
    for a in args[1:] if name == "select" else args:
        if type(a) is Expr:
            return a.dtype
    raise TypeError(f"the verb {name} needs an expr among its operands, got {args}")


@dataclass(frozen=True, slots=True)
class Need:
    """A check: an error of type `error` with `message` about `value` where `bad` holds."""

    bad: Expr
    value: Expr
    node: Node
    message: str
    error: str


class Inliner:
    """Exprs of nodes at indices; `is_realized` tells which nodes are loaded. One per stage."""

    def __init__(self, table: Table, is_realized):
        self.table, self.is_realized = table, is_realized
        self.made: dict[tuple, Expr] = {}
        self.checks: list[Need] = []  # what the exprs made so far rely on
        self.emitter = Emitter(table, self._check_zero)
        self.mask: Expr | None = None
        self.node: Node | None = None

    def at(self, node: Node, index: tuple, mask: Expr | None = None) -> Expr:
        key = (node, index, mask)
        found = self.made.get(key)
        if found is None:
            for n in self._chain(node, index, mask):
                self.made[n, index, mask] = self._evaluate(n, index, mask)
            found = self.made[key]
        return found

    def _chain(self, node: Node, index: tuple, mask: Expr | None) -> list[Node]:
        """The node after the elementwise operands it needs at its own index: long chains are not recursed into."""
        order: dict[Node, None] = {}
        stack = [(node, False)]
        while stack:
            n, done = stack.pop()
            if done:
                order[n] = None
            elif n not in order and (n, index, mask) not in self.made:
                stack.append((n, True))
                if not self.is_realized(n) and n.target.kind is Kind.ELEMENTWISE:
                    stack += [(a, False) for a in reversed(n.args) if type(a) is Node]
        return list(order)

    def define(self, node: Node, index: tuple) -> Expr:
        """The expr that computes a node, realized or not."""
        return self._compute(node, index, None)

    def load(self, node: Node, index: tuple, mask: Expr | None = None) -> Expr:
        return self.table.make("load", node.type.dtype, (node, index), () if mask is None else (mask,), index)

    def _evaluate(self, node: Node, index: tuple, mask: Expr | None) -> Expr:
        if self.is_realized(node):
            return self.load(node, index, mask)
        return self._compute(node, index, mask)

    def _compute(self, node: Node, index: tuple, mask: Expr | None) -> Expr:
        op = node.target
        kind = op.kind
        if kind is Kind.ELEMENTWISE:
            args = [self.at(a, index, mask) if type(a) is Node else a for a in node.args]
            self.mask, self.node = mask, node
            out = op.emit(self.emitter, *args, **dict(node.attrs))
            return out if type(out) is Expr else constant(self.table, out, node.type.dtype)
        if kind is Kind.MOVE:
            return self._move(node, index, mask)
        if kind is Kind.CREATE:
            return op.emit(self.emitter, index, **dict(node.attrs))
        if kind is Kind.RANDOM:
            place = self.emitter.index(flatten(index, contiguous_strides(node.type.shape)), int64)
            return op.emit(self.emitter, self.at(node.args[0], (), mask), place, **dict(node.attrs))
        if kind is Kind.GATHER:
            return self._gather(node, index, mask)
        if kind is Kind.SCATTER:
            return self._choice(node, index, mask)
        raise TypeError(f"%{node.name} of kind {kind.value} cannot be inlined")

    # movement: pieces tried in order ------------------------------------------------------------
    def _move(self, node: Node, index: tuple, mask: Expr | None) -> Expr:
        shapes = [a.type.shape for a in node.args]
        pieces = node.target.emit(index, shapes, **dict(node.attrs))
        if len(pieces) == 1 and not pieces[0].conditions:
            return self.at(node.args[pieces[0].operand], pieces[0].index, mask)
        return self._pieces(node, pieces, mask)

    def _pieces(self, node: Node, pieces: tuple, mask: Expr | None) -> Expr:
        piece = pieces[0]
        inside = self._within(piece.conditions)
        if inside is False:
            return self._pieces(node, pieces[1:], mask)
        if inside is True or len(pieces) == 1:
            return self._piece(node, piece, mask)
        here = self._piece(node, piece, inside if mask is None else self._and(mask, inside))
        outside = self.table.make("call", bool_, "not_", (inside,))
        other = self._pieces(node, pieces[1:], outside if mask is None else self._and(mask, outside))
        if here is other:
            return here
        return self.table.make("call", node.type.dtype, "select", (inside, here, other))

    def _piece(self, node: Node, piece, mask: Expr | None) -> Expr:
        if piece.operand is None:
            return constant(self.table, piece.fill, node.type.dtype)
        source = node.args[piece.operand]
        index = tuple(held(i, n) for i, n in zip(piece.index, source.type.shape, strict=True))
        return self.at(source, index, mask)

    def _within(self, conditions: tuple) -> Expr | bool:
        """All conditions as one bool expr, or True or False where ranges decide."""
        whole: Expr | None = None
        for ix, low, high in conditions:
            part = within(self.table, ix, low, high)
            if part.kind == "const":
                if not part.data.value:
                    return False
                continue
            whole = part if whole is None else self._and(whole, part)
        return True if whole is None else whole

    def _and(self, a: Expr, b: Expr) -> Expr:
        return a if a is b else self.table.make("call", bool_, "and_", (a, b))

    # reads at places found in data --------------------------------------------------------------
    def _gather(self, node: Node, index: tuple, mask: Expr | None) -> Expr:
        shapes = [a.type.shape for a in node.args]
        places = node.target.emit(index, shapes, **dict(node.attrs))
        return self.at(node.args[0], self.places(node, places, shapes[0], mask), mask)

    def _choice(self, node: Node, index: tuple, mask: Expr | None) -> Expr:
        """One element of a scatter that writes each at most once: the old value or the new."""
        scatter = read_scatter(node)
        at = source_index(scatter, index)
        old = self.at(node.args[0], index, mask)
        inside = self._within(tuple((index[d], 0, scatter.domain[s]) for d, s in scatter.own.items()))
        if inside is False:
            return old
        here = mask if inside is True else inside if mask is None else self._and(mask, inside)
        hit = None if inside is True else inside
        for d, place in enumerate(self.places(node, places_of(node, at), node.type.shape, here)):
            if d not in scatter.own:
                same = self._equal(place, index[d])
                hit = same if hit is None else self._and(hit, same)
        new = self.at(node.args[scatter.source], at, here)
        if scatter.mode != "set":
            new = self.emitter.verb(scatter.mode, (old, new))
        return self.emitter.verb("select", (hit, new, old))

    def _equal(self, a, b) -> Expr:
        return self.emitter.verb("eq", (self._number(a), self._number(b)))

    def _number(self, ix) -> Expr:
        """An index as an int64 expr."""
        if type(ix) is Ix and ix.const == 0 and list(ix.terms.values()) == [1]:
            (atom,) = ix.terms
            if type(atom) is Read:
                return atom.expr
        return self.emitter.index(ix, int64)

    def places(self, node: Node, places: tuple, shape: tuple, mask: Expr | None) -> tuple:
        """Index entries; each At becomes a checked read."""
        return tuple(self._place(node, p, n, d, mask) if type(p) is At else p
                     for d, (p, n) in enumerate(zip(places, shape, strict=True)))

    def _place(self, node: Node, at: At, size: int, dim: int, mask: Expr | None) -> Ix | int:
        value = self.at(node.args[at.operand], at.index, mask)
        value = self.emitter.convert(value, int64)
        if value.kind == "const" and 0 <= value.data.value < size:
            return value.data.value
        if value.kind == "index" and value.data.lo >= 0 and value.data.hi < size:
            return value.data
        bad = self.table.make("outside", bool_, size, (value,))
        if mask is not None:
            bad = self._and(mask, bad)
        message = range_message(size, dim, dict(node.attrs).get("error", ""))
        self.checks.append(Need(bad, value, node, message, "IndexError"))
        return index_of(Read(value, size))

    def _check_zero(self, divisor: Expr) -> None:
        if divisor.kind == "const" and divisor.data.value != 0:
            return
        bad = self.table.make("call", bool_, "eq", (divisor, constant(self.table, 0, divisor.dtype)))
        if self.mask is not None:
            bad = self._and(self.mask, bad)
        self.checks.append(Need(bad, bad, self.node, "ZeroDivisionError", "RuntimeError"))
