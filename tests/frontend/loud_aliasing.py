"""Programs whose tensors share memory, are handed out, or are held elsewhere."""

import numpy as np
from loud import attempt, cases, rand
from stepping import arrays

import treadle as T
from treadle import nn

CASES, case = cases()


@case
def same_twice(compile):
    f = compile(lambda a, b: a * 2 + b)
    x, y = rand(4), rand(4, seed=1)
    return lambda k: f(x, x) if k % 2 == 0 else f(x, y)


@case
def same_twice_rev(compile):
    def g(a, b):
        a.add_(1)
        return a * b

    f = compile(g)

    def call(k):
        x, y = rand(4, seed=k), rand(4, seed=k + 1)
        r = f(x, y) if k % 2 == 0 else f(x, x)
        return r, x, y

    return call


@case
def overlap_write(compile):
    def g(a, b):
        a.mul_(2)
        return a.sum() + b, b * 3

    f = compile(g)

    def call(k):
        x = rand(6, seed=k)
        r = f(x[:-1], x[1:]) if k % 2 else f(x[:-1], rand(5, seed=9))
        return r, x

    return call


@case
def overlap_write2(compile):
    def g(a, b):
        a.mul_(2)
        return a.sum() + b, b * 3

    f = compile(g)

    def call(k):
        x = rand(6, seed=k)
        r = f(x, x[1:]) if k > 2 else f(x, rand(5, seed=9))
        return r, x

    return call


@case
def overlap_write3(compile):
    def g(a, b):
        a[1:].mul_(2)
        return a[1:] + b

    f = compile(g)

    def call(k):
        x = rand(6, seed=k)
        r = f(x, x[1:]) if k < 3 else f(x, rand(5, seed=9))
        return r, x

    return call


@case
def numpy_shared(compile):
    def g(a, b):
        a.mul_(2)
        b.add_(1)
        return a + b

    f = compile(g)

    def call(k):
        n = np.arange(6, dtype=np.float32)
        a, b = T.from_numpy(n), (T.from_numpy(n) if k % 2 else rand(6, seed=k))
        return f(a, b), a, b

    return call


@case
def numpy_shared_first(compile):
    def g(a, b):
        a.mul_(2)
        b.add_(1)
        return a + b

    f = compile(g)

    def call(k):
        n = np.arange(6, dtype=np.float32)
        a, b = T.from_numpy(n), T.from_numpy(n)
        return f(a, b), a, b

    return call


@case
def arg_is_held(compile):
    w = T.ones(4)

    def g(a):
        a.add_(1)
        return a * w

    f = compile(g)

    def call(k):
        x = rand(4, seed=k)
        return f(w if k in (0, 3) else x), x, w

    return call


@case
def held_is_arg2(compile):
    w = T.ones(4)
    f = compile(lambda a: a * 2 + w)
    return lambda k: f(w if k in (0, 3) else rand(4, seed=k))


@case
def arg_view_of_held(compile):
    w = T.ones(4)

    def g(a):
        a.add_(1)
        return a.sum() * w

    f = compile(g)
    return lambda k: (f(w[1:] if k in (0, 3) else rand(3, seed=k)), w)


@case
def out_and_view_base(compile):
    def g(x):
        y = x * 2
        return y, y[1:]

    f = compile(g)

    def call(k):
        y, v = f(rand(4, seed=k))
        return v._base is y

    return call


@case
def const_returned(compile):
    f = compile(lambda x: (T.tensor([1.0, 2.0, 3.0]), x * 2))

    def call(k):
        a, b = f(rand(3, seed=k))
        r = arrays(a)
        a.add_(5)
        return r, b

    return call


@case
def const_used_and_returned(compile):
    def g(x):
        t = T.tensor([1.0, 2.0, 3.0])
        return t, x * t

    f = compile(g)

    def call(k):
        a, b = f(rand(3, seed=k))
        r = arrays(a)
        a.add_(5)
        return r, b

    return call


@case
def const_written(compile):
    def g(x):
        t = T.tensor([1.0, 2.0, 3.0])
        t.add_(x)
        return t

    f = compile(g)

    def call(k):
        a = f(rand(3, seed=k))
        r = arrays(a)
        a.add_(5)
        return r

    return call


