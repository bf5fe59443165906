"""Each kind of read: the guards hold while it is unchanged, and fail once it changed."""

import abc
import collections
import enum
import functools
import itertools
import math
import operator
import os
import types
from dataclasses import dataclass

import pytest
from treadle.frontend.watch import compile_guards

from .framework import fw, record

NUMBER, TABLE, NAMES = 2, {"a": 1, "b": {"c": 2}}, ["x", "y"]
SEEN: set = {1, 2}
module = types.ModuleType("settings")


def helper(x):
    return x + NUMBER


class Base:
    inherited = 1

    def method(self):
        return self.inherited


class Thing(Base):
    def __init__(self):
        self.scale, self.parts, self.inner = 2, [1, 2, 3], Base()

    @property
    def double(self):
        return self.scale * 2

    def __call__(self, x):
        return x * self.scale

    def __len__(self):
        return self.scale

    def __getitem__(self, key):
        return self.parts[key]


class Slotted:
    __slots__ = ("field",)


class Dynamic:
    def __init__(self):
        self.table = {"alpha": 1}

    def __getattr__(self, name):
        return self.table[name]


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Config:
    rate: float = 0.1
    sizes: tuple = (1, 2)


class Point(collections.namedtuple("Point", "x y")):
    pass


def set_global(name, value):
    return lambda: globals().__setitem__(name, value)


def case_global_number():
    return lambda: NUMBER + 1, set_global("NUMBER", 3)


def case_global_type_of_number():
    return lambda: NUMBER + 1, set_global("NUMBER", 2.0)


def case_global_function():
    return lambda: helper(1), set_global("helper", lambda x: x)


def case_global_inside_helper():
    return lambda: helper(1), set_global("NUMBER", 9)


def case_global_deleted():
    return lambda: NUMBER, lambda: globals().__delitem__("NUMBER")


def case_builtin_shadowed():
    return lambda: len((1, 2)), set_global("len", lambda x: 7)


def case_cell():
    count = 1

    def fn():
        return count

    def change():
        nonlocal count
        count = 2

    return fn, change


def case_cell_of_helper():
    count = [1]

    def inner():
        return count[0]

    return lambda: inner(), lambda: count.__setitem__(0, 2)


def case_default():
    def fn(x=1):
        return x

    return fn, lambda: setattr(fn, "__defaults__", (2,))


def case_default_list():
    def fn(x=[1]):  # noqa: B006
        return x[0]

    return fn, lambda: fn.__defaults__[0].__setitem__(0, 5)


def case_keyword_default():
    def fn(*, x=1):
        return x

    return fn, lambda: fn.__kwdefaults__.update(x=2)


def case_code_replaced():
    def inner():
        return 1

    return lambda: inner(), lambda: setattr(inner, "__code__", (lambda: 2).__code__)


def case_attribute():
    thing = Thing()
    return lambda: thing.scale, lambda: setattr(thing, "scale", 3)


def case_attribute_shadows_class():
    thing = Thing()
    return lambda: thing.inherited, lambda: setattr(thing, "inherited", 3)


def case_inherited_class_attribute():
    thing = Thing()
    return lambda: thing.inherited, lambda: setattr(Base, "inherited", 3)


def case_class_attribute_by_class():
    return lambda: Thing.inherited, lambda: setattr(Thing, "inherited", 3)


def case_bases_replaced():
    class Other:
        inherited = 2

    class Mine(Base):
        pass

    thing = Mine()

    def change():
        Mine.__bases__ = (Other,)

    return lambda: thing.inherited, change


def case_class_of_object():
    class Other(Thing):
        inherited = 5

    thing = Thing()
    return lambda: thing.inherited, lambda: setattr(thing, "__class__", Other)


def case_isinstance():
    class Other(Thing):
        pass

    thing = Thing()
    return lambda: isinstance(thing, Other), lambda: setattr(thing, "__class__", Other)


