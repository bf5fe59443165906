"""The thread pool and the plan executor: every kind of step, failures, threads, fork, signals."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from array import array

import numpy as np
import pytest
from runtime.native_cases import ADD, CHECK, SLOW, child, fill_text, output, run_steps, table_of
from treadle.runtime import support
from treadle.runtime.blas import find_blas
from treadle.runtime.build import build
from treadle.runtime.errors import StepError
from treadle.runtime.plan import (
    BlasStep,
    CopyStep,
    FillStep,
    GemmStep,
    HostStep,
    KernelStep,
    Matrix,
    Ref,
    can_use_blas,
    gemm_record,
    make_plan,
)


@pytest.fixture(scope="module")
def kernels():
    """Addresses of the test kernels by name."""
    texts = {"add": ADD, "check": CHECK, "slow": SLOW, "five": fill_text("five", 5)}
    return {built.symbol: built.address for built in build(list(texts.items()))}


@pytest.fixture
def threads():
    """Sets the number of threads for one test."""
    before = support.get_num_threads()
    yield support.set_num_threads
    support.set_num_threads(before)


def add_step(kernels, out: Ref, x: Ref, size: int, amount: int, grain: int = 1000) -> KernelStep:
    return KernelStep(kernels["add"], (out, x), (amount,), size, grain)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 100_003])
def test_each_chunk_is_done_once(kernels, threads, count, size):
    threads(count)
    x = np.arange(size, dtype=np.float32)
    run_steps([add_step(kernels, Ref(0), Ref(0), size, 1)], x)  # in place: twice would show
    assert (x == np.arange(size, dtype=np.float32) + 1).all()


def test_all_kinds_of_step(kernels):
    x = np.arange(6000, dtype=np.float32)
    out, copy = np.full(6000, -1, np.float32), np.full(3000, -1, np.float32)
    a, b = np.random.rand(30, 20).astype("f"), np.random.rand(20, 100).astype("f")
    seen = []
    steps = [
        add_step(kernels, Ref(1, 4), Ref(0), 5999, 3),
        HostStep("look"),
        GemmStep("float32", Matrix(Ref(2), 30, 20), Matrix(Ref(3), 20, 100), Matrix(Ref(0), 30, 100)),
        CopyStep(Ref(4), Ref(0), 12_000),
        FillStep(Ref(0, 12_000), 11_996),
        HostStep("end"),
    ]
    run_steps(steps, x, out, a, b, copy, host=lambda tag, _t: seen.append((tag, out[1], copy[0])))
    assert seen == [("look", 3, -1), ("end", 3, copy[0])]
    assert out[0] == -1 and (out[1:] == np.arange(5999) + 3).all()
    np.testing.assert_allclose(copy.reshape(30, 100), a @ b, rtol=1e-5)
    assert (x[3000:-1] == 0).all() and x[-1] == 5999


def test_large_copies_and_fills(threads):
    threads(3)
    source, target = np.random.bytes(5_000_001), np.zeros(5_000_001, np.uint8)
    source = np.frombuffer(source, np.uint8)
    run_steps([CopyStep(Ref(0), Ref(1), source.size)], target, source)
    assert (source == target).all()
    run_steps([FillStep(Ref(0, 1), source.size - 2)], target)
    assert not target[1:-1].any() and target[0] == source[0] and target[-1] == source[-1]


def test_a_plan_of_nothing():
    run_steps([])
    run_steps([FillStep(Ref(0), 0), CopyStep(Ref(0), Ref(0), 0)], np.zeros(1))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_lowest_failing_chunk_is_told(kernels, threads, count):
    threads(count)
    x = np.ones(100_000, np.float32)
    x[[99_999, 50_001, 33_333, 33_340]] = -1
    out = np.zeros(10, np.float32)
    steps = [
        KernelStep(kernels["five"], (Ref(1),), (), 10, 10),
        KernelStep(kernels["check"], (Ref(0),), (), x.size, 1000),
        FillStep(Ref(1), 40),
    ]
    for _ in range(50):
        with pytest.raises(StepError) as caught:
            run_steps(steps, x, out)
        assert (caught.value.step, caught.value.code, caught.value.value) == (1, 7, 33_333)
        assert (out == 5).all()  # what came before is done, what comes after is not
    x[:] = 1
    run_steps(steps, x, out)
    assert (out == 0).all()


def test_an_error_of_the_host_ends_the_plan(kernels):
    out = np.zeros(4, np.float32)
    steps = [HostStep("bad"), KernelStep(kernels["five"], (Ref(0),), (), 4, 4)]
    with pytest.raises(ZeroDivisionError):
        run_steps(steps, out, host=lambda _tag, _table: 1 // 0)
    assert not out.any()
    with pytest.raises(TypeError, match="host"):
        run_steps(steps, out)


def test_bad_plans_are_refused(kernels):
    with pytest.raises(ValueError, match="slot below 1, got 1"):
        make_plan([FillStep(Ref(1), 4)], slots=1)
    with pytest.raises(ValueError, match="got 0"):
        make_plan([KernelStep(0, (), (), 1, 1)], slots=0)
    a, b = Matrix(Ref(0), 2, 3), Matrix(Ref(0), 4, 5)
    with pytest.raises(ValueError, match=r"\(m, k\) @ \(k, n\)"):
        gemm_record(GemmStep("float32", a, b, Matrix(Ref(0), 2, 5)))
    with pytest.raises(ValueError, match="stride 2"):
        gemm_record(GemmStep("float32", a, Matrix(Ref(0), 3, 5), Matrix(Ref(0), 2, 5, (10, 2))))
    with pytest.raises(ValueError, match="batch strides"):
        gemm_record(GemmStep("float32", a, Matrix(Ref(0), 3, 5), Matrix(Ref(0), 2, 5), batch=(2,)))


def test_a_table_takes_many_addresses_at_once():
    made = make_plan([], slots=3)
    table = made.new_table()
    table[0:3] = array("q", [1, 2, 3])
    table[1] = 7
    assert [table[slot] for slot in range(3)] == [1, 7, 3]


# --- one call's cost, and the way in --------------------------------------------------------------


def test_the_launcher_and_ctypes_agree(kernels):
    core = support.core()
    out = np.zeros(4, np.float32)
    made = make_plan([KernelStep(kernels["five"], (Ref(0),), (), 4, 4), HostStep("x")], slots=1)
    table = table_of(made, out)
    for launch in (core.launch, support._ctypes_launcher(core.library)):
        out[:] = 0
        assert launch(made.address, table.address, 0) == (1 << 8) + 1
        assert (out == 5).all()
        assert launch(made.address, table.address, 2) == 0


def test_the_launcher_refuses_what_is_no_address():
    launch = support.core().launch
    if not support.core().is_builtin:
        pytest.skip("this Python does not export the stable ABI")
    for wrong in ((), (1, 2), ("a", 1, 2), (1.5, 1, 2), (1 << 70, 0, 0)):
        with pytest.raises((TypeError, OverflowError)):
            launch(*wrong)


def test_a_step_costs_little(kernels):
    out = np.zeros(4, np.float32)
    made = make_plan([KernelStep(kernels["five"], (Ref(0),), (), 4, 4)] * 1000, slots=1)
    table = table_of(made, out)
    best = min(_seconds(lambda: made.run(table)) for _ in range(20))
    assert best / 1000 < 400e-9  # measured: 12 ns; a busy machine gets some room


def _seconds(call) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


# --- threads, fork, signals -----------------------------------------------------------------------


def test_many_python_threads_run_one_plan(kernels, threads):
    threads(3)
    made = make_plan([add_step(kernels, Ref(0), Ref(0), 50_000, 1)] * 20, slots=1)
    arrays = [np.zeros(50_000, np.float32) for _ in range(6)]

    def work(x):
        table = table_of(made, x)
        for _ in range(10):
            made.run(table)

    workers = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
        assert not worker.is_alive()
    assert all((x == 200).all() for x in arrays)


def test_python_goes_on_while_a_plan_runs(kernels):
    """The GIL is released: another thread counts meanwhile."""
    count = np.zeros(1, np.int64)
    step = KernelStep(kernels["slow"], (Ref(0),), (200_000_000,), 1, 1)
    made = make_plan([step], slots=1)
    worker = threading.Thread(target=made.run, args=(table_of(made, count),))
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
        time.sleep(0.001)
    assert count[0] == 1 and turns > 3


def test_a_kernel_may_share_its_own_work():
    """A kernel that calls the pool finds it busy and runs its part alone: no deadlock."""
    text = """
    typedef void (*Fn)(void *const *, const long *, long, long, long *);
    typedef void (*For)(Fn, void *const *, const long *, long, long, long *);
    static void inner(void *const *p, const long *n, long begin, long end, long *err) {
        for (long i = begin; i < end; i++) ((long *)p[0])[i] += 1;
    }
    extern "C" void outer(void *const *p, const long *n, long begin, long end, long *err) {
        for (long i = begin; i < end; i++) {
            void *part[1] = {(long *)p[0] + i * 100};
            ((For)n[0])(inner, part, n, 100, 10, err);
        }
    }"""
    counts = np.zeros(100_000, np.int64)
    address = build([("outer", text)])[0].address
    pool = support.parallel_for_address()
    run_steps([KernelStep(address, (Ref(0),), (pool,), 1000, 1)], counts)
    assert (counts == 1).all()


FORK = """if True:
    import os, sys
    sys.path.insert(0, sys.argv[1])
    import numpy as np
    from runtime.native_cases import ADD, table_of
    from treadle.runtime import support
    from treadle.runtime.build import build
    from treadle.runtime.plan import KernelStep, Ref, make_plan
    support.set_num_threads(3)
    step = KernelStep(build([("add", ADD)])[0].address, (Ref(0), Ref(0)), (1,), 100000, 1000)
    made = make_plan([step] * 10, slots=1)
    x = np.zeros(100000, np.float32)
    table = table_of(made, x)
    made.run(table)
    children = []
    for generation in range(3):
        child = os.fork()
        if child == 0:
            made.run(table)
            grandchild = os.fork()
            if grandchild == 0:
                made.run(table)
                os._exit(0 if (x == 30).all() else 1)
            _, status = os.waitpid(grandchild, 0)
            made.run(table)
            os._exit(status or (0 if (x == 30).all() else 1))
        children.append(child)
    made.run(table)
    print([os.waitpid(child, 0)[1] for child in children], (x == 20).all())
