"""Random programs: compiled equals eager over several calls, in values, aliasing, gradients and errors.

A program is a list of instructions over a few registers, held state and parameters. Both ways run it on the
same numbers, with changes between the calls; after each call its results are written to, so that what
aliases what is compared as well.
"""

from __future__ import annotations

import os

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from loud import attempt, rand
from stepping import arrays, same

import treadle as T
from treadle.nn import functional as F

REGISTERS = 4
EXAMPLES = int(os.environ.get("TREADLE_TEST_PROGRAMS", "60"))

UNARY = {
    "exp": lambda x: (x.clamp(-3, 3)).exp(),
    "tanh": lambda x: x.tanh(),
    "relu": lambda x: x.relu(),
    "neg": lambda x: -x,
    "square": lambda x: x * x,
    "sum0": lambda x: x.sum(0) if x.ndim else x.sum(),
    "mean": lambda x: x.mean(),
    "amax": lambda x: x.amax(-1) if x.ndim and x.shape[-1] else x * 1,
    "softmax": lambda x: F.softmax(x, -1) if x.ndim else x.sigmoid(),
    "t": lambda x: x.transpose(0, -1) if x.ndim else x,
    "first": lambda x: x[0] if x.ndim and x.shape[0] else x * 2,
    "tail": lambda x: x[1:] if x.ndim else x,
    "flat": lambda x: x.reshape(-1),
    "row": lambda x: x.unsqueeze(0),
    "detach": lambda x: x.detach(),
    "clone": lambda x: x.clone(),
    "empty": lambda x: x.reshape(-1)[:0],
    "dropout": lambda x: F.dropout(x, 0.5),
    "noise": lambda x: x + T.rand(x.shape, dtype=x.dtype),
    "half": lambda x: x.to(T.bfloat16).to(x.dtype),
    "ints": lambda x: (x * 4).clamp(-99, 99).to(T.int64).to(x.dtype),
    "mask": lambda x: T.where(x > 0, x, x * 0.25),
    "const": lambda x: x * T.tensor([2.0], dtype=x.dtype),
}
BINARY = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "sub": lambda a, b: a - b,
    "max": T.maximum,
    "where": lambda a, b: T.where(a > b, a, b),
    "outer": lambda a, b: a.reshape(-1)[:3].unsqueeze(1) * b.reshape(-1)[:2],
}
WRITES = {
    "add_": lambda a, b: a.add_(b),
    "mul_": lambda a, b: a.mul_(0.5),
    "copy_": lambda a, b: a.copy_(b),
    "set": lambda a, b: a.__setitem__(0, 1.5) if a.ndim and a.shape[0] else a.fill_(2.0),
    "set_view": lambda a, b: a.reshape(-1)[:2].mul_(3.0),
    "zero_t": lambda a, b: a.transpose(0, -1)[:1].zero_() if a.ndim else a.zero_(),
}

place = st.integers(0, REGISTERS - 1)
instruction = st.one_of(
    st.tuples(st.just("unary"), st.sampled_from(sorted(UNARY)), place, place, place),
    st.tuples(st.just("binary"), st.sampled_from(sorted(BINARY)), place, place, place),
    st.tuples(st.just("write"), st.sampled_from(sorted(WRITES)), place, place, place),
    st.tuples(st.just("param"), st.just(""), place, place, place),
    st.tuples(st.just("state"), st.sampled_from(["read", "add_", "copy_"]), place, place, place),
    st.tuples(st.just("branch"), st.sampled_from(["flag", "flag", "data"]), place, place, place),
    st.tuples(st.just("loop"), st.sampled_from(sorted(UNARY)), place, place, place),
)
shape = st.sampled_from([(), (0,), (3,), (1, 3), (2, 3), (3, 3)])
program = st.fixed_dictionaries({
    "body": st.lists(instruction, min_size=1, max_size=9),
    "shapes": st.tuples(shape, shape),
    "dtype": st.sampled_from([np.float32, np.float32, np.float64]),
    "results": st.lists(place, min_size=1, max_size=3),
    "inputs": st.sampled_from(["apart", "apart", "same", "view", "numpy"]),
    "grad": st.sampled_from(["none", "inside", "outside", "leaf"]),
    "zero": st.booleans(),
    "changes": st.lists(st.sampled_from(["", "", "flag", "count", "shape", "freeze", "data", "nograd"]),
                        min_size=5, max_size=5),
})


