"""Programs that differentiate: inside, outside, by hand, with hooks, twice."""

from loud import cases, rand
from stepping import arrays

import treadle as T
from treadle import nn

CASES, case = cases()


@case
def grad_of_arg(compile):
    keep = []

    def g(x):
        y = (x * x).sum()
        y.backward()
        return y

    f = compile(g)

    def call(k):
        x = rand(4, seed=k).requires_grad_()
        keep.append(x)
        return f(x), [t.grad for t in keep]

    return call


@case
def grad_of_arg_acc(compile):
    def g(x):
        y = (x * x).sum()
        y.backward()
        return y

    f = compile(g)
    x = rand(4).requires_grad_()
    y = rand(4, seed=1).requires_grad_()
    return lambda k: (f(x if k % 3 else y), x.grad, y.grad)


@case
def leaf_inplace(compile):
    def g(x):
        x.mul_(2)
        return x.sum()

    f = compile(g)

    def call(k):
        w = rand(4, seed=k).requires_grad_()
        x = w if k % 2 else w * 1
        r = f(x)
        r.backward()
        return r, x, w.grad

    return call


@case
def inplace_on_nonleaf_input(compile):
    def g(x):
        x.mul_(x)
        return

    f = compile(g)

    def call(k):
        w = rand(4, seed=k).requires_grad_()
        x = w * 1
        f(x)
        x.sum().backward()
        return x, w.grad

    return call


@case
def inplace_grad_value(compile):
    def g(x, w):
        x.mul_(w)
        return

    f = compile(g)

    def call(k):
        w = rand(4, seed=k).requires_grad_()
        x = rand(4, seed=k + 1)
        f(x, w)
        r = x.requires_grad
        x.sum().backward()
        return x, r, w.grad

    return call


@case
def view_of_grad_input(compile):
    f = compile(lambda x: x[1:])

    def call(k):
        x = rand(4, seed=k).requires_grad_()
        y = f(x)
        (y * y).sum().backward()
        return y, x.grad

    return call


@case
def view_and_value(compile):
    f = compile(lambda x: (x[1:], x * 2, x))

    def call(k):
        x = rand(4, seed=k).requires_grad_()
        y, z, x2 = f(x)
        ((y * y).sum() + z.sum()).backward()
        return y, x.grad, x2 is x

    return call


@case
def out_and_view_inplace(compile):
    def g(x):
        y = x * 2
        return y, y[1:]

    f = compile(g)

    def call(k):
        x = rand(4, seed=k).requires_grad_()
        y, v = f(x)
        v.mul_(3)
        (y * y).sum().backward()
        return y, v, x.grad

    return call


@case
def freeze_held(compile):
    w = rand(4).requires_grad_()
    v = rand(4, seed=2).requires_grad_()
    f = compile(lambda x: (x * w * v).sum())

    def call(k):
        w.requires_grad_(k < 3)
        w.grad = v.grad = None
        r = f(rand(4, seed=k))
        r.backward()
        return r, w.grad, v.grad

    return call


@case
def freeze_step(compile):
    m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    o = T.optim.SGD(m.parameters(), 0.1)

    def step(x):
        o.zero_grad()
        l = m(x).square().sum()
        l.backward()
        o.step()
        return l

    f = compile(step)

    def call(k):
        if k == 4:
            m[0].weight.requires_grad_(False)
        return f(rand(5, 3, seed=k)), list(m.parameters()), [p.grad for p in m.parameters()]

    return call


@case
def leaf_read(compile):
    f = compile(lambda a: a * 2 if a.is_leaf else a * 3)

    def call(k):
        x = rand(4, seed=k).requires_grad_()
        return f(x if k % 2 else x * 1)

    return call


@case
def grad_read(compile):
    def g(x):
        return x.grad * 2 if x.grad is not None else x * 1

    f = compile(g)
    keep = []

    def call(k):
        x = rand(4, seed=k).requires_grad_()
        keep.append(x)
        if k % 2:
            x.grad = rand(4, seed=k + 7)
        with T.no_grad():
            return f(x)

    return call


@case
def hooks_on_arg(compile):
    def g(x):
        y = (x * x).sum()
        y.backward()
        return y

    f = compile(g)
    log = []
    x = rand(4).requires_grad_()

    def call(k):
        x.grad = None
        if k == 3:
            x.register_hook(lambda g: (log.append(1), g * 2)[1])
        return f(x), x.grad, len(log)

    return call


