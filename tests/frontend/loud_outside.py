"""Programs whose results are gone back from outside, all or some of them."""

from loud import attempt, cases, rand
from stepping import arrays

import treadle as T
from treadle import nn

CASES, case = cases()


@case
def leaf_made(compile):
    def g(x):
        w = T.ones(3, requires_grad=True)
        return (x * w).sum(), w

    f = compile(g)

    def call(k):
        r, w = f(rand(3, seed=k))
        r.backward()
        return r, w.grad

    return call


@case
def leaf_made_const(compile):
    def g(x):
        w = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
        l = (x * w).sum()
        l.backward()
        return l, w.grad

    f = compile(g)
    return lambda k: f(rand(3, seed=k))


@case
def hook_inter(compile):
    w = rand(3).requires_grad_()

    def g(x):
        y = x * w
        y.register_hook(lambda g: g * 2)
        l = y.sum()
        l.backward()
        return l

    f = compile(g)

    def call(k):
        w.grad = None
        return f(rand(3, seed=k)), w.grad

    return call


@case
def retain_graph_inside(compile):
    w = rand(3).requires_grad_()

    def g(x):
        l = (x * w * w).sum()
        l.backward(retain_graph=True)
        return l

    f = compile(g)

    def call(k):
        w.grad = None
        l = f(rand(3, seed=k))
        a = arrays(w.grad)
        l.backward()
        return l, a, w.grad

    return call


@case
def autograd_grad_inside(compile):
    w = rand(3).requires_grad_()

    def g(x):
        l = (x * w * w).sum()
        (gr,) = T.autograd.grad(l, w)
        return l.detach(), gr

    f = compile(g)
    return lambda k: f(rand(3, seed=k))


@case
def param_arg(compile):
    m = nn.Linear(3, 2)
    o = T.optim.SGD(m.parameters(), 0.1)

    def g(p, x):
        o.zero_grad()
        l = m(x).sum() * p.sum()
        l.backward()
        o.step()
        return l

    f = compile(g)
    q = nn.Parameter(rand(2, 3, seed=5))
    return lambda k: (f(m.weight if k % 3 else q, rand(4, 3, seed=k)), list(m.parameters()), q.grad)


@case
def two_backwards(compile):
    w = rand(3).requires_grad_()

    def g(x):
        w.grad = None
        a = (w * x).sum()
        b = (w * w).sum()
        a.backward()
        b.backward()
        return a + b.detach()

    f = compile(g)
    return lambda k: (f(rand(3, seed=k)), w.grad)


@case
def part_result(compile):
    w = rand(3).requires_grad_()
    f = compile(lambda x: ((x * w).detach(), x * w, (x * w).sum(), w * 2))

    def call(k):
        w.grad = None
        a, b, d, e = f(rand(3, seed=k))
        (b.sum() * 2).backward(retain_graph=True)
        g1 = arrays(w.grad)
        r = attempt(lambda: (d + e.sum()).backward())
        return a, a.requires_grad, g1, r, w.grad

    return call


@case
def backward_one_by_one(compile):
    w = rand(3).requires_grad_()
    f = compile(lambda x: ((x * w).exp(), (w * w).sum()))

    def call(k):
        w.grad = None
        a, b = f(rand(3, seed=k))
        a.sum().backward()
        r = attempt(lambda: b.backward())
        return r, w.grad

    return call


@case
def grad_through_args(compile):
    f = compile(lambda a, b: a * b + a)

    def call(k):
        a, b = rand(3, seed=k).requires_grad_(k % 2 == 0), rand(3, seed=9).requires_grad_(k % 3 != 0)
        y = f(a, b)
        if y.requires_grad:
            y.sum().backward()
        return y, y.requires_grad, a.grad, b.grad

    return call


@case
def hook_on_output(compile):
    w = rand(3).requires_grad_()
    f = compile(lambda x: x * w)

    def call(k):
        w.grad = None
        y = f(rand(3, seed=k))
        y.register_hook(lambda g: g * 2)
        y.retain_grad()
        y.sum().backward()
        return w.grad, y.grad

    return call


@case
def inplace_after(compile):
    w = rand(3).requires_grad_()
    f = compile(lambda x: x * w)

    def call(k):
        w.grad = None
        y = f(rand(3, seed=k))
        y.mul_(2)
        y[0] = 0
        y.sum().backward()
        return y, w.grad

    return call


@case
def unused_output_inf(compile):
    w = rand(3).requires_grad_()
    f = compile(lambda x: ((x * w * 0).sqrt(), (x * w).sum()))

    def call(k):
        w.grad = None
        _a, b = f(rand(3, seed=k))
        b.backward()
        return b, w.grad

    return call


@case
def none_grads(compile):
    w = rand(3).requires_grad_()
    v = rand(3, seed=4).requires_grad_()
    f = compile(lambda x: ((x * w).sum(), (x * v).sum()))

    def call(k):
        w.grad = v.grad = None
        _a, b = f(rand(3, seed=k))
        b.backward()
        return b, w.grad, v.grad

    return call


@case
def grad_unused(compile):
    w = rand(3).requires_grad_()
    v = rand(3, seed=4).requires_grad_()
    f = compile(lambda x: ((x * w).sum(), (x * v).sum()))

    def call(k):
        _a, b = f(rand(3, seed=k))
        return T.autograd.grad(b, [w, v], allow_unused=True)

    return call