class World:
    """What a program reads besides its arguments."""

    def __init__(self, spec):
        self.spec = spec
        self.w = rand(3, seed=50, dtype=spec["dtype"]).requires_grad_(spec["grad"] != "none")
        self.state = rand(*spec["shapes"][0], seed=51, dtype=spec["dtype"])
        self.flag, self.count = True, 2

    def step(self, a, b):
        registers = [a, b, a * 1, b * 2]
        for item in self.spec["body"]:
            self.do(registers, *item)
        loss = sum(r.sum() for r in registers if r.numel() < 50) * self.w.sum()
        if self.spec["grad"] == "inside" and loss.requires_grad:
            if self.spec["zero"]:
                self.w.grad = None
            loss.backward()
        return [registers[k] for k in self.spec["results"]], loss

    def do(self, r, kind, name, out, i, j):
        if kind == "unary":
            r[out] = UNARY[name](r[i])
        elif kind == "binary":
            r[out] = BINARY[name](r[i], r[j])
        elif kind == "write":
            WRITES[name](r[i], r[j])
        elif kind == "param":
            r[out] = r[i] * self.w
        elif kind == "state":
            r[out] = self.touch(name, r[i])
        elif kind == "branch":
            taken = self.flag if name == "flag" else bool(r[i].sum() > 0)
            r[out] = r[i] + 1 if taken else r[j] * 2
        else:
            for _ in range(self.count):
                r[out] = UNARY[name](r[out])

    def touch(self, name, x):
        if name != "read":
            getattr(self.state, name)(x.detach())
        return self.state

    def change(self, what, call):
        if what == "flag":
            self.flag = not self.flag
        elif what == "count":
            self.count = 1 + call % 3
        elif what == "freeze" and self.spec["grad"] != "none":
            self.w.requires_grad_(not self.w.requires_grad)
        elif what == "data":
            self.w.data = rand(3, seed=call, dtype=self.spec["dtype"])


def arguments(spec, call, resized):
    dtype, (first, second) = spec["dtype"], spec["shapes"]
    first = (4, *first) if resized else first
    a = rand(*first, seed=call, dtype=dtype)
    if spec["inputs"] == "same":
        return a, a
    if spec["inputs"] == "view":
        return a, (a[1:] if a.ndim else a.reshape(1))
    if spec["inputs"] == "numpy":
        return a, T.from_numpy(a.numpy())
    b = rand(*second, seed=call + 20, dtype=dtype)
    return (a.requires_grad_(), b) if spec["grad"] == "leaf" else (a, b)


def trajectory(spec, compiled):
    """All that is seen of the calls, and the compiled function."""
    T.manual_seed(0)
    world = World(spec)
    fn = T.compile(world.step) if compiled else world.step
    seen, resized = [], False
    for call, change in enumerate(["", *spec["changes"]]):
        world.change(change, call)
        resized ^= change == "shape"
        a, b = arguments(spec, call, resized)
        with T.set_grad_enabled(change != "nograd"):
            seen.append(attempt(lambda: one_call(fn, spec, a, b)))
        seen.append(arrays([a, b, world.w, world.w.grad, world.state, T.rand(1)]))
    return seen, fn


def one_call(fn, spec, a, b):
    """The results, the gradients they lead to, and what a write to each of them changes."""
    results, loss = fn(a, b)
    seen = [arrays(results), arrays(loss), [t.requires_grad for t in results], [t.stride() for t in results],
            [t is a or t is b for t in results]]
    if spec["grad"] in ("outside", "leaf") and loss.requires_grad:
        seen.append(attempt(lambda: loss.backward()))
        seen.append(arrays(a.grad if a.is_leaf else None))
    for t in results:
        with T.no_grad():
            seen.append(attempt(lambda: arrays(t.add_(1))))
        seen.append(arrays([a, b, results]))
    return seen


def check(spec):
    eager, _ = trajectory(spec, False)
    got, fn = trajectory(spec, True)
    same(eager, got, rtol=3e-4)
    counts = fn.explain().counts
    assert counts["fallbacks"] == 0, str(fn.explain())
    assert counts["replays"] or counts["lazy"] or counts["recordings"] >= 6 or any(
        e and type(e[0]) is str for e in eager), str(fn.explain())


QUIET = dict(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=EXAMPLES, **QUIET)
@given(program)
def test_random_programs(spec):
    check(spec)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=20 * EXAMPLES, **QUIET)
@given(program)
def test_many_random_programs(spec):
    check(spec)