def case_isinstance_abc():
    class Shape(abc.ABC):
        pass

    value = Thing()
    return (
        lambda: isinstance(value, collections.abc.Callable) and isinstance(value, Shape),
        lambda: Shape.register(Thing),
    )


def case_dict_replaced():
    thing = Thing()
    return lambda: thing.scale, lambda: setattr(thing, "__dict__", {"scale": 2})


def case_dict_written():
    thing = Thing()
    return lambda: thing.scale, lambda: thing.__dict__.update(scale=5)


def case_explicit_dict():
    thing = Thing()
    return lambda: thing.__dict__["scale"], lambda: setattr(thing, "scale", 5)


def case_vars():
    thing = Thing()
    return lambda: vars(thing)["scale"], lambda: setattr(thing, "scale", 5)


def case_module_attribute():
    module.rate = 1
    return lambda: module.rate, lambda: setattr(module, "rate", 2)


def case_library_module():
    def change():
        math.extra, math.floor = math.floor, math.ceil

    return lambda: math.floor(1.5), change


def case_dict_item():
    return lambda: TABLE["a"], lambda: TABLE.__setitem__("a", 9)


def case_nested_dict_item():
    return lambda: TABLE["b"]["c"], lambda: TABLE["b"].__setitem__("c", 9)


def case_dict_get_absent():
    return lambda: TABLE.get("none", 0), lambda: TABLE.__setitem__("none", 9)


def case_dict_contains():
    return lambda: "none" in TABLE, lambda: TABLE.__setitem__("none", 9)


def case_dict_items():
    return lambda: [k for k, v in TABLE.items()], lambda: TABLE.__setitem__("new", 9)


def case_dict_order():
    table = {"a": 1, "b": 2}

    def change():
        table["a"] = table.pop("a")

    return lambda: list(table), change


def case_ordered_dict_order():
    table = collections.OrderedDict(a=1, b=2)
    return lambda: list(table), lambda: table.move_to_end("a")


def case_dict_length():
    return lambda: len(TABLE), lambda: TABLE.__setitem__("new", 9)


def case_dict_spread():
    return lambda: dict(**TABLE), lambda: TABLE.__setitem__("new", 9)


def case_dict_of_objects_by_object():
    key = Base()
    table = {key: 1}
    return lambda: table[key], lambda: table.__setitem__(key, 2)


def case_list_length():
    return lambda: len(NAMES), lambda: NAMES.append("z")


def case_list_truth():
    return lambda: 1 if NAMES else 0, lambda: NAMES.clear()


def case_list_item():
    return lambda: NAMES[0], lambda: NAMES.__setitem__(0, "z")


def case_list_negative_item():
    return lambda: NAMES[-1], lambda: NAMES.append("z")


def case_list_slice():
    return lambda: NAMES[:1], lambda: NAMES.__setitem__(0, "z")


def case_list_loop():
    return lambda: [name for name in NAMES], lambda: NAMES.__setitem__(1, "z")


def case_list_of_objects():
    things = [Base(), Base()]
    return lambda: [t.method() for t in things], lambda: things.__setitem__(1, Base())


def case_list_of_lists():
    rows = [[1, 2], [3, 4]]
    return lambda: rows[1][0], lambda: rows[1].__setitem__(0, 9)


def case_list_unpacked():
    return lambda: (lambda a, b: b)(*NAMES), lambda: NAMES.__setitem__(1, "z")


def case_list_compared():
    return lambda: NAMES == ["x", "y"], lambda: NAMES.__setitem__(1, "z")


def case_list_in():
    return lambda: "q" in NAMES, lambda: NAMES.append("q")


def case_list_added():
    return lambda: NAMES + ["z"], lambda: NAMES.__setitem__(1, "z")


def case_list_in_tuple():
    pair = (1, [2])
    box = {"pair": pair}
    return lambda: box["pair"][1][0], lambda: pair[1].__setitem__(0, 3)


def case_set_in():
    return lambda: 3 in SEEN, lambda: SEEN.add(3)


