"""In-place writes and the tape: views, detached views, operands written by their own op."""

from __future__ import annotations

import numpy as np
import pytest

import treadle as T


def test_views_follow_their_base_and_detached_ones_do_not():
    x = T.ones(3, 3, requires_grad=True)
    base = x * 2
    view, detached, view_of_detached = base[0], base[1].detach(), base.detach()[2]
    w = T.full((3, 3), 2.0, requires_grad=True)
    base.mul_(w)
    with T.no_grad():
        quiet = base[1]
    assert view.requires_grad
    assert not (detached.requires_grad or view_of_detached.requires_grad or quiet.requires_grad)
    (view.sum() * 2).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[8] * 3, [0] * 3, [0] * 3])
    np.testing.assert_array_equal(w.grad.numpy(), [[4] * 3, [0] * 3, [0] * 3])


def test_a_detached_view_of_a_leaf_may_be_written():
    leaf = T.ones(4, requires_grad=True)
    part = leaf[:2].detach()
    part.mul_(3)
    part[0].add_(1)
    assert leaf.detach().tolist() == [4, 3, 1, 1] and not part.requires_grad and leaf.is_leaf
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        leaf[:2].mul_(3)


@pytest.mark.parametrize("compiled", [False, True])
def test_an_operand_written_by_its_own_op_keeps_its_value_for_the_gradient(compiled):
    def f(a):
        c = a * 1
        c.mul_(a)
        c[1:].mul_(a[1:])
        return c.sum()

    run = T.compile(f) if compiled else f
    for _ in range(3):
        a = T.full((3,), 2.0, requires_grad=True)
        run(a).backward()
        assert a.grad.tolist() == [4, 12, 12]


def test_a_saved_tensor_written_later_is_refused():
    a = T.ones(3, requires_grad=True)
    b = a * 2
    c = b * b
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.sum().backward()


def test_a_call_whose_backward_must_fail_is_still_a_call():
    """The error belongs to `.backward()`, not to the compiled call that wrote what it had saved."""
    w = T.ones(3, requires_grad=True)

    def f(a):
        b = a * w
        a.add_(a)
        return b.sum()

    for run in (f, T.compile(f)):
        for _ in range(3):
            loss = run(T.tensor(2.0))
            assert loss.item() == 6
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                loss.backward()
