"""The recorder: ops become graph nodes by type, Python goes on; a read of data flushes what is pending.

Storages are immutable values in the graph: each storage touched has a root value, views are chains of
aliasing ops from it, an in-place write gives the root a new value. Writes reach memory at the flush.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..ir import dtype as dt
from ..ir.graph import Builder, Graph, Line, Node
from ..ir.interpret import run_numpy
from ..ir.ops import reshape as reshape_op
from ..ir.type import TensorType, tensor_type
from ..runtime.storage import Storage
from .callkey import view_key
from .interpreter import current
from .memory import Ranges
from .mutation import put_chain
from .rescue import rescue
from .safety import CHECKED, SIMPLE, fails_now
from .strides import view_strides
from .tape import next_order
from .tensor import Tensor

PACKAGE = str(Path(__file__).parent.parent)


def user_line() -> Line | None:
    """The innermost frame outside this package."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE):
            return tuple.__new__(Line, (name, frame.f_lineno, frame.f_code.co_name, None))  # no Python frame
        frame = frame.f_back
    return None


@dataclass(slots=True)
class Root:
    """What a recorder knows of one storage: the tensor it came in by, its value now, and other views of it."""

    owner: object  # the stretch it belongs to
    tensor: Tensor | None  # None for a storage born in the record
    depth: int  # length of the view chain the root value stands at
    chain: tuple
    value: Node
    lifted: bool
    writes: int = 0
    generation: int = 0  # of the history the base had when it came in
    aliases: dict = field(default_factory=dict)  # other lifted views: chain key -> Node


@dataclass(frozen=True, slots=True)
class Input:
    """A placeholder's source: a tensor lifted, or something the prologue makes anew for each call."""

    node: Node
    tensor: Tensor | None
    prologue: int | None = None
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Grad:
    """A tensor whose `.grad` was touched, what it was at entry, and whether that was read."""

    owner: Tensor
    before: Tensor | None
    read: bool


@dataclass(frozen=True, slots=True)
class Prologue:
    """Python to be re-run at each replay, in order: a number, a random draw, or an effect."""

    kind: str  # 'scalar' | 'draw' | 'effect'
    run: Callable
    type: TensorType | None = None


