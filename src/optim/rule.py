"""One parameter's update, written once: run in place by NumPy in cache-sized pieces, or recorded as one op.

A body is `body(m, p, g, s, c, **flags) -> new p`. It reads the parameter `p`, its gradient `g`, the state
`s.<slot>` and the numbers `c.<name>`, stores new state into `s`, and takes its functions from `m`. Given
arrays and Python floats it computes; given graph nodes (numbers as 0-d float64) it makes the same graph,
so that a number is rounded to the parameter's dtype only where it meets it, as PyTorch does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..ir import arith
from ..ir import dtype as dt
from ..ir.arith import cast, expand_to
from ..ir.composite import composite
from ..ir.op import Op

PIECE = 1 << 16  # elements: the arrays of one piece stay in the second-level cache


@dataclass(frozen=True, slots=True)
class Slot:
    """One entry of a parameter's state: a tensor like the parameter, or a 0-d float32 number."""

    name: str
    start: Callable[[dict], float] = lambda _group: 0.0  # the value it is filled with at first
    number: bool = False


STEP = Slot("step", number=True)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """An optimizer's update of one parameter.

    fresh   the body takes a flag `first`: whether the state was made just now
    fast    an equal of the body for one piece that works in place: fast(p, g, s, c, buffers, **flags)
    """

    name: str
    slots: tuple[Slot, ...]
    numbers: tuple[str, ...]
    body: Callable
    op: Op
    fresh: bool = False
    fast: Callable | None = None


def make_rule(name: str, slots: tuple[Slot, ...], numbers: tuple[str, ...], body: Callable, *,
              fresh: bool = False, fast: Callable | None = None) -> Rule:
    """The rule and its op: (p, g, *state, *numbers; **flags) -> (p, *state)."""

    def on_values(*values, **flags):
        return _on_values(rule, values, flags)

    def on_arrays(*values, **flags):
        return _on_arrays(rule, values, flags)

    op = composite(name, on_values, eager=on_arrays, outputs=1 + len(slots))
    rule = Rule(name, slots, numbers, body, op, fresh, fast)
    return rule


# the two sets of functions a body may use ------------------------------------------------------------
class _Arrays:
    """Functions of arrays and Python floats."""

    sqrt, maximum, minimum, abs, sign = np.sqrt, np.maximum, np.minimum, np.abs, np.sign
    where = staticmethod(np.where)

    @staticmethod
    def choose(condition: bool, yes: Callable, no: Callable):
        """One of two results, by a condition on numbers."""
        return yes() if condition else no()

    @staticmethod
    def larger(a: float, b: float) -> float:
        return a if a > b else b

    @staticmethod
    def single(x: float) -> float:
        """A number rounded to float32."""
        return float(np.float32(x))


class _Values:
    """The same functions of graph nodes and tensors."""

    @staticmethod
    def _apply(name: str, *xs):
        return arith.elementwise(getattr(arith.table, name), *xs)

    def sqrt(self, x):
        return self._apply("sqrt", x)

    def abs(self, x):
        return self._apply("abs", x)

    def sign(self, x):
        return self._apply("sign", x)

    def maximum(self, a, b):
        return self._apply("maximum", a, b)

    def minimum(self, a, b):
        return self._apply("minimum", a, b)

    larger = maximum

    def where(self, condition, yes, no):
        like = yes if not arith.is_number(yes) else no
        shape = condition.type.shape
        like = yes if not arith.is_number(yes) else no
        return arith.table.where(condition, *[
            v if arith.is_number(v) else expand_to(cast(v, like.type.dtype), shape) for v in (yes, no)])

    def choose(self, condition, yes: Callable, no: Callable):
        yes, no = yes(), no()
        shape = arith.broadcast_shape(yes.type.shape, no.type.shape)
        return arith.table.where(expand_to(condition, shape), expand_to(yes, shape), expand_to(no, shape))

    def single(self, x):
        return cast(cast(x, dt.float32), dt.float64)


_ARRAYS, _VALUES = _Arrays(), _Values()


# graph nodes and tensors -----------------------------------------------------------------------------
def _on_values(rule: Rule, values: tuple, flags: dict) -> tuple:
    """The body on nodes: half precision widened, complex numbers taken apart, numbers as float64."""
    dtype = values[0].type.dtype
    if dtype.kind != "c":
        return _on_reals(rule, values, flags, dtype)
    tensors = [k for k in range(2 + len(rule.slots)) if k < 2 or not rule.slots[k - 2].number]
    parts = [_on_reals(rule, [arith.table.__dict__[part](v) if k in tensors else v
                              for k, v in enumerate(values)], flags, dtype.to_real())
             for part in ("real", "imag")]
    return tuple(arith.table.complex(a, b) if k == 0 or not rule.slots[k - 1].number else a
                 for k, (a, b) in enumerate(zip(*parts, strict=True)))


