"""utils.checkpoint: values, gradients and random numbers as without it; utils._pytree."""

from __future__ import annotations

import importlib
from collections import OrderedDict, namedtuple

import pytest


@pytest.fixture(params=["treadle", pytest.param("torch", marks=pytest.mark.torch)])
def T(request):
    importlib.import_module(f"{request.param}.utils.checkpoint")
    return importlib.import_module(request.param)


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_and_random_numbers(T, reentrant):
    def run(wrap):
        T.manual_seed(0)
        model = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.Tanh(), T.nn.Dropout(0.5), T.nn.Linear(8, 2))
        x = T.randn(3, 4, requires_grad=True)
        y = wrap(model, x)
        y.square().sum().backward()
        return [y, x.grad, *(p.grad for p in model.parameters()), T.rand(2)]

    plain = run(lambda model, x: model(x))
    saved = run(lambda model, x: T.utils.checkpoint.checkpoint(model, x, use_reentrant=reentrant))
    for a, b in zip(plain, saved, strict=True):
        assert T.allclose(a, b)


def test_parameters_alone_need_the_other_kind(T):
    layer = T.nn.Linear(2, 2)
    T.utils.checkpoint.checkpoint(layer, T.ones(1, 2), use_reentrant=False).sum().backward()
    assert layer.weight.grad is not None


def test_several_outputs_keywords_and_no_grad(T):
    x = T.ones(2, requires_grad=True)

    def fn(a, scale=1, flag=None):
        return a * scale, a + 1 if flag else a

    y, z = T.utils.checkpoint.checkpoint(fn, x, scale=T.full((2,), 3.0), flag=True, use_reentrant=False)
    (y.sum() + z.sum()).backward()
    assert x.grad.tolist() == [4.0, 4.0]
    with T.no_grad():
        assert not T.utils.checkpoint.checkpoint(fn, x, use_reentrant=False)[0].requires_grad


def test_sequential(T):
    T.manual_seed(0)
    model = T.nn.Sequential(*[T.nn.Linear(3, 3) for _ in range(5)])
    x = T.ones(1, 3, requires_grad=True)
    y = T.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=True)
    assert T.allclose(y, model(x))
    y.sum().backward()
    assert model[0].weight.grad is not None


Point = namedtuple("Point", "x y")


def test_trees(T):
    P = importlib.import_module(f"{T.__name__}.utils._pytree")
    tree = {"a": [1, (2, 3)], "b": Point(4, OrderedDict(z=5, y=6)), "c": None}
    leaves, spec = P.tree_flatten(tree)
    assert leaves == [1, 2, 3, 4, 5, 6, None] and spec.num_leaves == 7
    assert P.tree_unflatten(leaves, spec) == tree
    assert P.tree_map(lambda v: v and v * 10, tree)["b"] == Point(40, OrderedDict(z=50, y=60))
    assert P.tree_map_only(int, lambda v: -v, [1, "s", [2]]) == [-1, "s", [-2]]
    assert P.tree_map(lambda a, b: a + b, [1, 2], [3, 4]) == [4, 6]
    assert P.tree_any(lambda v: v == 6, tree) and not P.tree_all(lambda v: v == 6, tree)
    with pytest.raises(ValueError, match=r"leaves. has length 1"):
        P.tree_unflatten([1], spec)
