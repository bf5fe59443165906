"""Random programs over random state: while the guards hold, running again gives the same result."""

import random

import pytest
from treadle.frontend.watch import compile_guards

from .framework import record

PRELUDE = '''
import collections, functools, math, operator
class Leaf:
    klass = 1
    def __init__(self, n): self.n, self.d, self.l = n, {"a": n, "b": [n, n + 1]}, [n, n + 2, n + 4]
    @property
    def twice(self): return self.n * 2
    def add(self, k=1): return self.n + k + self.klass
    def __len__(self): return abs(self.n) % 5
    def __getitem__(self, i): return self.l[i]
    def __contains__(self, k): return k in self.l
    def __eq__(self, other): return isinstance(other, Leaf) and self.n == other.n
    __hash__ = object.__hash__
    def __call__(self, x): return x + self.n
    def __iter__(self): return iter(self.l)
class Sub(Leaf):
    __slots__ = ()
    def add(self, k=2): return super().add(k) + 1
    def __getattr__(self, name):
        if name == "ghost": return self.d["a"]
        raise AttributeError(name)
class Slot:
    __slots__ = ("n",)
    def __init__(self, n): self.n = n
def helper(x, y=3, *, z=4): return x + y * z + G
def make_closure(start):
    count = start
    def read(k): return count + k
    def write(v):
        nonlocal count
        count = v
    return read, write
def walk(parts):
    for part in parts:
        yield part.n
        yield from part.l
G = 7
H = [1, 2, 3]
T = {"p": 1, "q": {"r": [1, 2]}, "s": (1, [2, 3])}
S = {1, 2, 3}
Q = collections.deque([1, 2, 3])
OD = collections.OrderedDict(a=1, b=2, c=3)
leaf, sub, slot = Leaf(2), Sub(3), Slot(4)
leaves = [Leaf(1), Sub(2)]
read, write = make_closure(5)
bound = functools.partial(helper, 1, z=2)
method = leaf.add
'''

ATOMS = [
    "G", "H[0]", "H[-1]", "len(H)", "sum(H)", "max(H)", "T['p']", "T['q']['r'][1]", "T['s'][1][0]",
    "T.get('zz', 5)", "len(T)", "('p' in T)", "(2 in S)", "len(S)", "sum(S)", "Q[0]", "sum(Q)",
    "list(OD)[0].__len__()", "sum(OD.values())", "leaf.n", "leaf.twice", "leaf.add()", "leaf.d['a']",
    "leaf.d['b'][1]", "leaf.l[2]", "leaf.klass", "Leaf.klass", "sub.add()", "sub.ghost", "sub.klass",
    "slot.n", "len(leaf)", "leaf[1]", "(4 in leaf)", "(leaf == sub)", "leaf(1)", "helper(2)", "bound()",
    "read(1)", "method(2)", "sum([x.n for x in leaves])", "sum([x.add() for x in leaves])",
    "getattr(leaf, 'n')", "getattr(leaf, 'gone', 9)", "hasattr(sub, 'extra')", "isinstance(sub, Leaf)",
    "math.floor(leaf.n / 2)", "operator.add(G, leaf.n)", "len(f'{leaf.n}-{G:>4}')", "leaves[1].ghost",
    "sum(map(leaf, H))", "sorted(H)[0]", "min(leaves, key=lambda x: x.n).n", "int(bool(leaf))",
    "len([*H, *leaf])", "sum({**leaf.d, 'b': 1}.values())", "functools.reduce(operator.add, H)",
    "vars(leaf)['n']", "leaf.__dict__['n']", "len('-'.join(map(str, H)))", "(lambda a, *r: a + len(r))(*H)",
    "sum(dict(zip('abc', H)).values())", "[x * i for i, x in zip(range(3), H)][2]",
    "next(iter(H))", "[x for x in leaf][0]", "sum([b for _, b in enumerate(leaf.l)])",
    "operator.attrgetter('n')(leaf)", "operator.itemgetter(1)(H)", "type(sub).klass", "max(G, *H)",
    "int(H == [1, 2, 3])", "int(T['s'] == (1, [2, 3]))", "int(leaf is leaves[0])", "abs(-G)", "H[1:][0]",
    "(H + [G])[-1]", "len(H * 2)", "OD.get('b', 0)",
    "sum(x + G for x in leaf)",
    "max(k.n for k in leaves)", "sum(walk(leaves))", "int(any(k.n > 2 for k in leaves))",
    "leaves[0].d.get('b')[0]", "sum(leaf.d['b'])",
]  # fmt: skip

