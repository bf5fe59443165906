"""The harness of `test_equal_or_loud`: cases are programs, run a few times eager and compiled."""

import numpy as np
from stepping import arrays

import treadle as T


def cases():
    """An empty table and the decorator that fills it."""
    table = {}

    def case(build):
        table[build.__name__] = build
        return build

    return table, case


def rand(*shape, seed=0, dtype=np.float32):
    """Normal numbers that do not touch the generator."""
    return T.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def attempt(fn, *args, **kwargs):
    """The result, or the error's name and first words: IndexError for all of its kind."""
    try:
        return fn(*args, **kwargs)
    except Exception as error:
        kind = next(k for k in type(error).__mro__ if k.__module__ == "builtins")
        return [kind.__name__, str(error)[:40]]


def run(build, compiled, calls=6):
    """What each call gives (or raises), and the compiled functions."""
    T.manual_seed(0)
    functions = []

    def compile(f):
        if not compiled:
            return f
        functions.append(T.compile(f))
        return functions[-1]

    call = build(compile)
    return [attempt(lambda: arrays(call(k))) for k in range(calls)], functions
