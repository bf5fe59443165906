"""Passes, text in and text out; then random programs, whose values no pass may change."""

from __future__ import annotations

import textwrap

import numpy as np

from hypothesis import given, settings

from treadle.ir import dtype as dt
from treadle.ir.composite import composite

from treadle.ir.interpret import run_numpy
from treadle.ir.op import Kind
from treadle.ir.ops import elementwise as e
from treadle.ir.parse import parse_graph
from treadle.ir.passes import PIPELINE, optimize
from treadle.ir.passes.dedupe import dedupe
from treadle.ir.passes.fold import fold
from treadle.ir.passes.inline import inline
from treadle.ir.passes.prune import prune
from treadle.ir.text import print_graph
from treadle.ir.verify import verify

from . import programs
from .values import NumberBuilder, same_bits

double = composite("double", lambda x: e.add(x, x))
quadruple = composite("quadruple", lambda x: e.mul(double(x), 2))
both = composite("both", lambda x, *, k: (e.mul(x, k), e.neg(x)), outputs=2)
keep = composite("keep", lambda x: x)
OPS = {op.name: op for op in (double, quadruple, both, keep)}


def text(source: str) -> str:
    return textwrap.dedent(source).strip()


def passes(step, before: str, after: str) -> None:
    graph = verify(parse_graph(text(before), OPS))
    assert print_graph(verify(step(graph))) == text(after)
    assert print_graph(graph) == text(before)  # the input is untouched


def test_inline():
    passes(inline, """
        graph g:
          %x: float32[3] = placeholder(0)
          # a.py:1 in f: y = quadruple(x)
          %y: float32[3] = quadruple(%x)
          # a.py:2 in f: z = quadruple(y)
          %z: float32[3] = quadruple(%y)
          return %z
        """, """
        graph g:
          %x: float32[3] = placeholder(0)
          # a.py:1 in f: y = quadruple(x)
          %y_double: float32[3] = add(%x, %x)
          %y: float32[3] = mul(%y_double, 2)
          # a.py:2 in f: z = quadruple(y)
          %z_double: float32[3] = add(%y, %y)
          %z: float32[3] = mul(%z_double, 2)
          return %z
        """)


def test_inline_several_outputs():
    passes(inline, """
        graph g:
          %x: float32[3] = placeholder(0)
          %p: (float32[3], float32[3]) = both(%x, k=2.0)
          %a: float32[3] = getitem(%p, index=0)
          %b: float32[3] = getitem(%p, index=1)
          %c: float32[3] = sub(%b, %a)
          return %c, %a
        """, """
        graph g:
          %x: float32[3] = placeholder(0)
          %p_mul: float32[3] = mul(%x, 2.0)
          %p_neg: float32[3] = neg(%x)
          %c: float32[3] = sub(%p_neg, %p_mul)
          return %c, %p_mul
        """)


def test_inline_avoids_taken_names():
    graph = parse_graph(text("""
        graph g:
          %y_double: float32[3] = placeholder(0)
          %y: float32[3] = quadruple(%y_double)
          return %y
        """), OPS)
    assert [n.name for n in verify(inline(graph)).nodes] == ["y_double", "y_double_1", "y"]


def test_outputs_stay_values_of_their_own():
    """An output is memory the caller may write: it is neither an input's nor another output's."""
    passes(inline, """
        graph g:
          %x: float32[3] = placeholder(0)
          %y: float32[3] = keep(%x)
          return %y
        """, """
        graph g:
          %x: float32[3] = placeholder(0)
          %y: float32[3] = copy(%x)
          return %y
        """)
    passes(dedupe, """
        graph g:
          %x: float32[3] = placeholder(0)
          %y: float32[3] = neg(%x)
          %z: float32[3] = neg(%x)
          return %y, %z, %y
        """, """
        graph g:
          %x: float32[3] = placeholder(0)
          %y: float32[3] = neg(%x)
          %z: float32[3] = copy(%y)
          return %y, %z, %y
        """)
    passes(fold, """
        graph g:
          %x: float32[3] = placeholder(0)
          %y: float32[3] = mul(%x, 1.0)
          return %x, %y
        """, """
        graph g:
          %x: float32[3] = placeholder(0)
          %y: float32[3] = copy(%x)
          return %x, %y
        """)


def test_optimizing_again_changes_nothing():
    graph = parse_graph(text("""
        graph g:
          %x: float32[3] = placeholder(0)
          %y: float32[3] = keep(%x)
          %z: float32[3] = neg(%x)
          %w: float32[3] = neg(%x)
          return %y, %z, %w
        """), OPS)
    once = optimize(graph)
    assert print_graph(optimize(once)) == print_graph(once)


