"""Optimizers step by step against PyTorch's stored values, and what they are besides their updates."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import treadle
from treadle.ir import dtype as dt
from treadle.ir.composite import body_graph
from treadle.ir.interpret import run_numpy
from treadle.ir.type import tensor_type
from treadle.optim import adadelta, adagrad, adam, adamax, asgd, nadam, radam, rmsprop, rprop, sgd

sys.path.insert(0, str(Path(__file__).parent))
from optim_cases import OPTIMIZERS, STORED, flat, key, optimizer_for, run


@pytest.fixture(scope="module")
def stored():
    with np.load(STORED) as file:
        return {name: file[name] for name in file.files}


@pytest.mark.parametrize("case", OPTIMIZERS, ids=key)
def test_steps_are_torchs(case, stored):
    got = run(treadle, case)
    for name, value in got.items():
        assert value.dtype == (np.float32 if name.endswith(("step", "mu", "eta", "mu_product")) else np.float64), name
    np.testing.assert_allclose(flat(got), stored[key(case)], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("case", OPTIMIZERS, ids=key)
def test_float32_follows_float64(case):
    exact, got = run(treadle, case), run(treadle, case, np.float32)
    for name, value in exact.items():
        if name.count(".") == 1:
            np.testing.assert_allclose(got[name], value, rtol=2e-4, atol=2e-4, err_msg=name)


RULES = {
    "sgd": (sgd.SGD_PLAIN, {"decay": True, "maximize": False}),
    "momentum": (sgd.SGD_MOMENTUM, {"decay": True, "maximize": False, "nesterov": True, "first": False}),
    "first": (sgd.SGD_MOMENTUM, {"decay": False, "maximize": True, "nesterov": False, "first": True}),
    "adam": (adam.ADAM, {"decay": True, "decoupled": False, "maximize": True}),
    "adamw": (adam.ADAM, {"decay": True, "decoupled": True, "maximize": False}),
    "amsgrad": (adam.AMSGRAD, {"decay": False, "decoupled": False, "maximize": False}),
    "rmsprop": (rmsprop.RULES[False, False], {"decay": True, "maximize": False}),
    "rmsprop all": (rmsprop.RULES[True, True], {"decay": False, "maximize": True}),
    "adagrad": (adagrad.RULE, {"decay": True, "maximize": False}),
    "adadelta": (adadelta.RULE, {"decay": True, "maximize": False}),
    "adamax": (adamax.RULE, {"decay": True, "maximize": False}),
    "nadam": (nadam.RULE, {"decay": True, "decoupled": True, "maximize": False}),
    "radam": (radam.RULE, {"decay": True, "decoupled": False, "maximize": False}),
    "rprop": (rprop.RULE, {"maximize": False}),
    "asgd": (asgd.RULE, {"decay": True, "maximize": False}),
}
NUMBERS = {"lr": 1e-2, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.9,
           "dampening": 0.1, "alpha": 0.75, "rho": 0.9, "lr_decay": 0.1, "momentum_decay": 4e-3, "lambd": 1e-4,
           "t0": 1.0, "etaminus": 0.5, "etaplus": 1.2, "step_size_min": 1e-6, "step_size_max": 50.0}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.complex64])
@pytest.mark.parametrize("shape", [(5, 3), (), (0,), (70001,)], ids=str)
@pytest.mark.parametrize("name", RULES)
def test_eager_is_the_body_bit_for_bit(name, shape, dtype):
    """The in-place kernel, whole or in pieces, and the recorded ops are the same arithmetic."""
    if shape == (70001,) and dtype is not np.float32:
        pytest.skip("pieces do not depend on the dtype")
    rule, flags = RULES[name]
    rng = np.random.default_rng(1)

    def drawn():
        x = rng.standard_normal(shape)
        return np.asarray(x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)

    values = [drawn(), drawn(), *(np.array(3.0, np.float32) if s.number else np.abs(drawn()).astype(dtype)
                                  for s in rule.slots)]
    values += [np.array(NUMBERS[n]) for n in rule.numbers]
    kept = [v.copy() for v in values]
    eager = rule.op.eager(*values, **flags)
    eager = eager if isinstance(eager, tuple) else (eager,)
    assert all(np.array_equal(a, b) for a, b in zip(values, kept, strict=True))
    types = tuple(tensor_type(v.shape, dt.from_numpy(v.dtype)) for v in values)
    for a, b in zip(eager, run_numpy(body_graph(rule.op, types, flags), values), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_views_and_versions():
    base = treadle.zeros(4, 6)
    p = treadle.nn.Parameter(base.t()[::2])
    p.grad = treadle.ones(3, 4)
    before = p._version
    treadle.optim.Adam([p], 0.5).step()
    assert p._version > before
    assert base.tolist() == [[-0.5, 0, -0.5, 0, -0.5, 0]] * 4 or treadle.allclose(base[:, 0], base[:, 2])
    assert float(base[:, 1].abs().sum()) == 0


# state -----------------------------------------------------------------------------------------------
def trained(name: str = "Adam", **options):
    opt = optimizer_for(treadle, name, **options)
    opt.step()
    return opt


def test_state_dict_round_trip():
    opt = trained("AdamW", lr=0.1)
    state = opt.state_dict()
    assert list(state) == ["state", "param_groups"] and list(state["state"]) == [0, 1]
    assert [g["params"] for g in state["param_groups"]] == [[0], [1]]
    assert list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    other = optimizer_for(treadle, "AdamW", lr=0.7)
    other.load_state_dict(copy.deepcopy(state))
    assert [g["lr"] for g in other.param_groups] == [0.2, 0.3]
    for a, b in ((opt, other),):
        a.step(), b.step()
        for x, y in zip(a.param_groups, b.param_groups, strict=True):
            for k in ("exp_avg", "exp_avg_sq", "step"):
                assert treadle.equal(a.state[x["params"][0]][k], b.state[y["params"][0]][k])


def test_loading_casts_to_the_parameter():
    opt = trained(lr=0.1)
    other = optimizer_for(treadle, "Adam", lr=0.1)
    for group in other.param_groups:
        for p in group["params"]:
            p.data = p.data.double()
    other.load_state_dict(opt.state_dict())
    state = other.state[other.param_groups[0]["params"][0]]
    assert state["exp_avg"].dtype is treadle.float64 and state["step"].dtype is treadle.float32


def test_old_checkpoint_with_plain_step():
    opt = trained(lr=0.1)
    state = opt.state_dict()
    for entry in state["state"].values():
        entry["step"] = int(entry["step"])
    del state["param_groups"][0]["decoupled_weight_decay"]
    opt.load_state_dict(state)
    opt.step()
    assert float(opt.state[opt.param_groups[0]["params"][0]]["step"]) == 2


def test_pickle_and_deepcopy():
    opt = trained("SGD", lr=0.1, momentum=0.9)
    for other in (pickle.loads(pickle.dumps(opt)), copy.deepcopy(opt)):
        other.step()
        assert repr(other) == repr(opt)


ERRORS = [
    (lambda T, p: T.optim.SGD(p, 0.1), TypeError, "params argument given to the optimizer should be an iterable"),
    (lambda T, p: T.optim.SGD([], 0.1), ValueError, "optimizer got an empty parameter list"),
    (lambda T, p: T.optim.SGD([3], 0.1), TypeError, "optimizer can only optimize Tensors, but one of"),
    (lambda T, p: T.optim.SGD([p * 2], 0.1), ValueError, "can't optimize a non-leaf Tensor"),
    (lambda T, p: T.optim.SGD([{"params": {p}}], 0.1), TypeError, "optimizer parameters need to be organized in"),
    (lambda T, p: T.optim.SGD([{"params": [p]}, {"params": [p]}], 0.1), ValueError, "some parameters appear in more"),
    (lambda T, p: T.optim.SGD([p], -1), ValueError, "Invalid learning rate: -1"),
    (lambda T, p: T.optim.SGD([p], 0.1, momentum=-1), ValueError, "Invalid momentum value: -1"),
    (lambda T, p: T.optim.SGD([p], 0.1, nesterov=True), ValueError, "Nesterov momentum requires a momentum and"),
    (lambda T, p: T.optim.Adam([p], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
    (lambda T, p: T.optim.Adam([p], eps=-1), ValueError, "Invalid epsilon value: -1"),
    (lambda T, p: T.optim.AdamW([p], weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
    (lambda T, p: T.optim.Adadelta([p], rho=2), ValueError, "Invalid rho value: 2"),
    (lambda T, p: T.optim.Rprop([p], etas=(2, 3)), ValueError, "Invalid eta values: 2, 3"),
    (lambda T, p: T.optim.Adam([p], fused=True, foreach=True), RuntimeError, "`fused` and `foreach` cannot be"),
    (lambda T, p: T.optim.SGD([p], 0.1).add_param_group(3), TypeError, "param_group must be a dict, but got"),
    (lambda T, p: T.optim.SGD([p], 0.1).load_state_dict({"state": {}, "param_groups": []}), ValueError,
     "loaded state dict has a different number of parameter groups"),
    (lambda T, p: T.optim.SGD([p], 0.1).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
     ValueError, "loaded state dict contains a parameter group"),
    (lambda T, p: T.optim.Optimizer([p], {}).step(), NotImplementedError, None),
]


@pytest.fixture(params=["treadle", pytest.param("torch", marks=pytest.mark.torch)])
def T(request):
    return importlib.import_module(request.param)


def base(T):
    """torch.optim.optimizer, a module that torch.optim does not show."""
    return importlib.import_module(f"{T.__name__}.optim.optimizer")


@pytest.mark.parametrize("row", range(len(ERRORS)))
def test_errors(T, row):
    act, kind, words = ERRORS[row]
    with pytest.raises(kind, match=words):
        act(T, T.nn.Parameter(T.ones(1)))


def test_hooks_closure_and_groups(T):
    p, q = (T.nn.Parameter(T.ones(1)) for _ in range(2))
    opt, seen = T.optim.SGD([("p", p)], lr=0.5), []
    opt.register_step_pre_hook(lambda o, args, kw: seen.append("pre"))
    opt.register_step_post_hook(lambda o, args, kw: seen.append("post"))
    handle = base(T).register_optimizer_step_pre_hook(lambda o, a, k: seen.append("all"))

    def closure():
        opt.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert float(opt.step(closure).detach()) == 1 and float(p.detach()) == 0
    handle.remove()
    assert seen == ["all", "pre", "post"]
    opt.add_param_group({"params": [("q", q)], "lr": 2})
    assert opt.param_groups[1]["param_names"] == ["q"] and opt.param_groups[1]["momentum"] == 0
    q.grad = T.ones(1)
    opt.step()
    assert float(q.detach()) == -1
    with pytest.raises(ValueError, match="all optimizer param groups should be with/without names"):
        opt.add_param_group({"params": [T.nn.Parameter(T.ones(1))]})
    opt.zero_grad(set_to_none=False)
    assert float(q.grad) == 0
    opt.zero_grad()
    assert q.grad is None


def test_subclass_with_its_own_step(T):
    required = base(T).required

    class Mine(T.optim.Optimizer):
        def __init__(self, params, lr=required):
            super().__init__(params, {"lr": lr})

        @T.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["n"] = state.get("n", 0) + 1
                    p.add_(p.grad, alpha=-group["lr"])

    p = T.nn.Parameter(T.ones(2))
    with pytest.raises(ValueError, match="parameter group didn't specify a value of required"):
        Mine([p])
    opt, seen = Mine([p], 0.25), []
    opt.register_step_post_hook(lambda *a: seen.append(1))
    p.grad = T.ones(2)
    opt.step()
    assert p.tolist() == [0.75, 0.75] and seen == [1] and opt.state_dict()["state"][0]["n"] == 1


def test_learning_rate_may_be_a_tensor(T):
    p = T.nn.Parameter(T.ones(2))
    p.grad = T.ones(2)
    opt = T.optim.SGD([p], lr=T.tensor(0.5))
    T.optim.lr_scheduler.StepLR(opt, 1)
    opt.step()
    assert p.tolist() == [0.5, 0.5]


def test_differentiable_step(T):
    w = T.ones(2, requires_grad=True)
    p = w * 1
    p.retain_grad()
    p.grad = T.ones(2)
    opt = T.optim.SGD([p], lr=0.5, differentiable=True)
    opt.step()
    (p * p).sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]
