"""Random programs of all kinds of ops: compiled equals the interpreter."""

import numpy as np
import pytest
from treadle.ir import dtype as dt
from treadle.ir import ops

from .helpers import address, compiled, run_numpy, trace, type_of

SHAPES = [(), (1,), (5,), (33,), (4, 6), (6, 4), (3, 1, 5), (2, 3, 4), (8, 40), (2, 4, 3, 5), (70, 9), (16, 24)]


class Program:
    """Draws ops; `pool` holds the values so far."""

    def __init__(self, rng, nodes):
        self.rng, self.pool = rng, list(nodes)

    def pick(self, want=lambda v: True):
        found = [v for v in self.pool if want(v)]
        return found[int(self.rng.integers(len(found)))] if found else None

    def same(self, v):
        """A value of v's shape: another one, or a number spread over it."""
        other = self.pick(lambda u: u.shape == v.shape and u.dtype is v.dtype)
        return other if self.rng.random() < 0.8 else float(self.rng.integers(1, 4))

    def step(self):
        made = getattr(self, "_" + self.rng.choice(KINDS))()
        if made is not None and made.type.numel <= 20000:
            self.pool.append(made)

    def _unary(self):
        x = self.pick()
        row = self.rng.choice(["neg", "abs", "tanh", "sin", "exp", "floor", "sqrt"])
        if row in ("exp", "sqrt"):
            return getattr(ops, row)(ops.sin(x) * ops.sin(x))
        return getattr(ops, row)(x)

    def _binary(self):
        x = self.pick()
        row = self.rng.choice(["add", "sub", "mul", "maximum", "minimum"])
        return getattr(ops, row)(x, self.same(x))

    def _where(self):
        x = self.pick()
        other = self.same(x)
        return ops.where(ops.gt(x, other), ops.tanh(x), 0.5)

    def _reduce(self):
        x = self.pick(lambda v: v.ndim > 0)
        dims = tuple(d for d in range(x.ndim) if self.rng.random() < 0.5) or (x.ndim - 1,)
        row = self.rng.choice(["reduce_sum", "reduce_max", "reduce_min"])
        return getattr(ops, row)(ops.tanh(x) * (1.0 / max(1, x.type.numel)) if row == "reduce_sum" else x, dims=dims)

    def _spread(self):
        """A reduced value back over its operand's shape, as a normalisation does."""
        x = self.pick(lambda v: v.ndim > 0)
        d = int(self.rng.integers(x.ndim))
        kept = tuple(1 if k == d else n for k, n in enumerate(x.shape))
        m = ops.reshape(ops.reduce_max(x, dims=(d,)), shape=kept)
        return ops.tanh(x - ops.expand(m, shape=x.shape))

    def _argmax(self):
        x = self.pick(lambda v: v.ndim > 0)
        value, at = ops.max_with_index(x, dims=(int(self.rng.integers(x.ndim)),))
        return value + ops.convert(at, dtype=x.dtype) * 0.125

    def _permute(self):
        x = self.pick(lambda v: v.ndim > 1)
        return ops.permute(x, dims=tuple(int(d) for d in self.rng.permutation(x.ndim)))

    def _reshape(self):
        x = self.pick(lambda v: v.type.numel > 1)
        n = x.type.numel
        a = int(self.rng.choice([k for k in range(1, n + 1) if n % k == 0]))
        return ops.reshape(x, shape=self.rng.choice([0, 1, 2]) == 0 and (n,) or (a, n // a))

    def _expand(self):
        x = self.pick(lambda v: v.ndim < 4)
        n = int(self.rng.integers(1, 5))
        return ops.expand(ops.reshape(x, shape=(1, *x.shape)), shape=(n, *x.shape))

    def _slice(self):
        x = self.pick(lambda v: v.ndim > 0)
        starts = tuple(int(self.rng.integers(0, (n + 1) // 2)) for n in x.shape)
        steps = tuple(int(self.rng.integers(1, 3)) for _ in x.shape)
        return ops.slice(x, starts=starts, stops=x.shape, steps=steps)

    def _pad(self):
        x = self.pick(lambda v: v.ndim > 0)
        before, after = (tuple(int(self.rng.integers(0, 3)) for _ in x.shape) for _ in range(2))
        return ops.pad(x, before=before, after=after, value=0.25)

    def _cat(self):
        x = self.pick(lambda v: v.ndim > 0)
        y = self.pick(lambda v: v.shape == x.shape)
        return ops.cat(x, y, ops.sin(x), dim=int(self.rng.integers(x.ndim)))

    def _put(self):
        x = self.pick(lambda v: v.ndim > 0)
        starts = tuple(int(self.rng.integers(0, (n + 1) // 2)) for n in x.shape)
        part = ops.slice(ops.sin(x), starts=starts, stops=x.shape, steps=(1,) * x.ndim)
        return ops.slice_put(x, part, starts=starts, stops=x.shape, steps=(1,) * x.ndim)

    def _flip(self):
        x = self.pick(lambda v: v.ndim > 0)
        return ops.flip(x, dims=(int(self.rng.integers(x.ndim)),))

    def _window(self):
        x = self.pick(lambda v: v.ndim in (1, 2) and v.shape[-1] >= 4)
        return x and ops.window(x, kernel=(3,), stride=(int(self.rng.integers(1, 3)),), dilation=(1,))

    def _indices(self, shape, size):
        """Index values computed from data, in [0, size)."""
        n = int(np.prod(shape))
        i = ops.iota(size=n, dtype=dt.int64, device=self.pool[0].type.device)
        return ops.reshape(ops.mod(i * int(self.rng.integers(1, 7)) + 3, size), shape=shape)

    def _index(self):
        x = self.pick(lambda v: v.ndim > 0)
        return ops.index(x, self._indices((3, 4), x.shape[0]))

    def _gather(self):
        x = self.pick(lambda v: v.ndim > 0)
        d = int(self.rng.integers(x.ndim))
        shape = tuple(2 if k == d else n for k, n in enumerate(x.shape))
        return ops.gather(x, self._indices(shape, x.shape[d]), dim=d)

    def _scatter(self):
        x = self.pick(lambda v: v.ndim > 0)
        if self.rng.random() < 0.5:
            src = ops.expand(ops.reshape(x, shape=(1, *x.shape)), shape=(3, *x.shape))
            src = ops.slice(src, starts=(0,) * src.ndim, stops=(3, 1, *x.shape[1:]), steps=(1,) * src.ndim)
            return ops.index_add(x, ops.reshape(src, shape=(3, *x.shape[1:])), self._indices((3,), x.shape[0]))
        d = int(self.rng.integers(x.ndim))
        shape = tuple(int(self.rng.integers(1, 3)) if k == d else n for k, n in enumerate(x.shape))
        shape = tuple(min(a, b) for a, b in zip(shape, x.shape, strict=True))
        return ops.scatter_add(x, self._indices(shape, x.shape[d]), ops.sin(x), dim=d)

    def _dot(self):
        a = self.pick(lambda v: v.ndim >= 2)
        b = self.pick(lambda v: v.ndim == a.ndim and v.shape[:-2] == a.shape[:-2] and v.shape[-2] == a.shape[-1])
        if b is None:
            b = ops.permute(a, dims=(*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))
        return ops.tanh(ops.dot(a, b) * 0.1)


KINDS = [n[1:] for n in vars(Program) if n[0] == "_" and n[1] != "_" and n != "_indices"]


@pytest.mark.parametrize("seed", range(40))
def test_random_program(seed):
    rng = np.random.default_rng(seed)
    shapes = [SHAPES[int(i)] for i in rng.integers(0, len(SHAPES), 4)]
    arrays = [np.asarray(rng.standard_normal(s)) for s in shapes]

    def fn(*nodes):
        program = Program(rng, nodes)
        for _ in range(24):
            program.step()
        made = program.pool[len(nodes):]
        return [made[int(i)] for i in rng.choice(len(made), min(4, len(made)), replace=False)] + [made[-1]]

    graph = trace(fn, *map(type_of, arrays))
    with np.errstate(all="ignore"):
        want = run_numpy(graph, arrays)
    got = compiled(graph, arrays)([address(a) for a in arrays])
    for g, w in zip(got, want, strict=True):
        w = np.asarray(w)
        assert g.shape == w.shape and g.dtype == w.dtype
        assert np.allclose(g, w, rtol=1e-9, atol=1e-9, equal_nan=True), (seed, np.abs(g - w).max())