@case
def const_view_returned(compile):
    def g(x):
        t = T.tensor([1.0, 2.0, 3.0])
        return t[1:], x * t

    f = compile(g)

    def call(k):
        a, b = f(rand(3, seed=k))
        r = arrays(a)
        a.add_(5)
        return r, b

    return call


@case
def is_compare(compile):
    w = T.ones(4)
    f = compile(lambda a, b: a * 2 if a is b else a + b)
    return lambda k: f(rand(4), w) if k % 2 else f(w, w)


@case
def numpy_inside(compile):
    def g(x):
        a = x.numpy()
        x.add_(1)
        return x * float(a[0])

    f = compile(g)
    return lambda k: f(rand(3, seed=k))


@case
def numpy_from_inside(compile):
    def g(n):
        t = T.from_numpy(n)
        t.add_(1)
        return float(n.sum())

    f = compile(g)
    return lambda k: f(np.arange(3.0) + k)


@case
def numpy_windows(compile):
    base = np.arange(20, dtype=np.float32)
    f = compile(lambda a, b: (a * b).sum())
    return lambda k: f(T.from_numpy(base[k : k + 5]), T.from_numpy(base[k + 1 : k + 6]))


@case
def numpy_windows_write(compile):
    base = np.arange(20, dtype=np.float32)

    def g(a, b):
        a.add_(b)
        return (a * b).sum()

    f = compile(g)
    return lambda k: (
        f(T.from_numpy(base[k : k + 5]), T.from_numpy(base[k + 1 + 5 * (k > 2) :][:5])),
        T.from_numpy(base),
    )


@case
def held_numpy_overlap(compile):
    base = np.arange(20, dtype=np.float32)
    w = T.from_numpy(base)

    def g(a):
        a.add_(1)
        return a.sum() + w

    f = compile(g)
    return lambda k: (f(T.from_numpy(base[3:]) if k in (0, 4) else rand(17, seed=k)), w)


@case
def outputs_held(compile):
    f = compile(lambda x: (x + 1, (x * 2).sum(), x[1:]))
    keep = []

    def call(k):
        keep.append(f(rand(3, seed=k)))
        return list(keep)

    return call


@case
def output_in_input_out(compile):
    def g(x):
        x.add_(1)
        return x

    f = compile(g)
    x = rand(3)

    def call(k):
        r = f(f(x))
        return r is x, x

    return call


@case
def data_swap_arg(compile):
    f = compile(lambda x: x * 2)
    x = rand(4)

    def call(k):
        if k == 2:
            x.data = rand(4, seed=9)
        if k == 3:
            x.data = rand(5, seed=9)
        if k == 4:
            x.data = rand(5, 5, seed=9).t()[0]
        return f(x)

    return call


@case
def data_swap_param(compile):
    m = nn.Linear(3, 2)
    f = compile(lambda x: m(x))

    def call(k):
        if k == 2:
            m.weight.data = rand(2, 3, seed=9)
        if k == 4:
            m.weight.data = rand(3, 2, seed=9).t()
        if k == 5:
            m.weight.data = rand(4, 3, seed=9)
            m.bias.data = rand(4, seed=7)
        return f(rand(4, 3, seed=k))

    return call


@case
def transpose_inplace(compile):
    def g(x):
        x.t_()
        return x * 2

    f = compile(g)

    def call(k):
        x = rand(3, 2, seed=k)
        r = f(x)
        return r, x

    return call


@case
def data_setter_inside(compile):
    w = rand(3)

    def g(x):
        w.add_(1)
        w.data = x * 2
        w.add_(1)
        return w * 1

    f = compile(g)
    return lambda k: (f(rand(3, seed=k)), w)


@case
def returns_grad(compile):
    m = nn.Linear(3, 2)

    def g(x):
        m.zero_grad()
        l = m(x).square().sum()
        l.backward()
        return m.weight.grad, m.bias.grad[0:1]

    f = compile(g)
    keep = []

    def call(k):
        a, b = f(rand(4, 3, seed=k))
        keep.append(a)
        r = a is m.weight.grad
        b.add_(1)
        return r, a, b, m.bias.grad, list(keep)

    return call


