"""Whole training steps captured by treadle.compile and run as Triton kernels: equal to eager, one graph, no host step."""

import numpy as np
import pytest
import treadle
import treadle.nn.functional as F
from codegen.triton_helpers import CAPABILITY, sources
from treadle import nn, optim
from treadle.frontend import engine
from treadle.ir.program import HostStep

pytestmark = pytest.mark.triton
STEPS = 6
OPTIMIZERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "Adam": lambda p: optim.Adam(p, lr=1e-2),
}


@pytest.fixture(autouse=True)
def fake_device(monkeypatch):
    monkeypatch.setenv("TREADLE_FAKE_CUDA", "1")
    before, engine.strict[0] = engine.strict[0], True
    yield
    engine.strict[0] = before


def train(make_model, make_optimizer, backend):
    """(losses, parameters, the compiled step) of a few steps from the same start on the same data."""
    treadle.manual_seed(0)
    model = make_model()
    optimizer = make_optimizer(model.parameters())

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = step if backend is None else treadle.compile(step, backend=backend)
    rng = np.random.default_rng(0)
    losses = []
    for _ in range(STEPS):
        x = treadle.tensor(rng.standard_normal((17, 20)).astype(np.float32))
        losses.append(float(run(x, treadle.tensor(rng.integers(0, 10, 17))).detach()))
    return losses, [p.detach().numpy() for p in model.parameters()], run


def program_of(run):
    (state,) = run.states.values()
    (entry,) = state.entries
    assert not state.lazy and not entry.report.fallback
    return entry.report.program


def mlp():
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 24), nn.Tanh(), nn.Linear(24, 10))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_mlp_trains_as_in_eager(name):
    from treadle.runtime.gpu.compile import report

    losses, parameters, _ = train(mlp, OPTIMIZERS[name], None)
    got_losses, got_parameters, run = train(mlp, OPTIMIZERS[name], "triton")
    assert np.allclose(got_losses, losses, rtol=1e-5, atol=1e-6)
    for got, want in zip(got_parameters, parameters, strict=True):
        assert np.allclose(got, want, rtol=1e-4, atol=2e-6)
    program = program_of(run)
    assert not any(isinstance(s, HostStep) for s in program.steps)
    found = sources(program)
    assert any("tl.dot" in s.kernel.text for s in found)
    for source in found:
        assert report(source, CAPABILITY).stack == 0


def test_it_is_the_device_that_computes():
    from treadle.runtime.gpu.devices import find_driver
    from treadle.runtime.gpu.fake import FakeDriver

    driver = find_driver()
    if not isinstance(driver, FakeDriver):
        pytest.skip("there is a GPU")
    before = driver.launches
    _, _, run = train(mlp, OPTIMIZERS["SGD"], "triton")
    assert driver.launches - before >= 3 * len(program_of(run).steps)


def test_dropout_draws_the_bits_of_eager():
    def model():
        return nn.Sequential(nn.Linear(20, 40), nn.Dropout(0.3), nn.GELU(), nn.LayerNorm(40), nn.Linear(40, 10))

    losses, parameters, _ = train(model, OPTIMIZERS["Adam"], None)
    got_losses, got_parameters, _ = train(model, OPTIMIZERS["Adam"], "triton")
    assert np.allclose(got_losses, losses, rtol=1e-4, atol=1e-5)
    for got, want in zip(got_parameters, parameters, strict=True):
        assert np.allclose(got, want, rtol=2e-3, atol=2e-4)


def test_a_module_and_a_backward_outside():
    treadle.manual_seed(1)
    model = mlp()
    fast = treadle.compile(model, backend="triton")
    x = treadle.randn(5, 20)
    for _ in range(3):
        model.zero_grad()
        model(x).sum().backward()
        want = [p.grad.numpy().copy() for p in model.parameters()]
        model.zero_grad()
        fast(x).sum().backward()
        for p, w in zip(model.parameters(), want, strict=True):
            assert np.allclose(p.grad.numpy(), w, rtol=1e-4, atol=1e-5)


def test_backends_that_are_not_there():
    with pytest.raises(RuntimeError, match="Invalid backend: 'opencl'. Expected one of 'auto'.*'triton'"):
        treadle.compile(lambda x: x, backend="opencl")


def test_no_gpu_is_an_error_with_a_remedy(monkeypatch):
    from treadle.runtime.gpu import cuda

    def none(*_):
        raise cuda.NoGpu("there is no NVIDIA driver")

    monkeypatch.delenv("TREADLE_FAKE_CUDA")
    monkeypatch.setattr(cuda, "_open", none)
    from treadle.runtime.gpu import devices

    devices._driver.cache_clear()
    with pytest.raises(RuntimeError, match="there is no NVIDIA driver.*set TREADLE_FAKE_CUDA=1"):
        treadle.compile(lambda x: x, backend="triton")
    devices._driver.cache_clear()