"""


def test_the_pool_lives_on_in_forked_children():
    here = os.path.dirname(os.path.dirname(__file__))
    assert output(child(FORK, here)) == "[0, 0, 0] True"


def test_a_long_plan_hears_ctrl_c(kernels):
    count = np.zeros(1, np.int64)
    step = KernelStep(kernels["slow"], (Ref(0),), (2_000_000,), 1, 1)
    made = make_plan([step] * 10_000, slots=1)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    begun = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        made.run(table_of(made, count))
    assert time.perf_counter() - begun < 5
    assert 0 < count[0] < 10_000


def test_a_plan_goes_on_after_its_pauses(kernels):
    count = np.zeros(1, np.int64)
    step = KernelStep(kernels["slow"], (Ref(0),), (1_000_000,), 1, 1)
    run_steps([step] * 200, count)
    assert count[0] == 200


def test_numbers_of_threads(threads, monkeypatch):
    threads(3)
    assert support.get_num_threads() == 3
    with pytest.raises(ValueError, match="positive"):
        threads(0)
    assert support.get_num_threads() == 3
    monkeypatch.setenv("TREADLE_NUM_THREADS", "7")
    assert support.default_threads() == 7
    monkeypatch.setenv("TREADLE_NUM_THREADS", "-1")
    with pytest.raises(ValueError, match="TREADLE_NUM_THREADS"):
        support.default_threads()
    monkeypatch.setenv("TREADLE_NUM_THREADS", "")
    assert 1 <= support.default_threads() <= (os.cpu_count() or 1)


# --- BLAS -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", [False, True])
def test_numpys_blas_as_a_step(dtype, turned):
    blas = find_blas()
    if blas is None:
        pytest.skip("this NumPy bundles no OpenBLAS")
    a, b = np.random.rand(3, 7, 5).astype(dtype), np.random.rand(3, 4, 5).astype(dtype)
    c = np.ones((3, 7, 4), dtype)
    step = GemmStep(
        dtype,
        Matrix(Ref(0), 7, 5, (5, 1), (35,)),
        Matrix(Ref(1), 5, 4, (1, 5), (20,)),
        Matrix(Ref(2), 7, 4, (4, 1), (28,)),
        batch=(3,),
        accumulate=turned,
    )
    assert can_use_blas(step)
    run_steps([BlasStep(blas.gemm(dtype), step)], a, b, c)
    np.testing.assert_allclose(c, a @ b.swapaxes(1, 2) + turned, rtol=1e-5)
    assert ctypes.sizeof(ctypes.c_long) == 8


def test_what_blas_cannot_take():
    a, b = Matrix(Ref(0), 4, 4, (8, 2)), Matrix(Ref(0), 4, 4)
    assert not can_use_blas(GemmStep("float32", a, b, b))
    assert not can_use_blas(GemmStep("float32", Matrix(Ref(0), 4, 0), Matrix(Ref(0), 0, 4), b))
    with pytest.raises(ValueError, match="stride of 1"):
        make_plan([BlasStep(1, GemmStep("float32", a, b, b))], slots=1)