@case
def hooks_on_param_step(compile):
    m = nn.Linear(3, 4)
    o = T.optim.SGD(m.parameters(), 0.1)
    hs = []

    def step(x):
        o.zero_grad()
        l = m(x).square().sum()
        l.backward()
        o.step()
        return l

    f = compile(step)

    def call(k):
        if k == 3:
            hs.append(m.weight.register_hook(lambda g: g * 2))
        if k == 5:
            hs[0].remove()
        return f(rand(5, 3, seed=k)), list(m.parameters()), [p.grad for p in m.parameters()]

    return call


@case
def post_acc_hook(compile):
    m = nn.Linear(3, 4)
    o = T.optim.SGD(m.parameters(), 0.1)
    log = []

    def step(x):
        o.zero_grad()
        l = m(x).square().sum()
        l.backward()
        o.step()
        return l

    f = compile(step)

    def call(k):
        if k == 3:
            m.weight.register_post_accumulate_grad_hook(lambda p: log.append(1))
        return f(rand(5, 3, seed=k)), list(m.parameters()), len(log)

    return call


@case
def hooks_module(compile):
    m = nn.Linear(3, 4)
    hs = []
    f = compile(lambda x: m(x))

    def call(k):
        if k == 2:
            hs.append(m.register_forward_hook(lambda m, i, o: o * 2))
        if k == 4:
            hs[0].remove()
        return f(rand(5, 3, seed=k))

    return call


@case
def hooks_module_backward(compile):
    m = nn.Linear(3, 4)
    hs = []
    log = []
    f = compile(lambda x: m(x))

    def call(k):
        if k == 2:
            hs.append(m.register_full_backward_hook(lambda m, i, o: log.append(arrays(o[0])[0, 0])))
        if k == 4:
            hs[0].remove()
        m.zero_grad()
        r = f(rand(5, 3, seed=k))
        r.square().sum().backward()
        return r, m.weight.grad, list(log)

    return call


@case
def retain_inside(compile):
    w = rand(4).requires_grad_()

    def g(x):
        y = x * w
        y.retain_grad()
        l = (y * y).sum()
        l.backward()
        return y.grad, y

    f = compile(g)

    def call(k):
        w.grad = None
        return f(rand(4, seed=k)), w.grad

    return call


@case
def retain_outside(compile):
    w = rand(4).requires_grad_()

    def g(x):
        y = x * w
        y.retain_grad()
        return (y * y).sum(), y

    f = compile(g)

    def call(k):
        w.grad = None
        l, y = f(rand(4, seed=k))
        l.backward()
        return w.grad, y.grad

    return call


@case
def create_graph_inside(compile):
    w = rand(4).requires_grad_()

    def g(x):
        y = (x * w * w * w).sum()
        (gr,) = T.autograd.grad(y, w, create_graph=True)
        l = gr.square().sum()
        l.backward()
        return l, gr

    f = compile(g)

    def call(k):
        w.grad = None
        return f(rand(4, seed=k)), w.grad

    return call


@case
def data_sgd(compile):
    w = rand(4).requires_grad_()

    def g(x):
        l = (x * w).square().sum()
        w.grad = None
        l.backward()
        w.data.add_(w.grad, alpha=-0.1)
        return l

    f = compile(g)
    return lambda k: (f(rand(4, seed=k)), w, w.grad)


@case
def shared_history(compile):
    w = rand(4).requires_grad_()
    f = compile(lambda h: (h * w).sum())

    def call(k):
        w.grad = None
        h = w * 2
        y = f(h)
        y.backward()
        return y, w.grad

    return call


@case
def backward_outer(compile):
    w = rand(4).requires_grad_()

    def g(h):
        l = (h * h).sum()
        l.backward()
        return l

    f = compile(g)

    def call(k):
        w.grad = None
        h = w * w * (k + 1)
        return f(h), w.grad

    return call


@case
def param_returned(compile):
    m = nn.Linear(3, 4)
    f = compile(lambda x: (m(x), m.weight, m.bias[1:], m.weight.t()))

    def call(k):
        m.zero_grad()
        y, w, b, t = f(rand(2, 3, seed=k))
        (y.sum() + w.square().sum() + b.exp().sum() + (t * t * t).sum()).backward()
        return y, w is m.weight, b, t, m.weight.grad, m.bias.grad

    return call


