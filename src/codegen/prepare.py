"""The graph as loops want it: primitives only, long reductions in two stages, half products in float32.

A reduction with the attribute `parts` leaves one partial result per chunk of its kernel: its type is
(parts, *kept dims), and a plain reduction over the first dim follows it.
"""

from __future__ import annotations

from math import prod

from ..ir.dtype import float32
from ..ir.graph import Graph, Node
from ..ir.op import Kind
from ..ir.ops.create import full
from ..ir.ops.elementwise import convert, copy
from ..ir.ops.movement import reshape
from ..ir.passes.inline import inline
from ..ir.passes.prune import prune
from ..ir.type import TensorType, tensor_type
from .realize import is_complex, is_host
from .scatter import is_choice, read_scatter
from .views import is_view
from .schedule import PARTS, part_count
from .stages import state_dtype

LARGE = 1 << 15  # elements from which a reduction to one value takes two stages
WIDE = 1 << 14  # kept elements that are enough to share out without a second stage
FEW = 8  # results too few to share out


class _Preparer:
    """Rewrites node by node; `new` is what each node has become."""

    def __init__(self, graph: Graph, layouts: dict[Node, tuple], half_products: bool):
        self.graph, self.layouts, self.half_products = graph, layouts, half_products
        self.users = graph.users()
        self.converted: dict[tuple, Node] = {}
        self.nodes: list[Node] = []
        self.new: dict[Node, Node] = {}

    def run(self) -> Graph:
        for node in self.graph.nodes:
            if node.opcode == "call_function":
                self.new[node] = self.rewrite(node, self._args(node))
            else:
                self.new[node] = node
                self.nodes.append(node)
        outputs, taken = [], set()
        for o in self.graph.outputs:
            now = self.new[o]
            if now.opcode == "placeholder" or now in taken:
                now = self.make(o, copy, (now,), (), now.type, "_copy")
            taken.add(now)
            outputs.append(now)
        return Graph(self.nodes, outputs, self.graph.name)

    def _args(self, node: Node) -> tuple:
        return tuple([self.new[a] if type(a) is Node else a for a in node.args])

    def make(self, like: Node, op, args: tuple, attrs: tuple, type_: TensorType, suffix: str = "") -> Node:
        made = Node("call_function", like.name + suffix, op, args, attrs, type_, like.line)
        self.nodes.append(made)
        return made

    def same(self, node: Node, args: tuple) -> Node:
        if all(a is b for a, b in zip(args, node.args, strict=True)):
            self.nodes.append(node)
            return node
        return self.make(node, node.target, args, node.attrs, node.type)

    def rewrite(self, node: Node, args: tuple) -> Node:
        kind = node.target.kind
        if kind is Kind.CONTRACT:
            return self.product(node, args)
        if kind is Kind.REDUCE and not is_complex(node.type):
            return self.reduction(node, args)
        if kind is Kind.SCATTER and not is_host(node):
            return self.scatter(node, args)
        if is_host(node):
            args = tuple([self._dense(a) if type(a) is Node else a for a in args])
        return self.same(node, args)

    def _dense(self, node: Node) -> Node:
        """The node, or its contiguous copy where it is an input of other strides: the host wants arrays."""
        return self.make(node, copy, (node,), (), node.type, "_dense") if node in self.layouts else node

    def filled(self, node: Node, value) -> Node:
        t = node.type
        attrs = (("device", t.device), ("dtype", t.dtype), ("shape", t.shape), ("value", value))
        return self.make(node, full, (), attrs, t)

    def scatter(self, node: Node, args: tuple) -> Node:
        """A scatter over memory of its own; halves add up in float32."""
        x, t, mode = node.args[0], node.type, node.target.emit[1]
        if t.numel == 0 or prod(read_scatter(node).domain) == 0:
            return self.make(node, copy, args[:1], (), t)
        if is_choice(node):
            return self.same(node, args)
        if t.dtype.itemsize == 2 and t.dtype.kind == "f" and mode in ("add", "mul"):
            wide = tuple(self._converted(a, float32) if a.type.dtype is t.dtype else a for a in args)
            made = self.make(node, node.target, wide, node.attrs, t.with_dtype(float32), "_float32")
            return self.make(node, convert, (made,), (("dtype", t.dtype),), t)
        alone = x.opcode == "call_function" and len(self.users[x]) == 1 and x not in self.graph.outputs
        if not alone or node.args.count(x) > 1 or is_view(args[0]):
            args = (self.make(node, copy, args[:1], (), t, "_base"), *args[1:])
        return self.same(node, args)

    # products -----------------------------------------------------------------------------------
    def product(self, node: Node, args: tuple) -> Node:
        t = node.type
        if t.numel and args[0].type.numel == 0:
            return self.filled(node, 0)
        if t.dtype.itemsize == 2 and t.dtype.kind == "f" and not self.half_products:
            wide = tuple(self._converted(a, float32) for a in args)
            made = self.make(node, node.target, wide, node.attrs, t.with_dtype(float32), "_float32")
            return self.make(node, convert, (made,), (("dtype", t.dtype),), t)
        if is_host(node) or t.ndim > 4:
            args = tuple(map(self._dense, args))
        return self.same(node, args)

    def _converted(self, node: Node, dtype) -> Node:
        """The node in another dtype: the value under its views is converted, once, and viewed the same way."""
        found = self.converted.get((node, dtype))
        if found is None:
            t = node.type.with_dtype(dtype)
            if is_view(node) and node.args[0].type.numel <= node.type.numel:
                base = self._converted(node.args[0], dtype)
                found = self.make(node, node.target, (base,), node.attrs, t, "_wide")
            else:
                found = self.make(node, convert, (node,), (("dtype", dtype),), t, "_wide")
            self.converted[node, dtype] = found
        return found

    # reductions ---------------------------------------------------------------------------------
    def reduction(self, node: Node, args: tuple) -> Node:
        (x,) = args
        if x.type.numel == 0:
            if isinstance(node.type, tuple) or not node.type.numel:
                return self.same(node, args)
            return self.filled(node, node.target.emit.identity(node.type.dtype)[0])
        if node.target.emit.indexed or len(node.attrs) > 1:
            return self.same(node, args)
        shape, dims = x.type.shape, dict(node.attrs)["dims"]
        reduced = [d for d in dims if shape[d] > 1]
        kept = [d for d in range(len(shape)) if d not in dims and shape[d] > 1]
        if not reduced:
            return self.same(node, args)
        numel, inner = x.type.numel, prod(shape[d] for d in kept)
        if not kept:
            return self._parts(node, x, dims, PARTS) if numel >= LARGE else self.same(node, args)
        if reduced[-1] < kept[0]:
            rows = prod(shape[d] for d in reduced)
            if rows >= 32 and inner < WIDE and numel >= 2 * LARGE:
                return self._parts(node, x, dims, part_count(rows, inner))
        elif inner < FEW and numel >= 2 * LARGE and reduced[-1] > kept[-1]:
            return self._stepwise(node, x, dims)
        return self.same(node, args)

    def _reduced(self, like: Node, x: Node, dims: tuple, dtype, suffix: str, more: tuple = (), lead=()) -> Node:
        shape = (*lead, *(n for d, n in enumerate(x.type.shape) if d not in dims))
        return self.make(like, like.target, (x,), (("dims", dims), *more),
                         tensor_type(shape, dtype, x.type.device), suffix)

    def _finish(self, node: Node, total: Node) -> Node:
        if total.type.dtype is node.type.dtype:
            return total
        return self.make(node, convert, (total,), (("dtype", node.type.dtype),), node.type)

    def _parts(self, node: Node, x: Node, dims: tuple, count: int) -> Node:
        dtype = state_dtype(x.type.dtype)
        if count == 1:
            return self._finish(node, self._reduced(node, x, dims, dtype, "_all"))
        parts = self._reduced(node, x, dims, dtype, "_parts", (("parts", count),), (count,))
        return self._finish(node, self._reduced(node, parts, (0,), dtype, "_all"))

    def _stepwise(self, node: Node, x: Node, dims: tuple) -> Node:
        """A long reduction with few results: first pieces of its last dims, then over the pieces."""
        dtype, shape = state_dtype(x.type.dtype), x.type.shape
        tail = tuple(d for d in dims if all(e in dims or shape[e] == 1 for e in range(d, len(shape))))
        if tail != dims:
            first = self._reduced(node, x, tail, dtype, "_tail")
            return self._finish(node, self._reduced(node, first, dims[: len(dims) - len(tail)], dtype, "_all"))
        long = tail[-1]
        pieces = max((c for c in range(8, 257) if shape[long] % c == 0), default=0)
        if not pieces:
            return self.same(node, (x,))
        split = (*shape[:long], pieces, shape[long] // pieces, *shape[long + 1:])
        view = self.make(node, reshape, (x,), (("shape", split),), x.type.with_shape(split), "_split")
        last = (*(d + 1 for d in tail if d > long), long + 1)
        first = self._reduced(node, view, tuple(sorted(last)), dtype, "_tail")
        rest = (*(d for d in tail if d < long), long)
        return self._finish(node, self._reduced(node, first, rest, dtype, "_all"))


def prepare(graph: Graph, layouts: dict[Node, tuple], half_products: bool = False) -> Graph:
    """The graph in the primitives the loops know; `layouts` are the inputs that are not contiguous.

    With `half_products` products read halves themselves; they add in float32 and round once either way.
    """
    return prune(_Preparer(prune(inline(graph)), layouts, half_products).run())
