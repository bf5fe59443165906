"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

from collections import OrderedDict

import pytest


def layers(T, n=3):
    return [T.nn.Linear(i + 1, i + 2) for i in range(n)]


def test_sequential(T):
    a, b, c = layers(T)
    s = T.nn.Sequential(a, b, c)
    assert s(T.ones(1, 1)).shape == (1, 4) and len(s) == 3 and s[-1] is c and list(s) == [a, b, c]
    assert list(s[1:]) == [b, c] and list(s[1:]._modules) == ["1", "2"]
    s[1] = T.nn.Identity()
    assert type(s[1]) is T.nn.Identity
    del s[1]
    assert list(s) == [a, c] and list(s._modules) == ["0", "1"]
    assert s.append(b) is s and s[2] is b
    assert s.insert(1, T.nn.ReLU()) is s and type(s[1]) is T.nn.ReLU and list(s._modules) == ["0", "1", "2", "3"]
    assert s.pop(1).__class__ is T.nn.ReLU and s.extend([a])[-1] is a
    named = T.nn.Sequential(OrderedDict(first=a, second=b))
    assert named.first is a and list(named.state_dict()) == ["first.weight", "first.bias", "second.weight",
                                                              "second.bias"]
    assert list(named[:1]._modules) == ["first"]
    both = T.nn.Sequential(a) + T.nn.Sequential(b)
    assert list(both) == [a, b] and len(both * 2) == 4 and len(2 * both) == 4
    both += T.nn.Sequential(c)
    assert len(both) == 3
    both *= 2
    assert len(both) == 6


def test_module_list(T):
    a, b, c = layers(T)
    m = T.nn.ModuleList([a, b])
    m.append(c)
    assert list(m) == [a, b, c] and m[-1] is c and list(m[::2]) == [a, c]
    m.insert(1, c)
    assert list(m) == [a, c, b, c]
    del m[1:3]
    assert list(m) == [a, c] and list(m._modules) == ["0", "1"]
    m += [b]
    assert m.pop(-1) is b and list(m + [b]) == [a, c, b]
    m[0] = b
    assert m[0] is b and "0" not in dir(m)
    assert list(m.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_module_dict(T):
    a, b, c = layers(T)
    m = T.nn.ModuleDict({"a": a, "b": b})
    m["c"] = c
    assert list(m) == ["a", "b", "c"] and m["b"] is b and "a" in m and len(m) == 3
    assert list(m.keys()) == ["a", "b", "c"] and list(m.values()) == [a, b, c] and dict(m.items())["c"] is c
    assert m.pop("b") is b
    del m["a"]
    m.update([["x", a]])
    assert list(m) == ["c", "x"]
    m.clear()
    assert len(m) == 0
    assert m(1) if False else True


ERRORS = [
    (lambda T: T.nn.Sequential(*layers(T))[3], IndexError, "index 3 is out of range"),
    (lambda T: T.nn.Sequential() + [1], ValueError, "add operator supports only objects of Sequential class"),
    (lambda T: T.nn.Sequential() * 0, ValueError, "Non-positive multiplication factor 0"),
    (lambda T: T.nn.Sequential() * 1.5, TypeError, "unsupported operand type"),
    (lambda T: T.nn.Sequential().insert(1, T.nn.ReLU()), IndexError, "Index out of range: 1"),
    (lambda T: T.nn.ModuleList()[0], IndexError, "index 0 is out of range"),
    (lambda T: T.nn.ModuleList().extend(3), TypeError, "ModuleList.extend should be called with an iterable"),
    (lambda T: T.nn.ModuleList([3]), TypeError, "int is not a Module subclass"),
    (lambda T: T.nn.ModuleDict(3), TypeError, "ModuleDict.update should be called with an iterable"),
    (lambda T: T.nn.ModuleDict([["a"]]), ValueError, "ModuleDict update sequence element #0 has length 1"),
    (lambda T: T.nn.ParameterList(3), TypeError, "ParameterList.extend should be called with an iterable"),
    (lambda T: T.nn.ParameterList()(), RuntimeError, "ParameterList should not be called."),
    (lambda T: T.nn.ParameterDict()(1), RuntimeError, "ParameterDict should not be called."),
    (lambda T: T.nn.ParameterDict({1: T.ones(1)}), TypeError, "Index given to ParameterDict cannot be used"),
]


@pytest.mark.parametrize("row", range(len(ERRORS)))
def test_errors(T, row):
    act, kind, words = ERRORS[row]
    with pytest.raises(kind, match=words):
        act(T)


def test_parameter_list(T):
    p = T.nn.ParameterList([T.ones(2), T.nn.Parameter(T.zeros(1)), "text"])
    assert len(p) == 3 and isinstance(p[0], T.nn.Parameter) and p[2] == "text"
    assert [n for n, _ in p.named_parameters()] == ["0", "1"]
    p.append(T.ones(1))
    p[2] = T.ones(3)
    p += [T.ones(4)]
    assert len(list(p)) == 5 and len(p[1:3]) == 2 and isinstance(p[1:], T.nn.ParameterList)
    assert list(p.state_dict()) == ["0", "1", "2", "3", "4"] or len(p.state_dict()) == 5
    text = repr(T.nn.ParameterList([T.ones(2, 3), "x"])).replace("treadle.", "torch.")
    assert text == """ParameterList(
    (0): Parameter containing: [torch.float32 of size 2x3]
    (1): Object of type: str
)"""


def test_parameter_dict(T):
    p = T.nn.ParameterDict({"b": T.ones(2), "a": T.zeros(1)})
    assert list(p) == ["a", "b"] and isinstance(p["b"], T.nn.Parameter) and "a" in p
    assert list(p.keys()) == ["a", "b"] and len(list(p.values())) == 2 and dict(p.items())["a"] is p["a"]
    assert p.get("z") is None and p.setdefault("c", T.ones(3)).shape == (3,)
    assert list(reversed(p)) == ["c", "b", "a"]
    assert p.pop("b").shape == (2,) and p.popitem()[0] == "c"
    q = p | T.nn.ParameterDict({"x": T.ones(1)})
    assert list(q) == ["a", "x"] and list(p) == ["a"]
    p |= q
    assert list(p) == ["a", "x"] and list(p.copy()) == ["a", "x"]
    text = repr(T.nn.ParameterDict({"a": T.ones(2)}))
    assert text == "ParameterDict(  (a): Parameter containing: [torch.FloatTensor of size 2])"
    p.clear()
    assert len(p) == 0 and not list(p.parameters())
