"""Autocast: the dtype each function gives, the cache of weights, nesting, and the loss scaler."""

from __future__ import annotations

import importlib

import pytest
import treadle


@pytest.fixture(params=["treadle", pytest.param("torch", marks=pytest.mark.torch)])
def T(request):
    return importlib.import_module(request.param)


F32, BF16 = "float32", "bfloat16"
# what each function gives under autocast to bfloat16, from float32 inputs and from bfloat16 inputs
TABLE = {
    "linear": (lambda T, F, x: F.linear(x, x), BF16, BF16),
    "matmul": (lambda T, F, x: x @ x, BF16, BF16),
    "matmul vector": (lambda T, F, x: T.matmul(x, x[0]), BF16, BF16),
    "mm": (lambda T, F, x: T.mm(x, x), BF16, BF16),
    "mv": (lambda T, F, x: T.mv(x, x[0]), F32, BF16),
    "dot": (lambda T, F, x: T.dot(x[0], x[0]), F32, BF16),
    "bmm": (lambda T, F, x: T.bmm(x[None], x[None]), BF16, BF16),
    "addmm": (lambda T, F, x: T.addmm(x, x, x), BF16, BF16),
    "baddbmm": (lambda T, F, x: T.baddbmm(x[None], x[None], x[None]), BF16, BF16),
    "einsum": (lambda T, F, x: T.einsum("ij,jk->ik", x, x), BF16, BF16),
    "conv2d": (lambda T, F, x: F.conv2d(x[None, None], x[None, None, :2, :2]), BF16, BF16),
    "attention": (lambda T, F, x: F.scaled_dot_product_attention(x[None], x[None], x[None]), BF16, BF16),
    "prelu": (lambda T, F, x: F.prelu(x, x[0, :1]), BF16, BF16),
    "softmax": (lambda T, F, x: F.softmax(x, -1), F32, BF16),
    "layer_norm": (lambda T, F, x: F.layer_norm(x, (4,)), F32, BF16),
    "gelu": (lambda T, F, x: F.gelu(x), F32, BF16),
    "sum": (lambda T, F, x: x.sum(), F32, BF16),
    "prod": (lambda T, F, x: x.prod(), F32, F32),
    "mse_loss": (lambda T, F, x: F.mse_loss(x, x), F32, F32),
    "l1_loss": (lambda T, F, x: F.l1_loss(x, x), F32, F32),
    "cross_entropy": (lambda T, F, x: F.cross_entropy(x, T.tensor([0, 1, 2, 3])), F32, F32),
    "nll_loss": (lambda T, F, x: F.nll_loss(x, T.tensor([0, 1, 2, 3])), F32, F32),
    "bce logits": (lambda T, F, x: F.binary_cross_entropy_with_logits(x, x.sigmoid()), F32, F32),
    "smooth_l1": (lambda T, F, x: F.smooth_l1_loss(x, x), F32, F32),
    "kl_div": (lambda T, F, x: F.kl_div(x, x.sigmoid(), reduction="sum"), F32, F32),
    "cat": (lambda T, F, x: T.cat([x, x.float()]), F32, F32),
    "stack": (lambda T, F, x: T.stack([x, x.float()]), F32, F32),
    "add": (lambda T, F, x: x + x, F32, BF16),
}


@pytest.mark.parametrize("name", TABLE)
def test_dtypes(T, name):
    act, *wanted = TABLE[name]
    for dtype, want in zip((T.float32, T.bfloat16), wanted, strict=True):
        x = T.randn(4, 4).to(dtype)
        with T.autocast("cpu", dtype=T.bfloat16):
            got = act(T, T.nn.functional, x)
        assert str(got.dtype).split(".")[1] == want
    x = T.randn(4, 4, dtype=T.float64)
    if name not in ("cat", "stack"):
        with T.autocast("cpu", dtype=T.bfloat16):
            assert act(T, T.nn.functional, x).dtype is T.float64


def test_nesting_and_state(T):
    x = T.ones(2, 2)
    assert not T.is_autocast_enabled("cpu") and T.get_autocast_dtype("cpu") is T.bfloat16
    with T.autocast("cpu", dtype=T.float16):
        assert (x @ x).dtype is T.float16 and T.is_autocast_enabled("cpu")
        with T.amp.autocast("cpu", enabled=False):
            assert (x @ x).dtype is T.float32
        assert T.get_autocast_dtype("cpu") is T.float16
    assert T.get_autocast_dtype("cpu") is T.bfloat16 and (x @ x).dtype is T.float32

    @T.autocast("cpu")
    def product(a):
        return a @ a

    assert product(x).dtype is T.bfloat16 and not T.is_autocast_enabled("cpu")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        T.autocast(3)
    with pytest.raises(RuntimeError, match=r"unsupported autocast device_type 'x'|Expected one of cpu"):
        T.autocast("x")
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported"):
        T.autocast("cpu", dtype=T.float64)


def test_gradients_reach_the_weight_in_its_dtype(T):
    layer = T.nn.Linear(3, 2)
    with T.autocast("cpu"):
        loss = layer(T.ones(4, 3)).sum() + layer(T.ones(4, 3)).sum()
    loss.backward()
    assert layer.weight.grad.dtype is T.float32
    assert layer.weight.grad.tolist() == [[8.0] * 3] * 2


def test_weight_is_cast_once_and_anew_when_written():
    layer = treadle.nn.Linear(2, 2, bias=False)
    x = treadle.ones(1, 2)
    from treadle.frontend.autocast import cast_inputs, state

    with treadle.autocast("cpu"):
        (first,) = cast_inputs("linear", layer.weight)
        assert cast_inputs("linear", layer.weight)[0] is first
        with treadle.no_grad():
            layer.weight.fill_(3)
        assert layer(x).tolist() == [[6.0, 6.0]]
        assert state.cache
    assert not state.cache


def test_scaler(T):
    p = T.nn.Parameter(T.ones(1))
    opt = T.optim.SGD([p], 0.5)
    scaler = T.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    for value, want, scale in ((1.0, 0.5, 4.0), (1.0, 0.0, 8.0), (float("inf"), 0.0, 4.0)):
        opt.zero_grad()
        scaler.scale((p * value).sum()).backward()
        scaler.step(opt)
        scaler.update()
        assert p.item() == want and scaler.get_scale() == scale
    state = scaler.state_dict()
    assert state == {"scale": 4.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2,
                     "_growth_tracker": 0}
    other = T.amp.GradScaler("cpu")
    other.load_state_dict(state)
    assert other.get_scale() == 4.0 and other.is_enabled()
    opt.zero_grad()
    scaler.scale((p * 2).sum()).backward()
    scaler.unscale_(opt)
    assert p.grad.tolist() == [2.0]
    with pytest.raises(RuntimeError, match=r"unscale_.. has already been called on this optimizer"):
        scaler.unscale_(opt)
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        o = T.amp.GradScaler("cpu")
        o.scale(T.ones(1))
        o.update()


def test_disabled_scaler_hands_through(T):
    p = T.nn.Parameter(T.ones(1))
    opt = T.optim.SGD([p], 0.5)
    scaler = T.amp.GradScaler("cpu", enabled=False)
    loss = (p * 2).sum()
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    loss.backward()
    scaler.unscale_(opt)
    scaler.step(opt)
    scaler.update()
    assert p.item() == 0.0