CHANGES = [
    "G = {v}", "H[0] = {v}", "H.append({v})", "H.reverse()", "H = [{v}, 2, 3]", "H[1] = H[1]",
    "T['p'] = {v}", "T['q']['r'][1] = {v}", "T['q'] = {{'r': [1, {v}]}}", "T['zz'] = {v}", "T['n%d' % {v}] = 1",
    "T['s'][1][0] = {v}", "T['s'] = (1, [2, 3])", "S.add({v})", "S.discard({v})", "Q.append({v})",
    "Q.rotate(1)", "OD['a'] = {v}", "OD.move_to_end('a')", "leaf.n = {v}", "leaf.n = leaf.n",
    "leaf.d['a'] = {v}", "leaf.d['b'][1] = {v}", "leaf.d['b'] = [{v}, {v}]", "leaf.d = dict(leaf.d)",
    "leaf.l[2] = {v}", "leaf.l = list(leaf.l)", "leaf.klass = {v}", "Leaf.klass = {v}", "Sub.klass = {v}",
    "Leaf.twice = property(lambda self: {v})", "Leaf.add = lambda self, k=1: {v}", "leaf.add = lambda k=1: {v}",
    "Leaf.__len__ = lambda self: {v} % 4", "Leaf.__getitem__ = lambda self, i: {v}",
    "Leaf.__call__ = lambda self, x: {v}", "Leaf.__eq__ = lambda self, other: {v} > 2",
    "Leaf.__iter__ = lambda self: iter([{v}])", "Leaf.__contains__ = lambda self, k: {v} > 3",
    "sub.d['a'] = {v}", "sub.ghost = {v}", "sub.extra = {v}", "sub.__class__ = Leaf", "slot.n = {v}",
    "leaf.gone = {v}", "helper.__defaults__ = ({v},)", "helper.__kwdefaults__['z'] = {v}",
    "helper.__kwdefaults__ = {{'z': {v}}}", "helper.__code__ = (lambda x, y=3, *, z=4: {v}).__code__",
    "helper = lambda *a, **k: {v}", "bound = functools.partial(helper, {v})", "write({v})",
    "leaves[0] = Leaf({v})", "leaves[0] = leaf", "leaves.append(Sub({v}))", "leaves[1].d['a'] = {v}",
    "leaves = list(leaves)", "leaf.__dict__ = dict(leaf.__dict__)", "leaf.__dict__['n'] = {v}",
    "leaf = Leaf({v})", "Leaf.__init__ = Leaf.__init__", "unrelated = {v}", "Leaf.unrelated = {v}",
    "leaf.unrelated = {v}", "method = sub.add", "len = lambda x: {v}", "sum = lambda x: {v}",
    "del T['p']", "H.pop()", "del leaf.n", "leaf.d.clear()", "slot = Slot({v})", "Sub.__bases__ = (Leaf,)",
    "math = __import__('types').SimpleNamespace(floor=lambda x: {v})", "bound.keywords['z'] = {v}",
]  # fmt: skip


def program(rng: random.Random) -> str:
    lines = ["def fn():", "    out, made = [], []"]
    for _ in range(rng.randrange(2, 7)):
        atom, other = rng.choice(ATOMS), rng.choice(ATOMS)
        lines += rng.choice([
            [f"    out.append({atom})"],
            [f"    out.append({atom} if {other} else 0)"],
            [f"    if {atom} > 3:", f"        out.append({other})"],
            [f"    for i in range(2):", f"        out.append({atom} + i)"],  # noqa: F541
            ["    try:", f"        out.append({atom} // ({other} - 2))", "    except ZeroDivisionError:",
             "        out.append(-1)"],
            [f"    made.append([{atom}])", "    made[-1].append(1)", "    out.append(made[-1][0])"],
            [f"    fresh = Leaf({atom})", f"    fresh.n += {other}", "    out.append(fresh.add())"],
            ["    while len(out) > 6:", "        out.pop()"],
            [f"    inner = lambda k=({atom}): k + {other}", "    out.append(inner())"],
        ])  # fmt: skip
    return "\n".join([*lines, "    return out"])


def attempt(function):
    """Return what happens: the result, or the type of the exception."""
    try:
        return function()
    except Exception as error:
        return type(error)


def run_one(seed: int) -> tuple[int, int]:
    """Run one program through changes; return how often guards held, and how often they failed."""
    rng = random.Random(seed)
    state: dict = {"__name__": "program"}
    exec(PRELUDE, state)
    text = program(rng)
    exec(compile(text, "<program>", "exec"), state)
    try:
        first, watch = record(state["fn"])
    except Exception:
        return 0, 0
    assert watch.lazy == [], (text, watch.lazy)
    both = [compile_guards(watch.guards), compile_guards(watch.guards, exact=True)]
    watch.guards.clear()
    assert both[0].check(), (text, both[0].first_failure())
    assert both[1].check()
    held = failed = 0
    for _ in range(12):
        change = rng.choice(CHANGES).format(v=rng.randrange(6))
        attempt(lambda: exec(change, state))
        answers = [guards.check() for guards in both]
        assert answers[0] == answers[1], (text, change, answers, both[1].first_failure())
        if answers[0]:
            assert attempt(state["fn"]) == first, (seed, text, change)
            held += 1
        else:
            failed += 1
            assert both[0].first_failure(), (text, change)
    return held, failed


@pytest.mark.parametrize("block", range(4))
def test_guards_that_hold_mean_the_same_result(block):
    counts = [run_one(seed) for seed in range(block * 60, block * 60 + 60)]
    held, failed = map(sum, zip(*counts, strict=True))
    assert held > 100
    assert failed > 100
