"""Programs over models, optimizers, modes, arguments and failing ops."""

import collections
import copy
import dataclasses
import math

import numpy as np
from loud import attempt, cases, rand

import treadle as T
from treadle import nn
from treadle.nn import functional as F

CASES, case = cases()


@dataclasses.dataclass
class B:
    x: object
    y: object = None
    s: str = "a"


NT = collections.namedtuple("NT", "a b")


@case
def autocast_flip(compile):
    f = compile(lambda a: a @ a)

    def call(k):
        x = rand(4, 4, seed=k)
        if k % 2:
            with T.autocast("cpu", dtype=T.bfloat16):
                r = f(x)
        else:
            r = f(x)
        return r.dtype.name

    return call


@case
def default_dtype(compile):
    f = compile(lambda a: T.ones(3) * a.sum())

    def call(k):
        T.set_default_dtype(T.float64 if k % 2 else T.float32)
        try:
            return f(rand(4, seed=k))
        finally:
            T.set_default_dtype(T.float32)

    return call


@case
def tensor_attr(compile):
    f = compile(lambda x: x * x.scale)

    def call(k):
        x = rand(4, seed=k)
        x.scale = k + 1.0
        return f(x)

    return call


@case
def numpy_arg(compile):
    f = compile(lambda x, n: x + T.from_numpy(n))
    n = np.zeros(3, np.float32)

    def call(k):
        n[0] = k
        return f(rand(3, seed=k), n)

    return call


@case
def numpy_arg3(compile):
    f = compile(lambda x, n: x * float(n[0]) + n.shape[0])
    n = np.zeros(3, np.float32)

    def call(k):
        n[0] = k
        return f(rand(3, seed=k), n)

    return call


@case
def param_replaced(compile):
    m = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    f = compile(lambda x: m(x))

    def call(k):
        if k == 2:
            m[0].weight = nn.Parameter(rand(4, 3, seed=8))
        if k == 3:
            m[1] = nn.Linear(4, 2)
        if k == 4:
            m[0]._parameters["bias"] = nn.Parameter(rand(4, seed=8))
        if k == 5:
            m[0].bias = None
        return f(rand(4, 3, seed=k))

    return call


@case
def tied(compile):
    e = nn.Embedding(5, 3)
    l = nn.Linear(3, 5, bias=False)
    l.weight = e.weight
    o = T.optim.AdamW(list(e.parameters()), 0.1)

    def g(i):
        o.zero_grad()
        x = F.cross_entropy(l(e(i)), i)
        x.backward()
        o.step()
        return x

    f = compile(g)

    def call(k):
        if k == 4:
            l.weight = nn.Parameter(rand(5, 3, seed=4))
        return f(T.tensor([k % 5, 1, 2])), e.weight, e.weight.grad

    return call


@case
def add_group(compile):
    m = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    o = T.optim.Adam(m[0].parameters(), 0.01)

    def g(x):
        o.zero_grad()
        l = m(x).square().mean()
        l.backward()
        o.step()
        return l

    f = compile(g)

    def call(k):
        if k == 3:
            o.add_param_group({"params": list(m[1].parameters()), "lr": 0.5})
        if k == 5:
            o.param_groups[0]["weight_decay"] = 0.1
        return f(rand(4, 3, seed=k)), list(m.parameters())

    return call


@case
def nested(compile):
    g = compile(lambda x: x * 2 + 1)
    f = compile(lambda x: g(x).sum())
    return lambda k: (f(rand(3, seed=k)), g(rand(3, seed=k)))


@case
def exc_body(compile):
    w = T.zeros(3)

    def g(x, bad):
        w.add_(x)
        if bad:
            raise ValueError("boom")
        w.add_(1)
        return w * 2

    f = compile(g)
    return lambda k: [attempt(f, rand(3, seed=k), k % 3 == 2), w]