@case
def microbatch(compile):
    m = nn.Linear(3, 2)
    o = T.optim.Adam(m.parameters(), 0.01)

    def g(x, last):
        l = m(x).square().mean()
        l.backward()
        if last:
            o.step()
            o.zero_grad()
        return l

    f = compile(g)
    return lambda k: (
        [f(rand(4, 3, seed=k * 3 + i), i == 2) for i in range(3)],
        list(m.parameters()),
        [p.grad for p in m.parameters()],
    )


@case
def micro_outside(compile):
    m = nn.Linear(3, 2)

    def g(x):
        l = m(x).square().mean()
        l.backward()
        return l

    f = compile(g)
    return lambda k: (f(rand(4, 3, seed=k)), [p.grad for p in m.parameters()])


@case
def grad_by_hand(compile):
    m = nn.Linear(3, 2)
    o = T.optim.SGD(m.parameters(), 0.1, momentum=0.9)

    def g(x):
        l = m(x).square().mean()
        l.backward()
        o.step()
        return l

    f = compile(g)
    keep = []

    def call(k):
        for p in m.parameters():
            p.grad = T.ones_like(p) * k if k % 2 else None
        if k == 3:
            m.weight.grad = keep[0]
        r = f(rand(4, 3, seed=k))
        if k == 1:
            keep.append(m.weight.grad)
        return r, list(m.parameters()), [p.grad for p in m.parameters()], keep

    return call


@case
def grad_shared(compile):
    a, b = rand(3).requires_grad_(), rand(3, seed=1).requires_grad_()

    def g(x):
        l = (a * x + b * x * 2).sum()
        l.backward()
        return l

    f = compile(g)

    def call(k):
        t = T.zeros(3)
        a.grad = t
        b.grad = t if k % 3 else T.zeros(3)
        return f(rand(3, seed=k)), a.grad, b.grad

    return call


@case
def grad_kept(compile):
    m = nn.Linear(3, 2)
    o = T.optim.SGD(m.parameters(), 0.1)

    def g(x):
        o.zero_grad()
        l = m(x).square().mean()
        l.backward()
        o.step()
        return l

    f = compile(g)
    keep = []

    def call(k):
        r = f(rand(4, 3, seed=k))
        keep.append(m.weight.grad)
        return r, list(keep)

    return call


@case
def grad_kept_notnone(compile):
    m = nn.Linear(3, 2)
    o = T.optim.SGD(m.parameters(), 0.1)

    def g(x):
        o.zero_grad(set_to_none=False)
        l = m(x).square().mean()
        l.backward()
        o.step()
        return l

    f = compile(g)
    keep = []

    def call(k):
        r = f(rand(4, 3, seed=k))
        keep.append(m.weight.grad)
        return r, list(keep)

    return call


@case
def grad_arg(compile):
    m = nn.Linear(3, 2)

    def g(x, gr):
        l = m(x).square().mean() + gr.sum()
        l.backward()
        return l, gr * 2

    f = compile(g)

    def call(k):
        m.weight.grad = T.ones(2, 3)
        m.bias.grad = None
        return f(rand(4, 3, seed=k), m.weight.grad if k % 2 else T.ones(2, 3)), [
            p.grad for p in m.parameters()
        ]

    return call


@case
def version_error(compile):
    w = rand(3).requires_grad_()
    f = compile(lambda x: (x * w).exp())

    def call(k):
        w.grad = None
        x = rand(3, seed=k)
        y = f(x)
        if k % 2:
            x.add_(1)
        if k == 4:
            y.add_(1)
        y.sum().backward()
        return y, w.grad

    return call


@case
def detach_inplace(compile):
    def g(x):
        x.detach_()
        return x * 2

    f = compile(g)

    def call(k):
        w = rand(3, seed=k).requires_grad_()
        x = w * 1
        r = f(x)
        return r, x.requires_grad

    return call


@case
def requires_grad_inside(compile):
    def g(x):
        x.requires_grad_()
        return (x * x).sum()

    f = compile(g)

    def call(k):
        x = rand(3, seed=k)
        r = f(x)
        r.backward()
        return r, x.grad

    return call
