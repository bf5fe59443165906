"""Intervals of whole-number values, and what they save: indices a graph computes are known to be in range."""

from __future__ import annotations

import numpy as np
from stepping import check
from test_compile import repeat

import treadle as T
from treadle import nn
from treadle.frontend.intervals import intervals
from treadle.ir import dtype as dt
from treadle.ir import ops
from treadle.ir.device import CPU
from treadle.ir.dispatch import using
from treadle.ir.graph import Builder
from treadle.ir.interpret import run_numpy
from treadle.ir.type import tensor_type
from treadle.nn import functional as F


def test_intervals_hold_all_values():
    builder = Builder()
    with using(builder):
        x = builder.placeholder(tensor_type((4, 6), dt.float32))
        _, at = ops.max_with_index(x, dims=(1,))
        line = ops.iota(size=4, dtype=dt.int64, device=CPU)
        values = [at, line * 3 - 2, ops.mod(at, 4), ops.floordiv(at, 2), -line, ops.maximum(at, 2),
                  ops.where(ops.gt(x, 0), 7, ops.expand(ops.reshape(at, shape=(4, 1)), shape=(4, 6)))]
    graph = builder.graph(values)
    known = intervals(graph)
    for seed in range(20):
        data = np.random.default_rng(seed).standard_normal((4, 6)).astype(np.float32)
        for node, array in zip(graph.outputs, run_numpy(graph, [data]), strict=True):
            if node in known:
                assert known[node].low <= array.min() and array.max() <= known[node].high, node
    exact = [(known[v].low, known[v].high) for v in values[:-1]]
    assert exact == [(0, 5), (-2, 7), (0, 3), (0, 2), (-3, 0), (2, 5)]


def test_pooling_after_dropout_is_one_graph():
    def build(compile):
        model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.MaxPool2d(2), nn.Dropout(0.2), nn.Flatten(),
                              nn.Linear(64, 10))
        opt = T.optim.SGD(model.parameters(), 0.1)

        def step(x, y):
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            return loss

        return compile(step), lambda: list(model.parameters())

    def batch(k):
        rng = np.random.default_rng(k)
        return (T.from_numpy(rng.standard_normal((8, 1, 8, 8)).astype(np.float32)),
                T.from_numpy(rng.integers(0, 10, 8)))

    check(build, repeat(batch, 5), graphs=1, lazy=0, rtol=2e-5)
