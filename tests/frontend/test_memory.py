"""What shares memory and what does not: views, NumPy, DLPack, copies, in-place writes through views."""

from __future__ import annotations

import numpy as np
import pytest
import treadle as T

VIEWS = {
    "view": lambda x: x.view(2, 6), "reshape": lambda x: x.reshape(12), "t": lambda x: x.t(),
    "permute": lambda x: x.permute(1, 0), "slice": lambda x: x[1:, ::2], "select": lambda x: x[1],
    "narrow": lambda x: x.narrow(1, 1, 2), "unsqueeze": lambda x: x.unsqueeze(0), "diagonal": lambda x: x.diagonal(1),
    "chunk": lambda x: x.chunk(2, 1)[1], "unbind": lambda x: x.unbind(0)[2], "flatten": lambda x: x.flatten(),
    "as_strided": lambda x: x.as_strided((2, 2), (4, 1), 1), "bits": lambda x: x.view(T.int32),
    "complex": lambda x: T.view_as_complex(x.view(3, 2, 2)), "detach": lambda x: x.detach(),
    "of views": lambda x: x.t()[1:].view(3, 3, 1)[..., 0].diagonal(), "expand": lambda x: x[:1].expand(3, 4),
    "split": lambda x: x.split([1, 3], 1)[1], "movedim": lambda x: x.movedim(0, 1), "data": lambda x: x.data,
}
COPIES = {
    "clone": lambda x: x.clone(), "contiguous": lambda x: x.t().contiguous(), "flip": lambda x: x.flip(0),
    "flip of one": lambda x: x[:1].flip(0), "index": lambda x: x[[0, 1]], "mask": lambda x: x[x > 0],
    "repeat": lambda x: x.repeat(1, 1), "cat": lambda x: T.cat([x]), "roll": lambda x: x.roll(0, 0),
    "where": lambda x: T.where(x > 0, x, x), "floor": lambda x: x.int().floor(), "clamp": lambda x: x.clamp(min=-9),
    "relu": lambda x: T.relu(x), "reshape": lambda x: x.t().reshape(12), "to": lambda x: x.to(T.float32, copy=True),
    "unfold": lambda x: x.unfold(0, 1, 1), "sort": lambda x: x[:1].sort().values, "pad": lambda x: T.nn.functional.pad(x, (0, 0)),
    "pool": lambda x: T.nn.functional.adaptive_avg_pool1d(x, 4), "sum": lambda x: x.sum(()), "tril": lambda x: x.tril(9),
}


def start():
    return T.arange(1.0, 13.0).reshape(3, 4).clone()


@pytest.mark.parametrize("name", VIEWS)
def test_views_share(name):
    x = start()
    v = VIEWS[name](x)
    before = v.clone()
    with T.no_grad():
        x.mul_(2)
    assert not T.equal(v, before) and v._version == x._version


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("expand", "bits")])
def test_writes_through_views(name):
    x = start()
    v = VIEWS[name](x)
    v.zero_()
    assert (x == 0).sum() == v.numel() * (2 if v.is_complex() else 1)


@pytest.mark.parametrize("name", COPIES)
def test_copies_do_not_share(name):
    x = start()
    y = COPIES[name](x)
    before = y.clone()
    x.zero_()
    assert T.equal(y, before)


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("detach", "data", "bits", "complex", "expand")])
def test_gradients_through_writes_to_views(name):
    x = start().double().requires_grad_()

    def fn(x):
        y = x * 1
        v = VIEWS[name](y)
        v.mul_(v * 2)
        return y * y

    assert T.autograd.gradcheck(fn, (x,))


def test_numpy_shares():
    array = np.arange(6.0).reshape(2, 3)
    t = T.from_numpy(array)
    array[0, 0] = 9
    assert t[0, 0] == 9
    t[1] = 7
    assert (array[1] == 7).all()
    assert np.asarray(t) is t.numpy() and t.t().numpy().strides == array.T.strides
    assert np.array_equal(np.array(t) + 1, array + 1)
    with pytest.raises(TypeError, match="expected np.ndarray"):
        T.from_numpy([1])
    with pytest.raises(ValueError, match="negative"):
        T.from_numpy(array[::-1])
    with pytest.raises(RuntimeError, match=r"Can.t call numpy\(\) on Tensor that requires grad"):
        t.requires_grad_().numpy()


def test_dlpack_shares_both_ways():
    array = np.arange(4.0)
    t = T.from_dlpack(array)
    array[0] = 5
    assert t[0] == 5
    back = np.from_dlpack(t)
    t[1] = 8
    assert back[1] == 8
    torch = pytest.importorskip("torch")
    theirs = torch.arange(4.0)
    mine = T.from_dlpack(theirs)
    theirs[2] = -1
    assert mine[2] == -1
    mine[3] = -2
    assert theirs[3] == -2
    again = torch.from_dlpack(mine)
    again[0] = 42
    assert mine[0] == 42 and theirs[0] == 42


def test_out_of_range_touches_nothing():
    x = start()
    before = x.clone()
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        x[T.tensor([0, 3])] = 0
    with pytest.raises(IndexError, match="index -4 is out of bounds for dimension 0 with size 3"):
        x[T.tensor([0, -4])] = 0
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x[:1].expand(3, 4)[T.tensor([0])] = 1
    assert T.equal(x, before)


def test_versions_count_writes():
    x = start()
    version = x._version
    x[0] = 1
    x[T.tensor([0])] = 1
    x[x > 3] = 1
    x.add_(1)
    assert x._version == version + 4
