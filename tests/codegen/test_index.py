"""Index expressions: every simplification keeps the value; shapes fold into strides."""

import itertools
import random
from operator import add, floordiv, mod, mul, sub

import pytest
from treadle.codegen.index import (
    Div,
    Held,
    Ix,
    Mod,
    Var,
    coefficient,
    flatten,
    held,
    index_of,
    release,
    substitute,
    text,
    unflatten,
)


def value(x, at):
    """An index at given values of its variables, by the grammar alone."""
    if type(x) is int:
        return x
    total = x.const
    for atom, k in x.terms.items():
        if isinstance(atom, Var):
            v = at[atom]
        elif isinstance(atom, Div):
            v = value(atom.of, at) // atom.by
        elif isinstance(atom, Mod):
            v = value(atom.of, at) % atom.by
        else:
            assert isinstance(atom, Held)
            v = value(atom.of, at)
        total += k * v
    return total


@pytest.mark.parametrize("seed", range(30))
def test_random_expressions_keep_their_value(seed):
    rng = random.Random(seed)
    variables = [Var(f"v{k}", rng.choice([1, 2, 3, 4, 6, 8])) for k in range(3)]
    pool = [(index_of(v), lambda at, v=v: at[v]) for v in variables]
    for _ in range(25):
        (a, fa), (b, fb) = rng.choice(pool), rng.choice(pool)
        op = rng.choice([add, sub, mul, floordiv, mod])
        if op in (mul, floordiv, mod):
            b = rng.choice([1, 2, 3, 4, 6, 8, 12])
            fb = lambda at, k=b: k
        made = op(a, b)
        if type(made) is Ix and len(made.terms) < 6:
            pool.append((made, lambda at, op=op, fa=fa, fb=fb: op(fa(at), fb(at))))
    for point in itertools.product(*(range(v.extent) for v in variables)):
        at = dict(zip(variables, point, strict=True))
        for x, f in pool:
            assert value(x, at) == f(at), text(x)
            if type(x) is Ix:
                assert x.lo <= f(at) <= x.hi


def names(shape):
    return [index_of(Var("abcdef"[d], n)) for d, n in enumerate(shape)]


def strides(shape):
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def test_a_reshape_there_and_back_is_nothing():
    index = names((8, 128, 256))
    flat = flatten(index, strides((8, 128, 256)))
    there = unflatten(flat, (1024, 16, 16), strides((1024, 16, 16)))
    back = unflatten(flatten(there, strides((1024, 16, 16))), (8, 128, 256), strides((8, 128, 256)))
    assert tuple(back) == tuple(index)


def test_heads_split_off_and_moved_are_plain_strides():
    b, s, h, d = names((8, 128, 8, 32))
    flat = flatten((b, s, h * 32 + d), strides((8, 128, 256)))
    assert flat == b * 32768 + s * 256 + h * 32 + d
    assert [coefficient(flat, v) for x in (b, s, h, d) for v in x.terms] == [32768, 256, 32, 1]


def test_what_is_held_simplifies_as_if_in_range_and_is_released_as_it_was():
    i, j = names((34, 3))
    inside = held(i - j, 32)
    assert (inside + 32 * 5) // 32 == 5 and (inside + 32) % 32 == inside
    assert release(inside * 3 + 1) == i * 3 - j * 3 + 1


def test_substitution_simplifies_again():
    v = Var("v", 64)
    a, b = Var("a", 4), Var("b", 16)
    x = index_of(v) // 16 * 100 + index_of(v) % 16
    assert substitute(x, {v: index_of(a) * 16 + index_of(b)}) == index_of(a) * 100 + index_of(b)


def test_a_modulus_of_zero_is_for_empty_shapes():
    assert index_of(Var("v", 5)) % 0 == 0