def case_set_loop():
    return lambda: [x for x in SEEN], lambda: SEEN.add(3)


def case_deque():
    queue = collections.deque([1, 2])
    return lambda: queue[0], lambda: queue.appendleft(5)


def case_tuple_of_numbers():
    thing = Thing()
    thing.sizes = (1, 2)
    return lambda: thing.sizes[0], lambda: setattr(thing, "sizes", (1, 3))


def case_monkey_patched_method():
    thing = Thing()
    return lambda: thing.method(), lambda: setattr(Base, "method", lambda self: 9)


def case_method_on_instance():
    thing = Thing()
    return lambda: thing.method(), lambda: setattr(thing, "method", lambda: 9)


def case_super():
    class Mine(Thing):
        def method(self):
            return super().method()

    thing = Mine()
    return lambda: thing.method(), lambda: setattr(Base, "method", lambda self: 9)


def case_property():
    thing = Thing()
    return lambda: thing.double, lambda: setattr(thing, "scale", 9)


def case_property_replaced():
    thing = Thing()
    return lambda: thing.double, lambda: setattr(Thing, "double", property(lambda self: 1))


def case_getattr_by_name():
    thing = Thing()
    return lambda: getattr(thing, "sca" + "le"), lambda: setattr(thing, "scale", 9)


def case_getattr_default():
    thing = Thing()
    return lambda: getattr(thing, "nothing", 0), lambda: setattr(thing, "nothing", 9)


def case_hasattr():
    thing = Thing()
    return lambda: hasattr(thing, "nothing"), lambda: setattr(thing, "nothing", 9)


def case_dynamic_attribute():
    thing = Dynamic()
    return lambda: thing.alpha, lambda: thing.table.__setitem__("alpha", 2)


def case_dynamic_attribute_becomes_real():
    thing = Dynamic()
    return lambda: thing.alpha, lambda: setattr(thing, "alpha", 2)


def case_slot():
    thing = Slotted()
    thing.field = 1
    return lambda: thing.field, lambda: setattr(thing, "field", 2)


def case_callable_object():
    thing = Thing()
    return lambda: thing(3), lambda: setattr(Thing, "__call__", lambda self, x: 0)


def case_len_of_object():
    thing = Thing()
    return lambda: len(thing), lambda: setattr(thing, "scale", 9)


def case_item_of_object():
    thing = Thing()
    return lambda: thing[0], lambda: thing.parts.__setitem__(0, 9)


def case_partial():
    table = [1]
    bound = functools.partial(lambda t, x: t[0] + x, table)
    return lambda: bound(1), lambda: table.__setitem__(0, 2)


def case_partial_replaced():
    holder = Base()
    holder.fn = functools.partial(helper, 1)
    return lambda: holder.fn(), lambda: setattr(holder, "fn", functools.partial(helper, 2))


def case_attrgetter():
    thing, getter = Thing(), operator.attrgetter("scale")
    return lambda: getter(thing), lambda: setattr(thing, "scale", 9)


def case_map():
    return lambda: list(map(lambda n: n + "!", NAMES)), lambda: NAMES.append("z")


def case_zip_enumerate():
    return lambda: [a for a in enumerate(zip(NAMES, (1, 2)))], lambda: NAMES.__setitem__(0, "z")


def case_sorted_sum_max():
    numbers = [3, 1, 2]
    return lambda: (sorted(numbers), sum(numbers), max(numbers)), lambda: numbers.append(0)


def case_join():
    return lambda: ",".join(NAMES), lambda: NAMES.append("z")


def case_fstring():
    thing = Thing()
    return lambda: f"{thing.scale:>{thing.scale}}", lambda: setattr(thing, "scale", 7)


def case_dataclass():
    config = Config()
    return lambda: config.rate * config.sizes[0], lambda: setattr(config, "rate", 0.2)


def case_dataclass_equal():
    left, right = Config(), Config()
    return lambda: left == right, lambda: setattr(left, "rate", 0.2)