@case
def index_oob(compile):
    e = nn.Embedding(5, 3)
    log = T.zeros(3)
    o = T.optim.SGD(e.parameters(), 0.1)

    def g(i):
        log.add_(1)
        o.zero_grad()
        l = e(i).square().sum()
        l.backward()
        o.step()
        log.add_(1)
        return l

    f = compile(g)
    return lambda k: (attempt(f, T.tensor([1, 7 if k in (0, 3) else 2])), log, e.weight, e.weight.grad)


@case
def ce_oob(compile):
    m = nn.Linear(3, 4)
    log = T.zeros(3)
    o = T.optim.SGD(m.parameters(), 0.1)

    def g(x, y):
        log.add_(1)
        o.zero_grad()
        l = F.cross_entropy(m(x), y)
        log.add_(1)
        l.backward()
        o.step()
        log.add_(1)
        return l

    f = compile(g)
    return lambda k: (
        attempt(f, rand(2, 3, seed=k), T.tensor([1, 7 if k in (0, 3) else 2])),
        log,
        m.weight,
        m.weight.grad,
    )


@case
def gather_unread(compile):
    def g(x, i):
        x.gather(0, i)
        return x + 1

    f = compile(g)
    return lambda k: attempt(f, rand(4, seed=k), T.tensor([1, 9 if k > 2 else 2]))


@case
def scatter_unread(compile):
    def g(x, i):
        x.scatter(0, i, x[:2])
        return x + 1

    f = compile(g)
    return lambda k: attempt(f, rand(4, seed=k), T.tensor([1, 9 if k > 2 else 2]))


@case
def index_computed(compile):
    w = T.zeros(4)

    def g(x, i):
        w.add_(1)
        r = x[(i * 2.5).long()]
        w.add_(1)
        return r

    f = compile(g)
    return lambda k: (attempt(f, rand(6, seed=k), T.tensor([1, 3 if k > 2 else 2])), w)


@case
def linalg_singular(compile):
    w = T.zeros(4)

    def g(x):
        w.add_(1)
        T.linalg.inv(x)
        w.add_(1)
        return x * 2

    f = compile(g)
    return lambda k: (attempt(f, T.zeros(3, 3) if k > 2 else T.eye(3)), w)


@case
def lazy_oob(compile):
    w = T.zeros(3)
    log = []

    def g(x, i):
        log.append(1)
        w.add_(1)
        r = x[(i * 2).long() + 0]
        w.add_(1)
        return r

    f = compile(g)
    return lambda k: (attempt(f, rand(6, seed=k), T.tensor([1, 3 if k > 3 else 2])), w)


@case
def grad_after_fail(compile):
    w = rand(6).requires_grad_()
    log = T.zeros(1)

    def g(i):
        w.grad = None
        j = (i * 2.5).long()
        log.add_(1)
        l = w[j].sum()
        l.backward()
        log.add_(1)
        return l

    f = compile(g)
    return lambda k: (attempt(f, T.tensor([1, 3 if k in (0, 4) else 2])), w.grad, log)


@case
def fail_py_effect(compile):
    log = []

    def g(x, i):
        log.append(1)
        r = x[i]
        log.append(2)
        return r

    f = compile(g)
    return lambda k: (attempt(f, rand(4, seed=k), T.tensor([1, 9 if k in (0, 4) else 2])), list(log))


@case
def argtrees(compile):
    def g(b, nt, *, scale=2.0, flag=None, opts=("a",)):
        r = b.x * scale + nt.a
        if flag:
            r = r * nt.b
        return B(r, nt, b.s), {"o": opts, "n": None}, NT(r, 1)

    f = compile(g)

    def call(k):
        o = (
            f(B(rand(3, seed=k), None, "z"), NT(rand(3, seed=1), k % 2), flag="yes" if k % 2 else None)
            if k < 3
            else f(nt=NT(rand(3), 2), b=B(rand(3, seed=k)), opts=["q"], scale=k)
        )
        return type(o[0]).__name__, o[0].x, o[0].y, o[0].s, o[1], o[2]

    return call


