"""autograd.Function, gradcheck, and hooks on tensors."""

from __future__ import annotations

import gc
import weakref

import pytest
import treadle as T
from treadle.autograd import Function, grad, gradcheck, gradgradcheck
from treadle.autograd.function import once_differentiable


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


class Scale(Function):
    """With setup_context, a number among the inputs, and an input that is an output too."""

    @staticmethod
    def forward(x, k):
        return x * k, x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, g, h):
        return g * ctx.k + h, None


def leaf(*shape):
    return T.randn(*shape, dtype=T.float64).requires_grad_()


def test_gradients():
    x = leaf(3)
    assert gradcheck(Exp.apply, (x,)) and gradgradcheck(Exp.apply, (x,))
    assert gradcheck(lambda x: Scale.apply(x, 3.0), (x,)) and gradgradcheck(lambda x: Scale.apply(x, 3.0), (x,))


def test_an_input_given_back_is_another_tensor():
    x = leaf(2)
    _, same = Scale.apply(x, 2.0)
    assert same is not x and same.data_ptr() == x.data_ptr() and not same.is_leaf


def test_freed_and_again():
    x = leaf(2)
    y = Exp.apply(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()


def test_no_cycle_keeps_memory():
    x = leaf(2)
    gc.disable()
    try:
        y = Exp.apply(x)
        storage = weakref.ref(y.storage)
        del y
        assert storage() is None
    finally:
        gc.enable()


def test_a_changed_saved_tensor_is_an_error():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    x = leaf(2)
    z = x * 1
    y = Square.apply(z)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_wrong_counts_and_dirty():
    class Bad(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g

    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(2)
    with pytest.raises(RuntimeError, match="returned an incorrect number of gradients"):
        Bad.apply(x, x).sum().backward()
    z = x * 1
    assert Twice.apply(z) is z
    assert T.equal(grad(z.sum(), x)[0], T.full((2,), 2.0, dtype=T.float64))
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        Twice.apply(x)
    with pytest.raises(RuntimeError, match="should not be instantiated"):
        Bad()


def test_needs_and_materialized():
    seen = {}

    class Two(Function):
        @staticmethod
        def forward(ctx, x, y):
            seen["needs"] = ctx.needs_input_grad
            ctx.set_materialize_grads(False)
            ctx.mark_non_differentiable(places := x.argmax())
            return x * 1, y * 1, places

        @staticmethod
        def backward(ctx, g, h, _places):
            seen["grads"] = (g, h)
            return g, h

    x, y = leaf(2), T.randn(2, dtype=T.float64)
    a, b, places = Two.apply(x, y)
    a.sum().backward()
    assert seen["needs"] == (True, False) and seen["grads"][1] is None
    assert b.requires_grad and not places.requires_grad


def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return g * 2

    x = leaf(1)
    (g,) = grad(Once.apply(x).sum(), x)
    assert g.item() == 2
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad((Once.apply(x) * x).sum(), x, create_graph=True)


def test_gradcheck_finds_what_is_wrong():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = leaf(2)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(Wrong.apply, (x,))
    assert not gradcheck(Wrong.apply, (x,), raise_exception=False)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, (T.ones(1),))


def test_hooks():
    x = leaf(2)
    y = x * 3
    seen = []
    handle = x.register_hook(lambda g: seen.append(g.clone()))
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
    y.sum().backward()
    assert T.equal(seen[0], T.full((2,), 30.0, dtype=T.float64)) and T.equal(seen[1], x.grad)
    assert T.equal(y.grad, T.full((2,), 10.0, dtype=T.float64))
    handle.remove()
    (x * 1).sum().backward()
    assert len(seen) == 3
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        T.ones(1).register_hook(print)
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        T.ones(1).retain_grad()