class Recorder:
    """Records the ops of one call (or of one stretch of it between two reads of data)."""

    def __init__(self, run_graph: Callable):
        self._run_graph = run_graph  # (graph, input tensors, writes, first) -> arrays, see stretches
        self.lazy: list[tuple[str, Line | None]] = []  # why this call cannot be one graph
        self.prologue: list[Prologue] = []
        self.grads: dict[int, Grad] = {}  # by id of the tensor
        self.constants: dict[Storage, None] = {}
        self.flushes = 0
        self.first = next_order()  # tape nodes below it were there before the call
        self.shells: dict[int, tuple[weakref.ref, Tensor]] = {}  # id -> (detached in the call, of what)
        self.entangled: set[Storage] = set()  # memory that is also reached in other ways
        self._reset()

    def _reset(self) -> None:
        self.builder = Builder(user_line)
        self.stretch = object()
        self.lifted: list[Root] = []
        self.inputs: list[Input] = []
        self.born: list[weakref.ref] = []
        self.log: list[tuple[Root, Node]] = []  # writes to storages from outside, in program order
        self.memory = Ranges()
        self.set_grads: list[tuple[Tensor, Tensor | None, int]] = []  # (owner, its .grad before, ops so far)

    def root(self, storage: Storage) -> Root | None:
        """What this stretch knows of a storage."""
        root = storage.root
        return root if root is not None and root.owner is self.stretch else None

    # recording ------------------------------------------------------------------------------------
    def append(self, op, values: tuple, attrs: dict) -> tuple:
        """The outputs of `op` as pending tensors."""
        types = [v.type if isinstance(v, Tensor) else v for v in values]
        type = op.infer(*types, **attrs)
        if op.alias and self._aliases(op, values[0], attrs):
            return (self._view(op, values[0], attrs, type),)
        if op.kind in CHECKED and fails_now(op, values, attrs, self._peek):
            self._fail(op, values, attrs)
        args = self._nodes_of(values)
        nodes = self.builder.emit(op, args, attrs, type, user_line())
        return tuple(map(self.pending, nodes if isinstance(nodes, tuple) else (nodes,)))

    def _fail(self, op, values, attrs) -> None:
        """Raises the error of an op whose indices are known to be out of range, as eager does."""
        self.flush("an index out of range")
        saved, current.recorder = current.recorder, None
        try:
            op(*values, **attrs)
        finally:
            current.recorder = saved

    def _peek(self, t: Tensor) -> np.ndarray | None:
        """t's values, if they follow from inputs by few and simple ops."""
        if t.storage.pending is None:
            return t.nd
        stack, needed = [self.node_of(t)], set()
        while stack:
            n = stack.pop()
            if n not in needed:
                if n.opcode == "call_function" and n.target.kind not in SIMPLE or len(needed) > 64:
                    return None
                needed.add(n)
                stack.extend(n.inputs)
        nodes = [n for n in self.builder.nodes if n in needed]
        arrays = [i.tensor._view_of(i.tensor.storage.array) for i in self.inputs if i.node in needed]
        return run_numpy(Graph(nodes, [self.node_of(t)]), arrays)[0]

    def _nodes_of(self, values) -> tuple:
        """The graph's values of all operands at once: looking at one may flush what another was."""
        while True:
            stretch = self.stretch
            nodes = tuple(self.node_of(v) if isinstance(v, Tensor) else v for v in values)
            if stretch is self.stretch:
                return nodes

    def _aliases(self, op, source: Tensor, attrs) -> bool:
        if op is not reshape_op or source.is_contiguous():
            return True
        return view_strides(source.type.shape, source._strides(), attrs["shape"]) is not None

    def _view(self, op, source: Tensor, attrs, type) -> Tensor:
        root = source if source._root is None else source._root
        out = Tensor._from_storage(source.storage, type, root, (*source._chain, (op, attrs, source.type)))
        out._generation = root._generation
        node = self.builder.emit(op, (self.node_of(source),), attrs, type, user_line())
        known = source.storage.root
        out._node = (known, known.writes, node)
        return out

    def pending(self, node: Node) -> Tensor:
        """A fresh tensor whose value is `node`."""
        storage = Storage(None, self)
        out = Tensor._from_storage(storage, node.type)
        storage.root = root = Root(self.stretch, None, 0, (), node, False)
        out._node = (root, 0, node)
        self.born.append(weakref.ref(storage))
        return out

    def node_of(self, t: Tensor) -> Node:
        """The graph's value of `t` as it is now."""
        root = self.root(t.storage)
        if root is None:
            return self._lift(t)
        known = t._node
        if known is not None and known[0] is root and known[1] == root.writes:
            return known[2]
        if t._chain[: root.depth] == root.chain:
            node = root.value
            for op, attrs, _ in t._chain[root.depth:]:
                out = op.infer(node.type, **attrs)
                node = self.builder.emit(op, (node,), attrs, out, user_line())
        elif root.writes:
            self.flush("views of one memory that came in separately, one of them written")
            return self._lift(t)
        else:
            node = self._lift_alias(root, t)
        t._node = (root, root.writes, node)
        return node

    def _lift(self, t: Tensor) -> Node:
        if t.storage.pending is not None and t.storage.pending is not self:
            t.storage.pending.flush()
        self._meets(t.storage)
        source = self._unshelled(t)
        node = self.builder.placeholder(t.type, "x", user_line())
        self.inputs.append(Input(node, source, constant=t.storage in self.constants))
        base = source if source._root is None else source._root
        t.storage.root = root = Root(self.stretch, source, len(t._chain), t._chain, node, True,
                                     generation=base._generation)
        self.lifted.append(root)
        t._node = (root, 0, node)
        return node

    def _meets(self, storage: Storage) -> None:
        """Another storage over the same memory: what was written there must be seen here."""
        others = self.memory.add(storage)
        if not others:
            return
        self.entangled.update(others, (storage,))
        if any(r.writes for r in self.lifted if r.tensor.storage in self.entangled):
            self.flush(ENTANGLED)
            self.memory.add(storage)

    def detached(self, shell: Tensor, of: Tensor) -> None:
        """`shell` is `of` off the tape: where it comes in, `of` is what a replay finds again."""
        if of.storage.pending is not self or (of.storage.root is not None and of.storage.root.lifted):
            self.shells[id(shell)] = (weakref.ref(shell), of)

    def _unshelled(self, t: Tensor) -> Tensor:
        while id(t) in self.shells:
            ref, of = self.shells[id(t)]
            if ref() is not t or of.storage is not t.storage or of.type is not t.type:
                return t
            t = of
        return t

    def _lift_alias(self, root: Root, t: Tensor) -> Node:
        key = view_key(t)
        node = root.aliases.get(key)
        if node is None:
            node = root.aliases[key] = self.builder.placeholder(t.type, "x", user_line())
            self.inputs.append(Input(node, t))
        return node

    def write(self, x: Tensor, value: Tensor) -> None:
        """x's memory takes `value`: its root gets a new value."""
        _, new = self._nodes_of((x, value))
        if x.storage in self.entangled:
            self._write_through(x, value)
            return
        root = x.storage.root
        if root.aliases or x._chain[: root.depth] != root.chain:
            self.flush("views of one memory that came in separately, one of them written")
            _, new = self._nodes_of((x, value))
            root = x.storage.root
        root.value = put_chain_nodes(self.builder, root.value, x._chain[root.depth:], new)
        root.writes += 1
        if root.lifted:
            self.log.append((root, root.value))
        x.storage.pending = self

    def _write_through(self, x: Tensor, value: Tensor) -> None:
        """x's memory is reached in other ways too: written at once, after all that was read before."""
        self.flush(ENTANGLED)
        np.copyto(x.nd, value.nd)

    def entangle(self, tensors) -> None:
        """Tensors whose memory others reach in ways not seen here (NumPy arrays, a second from_numpy)."""
        self.entangled.update(t.storage for t in tensors)

    # what Python may ask for ----------------------------------------------------------------------
    def scalar(self, getter: Callable[[], float], value: float) -> Tensor:
        """A 0-d float64 input that each replay reads anew from `getter`."""
        return self._prologue_input("scalar", getter, tensor_type((), dt.float64), float(value))

    def draw(self, make: Callable[[], Any], type: TensorType) -> Tensor:
        """An input that each replay draws anew: `make()` gives the array."""
        return self._prologue_input("draw", make, type, None)

    def _prologue_input(self, kind, run, type, value) -> Tensor:
        from .tensor import from_array

        array = np.asarray(run() if value is None else value, type.dtype.np)
        t = from_array(np.array(array).reshape(type.shape))
        self.prologue.append(Prologue(kind, run, type))
        node = self.builder.placeholder(type, kind, user_line())
        self.inputs.append(Input(node, t, len(self.prologue) - 1))
        t.storage.root = root = Root(self.stretch, t, 0, (), node, True)
        self.lifted.append(root)
        t._node = (root, 0, node)
        return t

    def python_effect(self, run: Callable[[], Any]):
        """Runs framework Python that changes state, now and at each replay, in program order."""
        self.prologue.append(Prologue("effect", run))
        return run()

    def constant(self, t: Tensor, data: Any = None) -> None:
        """`t` was made from Python numbers in this call: the same at each replay."""
        if isinstance(data, np.ndarray):
            self.leaves_graph("a copy of a NumPy array's values")
        self.constants[t.storage] = None

    def leaves_graph(self, reason: str) -> None:
        """Python did something that replay cannot repeat."""
        self.lazy.append((reason, user_line()))

    def reads_grad(self, t: Tensor) -> None:
        """`t.grad` as it was at entry decides what happens: a replay needs it there, or not there, again."""
        self.grads.setdefault(id(t), Grad(t, t._grad, True))

    def writes_grad(self, t: Tensor, value: Tensor | None) -> None:
        """`t.grad` becomes `value`; what it was does not matter if it was not read before."""
        self.grads.setdefault(id(t), Grad(t, t._grad, False))
        self.set_grads.append((t, t._grad, len(self.builder.nodes)))

    def changes_grad_flag(self, t: Tensor) -> None:
        """Python sets requires_grad on what the call did not make."""
        if self.is_outside(t) and t.storage not in self.constants:
            self.leaves_graph("requires_grad is set on a tensor from outside")

    def is_outside(self, t: Tensor) -> bool:
        """Whether t's memory was there before the call, or before the last flush."""
        root = self.root(t.storage)
        return root is None or root.lifted

    def walks(self, node) -> None:
        """Backward goes through what another call left on the tape, which a replay will not find."""
        if 0 <= node.order < self.first:
            self.leaves_graph("backward through a history from before the call")

    # flushing -------------------------------------------------------------------------------------
    def alive(self) -> list[Storage]:
        """Pending storages somebody still holds."""
        return [s for s in (r() for r in self.born) if s is not None]

    def written(self) -> list[Root]:
        """Storages from outside that have a new value."""
        return [r for r in self.lifted if r.writes]

    def flush(self, reason: str = "a read of data") -> None:
        """Computes everything pending; recording starts afresh."""
        if not self.closing:
            self.leaves_graph(reason)
        self.flushes += 1
        alive, written = self.alive(), self.written()
        outputs = [s.root.value for s in alive] + [r.value for r in written]
        graph = Graph(self.builder.nodes, outputs, f"stretch_{self.flushes}")
        inputs = self.inputs
        place = {id(i.tensor): k for k, i in enumerate(inputs)}
        for root in written:  # their old bytes are inputs now
            root.tensor.storage.pending = None
        saved, current.recorder = current.recorder, None
        try:
            writes = [(len(alive) + k, place[id(r.tensor)]) for k, r in enumerate(written)]
            arrays = self._run_graph(graph, [i.tensor for i in inputs], writes, self.closing and not self.lazy)
        except Exception as error:
            rescue(error, graph.nodes, [i.tensor.nd for i in inputs], alive, self.log, self.set_grads)
            self.failed = True
            raise
        finally:
            current.recorder = saved
            self._reset()
        self._store(arrays, alive, inputs)

    closing = False  # the call is over: what is flushed now is no read of data
    failed = False

    def _store(self, arrays, alive, inputs) -> None:
        taken = {id(i.tensor._nd) for i in inputs}
        for s, array in zip(alive, arrays, strict=False):
            s.array, s.pending = _owned(array, taken), None


ENTANGLED = "memory that several tensors or arrays share unknown to each other is written"


def _owned(array, taken: set[int]):
    """An array that nothing else aliases: the interpreter may return views, inputs, one array twice."""
    if (array.base is None and array.flags.owndata and array.flags.c_contiguous
            and array.flags.writeable and id(array) not in taken):
        taken.add(id(array))
        return array
    return np.array(array, order="C")


def put_chain_nodes(builder: Builder, root: Node, chain, value: Node) -> Node:
    """`put_chain` on nodes of this builder."""
    from ..ir.dispatch import using

    if not chain:
        return value
    with using(builder):
        return put_chain(root, chain, value)