def case_enum():
    thing = Thing()
    thing.color = Color.RED
    return lambda: thing.color is Color.RED, lambda: setattr(thing, "color", Color.BLUE)


def case_bound_method_held():
    thing = Thing()
    held = thing.method
    return lambda: held(), lambda: setattr(thing, "inherited", 9)


def case_float_nan_to_number():
    thing = Thing()
    thing.scale = math.nan
    return lambda: thing.scale, lambda: setattr(thing, "scale", 1.0)


def case_negative_zero():
    thing = Thing()
    thing.scale = 0.0
    return lambda: thing.scale, lambda: setattr(thing, "scale", -0.0)


def case_value_global():
    box = {"w": fw.Value([1])}
    return lambda: box["w"].relu(), lambda: box.__setitem__("w", fw.Value([1]))


def case_attribute_of_value():
    value = fw.Value([1])
    value.__dict__["mine"] = 1
    return lambda: value.mine, lambda: value.__dict__.__setitem__("mine", 2)


def case_environ():
    return lambda: os.environ.get("TREADLE_NOTHING"), lambda: os.environ.__setitem__("TREADLE_NOTHING", "1")


def case_import_inside():
    def fn():
        import math as loaded
        from math import floor

        return loaded.ceil(1.5), floor(1.5)

    def change():
        math.floor = math.ceil

    return fn, change


def case_parameter():
    net = Net()
    return lambda: net(fw.Value([1])), lambda: setattr(net, "weight", fw.Value([2]))


def case_forward_patched():
    net = Net()
    return lambda: net(fw.Value([1])), lambda: setattr(net, "forward", lambda x: x)


def case_forward_patched_on_class():
    net = Net()
    return lambda: net(fw.Value([1])), lambda: setattr(Net, "forward", lambda self, x: x)


def case_hook_added():
    net = Net()
    return lambda: net(fw.Value([1])), lambda: net._hooks.__setitem__(0, lambda m: None)


def case_list_given_to_framework():
    values = [fw.Value([1]), fw.Value([2])]
    return lambda: fw.concat(values), lambda: values.reverse()


def case_user_function_called_by_framework():
    thing = Thing()
    return lambda: fw.apply(lambda x: x * thing.scale, 2), lambda: setattr(thing, "scale", 9)


class Doubling(dict):
    """A dict whose own methods hide what C code reads of it."""

    def __getitem__(self, key):
        return super().__getitem__(key) * 2

    def __iter__(self):
        return iter(())

    def __len__(self):
        return super().__len__() + 100


def case_dict_subclass_item():
    table = Doubling(a=1)
    return lambda: table["a"], lambda: table.__setitem__("a", 2)


def case_dict_subclass_items():
    table = Doubling(a=1)
    return lambda: [pair for pair in table.items()], lambda: table.__setitem__("a", 2)


def case_dict_subclass_length():
    table = Doubling(a=1)
    return lambda: len(table), lambda: table.__setitem__("b", 2)


def case_operator_of_value_patched():
    value = fw.Value([1])
    return lambda: value + value, lambda: setattr(fw.Value, "__add__", lambda self, other: 5)


def case_method_of_value_patched():
    value = fw.Value([1])
    return lambda: value.relu(), lambda: setattr(fw.Value, "relu", lambda self: 5)


def case_chain_from_iterable():
    rows = [[1], [2]]
    return lambda: list(itertools.chain.from_iterable(rows)), lambda: rows[1].__setitem__(0, 3)


def case_element_class_patched():
    class Number:
        def __radd__(self, other):
            return other + 1

    numbers = [Number()]
    return lambda: sum(numbers), lambda: setattr(Number, "__radd__", lambda self, other: 7)


def case_isinstance_after_bases_changed():
    class Other:
        pass

    class Mine(Base):
        pass

    thing = Mine()
    return lambda: isinstance(thing, Base), lambda: setattr(Mine, "__bases__", (Other,))