@case
def grad_modes(compile):
    w = rand(3).requires_grad_()
    f = compile(lambda x: (x * w).sum())

    def call(k):
        if k % 3 == 0:
            with T.no_grad():
                r = f(rand(3, seed=k))
                return r, r.requires_grad
        if k % 3 == 1:
            with T.inference_mode():
                r = f(rand(3, seed=k))
                return r, r.requires_grad
        r = f(rand(3, seed=k))
        w.grad = None
        r.backward()
        return r, w.grad

    return call


@case
def train_eval(compile):
    m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    f = compile(lambda x: m(x))

    def call(k):
        m.train(k % 2 == 0)
        if k == 4:
            m[2].train(False)
        return f(rand(5, 3, seed=k)), list(m.buffers())

    return call


@case
def float_arg(compile):
    f = compile(lambda x, a: x * a)
    return lambda k: [f(rand(3, seed=k), 0.1 * (k * 20 + i)) for i in range(20)]


@case
def int_arg(compile):
    f = compile(lambda x, a: x * a)
    return lambda k: [f(rand(3, seed=k), k * 20 + i) for i in range(20)]


@case
def rng_state(compile):
    f = compile(lambda x: F.dropout(x) + T.randn(3))

    def call(k):
        if k == 3:
            T.manual_seed(7)
        r = f(rand(3, seed=k))
        return r, T.rand(2), T.get_rng_state()

    return call


@case
def generator_arg(compile):
    g = T.Generator()
    g.manual_seed(3)
    f = compile(lambda x: x + T.rand(3, generator=g))

    def call(k):
        if k == 3:
            g.manual_seed(5)
        return f(rand(3, seed=k)), T.rand(2, generator=g)

    return call


@case
def dict_arg_mutated_after(compile):
    f = compile(lambda d: d["x"] * 2)
    keep = []

    def call(k):
        d = {"x": rand(3, seed=k)}
        keep.append(d)
        r = f(d)
        d["x"] = None
        return r

    return call


@case
def obj_arg_many(compile):
    class Holder:
        pass

    f = compile(lambda o: o.x * o.s)
    o = Holder()

    def call(k):
        out = []
        for i in range(10):
            o.x = rand(3, seed=k * 10 + i)
            o.s = k
            out.append(f(o))
        return out

    return call


@case
def objs(compile):
    class Holder:
        pass

    f = compile(lambda o: o.x * 2)

    def call(k):
        out = []
        for i in range(10):
            q = Holder()
            q.x = rand(3, seed=k * 10 + i)
            out.append(f(q))
        return out

    return call


@case
def empty0d(compile):
    f = compile(lambda a, b: (a.sum(), a * 2, b + 1, b * b, a.mean(), a[:0]))
    return lambda k: f(T.zeros(0, 3) if k % 2 else rand(2, 3), T.tensor(1.5 + k))


@case
def clip_inside(compile):
    m = nn.Linear(3, 2)
    o = T.optim.SGD(m.parameters(), 0.1)

    def g(x):
        o.zero_grad(set_to_none=False)
        l = m(x).square().mean()
        l.backward()
        n = nn.utils.clip_grad_norm_(m.parameters(), 0.1)
        o.step()
        return l, n

    f = compile(g)
    return lambda k: (f(rand(4, 3, seed=k)), list(m.parameters()), [p.grad for p in m.parameters()])


@case
def masked_write(compile):
    def g(x, m):
        x[m] = 0
        x[T.tensor([0, 0])] = 5
        return x.sum()

    f = compile(g)

    def call(k):
        x = rand(4, seed=k)
        return f(x, x > 0), x

    return call


@case
def user_adam(compile):
    w = rand(4).requires_grad_()
    st = {"t": 0, "m": T.zeros(4), "v": T.zeros(4)}

    def g(x):
        w.grad = None
        l = (w * x).square().sum()
        l.backward()
        with T.no_grad():
            st["t"] += 1
            st["m"].mul_(0.9).add_(w.grad, alpha=0.1)
            st["v"].mul_(0.99).addcmul_(w.grad, w.grad, value=0.01)
            w.sub_(
                0.1
                * st["m"]
                / (1 - 0.9 ** st["t"])
                / (st["v"].sqrt() / math.sqrt(1 - 0.99 ** st["t"]) + 1e-8)
            )
        return l

    f = compile(g)
    return lambda k: (f(rand(4, seed=k)), w)


