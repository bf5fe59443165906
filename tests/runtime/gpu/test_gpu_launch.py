"""Programs on a fake device: what is copied when, errors, captures, and that nothing is written too early."""

import ctypes
import threading

import numpy as np
import pytest
from codegen.helpers import address, same_bits, trace, type_of
from codegen.triton_helpers import launcher_of
from treadle.ir import ops

pytestmark = pytest.mark.triton


@pytest.fixture
def driver():
    from treadle.runtime.gpu.fake import FakeDriver

    return FakeDriver()


def f(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_work_is_done_at_synchronize(driver):
    x, y = np.arange(8.0), np.zeros(8)
    stream, device = driver.make_stream(), driver.alloc(64)
    driver.write(device, address(x), 64, stream)
    x[:] = -1  # the copy was made at once
    driver.read(address(y), device, 64, stream)
    assert not y.any()
    driver.synchronize(stream)
    assert y.tolist() == list(range(8))


def test_memory_is_known(driver):
    from treadle.runtime.gpu.errors import GpuError, WildAccess

    stream, device = driver.make_stream(), driver.alloc(64)
    driver.clear(device, 65, stream)
    with pytest.raises(WildAccess):
        driver.synchronize(stream)
    free, total = driver.memory()
    driver.free(device)
    assert driver.memory()[0] > free and total == driver.memory()[1]
    with pytest.raises(GpuError, match="expected the address of allocated memory"):
        driver.free(device)


def test_captured_work_is_done_when_replayed(driver):
    from treadle.runtime.gpu.errors import GpuError

    stream, a = driver.make_stream(), driver.alloc(8)
    driver.clear(a, 8, stream)
    driver.synchronize(stream)
    driver.begin_capture(stream)
    driver.write(a, address(np.array([7])), 8, stream)
    with pytest.raises(GpuError, match="being captured"):
        driver.synchronize(stream)
    graph = driver.end_capture(stream)
    driver.synchronize(stream)
    assert ctypes.c_int64.from_address(a).value == 0
    driver.replay(graph, stream)
    driver.synchronize(stream)
    assert ctypes.c_int64.from_address(a).value == 7


def test_an_event_orders_two_streams(driver):
    one, other, a, event = driver.make_stream(), driver.make_stream(), driver.alloc(8), driver.make_event()
    out = np.zeros(1, np.int64)
    driver.clear(a, 8, one)
    driver.write(a, address(np.array([5])), 8, one)
    driver.record(event, one)
    driver.wait(event, other)
    driver.read(address(out), a, 8, other)
    driver.synchronize(other)
    assert out[0] == 5 and driver.elapsed(event, event) == 0.0


def test_strided_inputs_are_written_element_by_element():
    base = f(6, 8)
    p, between = base[:, ::2], base[:, 1::2].copy()
    graph = trace(lambda p: p * 2.0, type_of(p))
    launcher = launcher_of(graph, [p], {0: 0})
    before = p.copy()
    assert launcher([address(p)]) == [None]
    assert same_bits(np.ascontiguousarray(p), before * 2) and same_bits(np.ascontiguousarray(base[:, 1::2]), between)


def test_nothing_is_written_when_a_check_fails():
    p, at = f(5, 4), np.array([1, 9])
    graph = trace(lambda p, t, i: [p * 2.0, ops.index(t, i)], type_of(p), type_of(p), type_of(at))
    launcher = launcher_of(graph, [p, p.copy(), at], {0: 0})
    before = p.copy()
    for _ in range(3):  # the first call, the capture, the replay
        with pytest.raises(IndexError, match="index 9 is out of bounds for dimension 0 with size 5") as caught:
            launcher([address(p), address(before), address(at)])
        assert "while executing %index" in caught.value.__notes__[0] and same_bits(p, before)
    at[1] = 4
    out = launcher([address(p), address(before), address(at)])
    assert same_bits(p, before * 2) and same_bits(out[1], before[at])


def test_the_first_bad_index_is_told():
    at = np.array([[0, 1, 2], [-7, 3, 99]])
    graph = trace(lambda t, i: ops.index(t, i), type_of(f(5)), type_of(at))
    with pytest.raises(IndexError, match="index -7 "):
        launcher_of(graph, [f(5), at])([address(f(5)), address(at)])


def test_host_steps_see_what_kernels_made():
    x = f(4, 4) + 4 * np.eye(4, dtype=np.float32)
    graph = trace(lambda x: ops.cumsum(x * 2.0, dim=1) + 1.0, type_of(x))
    launcher = launcher_of(graph, [x])
    for _ in range(2):
        (out,) = launcher([address(x)])
        assert np.allclose(out, np.cumsum(x * 2, 1) + 1, rtol=1e-6)


def test_empty_and_zero_dimensional():
    x, y = np.zeros((0, 3), np.float32), np.array(2.5, np.float32)
    graph = trace(lambda x, y: [x + 1.0, y * 2.0, ops.reduce_sum(x, dims=(0,))], type_of(x), type_of(y))
    out = launcher_of(graph, [x, y])([address(x), address(y)])
    assert out[0].shape == (0, 3) and out[1] == 5 and out[2].tolist() == [0, 0, 0]


def test_calls_of_several_threads():
    x = f(40, 30)
    graph = trace(lambda x: ops.tanh(x) * 2.0, type_of(x))
    launcher = launcher_of(graph, [x])
    (want,) = launcher([address(x)])
    results: list = []

    def work():
        for _ in range(3):
            results.append(launcher([address(x)])[0])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 9 and all(same_bits(r, want) for r in results)


def test_device_memory_is_given_back():
    import gc

    x = f(40, 30)
    launcher = launcher_of(trace(lambda x: ops.tanh(x) * 2.0, type_of(x)), [x])
    driver = launcher.driver
    launcher([address(x)])
    assert driver.memory()[0] < driver.memory()[1]
    del launcher
    gc.collect()
    assert driver.memory()[0] == driver.memory()[1]
