"""Rewriting by named rules: one pass over the graph, each node replaced until no rule fires.

A rule is data: a name, the op or kind it is tried at, and `apply(node)`, which gives the replacement or
None. A replacement is a node that is already there, a number, or a Call still to be made. `identity`
makes a rule from two functions written with the ops themselves, `lhs(x, ...) == rhs(x, ...)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from typing import Any

from .dispatch import using
from .errors import GraphError
from .graph import Graph, Node
from .keys import exact_key
from .op import Kind, Op


@dataclass(frozen=True, slots=True)
class Call:
    """A node still to be made; args may be Calls too."""

    op: Op
    args: tuple
    attrs: tuple = ()


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """`apply` is tried at calls of `at`; an identity keeps its two sides for the tests."""

    name: str
    at: Op | Kind
    apply: Callable[[Node], Any]
    lhs: Callable | None = None
    rhs: Callable | None = None
    kinds: str = ""


# patterns -----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Pattern:
    """A call of `op` whose args are patterns, variables (`_Var`) and numbers."""

    op: Op
    args: tuple


@dataclass(frozen=True, slots=True)
class _Var:
    name: str


class _Tracer:
    """The interpreter that turns a rule's side into a pattern."""

    def process(self, op, values, attrs):
        if attrs:
            raise GraphError(f"a pattern has no attributes; {op.name} was given {attrs}")
        return _Pattern(op, values)


def identity(name: str, lhs: Callable, rhs: Callable, kinds: str) -> Rule:
    """The rule lhs -> rhs, exact for every value of the dtype kinds in `kinds`."""
    variables = [_Var(v) for v in signature(lhs).parameters]
    with using(_Tracer()):
        pattern, result = lhs(*variables), rhs(*variables)

    def apply(node: Node):
        if node.args[0].__class__ is Node:
            found = node.args[0].type.dtype.kind
        else:
            found = node.type.dtype.kind
        if found not in kinds:
            return None
        bound: dict[str, Any] = {}
        return _instance(result, bound) if _match(pattern, node, bound) else None

    return Rule(name, pattern.op, apply, lhs, rhs, kinds)


def _match(pattern, value, bound: dict) -> bool:
    kind = type(pattern)
    if kind is _Var:
        have = bound.setdefault(pattern.name, value)
        return have is value or (type(value) is not Node and type(have) is not Node
                                 and exact_key(have) == exact_key(value))
    if kind is _Pattern:
        if type(value) is not Node or value.target is not pattern.op:
            return False
        return all(_match(p, a, bound) for p, a in zip(pattern.args, value.args, strict=True))
    return type(value) is not Node and _same_number(pattern, value)


def _same_number(a, b) -> bool:
    """Equal as operands of any dtype; the sign of zero counts where b has one."""
    if a != b:
        return False
    return type(b) is not float or a != 0 or str(float(a))[0] == str(b)[0]


def _instance(pattern, bound: dict):
    if type(pattern) is _Var:
        return bound[pattern.name]
    if type(pattern) is _Pattern:
        return Call(pattern.op, tuple(_instance(a, bound) for a in pattern.args))
    return pattern


# the driver ---------------------------------------------------------------------------------------
@lru_cache(maxsize=16)
def _index(rules: tuple[Rule, ...]) -> dict:
    """The rules by op, filled as ops are met."""
    return {}


def _rules_at(rules, index, op: Op) -> tuple[Rule, ...]:
    found = index.get(op)
    if found is None:
        found = index[op] = tuple(r for r in rules if r.at is op or r.at is op.kind)
    return found


_LIMIT = 100  # rules fired at one node; more means that two rules undo each other


