"""Running one program twice, eager and compiled, over a sequence of calls, and comparing all that is seen."""

from __future__ import annotations

import numpy as np

import treadle as T


def arrays(value):
    """Every tensor of a nested result as an array, other values as they are."""
    if isinstance(value, T.Tensor):
        return value.detach().numpy().copy()
    if isinstance(value, (list, tuple)):
        return [arrays(v) for v in value]
    if isinstance(value, dict):
        return {k: arrays(v) for k, v in value.items()}
    return value


def same(a, b, path="result", rtol=0.0):
    """Asserts equal structure, dtype, shape and values (NaN equals NaN)."""
    assert type(a) is type(b), (path, type(a), type(b))
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape, (path, a.dtype, b.dtype, a.shape, b.shape)
        if rtol:
            np.testing.assert_allclose(b.astype(np.float64), a.astype(np.float64), rtol=rtol, atol=rtol,
                                       err_msg=path)
        else:
            np.testing.assert_array_equal(b, a, err_msg=path)
    elif isinstance(a, list):
        assert len(a) == len(b), path
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{path}[{k}]", rtol)
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), path
        for k in a:
            same(a[k], b[k], f"{path}[{k!r}]", rtol)
    else:
        assert a == b or a != a, (path, a, b)


def trajectory(build, calls, compiled, seed=0):
    """What each call of a freshly built program gives, with its visible state after it.

    build() -> (function, state function); calls is a list of functions of (function, call number).
    """
    T.manual_seed(seed)
    fn, state = build(T.compile if compiled else lambda f: f)
    seen = []
    for number, call in enumerate(calls):
        try:
            out = arrays(call(fn, number))
        except Exception as error:  # the error is part of what is compared
            kind = next(k for k in type(error).__mro__ if k.__module__ == "builtins")
            out = (kind.__name__, str(error).split("\n")[0])
        seen.append([out if not isinstance(out, tuple) else list(out), arrays(state())])
    return seen, fn


def check(build, calls, graphs=None, lazy=None, rtol=1e-6, errors=0):
    """Eager and compiled agree over `calls`; asserts how many graphs and lazy keys there are."""
    eager, _ = trajectory(build, calls, False)
    got, fn = trajectory(build, calls, True)
    raised = [out for out, _ in eager if isinstance(out, list) and out and isinstance(out[0], str)]
    assert len(raised) == errors, raised
    same(eager, got, rtol=rtol)
    counts = fn.explain().counts
    text = str(fn.explain())
    assert counts["fallbacks"] == 0, text
    if graphs is not None:
        assert counts["graphs"] == graphs, text
        assert counts["replays"] > 0 or graphs == 0, text
    if lazy is not None:
        assert counts["lazy"] == lazy, text
    return fn
