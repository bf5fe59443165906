"""The CUDA driver's calls, on a library that records them: what is called, in which order, with which values."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from codegen.helpers import address, trace, type_of
from codegen.triton_helpers import program_of, sources
from treadle.ir import ops
from treadle.runtime.toolchain import find_toolchain

pytestmark = pytest.mark.triton


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    toolchain = find_toolchain()
    if toolchain is None:
        pytest.skip("no C++ compiler")
    file = tmp_path_factory.mktemp("cuda") / "libfakecuda.so"
    text = Path(__file__).with_name("fake_libcuda.cpp")
    subprocess.run([*toolchain.argv, "-shared", "-fPIC", "-o", str(file), str(text)], check=True)
    return str(file)


class Recorder:
    """What the library was told since the last look."""

    def __init__(self, file: str):
        self.library = ctypes.CDLL(file)
        self.library.told_so_far.restype = ctypes.c_char_p

    def told(self) -> list[str]:
        lines = self.library.told_so_far().decode().splitlines()
        self.library.forget()
        return lines


@pytest.fixture
def recorder(library):
    found = Recorder(library)
    found.told()
    yield found
    found.library.fail_with(0)
    found.library.tell_parameters(0)


@pytest.fixture
def driver(library, recorder):
    from treadle.runtime.gpu.cuda import CudaDriver

    return CudaDriver(library=library)


def test_it_starts_and_keeps_freed_memory(driver, recorder):
    assert (driver.name, driver.capability, driver.shared_limit) == ("A test", 90, 232448)
    assert recorder.told() == ["pool 4 ffffffffffffffff"]
    assert driver.memory() == (1000, 2000)


def test_memory_goes_there_and_back(driver):
    x, y = np.arange(10.0), np.zeros(10)
    stream = driver.make_stream()
    a, b = driver.alloc(80), driver.alloc(80)
    assert a % 256 == 0
    driver.write(a, address(x), 80, stream)
    driver.clear(b, 80, stream)
    driver.copy(b, a, 40, stream)
    driver.read(address(y), b, 80, stream)
    driver.synchronize(stream)
    assert y.tolist() == [0, 1, 2, 3, 4, 0, 0, 0, 0, 0]
    driver.free(a)
    driver.free(b)


def large_product():
    a, b = (np.ones((256, 256), np.float16) for _ in "ab")
    return sources(program_of(trace(lambda a, b: ops.dot(a, b), type_of(a), type_of(b)), [a, b]))[0]


def test_a_launch(driver, recorder):
    """Buffers, then two pointers to scratch memory; shared memory beyond 48 KiB is asked for."""
    recorder.told()
    recorder.library.tell_parameters(5)
    source = large_product()
    loaded = driver.load(source)
    driver.launch(loaded, 4, (0x1000, 0x2000, 0x3000), 0x300)
    shared = loaded.shared
    assert shared > 48 << 10
    assert recorder.told() == [
        "context 100", "module", f"attribute 8 {shared}", "launch 800 grid 4 1 1",
        f"  threads {32 * source.kernel.meta.warps} 1 1 shared {shared} stream 300",
        "  1000", "  2000", "  3000", "  0", "  0",
    ]


def test_addresses_are_checked(driver):
    from treadle.runtime.gpu.errors import GpuError

    loaded = driver.load(large_product())
    with pytest.raises(GpuError, match="multiples of 16"):
        driver.launch(loaded, 1, (0x1008, 0x2000, 0x3000), 0)
    with pytest.raises(GpuError, match="expected 3 addresses, got 1"):
        driver.launch(loaded, 1, (0x1000,), 0)


def test_a_program_is_captured_once_and_replayed(driver, recorder):
    from treadle.runtime.gpu.launch import Launcher

    x = np.ones((4, 300), np.float32)
    graph = trace(lambda x: ops.reduce_sum(x * 2.0, dims=(1,)), type_of(x))
    launcher = Launcher(program_of(graph, [x]), driver, [p.type for p in graph.placeholders], [None])
    calls = []
    for _ in range(3):
        recorder.told()
        launcher([address(x)])
        calls.append([line.split()[0] for line in recorder.told() if not line.startswith(" ")])
    assert calls[0][-1] == "launch" and "capture" not in calls[0]
    assert calls[1] == ["capture", "launch", "captured", "no", "replay"]
    assert calls[2] == ["replay"]
    recorder.told()
    del launcher
    told = recorder.told()
    assert told[0] == "no stream 300" and "no replay 500" in told and told.count("free") == 4


def test_events(driver, recorder):
    recorder.told()
    event = driver.make_event()
    driver.record(event, 0x300)
    driver.wait(event, 0x301)
    assert driver.elapsed(event, event) == 1.5
    assert recorder.told()[-2:] == ["record 600 300", "wait 301 600"]


def test_refusals_are_told(driver, recorder):
    from treadle.runtime.gpu.errors import GpuError

    driver.make_stream()
    recorder.library.fail_with(2)
    with pytest.raises(GpuError, match="cuStreamCreate: the CUDA driver answers 2 CUDA_ERROR_TEST as asked for"):
        driver.make_stream()


def test_no_library_and_no_gpu(library, recorder):
    from treadle.runtime.gpu.cuda import CudaDriver, NoGpu

    with pytest.raises(NoGpu, match="libnothing.so does not load"):
        CudaDriver(library="libnothing.so")
    with pytest.raises(NoGpu, match="expected a GPU with number 1"):
        CudaDriver(1, library=library)
    recorder.library.fail_with(100)
    with pytest.raises(NoGpu):
        CudaDriver(library=library)
