"""What cannot be replayed makes the call lazy, and the reason names the user's line."""

import collections
import contextlib
import functools
import inspect
import itertools
import logging
import operator
import os
import random
import threading
import time
import weakref

import numpy as np
import pytest
from treadle.frontend.watch import Watch

from .framework import HOOKS, fw, record

STATE, TABLE, BAG, COUNT = [1], {"a": 1}, {1}, 0
OUTSIDE = iter([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
ARRAY = np.arange(4.0)
FILLED = collections.defaultdict(list)
LOCK = threading.Lock()


class Box:
    def __init__(self):
        self.count, self.items = 0, []

    def bump(self):
        self.count += 1  # here


class Watched:
    value = 0

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)  # here


class Cached:
    @functools.cached_property
    def heavy(self):
        return 3

    @functools.lru_cache  # noqa: B019
    def cached(self):
        return 4


class Net(fw.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1  # here
        return x


BOX, WATCHED, CACHED, NET = Box(), Watched(), Cached(), Net()


@functools.lru_cache
def cached(x):
    return x


@contextlib.contextmanager
def managed():
    yield 5


# Each function marks the line that makes it lazy with «here», in itself or in what it calls.


def effect_append():
    STATE.append(1)  # here


def effect_extend_in_place():
    global STATE
    STATE += [1]  # here


def effect_item():
    TABLE["a"] = 2  # here


def effect_delete_item():
    TABLE["b"] = 1  # here
    del TABLE["b"]  # here


def effect_pop():
    TABLE.pop("zz", None)  # here


def effect_setdefault():
    TABLE.setdefault("a", 1)  # here


def effect_add():
    BAG.add(1)  # here


def effect_attribute():
    BOX.count = 1  # here


def effect_attribute_in_method():
    BOX.bump()


def effect_setattr():
    setattr(BOX, "count", 1)  # noqa: B010, here


def effect_delete_attribute():
    BOX.extra = 1  # here
    del BOX.extra  # here


def effect_class_attribute():
    Box.total = 1  # here


def effect_python_setter():
    WATCHED.value = 2


def effect_module_counter():
    NET(1)


def effect_global():
    global COUNT
    COUNT = 1  # here


def effect_nonlocal():
    count = 0

    def fn():
        nonlocal count
        count += 1  # here

    return fn


def effect_print():
    print(end="")  # here


def effect_log():
    logging.getLogger("x").debug("y")  # here


def effect_time():
    return time.time()  # here


def effect_random():
    return random.random()  # here


def effect_numpy_random():
    return np.random.rand()  # here


def effect_open():
    with open(os.devnull) as file:  # here
        return file.read()  # here


def effect_numpy_data():
    return ARRAY[0]  # here


def effect_numpy_function():
    return np.linalg.norm(ARRAY)  # here


def effect_id():
    return id(BOX)  # here


def effect_hash():
    return hash(BOX)  # here


def effect_repr():
    return repr(BOX)  # here


def effect_format():
    return f"{BOX}"  # here


def effect_globals():
    return globals()["COUNT"]  # here


def effect_locals():
    return locals()  # here


def effect_eval():
    return eval("1 + 1")  # here


def effect_import():
    import this_module_was_never_loaded as module  # here

    return module


def effect_generator_begun_outside():
    return [x for x in BEGUN]  # here


def effect_generator_made_outside():
    return [x for x in MADE]  # here


BEGUN, MADE = (x for x in (1, 2, 3, 4)), (x for x in (1, 2))
next(BEGUN)


def effect_outside_iterator():
    return next(OUTSIDE)  # here


def effect_outside_iterator_in_loop():
    for x in OUTSIDE:  # here
        return x


def effect_caught_data_error():
    try:
        return fw.apply(int, "x")
    except ValueError:  # here
        return 0


def effect_lru_cache():
    return cached(1)  # here


def effect_cached_method():
    return CACHED.cached()  # here


def effect_lock():
    with LOCK:  # here
        return 1


def effect_generator_with_effect():
    return [x for x in counting()]


def counting():
    STATE.append(1)  # here
    yield 1


def effect_class_definition():
    class Local:  # here
        pass

    return Local


def effect_default_filled():
    return FILLED["new"]  # here


def effect_thread():
    thread = threading.Thread(target=int)  # here
    thread.start()  # here
    thread.join()  # here


def effect_counter():
    return next(COUNTER)  # here


COUNTER = itertools.count()


def effect_framework_noise():
    fw.noise()  # here


def effect_reduce_by_getitem():
    return functools.reduce(operator.getitem, [{"a": TABLE}, "a"])  # here


def effect_huge_container():
    return [x for x in HUGE]  # here


def effect_dict_attribute_replaced():
    BOX.__dict__ = {"count": 0, "items": []}  # here


def effect_weak_reference():
    return REFERENCE()  # here


HUGE = list(range(60_000))
REFERENCE = weakref.ref(BOX)


def effect_c_callback_given_to_framework():
    fw.apply(len, STATE)  # not here: len is known
    fw.apply(STATE.append, 1)  # here


def effect_library_mapping_given_to_framework():
    fw.apply(len, USER_DICT)  # here


USER_DICT = collections.UserDict(a=1)


def effect_async():
    async def go():
        return 1

    coroutine = go()
    coroutine.close()  # here


CASES = {name[7:]: value for name, value in list(globals().items()) if name.startswith("effect_")}
ELSEWHERE = {"generator_with_effect": counting, "attribute_in_method": Box.bump, "python_setter": Watched.__setattr__,
             "module_counter": Net.forward}  # fmt: skip


def marked_lines(function):
    lines, start = inspect.getsourcelines(function)
    return {start + index for index, line in enumerate(lines) if "here" in line}


@pytest.mark.parametrize("name", CASES)
def test_an_effect_makes_the_call_lazy_at_its_line(name):
    watch = Watch(None, HOOKS)
    function = watch.fn = CASES[name]() if name == "nonlocal" else CASES[name]
    with contextlib.suppress(ModuleNotFoundError), watch:
        function()
    assert watch.lazy
    allowed = marked_lines(CASES[name]) | marked_lines(ELSEWHERE.get(name, CASES[name]))
    assert {reason.file for reason in watch.lazy} == {__file__}
    assert watch.lazy[0].line in allowed, watch.lazy
    assert all(reason.text for reason in watch.lazy)


def test_a_cached_property_is_only_lazy_until_it_is_filled():
    thing = Cached()
    _, first = record(lambda: thing.heavy)
    assert first.lazy
    _, second = record(lambda: thing.heavy)
    assert second.lazy == []


def test_an_exception_that_comes_from_what_is_guarded_may_be_caught():
    def fn():
        try:
            return TABLE["nothing"]
        except KeyError:
            return 0
        finally:
            len(TABLE)

    result, watch = record(fn)
    assert (result, watch.lazy) == (0, [])


def test_values_may_be_assigned_to_managed_objects_and_values():
    net, value = Net(), fw.Value([1])

    def fn():
        net.weight = value
        value.grad = value

    _, watch = record(fn)
    assert watch.lazy == []


def test_context_managers_written_in_python_are_followed():
    def fn():
        with fw.NoGrad(), contextlib.nullcontext(3) as three, managed() as five:
            return three + five

    result, watch = record(fn)
    assert (result, watch.lazy) == (8, [])


def test_constant_sets_and_type_expressions_need_no_guard():
    def fn():
        return 3 in {1, 2, 3}, list[int], isinstance(1, int | str)

    result, watch = record(fn)
    assert result == fn()
    assert watch.lazy == []
    assert not any(isinstance(guard.holder, frozenset) for guard in watch.guards)


def test_pure_calls_are_not_lazy():
    import math
    import operator

    def fn(a, b):
        words = "a,b".split(",")
        total = sum(map(int, ("1", "2"))) + max(a, b) + abs(-a) + round(2.5) + math.sqrt(4.0)
        total += functools.reduce(operator.add, [1, 2, 3]) + operator.mul(2, 3) + divmod(7, 2)[0]
        first = min(words, key=len), sorted([3, 1], reverse=True), list(reversed(words))
        flags = all([1, 2]), any(()), callable(fn), issubclass(bool, int), isinstance(a, (int, str))
        text = "{}-{:.2f}".format("x", 1.5) + f"{a!r:>4}" + "%d" % b + "-".join(words).upper()
        pairs = dict(zip(words, range(2), strict=True)) | {"z": 1}
        chained = [*itertools.chain([1], (2,)), *range(3)], {*words}, slice(1, 2), type(a) is int
        prod = np.prod((2, 3)), np.sqrt(4.0), np.float32(2.0) * 2
        return total, first, flags, text, list(pairs.items()), chained, prod

    result, watch = record(fn, 1, 2)
    assert watch.lazy == []
    assert result == fn(1, 2)


def test_too_many_reasons_stop_the_watching():
    lines = "\n".join(f"    STATE.append({i})" for i in range(100))
    names = {"STATE": []}
    exec(f"def fn():\n{lines}\n    return 5", names)
    result, watch = record(names["fn"])
    assert result == 5
    assert 0 < len(watch.lazy) <= 16
    assert len(names["STATE"]) == 100