def _on_reals(rule: Rule, values, flags: dict, dtype) -> tuple:
    shape = values[0].type.shape
    wide = dt.float32 if dtype.itemsize == 2 else dtype

    def tensor(v):
        v = cast(v, wide)
        return v if shape else arith.table.reshape(v, shape=(1,))  # 0-d would take the numbers' dtype

    p, g, *rest = values
    state = SimpleNamespace()
    for slot, v in zip(rule.slots, rest, strict=False):
        setattr(state, slot.name, cast(v, dt.float64) if slot.number else tensor(v))
    numbers = dict(zip(rule.numbers, rest[len(rule.slots):], strict=True))
    p = rule.body(_VALUES, tensor(p), tensor(g), state, SimpleNamespace(**numbers), **flags)

    def back(v):
        v = cast(v, dtype)
        return v if shape else arith.table.reshape(v, shape=())

    return (back(p), *(cast(getattr(state, s.name), dt.float32) if s.number else back(getattr(state, s.name))
                       for s in rule.slots))


# arrays ----------------------------------------------------------------------------------------------
def _on_arrays(rule: Rule, values: tuple, flags: dict) -> tuple:
    """The op on arrays: new arrays."""
    count = 1 + len(rule.slots)
    p, g = np.array(values[0]), np.asarray(values[1])
    state = [np.array(v) for v in values[2:1 + count]]
    numbers = [float(v) for v in values[1 + count:]]
    run_in_place(rule, p, g, state, numbers, flags)
    return (p, *state)


def run_in_place(rule: Rule, p: np.ndarray, g: np.ndarray, state: list[np.ndarray], numbers: list[float],
                 flags: dict) -> None:
    """Updates the arrays `p` and `state`, piece by piece."""
    owned = [p, *(a for a, slot in zip(state, rule.slots, strict=True) if not slot.number)]
    flat = [_flat(a) for a in owned]
    g = _flat(g)
    c = SimpleNamespace(**dict(zip(rule.numbers, numbers, strict=True)))
    size, s = g.size, None
    buffers = _buffers(rule, g)
    with np.errstate(all="ignore"):
        for low in range(0, max(size, 1), PIECE):
            piece = [a[low:low + PIECE] for a in flat] if size > PIECE else flat
            s = _state(rule, piece[1:], state)
            gradient = g[low:low + PIECE]
            if buffers:
                rule.fast(piece[0], gradient, s, c, [b[:gradient.size] for b in buffers], **flags)
            else:
                _run_piece(rule, piece, gradient, s, c, flags)
    for slot, array in zip(rule.slots, state, strict=True):
        if slot.number:
            array[...] = getattr(s, slot.name)
    for array, copy in zip(owned, flat, strict=True):
        if not array.flags.c_contiguous:
            array[...] = copy.view(array.dtype).reshape(array.shape)


def _flat(a: np.ndarray) -> np.ndarray:
    """All elements in one dim (a copy if they do not lie so), complex ones as pairs."""
    a = np.ascontiguousarray(a).reshape(-1)
    return a.view(a.real.dtype) if a.dtype.kind == "c" else a


def _buffers(rule: Rule, g: np.ndarray) -> list[np.ndarray]:
    if rule.fast is None or g.dtype.itemsize < 4:
        return []
    return [np.empty(min(g.size, PIECE), g.dtype) for _ in range(2)]


def _state(rule: Rule, tensors: list, state: list) -> SimpleNamespace:
    s, rest = SimpleNamespace(), iter(tensors)
    for slot, array in zip(rule.slots, state, strict=True):
        setattr(s, slot.name, float(array) if slot.number else next(rest))
    return s


def _run_piece(rule: Rule, piece: list, g: np.ndarray, s: SimpleNamespace, c: Any, flags: dict) -> None:
    """The body on one piece, its results stored over `piece`."""
    tensors = [slot.name for slot in rule.slots if not slot.number]
    p = piece[0]
    if p.dtype.itemsize == 2:
        p, g = p.astype(np.float32), g.astype(np.float32)
        for name, a in zip(tensors, piece[1:], strict=True):
            setattr(s, name, a.astype(np.float32))
    new = rule.body(_ARRAYS, p, g, s, c, **flags)
    for name, a in zip(tensors, piece[1:], strict=True):
        a[...] = getattr(s, name)
    piece[0][...] = new