@case
def ema(compile):
    m = nn.Linear(3, 2)
    e = copy.deepcopy(m)
    o = T.optim.SGD(m.parameters(), 0.1)

    def g(x):
        o.zero_grad()
        l = m(x).square().sum()
        l.backward()
        o.step()
        with T.no_grad():
            for p, q in zip(m.parameters(), e.parameters(), strict=True):
                q.mul_(0.9).add_(p.detach(), alpha=0.1)
        return l

    f = compile(g)
    return lambda k: (f(rand(4, 3, seed=k)), list(e.parameters()))


@case
def gan(compile):
    G, D = nn.Linear(2, 3), nn.Linear(3, 1)
    og, od = T.optim.Adam(G.parameters()), T.optim.Adam(D.parameters())

    def g(z, x):
        od.zero_grad()
        fake = G(z)
        ld = D(x).mean() - D(fake.detach()).mean()
        ld.backward()
        od.step()
        og.zero_grad()
        lg = D(G(z)).mean()
        lg.backward()
        og.step()
        return ld, lg

    f = compile(g)
    return lambda k: (f(rand(4, 2, seed=k), rand(4, 3, seed=k)), list(G.parameters()), list(D.parameters()))


@case
def branch_after_write(compile):
    def g(x):
        x.mul_(2)
        if x.sum() > 0:
            x.add_(10)
        else:
            x.sub_(10)
        return x * 1

    f = compile(g)

    def call(k):
        x = rand(3, seed=k)
        return f(x), x

    return call


@case
def branch_after_dropout(compile):
    def g(x):
        y = F.dropout(x)
        if y.sum() > 0:
            return y + T.rand(3)
        return y - T.rand(3)

    f = compile(g)
    return lambda k: (f(rand(3, seed=k)), T.rand(1))


@case
def lstm(compile):
    m = nn.LSTM(3, 4, batch_first=True)
    o = T.optim.SGD(m.parameters(), 0.1)

    def g(x, h):
        o.zero_grad()
        y, (h, cc) = m(x, h)
        l = y.square().mean()
        l.backward()
        o.step()
        return l, (h.detach(), cc.detach())

    f = compile(g)
    st = [(T.zeros(1, 2, 4), T.zeros(1, 2, 4))]

    def call(k):
        l, st[0] = f(rand(2, 5, 3, seed=k), st[0])
        return l, st[0], list(m.parameters())

    return call


@case
def subclass(compile):
    class MyT(T.Tensor):
        pass

    f = compile(lambda x: (x * 2, x))

    def call(k):
        x = rand(3, seed=k).as_subclass(MyT) if k % 2 else rand(3, seed=k)
        a, b = f(x)
        return type(a).__name__, type(b).__name__, a

    return call


@case
def zero_dim_write(compile):
    n = T.tensor(0)
    s = T.tensor(1.5)

    def g(x):
        n.add_(1)
        s.mul_(x.sum())
        return n * 1, s + n

    f = compile(g)
    return lambda k: (f(rand(3, seed=k)), n, s)


@case
def setattr_module(compile):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.Linear(3, 3)
            s.h = None
            s.n = 0

        def forward(s, x):
            s.n += 1
            y = s.l(x)
            s.h = y.detach()
            return y * s.n

    m = M()
    f = compile(lambda x: m(x))
    return lambda k: (f(rand(2, 3, seed=k)), m.h, m.n)


@case
def custom_function(compile):
    class Sq(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x * 10

    w = rand(3).requires_grad_()
    f = compile(lambda x: Sq.apply(x * w).sum())

    def call(k):
        w.grad = None
        y = f(rand(3, seed=k))
        y.backward()
        return y, w.grad

    return call