@case
def grad_view_written(compile):
    m = nn.Linear(3, 2)

    def g(x):
        m.zero_grad()
        l = m(x).square().sum()
        l.backward()
        m.weight.grad[0].mul_(2)
        m.weight.grad.clamp_(-1, 1)
        return l

    f = compile(g)
    return lambda k: (f(rand(4, 3, seed=k)), m.weight.grad)


@case
def expand_returned(compile):
    f = compile(lambda x: ((x * 2).unsqueeze(0).expand(3, -1), (x + 1).t() if x.ndim == 2 else x.view(-1)))

    def call(k):
        a, b = f(rand(4, seed=k))
        return a, b, a.stride(), attempt(lambda: a.add_(1))

    return call


@case
def strides_out(compile):
    f = compile(lambda x: ((x * 2).t(), x.t() * 2, x.t().contiguous(), (x * 2)[:, ::2], x.t().reshape(-1)))

    def call(k):
        o = f(rand(3, 4, seed=k))
        return [t.stride() for t in o], [t.is_contiguous() for t in o], list(o)

    return call


@case
def noncontig_arg(compile):
    def g(x):
        x.mul_(2)
        return x + 1, x.sum(0)

    f = compile(g)

    def call(k):
        b = rand(4, 6, seed=k)
        x = [b, b.t(), b[:, ::2], b[1:3, 2:4], b.t()[1:], b[::2]][k]
        return f(x), b

    return call


@case
def swapped_inputs_write(compile):
    def g(a, b):
        a.add_(b)
        b.mul_(a)
        return a - b

    f = compile(g)
    x, y = rand(3), rand(3, seed=1)
    return lambda k: (f(x, y) if k % 2 else f(y, x), x, y)


@case
def copy_between(compile):
    a, b = T.zeros(4), T.zeros(4)

    def g(x):
        a.copy_(x)
        b.copy_(a)
        a.zero_()
        a[1:].copy_(b[:-1])
        b[::2] = a[::2]
        return a + b

    f = compile(g)
    return lambda k: (f(rand(4, seed=k)), a, b)


@case
def self_overlap_copy(compile):
    a = rand(6)

    def g():
        a[1:].copy_(a[:-1])
        return a * 1

    f = compile(g)
    return lambda k: (f(), a)


@case
def buffer_returned(compile):
    m = nn.BatchNorm1d(3)
    f = compile(lambda x: (m(x), m.running_mean, m.running_mean[1:]))

    def call(k):
        y, w, b = f(rand(5, 3, seed=k))
        b.add_(1.0)
        return y, w is m.running_mean, b, m.running_mean, m.num_batches_tracked

    return call


@case
def dict_identity(compile):
    f = compile(lambda d: d)

    def call(k):
        d = {"x": rand(3, seed=k)}
        r = f(d)
        return r is d

    return call


@case
def list_shared_result(compile):
    def g(x):
        l = [x + 1]
        return l, l

    f = compile(g)

    def call(k):
        a, b = f(rand(3, seed=k))
        return a is b, a[0] is b[0]

    return call


@case
def list_arg_append(compile):
    def g(d):
        d.append(d[0] * 2)
        return d

    f = compile(g)

    def call(k):
        d = [rand(3, seed=k)]
        r = f(d)
        return r, d, r is d

    return call


@case
def detach_held(compile):
    w = rand(4).requires_grad_()
    f = compile(lambda x: x * w.detach())
    return lambda k: f(rand(4, seed=k))


@case
def return_detached(compile):
    w = rand(4).requires_grad_()
    f = compile(lambda x: (w.detach(), x.detach(), x * w))

    def call(k):
        w.grad = None
        x = rand(4, seed=k).requires_grad_()
        a, b, y = f(x)
        r = arrays((a, b))
        b.add_(1)
        y2 = arrays(y)
        return r, y2, a.requires_grad, b.requires_grad, x

    return call


@case
def version_read(compile):
    def g(x):
        return x * x._version

    f = compile(g)

    def call(k):
        x = rand(4, seed=k)
        for _ in range(k):
            x.add_(1)
        return f(x)

    return call