def test_dedupe_tells_numbers_apart():
    passes(dedupe, """
        graph g:
          %x: int64[3] = placeholder(0)
          %a: int64[3] = mul(%x, 1)
          %b: int64[3] = mul(%x, True)
          %c: float64[3] = full(device=cpu, dtype=float64, shape=(3,), value=0.0)
          %d: float64[3] = full(device=cpu, dtype=float64, shape=(3,), value=-0.0)
          %e: float64[3] = full(device=cpu, dtype=float64, shape=(3,), value=nan)
          %f: float64[3] = full(device=cpu, dtype=float64, shape=(3,), value=nan)
          %h: float64[3] = add(%e, %f)
          return %a, %b, %c, %d, %h
        """, """
        graph g:
          %x: int64[3] = placeholder(0)
          %a: int64[3] = mul(%x, 1)
          %b: int64[3] = mul(%x, True)
          %c: float64[3] = full(device=cpu, dtype=float64, shape=(3,), value=0.0)
          %d: float64[3] = full(device=cpu, dtype=float64, shape=(3,), value=-0.0)
          %e: float64[3] = full(device=cpu, dtype=float64, shape=(3,), value=nan)
          %h: float64[3] = add(%e, %e)
          return %a, %b, %c, %d, %h
        """)


def test_prune():
    passes(prune, """
        graph g:
          %x: float32[3] = placeholder(0)
          %unused: float32[3] = placeholder(1)
          %a: float32[3] = exp(%x)
          %b: float32[3] = log(%a)
          %c: float32[3] = neg(%x)
          return %c
        """, """
        graph g:
          %x: float32[3] = placeholder(0)
          %unused: float32[3] = placeholder(1)
          %c: float32[3] = neg(%x)
          return %c
        """)


def test_fold_goes_through_a_chain():
    passes(optimize, """
        graph g:
          %x: float32[2, 3] = placeholder(0)
          %zero: float32[] = full(device=cpu, dtype=float32, shape=(), value=0)
          %one: float32[] = full(device=cpu, dtype=float32, shape=(), value=1)
          %two: float32[] = add(%one, %one)
          %r: float32[1, 1] = reshape(%two, shape=(1, 1))
          %e: float32[2, 3] = expand(%r, shape=(2, 3))
          %h: float32[2, 3] = div(%x, %e)
          %n: float32[2, 3] = neg(%h)
          %m: float32[2, 3] = neg(%n)
          %t: float32[3, 2] = permute(%m, dims=(1, 0))
          %u: float32[2, 3] = permute(%t, dims=(1, 0))
          return %u
        """, """
        graph g:
          %x: float32[2, 3] = placeholder(0)
          %h: float32[2, 3] = mul(%x, 0.5)
          return %h
        """)


def test_nothing_to_do_gives_the_graph_itself():
    graph = parse_graph("graph g:\n  %x: float32[3] = placeholder(0)\n  %y: float32[3] = exp(%x)\n  return %y")
    for step in PIPELINE:
        assert step(graph) is graph


def test_body_is_spliced_per_attribute_value():
    """1 and 1.0 are different attributes: an integer stays an integer."""
    scale = composite("scale", lambda x, *, k: x * k)
    builder = NumberBuilder()
    x = builder.placeholder(programs.kind((2,), dt.int64))
    outs = [builder.process(scale, (x,), {"k": k}) for k in (3, 3.0, True)]
    graph = optimize(builder.graph(outs))
    assert [o.type.dtype for o in graph.outputs] == [dt.int64, dt.float32, dt.int64]


@settings(max_examples=60, deadline=None)
@given(programs.graphs())
def test_random_programs(case):
    graph, arrays = case
    before = print_graph(graph)
    verify(graph)
    with np.errstate(all="ignore"):
        want = run_numpy(graph, arrays)
        current = graph
        for step in PIPELINE:
            result = verify(step(current), after=step.__name__)
            assert same_all(want, run_numpy(result, arrays)), (step.__name__, before, print_graph(result))
            current = result
    assert print_graph(graph) == before
    assert [n.target for n in current.placeholders] == [n.target for n in graph.placeholders]
    assert all(n.opcode != "call_function" or n.target.kind is not Kind.COMPOSITE for n in current.nodes)
    assert len(optimize(current).nodes) == len(current.nodes)


def same_all(a, b) -> bool:
    return len(a) == len(b) and all(same_bits(np.asarray(x), np.asarray(y)) for x, y in zip(a, b, strict=True))
