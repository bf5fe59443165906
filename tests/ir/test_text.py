"""Graphs as text, as JSON and as a key: what is written reads back the same."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.ir import dtype as dt
from treadle.ir.composite import composite
from treadle.ir.device import CPU, device
from treadle.ir.errors import GraphError
from treadle.ir.graph import Builder, Graph, Line, Node
from treadle.ir.keys import exact_key
from treadle.ir.ops import elementwise as e
from treadle.ir.parse import _Tokens, parse_graph, parse_value
from treadle.ir.serial import dump_graph, load_graph
from treadle.ir.text import print_graph, structure_key, tabulate, value_text
from treadle.ir.type import tensor_type

from . import programs

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text(),
    st.sampled_from(dt.ALL), st.sampled_from([CPU, device("cuda:1"), device("cuda"), device("meta")]),
    st.builds(tensor_type, st.lists(st.integers(0, 5), max_size=3).map(tuple), st.sampled_from(dt.ALL),
              st.sampled_from([CPU, device("cuda:0")])))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


@given(VALUES)
def test_value(value):
    again = parse_value(_Tokens(value_text(value)))
    assert value_text(again) == value_text(value)
    assert exact_key(again) == exact_key(value)


def test_value_that_text_cannot_hold():
    with pytest.raises(TypeError, match="cannot be written: expected None, a bool, a number"):
        value_text([1])


@settings(max_examples=60, deadline=None)
@given(programs.graphs())
def test_round_trip(case):
    graph, _ = case
    ops = {op.name: op for op in (programs.doubled, programs.centred, programs.parts)}
    text = print_graph(graph)
    assert print_graph(parse_graph(text, ops)) == text
    data = json.loads(json.dumps(dump_graph(graph), allow_nan=False))
    again = load_graph(data, ops)
    assert print_graph(again) == text
    assert [n.line for n in again.nodes] == [n.line for n in graph.nodes]
    assert structure_key(again) == structure_key(graph) == structure_key(parse_graph(text, ops))


NAMES = st.one_of(st.text(min_size=1, max_size=8),
                  st.sampled_from("cpu cuda:0 cpu.x nan -inf None float32 True x.y return graph".split()))


@given(NAMES, st.one_of(st.none(), st.builds(Line, NAMES, st.integers(0, 99), st.sampled_from(["", "f", "<lambda>"]),
                                             st.sampled_from(["", "y = x", "a: b in c:3"]))), NAMES)
def test_odd_names_and_lines(name, line, other):
    if name == other:
        other += "2"
    x = Node("placeholder", name, 0, (), (), tensor_type((2,), dt.float32), line)
    y = Node("call_function", other, e.neg, (x,), (), x.type, None)
    z = Node("get_attr", name + other, other, (), (), x.type, line)
    text = print_graph(Graph([x, y, z], [y], name))
    again = parse_graph(text)
    assert print_graph(again) == text
    assert [(n.name, n.line, n.target) for n in again.nodes] == [(n.name, n.line, n.target) for n in (x, y, z)]


def test_source_text_is_read_from_the_file(tmp_path):
    source = tmp_path / "train.py"
    source.write_text("import treadle\n\ny = x + 1  # next\n")
    builder = Builder(lambda: Line(str(source), 3, "step"))
    x = builder.placeholder(tensor_type((2,), dt.float32))
    text = print_graph(builder.graph([builder.process(e.add, (x, 1.0), {})]))
    assert text == textwrap.dedent(f"""\
        graph graph:
          %x: float32[2] = placeholder(0)
          # {source}:3 in step: y = x + 1  # next
          %add: float32[2] = add(%x, 1.0)
          return %add""")
    source.unlink()
    assert print_graph(parse_graph(text)) == text


def test_bodies_and_table():
    twice = composite("twice", lambda x: e.add(x, x))
    builder = Builder(lambda: Line("a.py", 7))
    x = builder.placeholder(tensor_type((2,), dt.float32))
    graph = builder.graph([builder.process(twice, (x,), {})])
    assert print_graph(graph, bodies=True).split("\n\n")[1] == textwrap.dedent("""\
        body twice(float32[2]):
          %x: float32[2] = placeholder(0)
          %add: float32[2] = add(%x, %x)
          return %add""")
    assert print_graph(parse_graph(print_graph(graph, bodies=True), {"twice": twice})) == print_graph(graph)
    assert tabulate(graph) == textwrap.dedent("""\
        opcode         name    target  args    type        line
        -------------  ------  ------  ------  ----------  ------
        placeholder    x       0               float32[2]
        call_function  twice   twice   %x      float32[2]  a.py:7
        output         output  output  %twice""")


BAD = [
    ("", "expected 'graph'"),
    ("graph g:", "has no return line"),
    ("graph g:\n  %x: float31[2] = placeholder(0)\n  return %x", "a dtype instead of 'float31'"),
    ("graph g:\n  %x: float32[2] = placeholder(0)\n  %x: float32[2] = neg(%x)\n  return %x", "%x is made twice"),
    ("graph g:\n  %y: float32[2] = neg(%x)\n  return %y", "%x is read before it is made"),
    ("graph g:\n  %x: float32[2] = placeholder(0)\n  %y: float32[2] = gelu(%x)\n  return %y", "no op is named 'gelu'"),
    ("graph g:\n  %x: float32[2] = placeholder(0\n  return %x", "got the end of the line"),
    ("graph g:\n  # nothing here\n  return", "expected '# file:number"),
    ("graph g:\n  %x: float32[2] = placeholder(0)\n  return %x ^", "at column"),
]


@pytest.mark.parametrize("text, message", BAD)
def test_parse_error(text, message):
    with pytest.raises(GraphError) as error:
        parse_graph(text)
    assert message in str(error.value)


def test_load_refuses_another_format():
    with pytest.raises(GraphError, match="expected a graph of format 1, got 2"):
        load_graph({"format": 2})


ONE = "graph g:\n  %x: float32[2, 3] = placeholder(0)\n  %y: float32[2, 3] = mul(%x, 2.0)\n  return %y"


def test_key_forgets_names_and_lines_only():
    key = structure_key(parse_graph(ONE))
    assert key == structure_key(parse_graph(ONE.replace("%y", "%z").replace("graph g", "graph h")))
    assert key == structure_key(parse_graph(ONE.replace("  %y:", "  # a.py:1:\n  %y:")))
    changes = [("2.0", "2"), ("2.0", "-2.0"), ("mul", "add"), ("[2, 3]", "[3, 2]"), ("float32", "float64"),
               ("mul(%x, 2.0)", "mul(2.0, %x)"), ("return %y", "return %x"), ("return %y", "return %y, %y")]
    keys = [structure_key(parse_graph(ONE.replace(*change))) for change in changes]
    assert len({key, *keys}) == len(changes) + 1


def test_key_sees_the_body_of_a_composite():
    graphs = []
    for body in (lambda x: e.add(x, x), lambda x: e.mul(x, x)):
        op = composite("same_name", body)
        graphs.append(parse_graph(ONE.replace("mul(%x, 2.0)", "same_name(%x)"), {"same_name": op}))
    assert structure_key(graphs[0]) != structure_key(graphs[1])


def test_key_is_the_same_in_another_process():
    code = ("from treadle.ir.parse import parse_graph; from treadle.ir.text import structure_key\n"
            f"print(structure_key(parse_graph({ONE!r})))")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == structure_key(parse_graph(ONE))


def test_exact_key():
    values = [0, 0.0, -0.0, False, 1, 1.0, True, (1,), (1.0,), (True,), (1, 1.0), (1.0, 1), 1 + 0j, "1", None]
    assert len({exact_key(v) for v in values}) == len(values)
    assert exact_key((math.nan, 1)) == exact_key((math.nan, 1))