def case_callable_by_class():
    class Mine(Base):
        pass

    thing = Mine()
    return lambda: callable(thing), lambda: setattr(Mine, "__call__", lambda self: 1)


def case_int_enum():
    thing = Thing()
    thing.level = Level.LOW
    return lambda: thing.level + 1, lambda: setattr(thing, "level", Level.HIGH)


def case_equality_of_one_object():
    class Odd:
        def __eq__(self, other):
            return False

        __hash__ = None

    odd = Odd()
    return lambda: odd == odd, lambda: setattr(Odd, "__eq__", lambda self, other: True)


def case_sort_key_method():
    thing = Thing()
    return lambda: sorted((1, 2), key=thing.__call__), lambda: setattr(thing, "scale", -1)


def case_operator_getitem():
    return lambda: operator.getitem(TABLE, "a"), lambda: TABLE.__setitem__("a", 7)


def case_dict_get_as_key():
    return lambda: max("ab", key=ORDER.get), lambda: ORDER.__setitem__("a", 7)


def case_slice_of_tuple_of_lists():
    rows = ([1], [2])
    return lambda: rows[:1][0][0], lambda: rows[0].__setitem__(0, 7)


def case_nested_function_default_from_outside():
    def fn():
        def inner(x=NAMES):
            return x[0]

        return inner()

    return fn, lambda: NAMES.__setitem__(0, "q")


def case_class_level_container():
    class Mine:
        table = {"rows": [1, 2]}

    return lambda: Mine.table["rows"][1], lambda: Mine.table["rows"].__setitem__(1, 5)


def case_generator_expression():
    return lambda: sum(x for x in ORDER.values()), lambda: ORDER.__setitem__("a", 9)


def case_generator_function():
    def walk(node):
        yield node["n"]
        for child in node["children"]:
            yield from walk(child)

    deep = {"n": 2, "children": []}
    tree = {"n": 1, "children": [deep]}
    return lambda: sum(walk(tree)), lambda: deep.__setitem__("n", 5)


def case_two_generators_interleaved():
    def numbers(thing):
        for part in thing.parts:
            yield part * thing.scale

    left, right = Thing(), Thing()
    return (
        lambda: [a + b for a, b in zip(numbers(left), numbers(right), strict=True)],
        lambda: setattr(right, "scale", 5),
    )


def case_generator_sent_to():
    def echo():
        got = yield NUMBER
        yield got + NUMBER

    def fn():
        made = echo()
        return next(made) + made.send(4)

    return fn, set_global("NUMBER", 9)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


ORDER = {"a": 1, "b": 2}


