"""The row: all that is known of one primitive, and the kinds codegen may ask about.

An `Op` is called like a function; the call ends in `bind`, which runs it eagerly or records it.
    infer   (*types or numbers, **attrs) -> TensorType or tuple of them; raises every shape and dtype error
    eager   (*ndarrays or numbers, **attrs) -> ndarray or tuple
    vjp     one rule per operand, (g, y, *operands, **attrs) -> cotangent, or None where there is none;
            a parameter whose name starts with `_` is handed over as its type only and is not saved
    emit    by kind: a function over the scalar protocol, a Reduction, or an index map
    domain  the open interval tests may draw float inputs from
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from inspect import Parameter, signature
from math import inf
from typing import Any

from .dispatch import bind


class Kind(Enum):
    """What codegen may know of an op."""

    ELEMENTWISE = "elementwise"
    CREATE = "create"  # no operands: constants, ranges
    MOVE = "move"  # an index map from output to input elements
    REDUCE = "reduce"
    CONTRACT = "contract"
    GATHER = "gather"
    SCATTER = "scatter"
    SCAN = "scan"
    RANDOM = "random"
    LIBRARY = "library"  # opaque: runs on the host
    COMPOSITE = "composite"  # holds a body of other ops
    PROJECT = "project"  # one output of several


@dataclass(frozen=True, slots=True)
class Reduction:
    """An associative reduction over `width` state scalars: identity(dtype) and combine(s, a, b)."""

    identity: Callable[[Any], tuple]  # dtype -> numbers
    combine: Callable[..., tuple]  # (s, state a, state b) -> state
    indexed: bool = False  # the element is (x, position along the reduced dim)


@dataclass(frozen=True, slots=True)
class Rule:
    """One operand's gradient rule and which operands' data it reads."""

    pull: Callable
    needs_output: bool
    needs: tuple[bool, ...]  # per operand; a variadic rule has one entry for all
    joint: bool = False  # pull gives the cotangents of all operands at once, as a tuple


@dataclass(frozen=True, slots=True)
class Joint:
    """Marks a `vjp` that is one function (g, y, *operands, **attrs) -> a cotangent (or None) per operand."""

    pull: Callable


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    name: str
    kind: Kind
    infer: Callable
    eager: Callable
    vjp: tuple[Rule | None, ...] | Rule | None  # one Rule for all operands of a variadic op
    emit: Any
    domain: tuple[float, float] = (-inf, inf)
    outputs: int = 1
    alias: bool = False  # a MOVE whose result is a view of its operand
    body: Callable | None = None  # COMPOSITE only
    saves: tuple = field(default=())

    def __call__(self, *values, **attrs):
        return bind(self, values, attrs)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __deepcopy__(self, _memo):
        return self


def rule(pull: Callable | None) -> Rule | None:
    """A gradient rule with its needs read off its parameter names."""
    if pull is None:
        return None
    names = [p.name for p in signature(pull).parameters.values()
             if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    star = [p.name for p in signature(pull).parameters.values() if p.kind is Parameter.VAR_POSITIONAL]
    operands = names[2:] + star
    return Rule(pull, not names[1].startswith("_"), tuple(not n.startswith("_") for n in operands))


def rules(pulls) -> tuple[Rule | None, ...] | Rule | None:
    if isinstance(pulls, Joint):
        one = rule(pulls.pull)
        return (replace(one, joint=True),) * len(one.needs)
    if isinstance(pulls, tuple):
        return tuple(rule(p) for p in pulls)
    return rule(pulls)


def make_op(name, kind, infer, eager, vjp, emit, **more) -> Op:
    """A row; `vjp` is a tuple of functions, one function for a variadic op, or None."""
    return Op(name, kind, infer, eager, rules(vjp), emit, **more)


def rule_for(op: Op, operand: int) -> Rule | None:
    """The gradient rule of one operand."""
    if isinstance(op.vjp, tuple):
        return op.vjp[operand] if operand < len(op.vjp) else None
    return op.vjp


def is_variadic(op: Op) -> bool:
    return isinstance(op.vjp, Rule)
