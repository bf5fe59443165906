"""nn.Module: registration, iteration, hooks, conversion, printing, copying."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import pytest
import treadle


def net(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.l1 = T.nn.Linear(2, 3)
            self.l2 = T.nn.Linear(3, 1, bias=False)
            self.shared = self.l1
            self.register_buffer("count", T.zeros(1))
            self.register_buffer("hidden", T.ones(2), persistent=False)
            self.register_parameter("none", None)
            self.scale = T.nn.Parameter(T.ones(1))

        def forward(self, x, twice=False):
            y = self.l2(T.relu(self.l1(x))) * self.scale
            return y * 2 if twice else y

    T.manual_seed(0)
    return Net()


# registration ----------------------------------------------------------------------------------------
def test_members_by_name(T):
    m = net(T)
    assert [n for n, _ in m.named_parameters()] == ["scale", "l1.weight", "l1.bias", "l2.weight"]
    assert [n for n, _ in m.named_parameters(remove_duplicate=False)] == [
        "scale", "l1.weight", "l1.bias", "l2.weight", "shared.weight", "shared.bias"]
    assert [n for n, _ in m.named_parameters("p", recurse=False)] == ["p.scale"]
    assert [n for n, _ in m.named_buffers()] == ["count", "hidden"]
    assert [n for n, _ in m.named_children()] == ["l1", "l2"]
    assert [n for n, _ in m.named_modules()] == ["", "l1", "l2"]
    assert [n for n, _ in m.named_modules(remove_duplicate=False)] == ["", "l1", "l2", "shared"]
    assert len(list(m.parameters())) == 4 and len(list(m.modules())) == 3
    assert list(m.state_dict()) == ["scale", "count", "l1.weight", "l1.bias", "l2.weight", "shared.weight",
                                    "shared.bias"]


def test_assignment_moves_a_name_between_kinds(T):
    m = T.nn.Module()
    m.a = 3
    m.a = T.nn.Parameter(T.ones(1))
    assert "a" in m._parameters and "a" not in m.__dict__
    m.a = None
    assert m.a is None and "a" in m._parameters
    m.b = T.nn.Linear(1, 1)
    m.b = None
    assert m.b is None and "b" in m._modules
    m.c = T.ones(2)
    assert "c" in m.__dict__ and not m._buffers
    m.d = T.nn.Buffer(T.ones(2), persistent=False)
    assert "d" in m._buffers and "d" in m._non_persistent_buffers_set
    m.d = T.zeros(2)
    assert float(m.d.sum()) == 0 and "d" not in m.state_dict()
    del m.d
    assert not hasattr(m, "d") and not m._non_persistent_buffers_set
    m.e = T.nn.Linear(1, 1)
    m.e = T.nn.Parameter(T.ones(1))
    assert "e" in m._parameters and "e" not in m._modules


def _unready(T):
    class Unready(T.nn.Module):
        def __init__(self):
            self.weight = T.nn.Parameter(T.ones(1))

    return Unready()


def _no_forward(T):
    return T.nn.Module()(1)


ERRORS = [
    (lambda T, m: setattr(m, "l1", 3), TypeError, r"cannot assign 'int' as child module 'l1' \(torch.nn.Module or"),
    (lambda T, m: setattr(m, "scale", T.ones(1)), TypeError,
     r"cannot assign 'torch.FloatTensor' as parameter 'scale' \(torch.nn.Parameter or None expected\)"),
    (lambda T, m: setattr(m, "count", 3), TypeError, "cannot assign 'int' as buffer 'count'"),
    (lambda T, m: m.register_buffer("a.b", None), KeyError, "buffer name can.*t contain"),
    (lambda T, m: m.register_buffer("", None), KeyError, "buffer name can.*t be empty string"),
    (lambda T, m: m.register_buffer("l1", None), KeyError, "attribute 'l1' already exists"),
    (lambda T, m: m.register_buffer("x", 3), TypeError, "cannot assign 'int' object to buffer 'x'"),
    (lambda T, m: m.register_buffer(3, None), TypeError, "buffer name should be a string. Got int"),
    (lambda T, m: m.register_parameter("forward", None), KeyError, "attribute 'forward' already exists"),
    (lambda T, m: m.register_parameter("x", T.ones(1)), TypeError, "cannot assign 'torch.FloatTensor' object to"),
    (lambda T, m: m.register_parameter("a.b", None), KeyError, "parameter name can.*t contain"),
    (lambda T, m: m.add_module("x", 3), TypeError, "int is not a Module subclass"),
    (lambda T, m: m.add_module("a.b", None), KeyError, "module name can.*t contain .*, got: a.b"),
    (lambda T, m: m.missing, AttributeError, "'Net' object has no attribute 'missing'"),
    (lambda T, m: m.get_submodule("l1.x"), AttributeError, "Linear has no attribute `x`"),
    (lambda T, m: m.get_submodule("scale"), AttributeError, "`scale` is not an nn.Module"),
    (lambda T, m: m.get_parameter("count"), AttributeError, "`count` is not an nn.Parameter"),
    (lambda T, m: m.get_buffer("scale"), AttributeError, "`scale` is not a buffer"),
    (lambda T, m: m.train(1), ValueError, "training mode is expected to be boolean"),
    (lambda T, m: m.to(T.int64), TypeError, "nn.Module.to only accepts floating point or complex dtypes"),
    (lambda T, m: _unready(T), AttributeError, r"cannot assign parameters before Module.__init__\(\) call"),
    (lambda T, m: _no_forward(T), NotImplementedError, r"Module \[Module\] is missing the required"),
    (lambda T, m: T.nn.Module(3), TypeError, "__init__"),
    (lambda T, m: T.nn.Module(size=3), TypeError, "got an unexpected keyword argument 'size'"),
]


@pytest.mark.parametrize("row", range(len(ERRORS)))
def test_errors(T, row):
    act, kind, words = ERRORS[row]
    with pytest.raises(kind, match=words):
        act(T, net(T))


def test_paths(T):
    m = net(T)
    assert m.get_submodule("") is m and m.get_submodule("l1") is m.l1
    assert m.get_parameter("l2.weight") is m.l2.weight and m.get_buffer("count") is m.count
    m.set_submodule("l1", T.nn.Identity())
    assert type(m.l1) is T.nn.Identity
    assert "l2" in dir(m) and "scale" in dir(m)


# hooks -----------------------------------------------------------------------------------------------
def test_forward_hooks_in_order(T):
    m, seen = net(T), []
    m.register_forward_pre_hook(lambda mod, args: seen.append("pre") or (args[0] * 2,))
    m.register_forward_pre_hook(lambda mod, args, kw: seen.append("first") or (args, {"twice": True}),
                                prepend=True, with_kwargs=True)
    handle = m.register_forward_hook(lambda mod, args, out: seen.append("post") or out + 1)
    m.register_forward_hook(lambda mod, args, kw, out: seen.append(sorted(kw)), with_kwargs=True)
    x = T.ones(1, 2)
    out = m(x)
    assert seen == ["first", "pre", "post", ["twice"]]
    assert T.allclose(out, m.forward(x * 2) * 2 + 1)
    handle.remove()
    seen.clear()
    m(x)
    assert "post" not in seen


def test_always_called_hook_runs_when_forward_raises(T):
    m, seen = net(T), []
    m.register_forward_hook(lambda mod, args, out: seen.append(out), always_call=True)
    m.register_forward_pre_hook(lambda mod, args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        m(T.ones(1, 2))
    assert seen == [None]


def test_pre_hook_with_kwargs_must_return_a_pair(T):
    m = net(T)
    m.register_forward_pre_hook(lambda mod, args, kw: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple of"):
        m(T.ones(1, 2))


def test_backward_hooks(T):
    m, seen = net(T), []

    def after(mod, grad_in, grad_out):
        seen.append([tuple(g.shape) if g is not None else None for g in (*grad_in, *grad_out)])
        return (grad_in[0] * 10,)

    m.register_full_backward_hook(after)
    m.register_full_backward_pre_hook(lambda mod, grad_out: (grad_out[0] * 3,))
    x = T.ones(4, 2, requires_grad=True)
    m(x).sum().backward()
    y = x.detach().clone().requires_grad_()
    m.forward(y).sum().backward()
    assert seen == [[(4, 2), (4, 1)]]
    assert T.allclose(x.grad, y.grad * 30)


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_backward_hook_without_input_gradient(T):
    m, seen = net(T), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi, go[0].shape)))
    m(T.ones(4, 2)).sum().backward()
    assert seen == [((None,), T.ones(4, 1).shape)]
    assert m.l1.weight.grad is not None


def test_global_hooks(T):
    seen = []
    handle = T.nn.modules.module.register_module_forward_hook(lambda mod, a, out: seen.append(type(mod).__name__))
    try:
        net(T)(T.ones(1, 2))
    finally:
        handle.remove()
    assert seen == ["Linear", "Linear", "Net"]
    net(T)(T.ones(1, 2))
    assert len(seen) == 3


# conversion ------------------------------------------------------------------------------------------
def test_conversion_keeps_parameters_identity(T):
    m = net(T)
    weight = m.l1.weight
    (m(T.ones(1, 2))).sum().backward()
    assert m.double() is m and m.l1.weight is weight and weight.dtype is T.float64
    assert weight.grad.dtype is T.float64 and m.count.dtype is T.float64
    assert m.to(T.bfloat16).l1.weight.dtype is T.bfloat16
    assert m.float().half().l2.weight.dtype is T.float16
    assert m.to("cpu", T.float32).l1.weight.dtype is T.float32
    assert weight.requires_grad and weight.is_leaf


def test_modes_and_gradients(T):
    m = net(T)
    assert m.eval() is m and not m.l1.training and not m.training
    assert m.train().l2.training
    m(T.ones(1, 2)).sum().backward()
    m.zero_grad(set_to_none=False)
    assert float(m.l1.weight.grad.abs().sum()) == 0
    m.zero_grad()
    assert m.l1.weight.grad is None
    m.requires_grad_(False)
    assert not any(p.requires_grad for p in m.parameters())


def test_apply_visits_children_first(T):
    seen = []
    net(T).apply(lambda mod: seen.append(type(mod).__name__))
    assert seen == ["Linear", "Linear", "Net"]


# printing, copying -----------------------------------------------------------------------------------
def test_repr(T):
    assert repr(net(T)) == """Net(
  (l1): Linear(in_features=2, out_features=3, bias=True)
  (l2): Linear(in_features=3, out_features=1, bias=False)
  (shared): Linear(in_features=2, out_features=3, bias=True)
)"""
    nn = T.nn
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])) == """ModuleList(
  (0-1): 2 x ReLU()
  (2): Tanh()
)"""
    assert repr(nn.ModuleDict({"a": nn.Sequential(nn.ReLU())})) == """ModuleDict(
  (a): Sequential(
    (0): ReLU()
  )
)"""
    assert repr(nn.ModuleList()) == "ModuleList()" and repr(nn.Sequential()) == "Sequential()"
    assert repr(nn.Parameter(T.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_deepcopy_is_independent(T):
    m = net(T)
    m.l1.register_forward_hook(lambda *a: None)
    other = copy.deepcopy(m)
    assert other.shared is other.l1 and other.l1.weight is not m.l1.weight
    with T.no_grad():
        other.l1.weight.fill_(7)
    assert float(m.l1.weight.detach().max()) < 7
    assert isinstance(other.l1.weight, T.nn.Parameter) and len(other.l1._forward_hooks) == 1


def test_pickle_round_trip():
    m = treadle.nn.Sequential(OrderedDict(a=treadle.nn.Linear(2, 2), b=treadle.nn.BatchNorm1d(2)))
    other = pickle.loads(pickle.dumps(m))
    assert repr(other) == repr(m)
    for key, value in m.state_dict().items():
        assert treadle.equal(other.state_dict()[key], value)
    x = treadle.randn(3, 2)
    assert treadle.equal(m(x), other(x))


# parameters ------------------------------------------------------------------------------------------
def test_parameter(T):
    data = T.ones(2)
    p = T.nn.Parameter(data)
    data[0] = 5
    assert float(p[0].detach()) == 5 and p.is_leaf and p.requires_grad
    with T.no_grad():
        assert T.nn.Parameter(data).requires_grad
    assert not T.nn.Parameter(data, requires_grad=False).requires_grad
    assert type(p * 1) is T.Tensor and type(p.data) is T.Tensor and type(p.detach()) is T.Tensor
    assert isinstance(copy.deepcopy(p), T.nn.Parameter)
    assert tuple(T.nn.Parameter().shape) == (0,)
