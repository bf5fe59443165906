"""The tape: what eager (or recorded) ops leave behind for `.backward()`, and the modes that stop it."""

from __future__ import annotations

import itertools
import threading

from ..ir.autograd import apply_rules, has_rule
from ..ir.op import Op, is_variadic, rule_for
from ..ir.type import TensorType

_sequence = itertools.count()


def next_order() -> int:
    """A number above those of all nodes so far and below those of all to come."""
    return next(_sequence)


class _Modes(threading.local):
    grad = True
    inference = False


modes = _Modes()

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they "
    "have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph "
    "a second time or if you need to access saved tensors after calling backward."
)


class TapeNode:
    """One differentiable op that ran: its operands' edges and what its rules need."""

    __slots__ = ("__weakref__", "attrs", "edges", "hooks", "op", "order", "out_types", "retained",
                 "saved", "saved_out", "tensor_hooks")

    def __init__(self, op: Op, attrs: dict, edges: tuple, saved, out_types: tuple):
        self.op, self.attrs, self.edges, self.saved, self.out_types = op, attrs, edges, saved, out_types
        self.saved_out = ()
        self.order = next(_sequence)
        self.tensor_hooks: dict[int, dict] | None = None  # output number -> {id: hook}
        self.retained: dict | None = None  # output number -> weak tensor
        self.hooks: dict | None = None

    def name(self) -> str:
        return "".join(w.capitalize() for w in self.op.name.split("_")) + "Backward0"

    @property
    def next_functions(self):
        return tuple((e[0], e[1]) if e else (None, 0) for e in self.edges)

    def pull(self, cotangents: list) -> list:
        if self.saved is None:
            raise RuntimeError(FREED)
        xs = tuple(unpack(s) if type(s) is tuple else s for s in self.saved)
        g = self._filled(cotangents)
        y = self._outputs()
        return apply_rules(self.op, self.attrs, g, y, xs, [e is not None for e in self.edges])

    def _filled(self, cotangents):
        if len(self.out_types) == 1:
            return cotangents[0]
        from ..ir.ops.elementwise import full_as

        have = [*cotangents, *[None] * (len(self.out_types) - len(cotangents))]
        return tuple(full_as(t, 0) if g is None and t.dtype.is_differentiable else g
                     for g, t in zip(have, self.out_types, strict=True))

    def _outputs(self):
        if not self.saved_out:
            return self.out_types[0] if len(self.out_types) == 1 else self.out_types
        outs = tuple(unpack_output(s, self, i) for i, s in enumerate(self.saved_out))
        return outs[0] if len(outs) == 1 else outs

    def release(self) -> None:
        self.saved, self.saved_out = None, ()

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class AccumulateGrad:
    """Where a gradient reaches a leaf: it is added to the leaf's `.grad`."""

    __slots__ = ("__weakref__", "edges", "hooks", "leaf", "order", "retained", "tensor_hooks")

    def __init__(self, leaf):
        self.leaf, self.edges, self.hooks, self.retained = leaf, (), None, None
        self.tensor_hooks = None
        self.order = -1

    next_functions = ()

    def name(self) -> str:
        return "AccumulateGrad"

    def release(self) -> None:
        """Keeps nothing."""


def save(x) -> tuple:
    """An operand kept for backward, with the version it had."""
    return x, x.storage.version


def unpack(saved: tuple):
    x, version = saved
    check_version(x.storage, version, x.type)
    return x


def check_version(storage, version: int, type: TensorType) -> None:
    if storage.version != version:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace "
            f"operation: [{type.dtype.name} tensor of shape {list(type.shape)}] is at version "
            f"{storage.version}; expected version {version} instead. Hint: enable anomaly detection to "
            "find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True)."
        )


def unpack_output(saved, node, number):
    shell, version = saved
    check_version(shell.storage, version, shell.type)
    return shell.as_output(node, number)


def wants_grad(values) -> bool:
    return any(getattr(v, "requires_grad", False) for v in values)


def record(op: Op, attrs: dict, values: tuple, outs: tuple) -> None:
    """Puts `op` on the tape and makes its differentiable outputs point at it."""
    edges, saved = [], []
    variadic = is_variadic(op)
    need_out = False
    rows = [op.vjp] * len(values) if variadic else op.vjp
    body = rows is None  # a composite differentiated through its body needs every operand
    for k, v in enumerate(values):
        tensor = not isinstance(v, (int, float, complex))
        edge = v.edge() if tensor and v.requires_grad and has_rule(op, k) else None
        edges.append(edge)
        if edge is not None and not body:
            need_out |= rule_for(op, k).needs_output
    for k, v in enumerate(values):
        if isinstance(v, (int, float, complex)):
            saved.append(v)
        elif body or _needed(op, rows, edges, k, variadic):
            saved.append(save(v))
        else:
            saved.append(v.type)
    if all(e is None for e in edges):
        return
    node = TapeNode(op, attrs, tuple(edges), tuple(saved), tuple(o.type for o in outs))
    for number, out in enumerate(outs):
        if out.type.dtype.is_differentiable:
            out.attach(node, number)
    if need_out:
        node.saved_out = tuple((o.shell(), o.storage.version) for o in outs)


def _needed(op, rows, edges, k, variadic) -> bool:
    """Whether some rule that will run reads operand k's data."""
    if variadic:
        needs = rows[0].needs
        # after (g, y, operand) come named operands, then all the rest under the star
        return needs[min(k + 1, len(needs) - 1)]
    return any(e is not None and rows[i] is not None and k < len(rows[i].needs) and rows[i].needs[k]
               for i, e in enumerate(edges))