class Net(fw.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.scale = fw.Value([1]), 2

    def forward(self, x):
        return x * self.weight


CASES = {name[5:]: value for name, value in list(globals().items()) if name.startswith("case_")}


@pytest.fixture(autouse=True)
def restore():
    """Put back every global and class attribute that a case changes."""
    names = dict(globals())
    copies = [(held, type(held)(held)) for held in (NAMES, SEEN)]
    table = {"a": 1, "b": {"c": 2}}
    classes = {cls: dict(cls.__dict__) for cls in (Base, Thing, Net, fw.Value)}
    floor = math.floor
    yield
    globals().clear()
    globals().update(names)
    NAMES[:] = copies[0][1]
    SEEN.clear(), SEEN.update(copies[1][1])
    TABLE.clear(), TABLE.update(table)
    ORDER.update(a=1, b=2)
    math.floor = floor
    os.environ.pop("TREADLE_NOTHING", None)
    for cls, before in classes.items():
        for name in set(cls.__dict__) - set(before):
            delattr(cls, name)
        for name, value in before.items():
            if cls.__dict__[name] is not value:
                setattr(cls, name, value)


@pytest.mark.parametrize("exact", [False, True], ids=["words", "exact"])
@pytest.mark.parametrize("name", CASES)
def test_a_read_is_guarded(name, exact):
    fn, change = CASES[name]()
    _, watch = record(fn)
    assert watch.lazy == [], watch.lazy
    guards = compile_guards(watch.guards, exact)
    watch.guards.clear()
    assert [guards.check() for _ in range(3)] == [True] * 3, guards.first_failure()
    change()
    assert not guards.check()
    assert guards.first_failure()
    assert not guards.check()


@pytest.mark.parametrize("name", CASES)
def test_an_unrelated_change_does_not_matter(name):
    fn, _ = CASES[name]()
    _, watch = record(fn)
    guards = compile_guards(watch.guards)
    assert guards.check()
    for step in range(6):  # versions move, content does not; past some changes checks are exact
        globals()["unrelated"] = step
        Base.unrelated = step
        assert guards.check(), guards.first_failure()
    del Base.unrelated


def test_equal_data_in_a_new_object_is_no_change():
    thing = Thing()
    thing.scale, thing.text, thing.sizes = 1000.5, "ab" * 40, (1, (2.5, "x"))
    thing.parts = [10**10, math.nan]
    _, watch = record(lambda: (thing.scale, thing.text, thing.sizes, thing.parts[0], thing.parts[1]))
    guards = compile_guards(watch.guards)
    for _ in range(8):
        thing.scale, thing.text = float("1000.5"), "".join(["ab"] * 40)
        thing.sizes = (1, (float("2.5"), "x"))
        thing.parts[0], thing.parts[1] = int("1" + "0" * 10), float("nan")
        assert guards.check(), guards.first_failure()
    thing.sizes = (1, (2.5, "y"))
    assert not guards.check()


def test_what_the_call_made_itself_is_not_guarded():
    def fn():
        rows = [[1, 2]]
        rows.append([3])
        thing = Thing()
        thing.scale = 5
        thing.parts.append(4)
        table = {}
        table["a"] = thing.scale
        table.update(b=2)
        first, *rest = rows[0]
        rest.append(first)
        count = 0

        def inner(**kw):
            nonlocal count
            count += 1
            kw["z"] = 1
            return count

        made = fw.makes_list()
        made.append(inner(y=2))
        return made, sorted({k: v for k, v in table.items()}), rest

    result, watch = record(fn)
    assert result == ([1, 2, 3, 1], ["a", "b"], [2, 1])
    assert watch.lazy == []
    assert not any(isinstance(guard.holder, list) for guard in watch.guards)


def test_arguments_owned_by_the_caller_are_read_freely_but_not_changed():
    values, config = [1, 2], Config()
    _, watch = record(lambda v, c: v[0] + c.rate, values, config, owned=(values, config))
    assert watch.lazy == []
    assert not any(guard.holder in (values, config) for guard in watch.guards)
    _, watch = record(lambda v: v.append(1), values, owned=(values,))
    assert len(watch.lazy) == 1


def test_what_the_framework_stores_is_not_guarded_afterwards():
    net = Net()
    net.train(True)

    def step():
        net.train(False)
        return net.training

    _, watch = record(step)
    net.train(True)
    guards = compile_guards(watch.guards)
    assert guards.check(), guards.first_failure()


def test_suspended_stretches_are_not_recorded():
    thing = Thing()
    _, watch = record(lambda: fw.quietly(lambda: thing.scale))
    thing.scale = 9
    assert compile_guards(watch.guards).check()
    assert watch.lazy == []


def test_messages_name_the_users_expression_and_line():
    thing = Thing()
    _, watch = record(lambda: thing.scale)
    guards = compile_guards(watch.guards)
    line = test_messages_name_the_users_expression_and_line.__code__.co_firstlineno + 2
    assert f"thing.scale is 2 ({__file__}:{line})" in guards.texts
    thing.scale = 3
    assert guards.first_failure() == f"thing.scale was 2, is 3 ({__file__}:{line})"


def test_messages_name_what_the_framework_read():
    net = Net()
    _, watch = record(lambda: net(fw.Value([1])))
    guards = compile_guards(watch.guards)
    net._hooks[0] = print
    assert guards.first_failure().startswith("content of Net._hooks was ")
