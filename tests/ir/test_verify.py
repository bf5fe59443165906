"""verify: one fault per case, found and shown with its neighbourhood."""

from __future__ import annotations

import pytest

from treadle.ir import dtype as dt
from treadle.ir.errors import GraphError
from treadle.ir.graph import Graph, Line, Node
from treadle.ir.ops import TABLE, elementwise as e, movement as m, reduce as r
from treadle.ir.passes import checks, optimize
from treadle.ir.type import tensor_type
from treadle.ir.verify import verify

T = tensor_type((2, 3), dt.float32)
X = Node("placeholder", "x", 0, (), (), T)
STRANGER = Node("placeholder", "stranger", 0, (), (), T)


def call(op, *args, name="y", kind=T, line=None, **attrs) -> Node:
    return Node("call_function", name, op, args, tuple(sorted(attrs.items())), kind, line)


Y = call(e.neg, X)
PAIR = call(r.max_with_index, X, name="pair", kind=r.max_with_index.infer(T, dims=(1,)), dims=(1,))
PART = call(TABLE["getitem"], PAIR, name="part", kind=PAIR.type[1], index=1)
FAULTS = {
    "a node named 'x' came before": ([X, call(e.neg, X, name="x")], [X]),
    "its name is ''": ([call(e.neg, X, name="")], []),
    "%stranger, is not made before it": ([X, call(e.neg, STRANGER)], []),
    "%y, is not made before it": ([X, call(e.neg, Y, name="z"), Y], []),
    "its position is 1, the next one is 0": ([Node("placeholder", "x", 1, (), (), T)], []),
    "opcode 'call_module'": ([Node("call_module", "x", "f", (), (), T)], []),
    "its target is 3, not a name": ([Node("get_attr", "x", 3, (), (), T)], []),
    "operand 1 is a str": ([X, call(e.add, X, "1")], []),
    "operand 0, %pair, has several outputs": ([X, PAIR, call(e.neg, PAIR)], []),
    "its attributes are not sorted": (
        [X, Node("call_function", "y", m.pad, (X,), (("value", 0), ("after", (0, 0)), ("before", (0, 0))), T)], []),
    "attribute dims is a list": ([X, call(m.permute, X, dims=[0, 1])], []),
    "its type is float32[2, 3], inferred again it is float32[3, 2]": ([X, call(m.permute, X, dims=(1, 0))], []),
    "its type is float32[2, 3], inferred again it is bool[2, 3]": ([X, call(e.lt, X, X)], []),
    "its operands do not fit: ShapeError": ([X, call(m.reshape, X, shape=(7,))], []),
    "its line is 'a.py:1'": ([X, call(e.neg, X, line="a.py:1")], []),
    "output %stranger is not a node": ([X], [STRANGER]),
    "output %pair has several values": ([X, PAIR], [PAIR]),
}


def test_good():
    graph = Graph([X, PAIR, PART, call(e.neg, X, line=Line("a.py", 1))], [PART])
    assert verify(graph) is graph
    assert verify(Graph([], []))


@pytest.mark.parametrize("message", FAULTS)
def test_fault(message):
    nodes, outputs = FAULTS[message]
    with pytest.raises(GraphError) as error:
        verify(Graph(nodes, outputs))
    assert message in str(error.value)


def test_error_shows_pass_line_and_neighbourhood():
    nodes = [X, call(e.neg, X), call(e.lt, X, X, name="z", line=Line("a.py", 4)), call(e.exp, X, name="after")]
    with pytest.raises(GraphError) as error:
        verify(Graph(nodes, nodes[3:], "step"), after="fold")
    assert str(error.value) == (
        "after pass 'fold': graph 'step' is not well formed at %z (recorded at a.py:4): its type is float32[2, 3], "
        "inferred again it is bool[2, 3]\n"
        "  %x: float32[2, 3] = placeholder(0)\n"
        "  %y: float32[2, 3] = neg(%x)\n"
        "> %z: float32[2, 3] = lt(%x, %x)\n"
        "  %after: float32[2, 3] = exp(%x)")


def test_passes_are_checked_under_test():
    assert checks.each_pass
    with pytest.raises(GraphError, match="after pass 'inline'"):
        optimize(Graph([X, call(e.lt, X, X)], [X]))
