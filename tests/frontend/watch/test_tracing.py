"""A watch beside other tools, inside other watches, in threads, and in calls that fail."""

import cProfile
import sys
import threading
import warnings

import pytest
from treadle.frontend.watch import Watch, compile_guards, declare_attr, layout, suspended
from treadle.frontend.watch import watch as watch_module

from .framework import HOOKS, fw, record

NUMBER = 1


class Box:
    value = 1


def reads_number():
    return NUMBER


def test_an_existing_trace_function_stays_and_nothing_is_watched():
    lines = []

    def debugger(frame, event, _arg):
        if frame.f_code is reads_number.__code__:
            lines.append(event)
        return debugger

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        result, watch = record(reads_number)
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)
    assert result == 1
    assert "line" in lines
    assert watch.guards == []
    assert "tracing tool" in watch.lazy[0].text
    assert watch.lazy[0].file == __file__


def test_a_trace_function_set_inside_the_call_stays():
    def debugger(*_):
        return None

    def fn():
        sys.settrace(debugger)
        return NUMBER

    try:
        _, watch = record(fn)
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(None)
    assert any("trace function" in reason.text for reason in watch.lazy)
    _, watch = record(reads_number)
    assert watch.lazy == []


def test_tracing_is_off_afterwards():
    record(reads_number)
    assert sys.gettrace() is None


def test_a_profiler_stays_and_the_watch_works():
    profile = cProfile.Profile()
    profile.enable()
    try:
        _, watch = record(reads_number)
    finally:
        profile.disable()
    assert watch.lazy == []
    assert any(guard.key == "NUMBER" for guard in watch.guards)
    assert any(entry.code is reads_number.__code__ for entry in profile.getstats())


def test_frames_that_outlive_the_watch_leave_no_trace_behind():
    events = []
    kept = {}

    def fn():
        def inner():
            yield NUMBER
            yield 2

        kept["generator"] = made = inner()
        return next(made)

    record(fn)

    def debugger(frame, event, _arg):
        events.append(event)
        return debugger

    sys.settrace(debugger)
    try:
        next(kept["generator"])
    finally:
        sys.settrace(None)
    assert "line" in events


def test_an_exception_passes_and_the_trace_is_restored():
    def fn():
        return Box.value / 0

    watch = Watch(fn, HOOKS)
    with pytest.raises(ZeroDivisionError), watch:
        fn()
    assert sys.gettrace() is None
    assert any(guard.holder is Box for guard in watch.guards)
    _, after = record(reads_number)
    assert after.lazy == []


def test_recursion():
    def depth(n):
        return 0 if n == 0 else Box.value + depth(n - 1)

    result, watch = record(depth, 60)
    assert (result, watch.lazy) == (60, [])
    with pytest.raises(RecursionError):
        record(depth, 10**6)
    assert sys.gettrace() is None


def test_a_nested_watch_reports_to_the_outer_one():
    inside = []

    def inner():
        return NUMBER + Box.value

    def fn():
        made = [5]
        with suspended():
            pass
        fw.apply(lambda: inside.append(record(lambda: inner() + made[0])[1]))
        return made[0]

    _, outer = record(fn)
    (nested,) = inside
    names = {guard.key for guard in outer.guards}
    assert "NUMBER" in names
    assert ("value", None) in names
    assert any(guard.key == "NUMBER" for guard in nested.guards)
    assert not any(guard.expected == 5 for guard in outer.guards)


def test_watches_of_two_threads_are_apart():
    start, stop, other = threading.Event(), threading.Event(), []

    def slow():
        start.set()
        stop.wait(10)
        return NUMBER

    def run():
        other.append(record(slow)[1])

    thread = threading.Thread(target=run)
    thread.start()
    assert start.wait(10)
    declare_attr(Box, "value")  # of this thread, which records nothing
    _, mine = record(lambda: Box.value)
    stop.set()
    thread.join()
    assert mine.lazy == []
    assert not any(guard.holder is Box for guard in other[0].guards)
    assert any(guard.holder is Box for guard in mine.guards)


def test_a_variable_changed_by_another_thread_meanwhile_keeps_its_value():
    count, running = 0, True

    def add():
        nonlocal count
        while running:
            count += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=add)
    try:
        thread.start()

        def reader():
            last = count
            for _ in range(300):
                now = count
                if now < last:
                    return False
                last = now
            return True

        for _ in range(5):
            assert record(reader)[0]
    finally:
        running = False
        thread.join()
        sys.setswitchinterval(interval)


def test_long_functions_with_wide_arguments():
    names = {f"n{i}": i for i in range(600)}
    body = " + ".join(names)
    exec(f"def fn():\n    return {body}", names)
    result, watch = record(names["fn"])
    assert result == sum(range(600))
    assert watch.lazy == []
    guards = compile_guards(watch.guards)
    assert guards.check()
    names["n599"] = 0
    assert not guards.check()
    assert "n599 was 599, is 0" in guards.first_failure()


def test_a_bound_method_a_partial_and_an_object_as_the_function():
    import functools

    class Holder:
        scale = 2

        def method(self, x):
            return x * self.scale

        __call__ = method

    held = Holder()
    for fn in (held.method, functools.partial(held.method), held):
        result, watch = record(fn, 3)
        assert (result, watch.lazy) == (6, [])
        guards = compile_guards(watch.guards)
        assert guards.check()
        held.scale = 3
        assert not guards.check()
        del held.scale


def test_an_unknown_python_is_lazy_with_one_warning(monkeypatch):
    monkeypatch.setattr(watch_module, "frame_layout", lambda: None)
    watch_module._warn_unknown.cache_clear()
    with pytest.warns(RuntimeWarning, match="not known"):
        _, watch = record(reads_number)
    assert watch.guards == []
    assert len(watch.lazy) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert record(reads_number)[1].lazy
    assert sys.gettrace() is None


def test_a_wrong_layout_fails_its_own_test():
    from dataclasses import replace

    right = layout.FRAMES[layout.VERSION]
    assert layout._frames_read_right(right)
    assert not layout._frames_read_right(replace(right, slots=right.slots + 8))
    heap = layout.HEAPS[layout.VERSION]
    assert layout._heap_reads_right(heap)
    for name in ("dict_version", "type_version", "cell", "managed_dict"):
        assert not layout._heap_reads_right(replace(heap, **{name: getattr(heap, name) + 8}))
    assert sys.gettrace() is None


def test_every_instruction_of_this_python_is_known():
    import dis

    from treadle.frontend.watch.opcodes import HANDLERS, SILENT

    special = {name for name in dis.opmap if name.startswith("<")}
    assert set(dis.opmap) - set(HANDLERS) - SILENT - special == set()