class _Driver:
    def __init__(self, graph: Graph, rules: tuple[Rule, ...], seen: Callable | None):
        self.rules, self.index, self.seen = rules, _index(rules), seen
        self.out: list[Node] = []
        self.new: dict[Node, Node] = {}
        self.names: set[str] | None = None
        self.graph = graph

    def run(self) -> Graph:
        new, out = self.new, self.out
        for node in self.graph.nodes:
            if node.opcode != "call_function":
                new[node] = node
                out.append(node)
                continue
            fresh = moved(node, new)
            rules = _rules_at(self.rules, self.index, fresh.target)
            if rules:
                fresh, made = self.simplify(fresh, rules)
                if not made:
                    new[node] = fresh
                    continue
            out.append(fresh)
            new[node] = fresh
        return self.graph if len(out) == len(self.graph.nodes) and all(
            a is b for a, b in zip(out, self.graph.nodes, strict=True)) else Graph(
            out, separate([new[o] for o in self.graph.outputs], self.graph, out), self.graph.name)

    def simplify(self, node: Node, rules) -> tuple[Node, bool]:
        """The node's final form, and whether it is a new node rather than one already placed."""
        fired = 0
        while True:
            for rule in rules:
                got = rule.apply(node)
                if got is not None:
                    break
            else:
                return node, True
            if self.seen:
                self.seen(rule)
            fired += 1
            if fired > _LIMIT:
                raise GraphError(f"rewriting %{node.name} does not end; the last rule was {rule.name!r}")
            if type(got) is Node:
                return got, False
            node = self.make(got if type(got) is Call else constant(node.type, got), node, node.name)
            rules = _rules_at(self.rules, self.index, node.target)

    def make(self, call: Call, near: Node, name: str) -> Node:
        """The node of a Call; inner Calls are made, simplified and placed first."""
        args = tuple(self.inner(a, near) if type(a) is Call else a for a in call.args)
        types = [a.type if type(a) is Node else a for a in args]
        kind = call.op.infer(*types, **dict(call.attrs))
        return Node("call_function", name, call.op, args, call.attrs, kind, near.line)

    def inner(self, call: Call, near: Node) -> Node:
        if self.names is None:
            self.names = {n.name for n in self.graph.nodes}
        node = self.make(call, near, unique(f"{near.name}_{call.op.name}", self.names))
        node, made = self.simplify(node, _rules_at(self.rules, self.index, node.target))
        if made:
            self.out.append(node)
        return node


def rewrite(graph: Graph, rules: tuple[Rule, ...], seen: Callable[[Rule], None] | None = None) -> Graph:
    """The graph with every rule applied wherever it fires; `seen` is told of each firing."""
    return _Driver(graph, rules, seen).run()


# shared by passes ---------------------------------------------------------------------------------
def moved(node: Node, new: dict[Node, Node]) -> Node:
    """The node reading `new` operands; itself if none changed."""
    changed = False
    for a in node.args:
        if type(a) is Node and new[a] is not a:
            changed = True
            break
    if not changed:
        return node
    args = tuple([new[a] if type(a) is Node else a for a in node.args])
    return Node(node.opcode, node.name, node.target, args, node.attrs, node.type, node.line)


def unique(stem: str, names: set[str]) -> str:
    """`stem`, numbered if it is taken; the name is taken from now on."""
    name, k = stem, 0
    while name in names:
        k += 1
        name = f"{stem}_{k}"
    names.add(name)
    return name


def constant(type, value) -> Call:
    """The full value of this type."""
    from .ops.create import full

    return Call(full, (), (("device", type.device), ("dtype", type.dtype), ("shape", type.shape),
                           ("value", value)))


def separate(outputs: list[Node], before: Graph, out: list[Node]) -> list[Node]:
    """Outputs that were values of their own stay so: one that became an input, or another output's
    value, is copied (appended to `out`), since its memory will be the caller's to write."""
    from .ops.elementwise import copy

    taken: dict[Node, Node] = {}
    names: set[str] | None = None
    for i, (old, now) in enumerate(zip(before.outputs, outputs, strict=True)):
        if (now.opcode == "call_function" or old.opcode != "call_function") and \
                taken.setdefault(now, old) is old:
            continue
        if names is None:
            names = {n.name for n in out}
        outputs[i] = Node("call_function", unique(old.name, names), copy, (now,), (), now.type, old.line)
        out.append(outputs[i])
    return outputs
