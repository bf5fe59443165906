"""The draws under test: each with our call and PyTorch's, on a shape, a dtype and a generator.

Run as a script, with torch installed, it writes the reference values of `stored.npz`:
    python tests/runtime/random/random_cases.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

from treadle.runtime import random as ours

SEEDS = (0, 1, 42, 2**31, 2**40 + 5)
SHAPES = ((), (1,), (5,), (15,), (16,), (17,), (100,), (3, 7), (1000,), (0,), (2, 0, 3))
STORED = Path(__file__).with_name("stored.npz")
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
KINDS = {"bfloat16": np.dtype(ml_dtypes.bfloat16)}


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw: `ulp` bounds the distance from PyTorch's float64 values; other dtypes are exact.

    The ulp are those of the value or of `offset`, which is added last, whichever is larger.
    """

    name: str
    ours: Callable  # (shape, dtype, generator) -> array
    theirs: Callable  # (torch, empty tensor, generator) -> tensor
    dtypes: tuple[str, ...]
    ulp: int = 0
    offset: float = 0.0


def np_dtype(name: str) -> np.dtype:
    return KINDS.get(name) or np.dtype(name)


def _fill(
    name: str, method: str, ours_f: Callable, dtypes, *args, ulp: int = 0, offset: float = 0.0
) -> Draw:
    return Draw(
        name,
        lambda shape, dtype, g: ours_f(shape, dtype, g, *args),
        lambda _torch, out, g: getattr(out, method)(*args, generator=g),
        dtypes,
        ulp,
        offset,
    )


def weights(n: int, dtype: str = "float32") -> np.ndarray:
    """Fixed weights in [0, 1], zero and one among them, rounded to float32 first."""
    return (((np.arange(n) * 37) % 101) / 100.0).astype(np.float32).astype(np_dtype(dtype))


def _bernoulli_of(dtype: str) -> Draw:
    def theirs(torch, out, g):
        p = torch.from_numpy(weights(out.numel())).to(getattr(torch, dtype)).reshape(out.shape)
        return out.bernoulli_(p, generator=g)

    return Draw(
        f"bernoulli_{dtype}",
        lambda shape, kind, g: ours.bernoulli(
            shape, kind, g, weights(int(np.prod(shape)), dtype).reshape(shape)
        ),
        theirs,
        ("float32", "float64", "bool", "int64", "float16"),
    )


COMPLEX = ("complex64", "complex128")
DRAWS = (
    _fill("uniform", "uniform_", ours.uniform, FLOATS),
    _fill("uniform_narrow", "uniform_", ours.uniform, FLOATS, -0.0357, 0.0357),
    _fill("uniform_shifted", "uniform_", ours.uniform, FLOATS, 1.0, 3.3),
    _fill("uniform_empty", "uniform_", ours.uniform, FLOATS, 2.5, 2.5),
    _fill("uniform_complex", "uniform_", ours.uniform, COMPLEX, -0.3, 0.9),
    _fill("normal", "normal_", ours.normal, FLOATS, ulp=2),
    _fill("normal_scaled", "normal_", ours.normal, FLOATS, 0.3, 0.07, ulp=2, offset=0.3),
    _fill("normal_constant", "normal_", ours.normal, FLOATS, -1.5, 0.0),
    _fill("normal_complex", "normal_", ours.normal, COMPLEX, ulp=4),
    _fill("log_normal", "log_normal_", ours.log_normal, FLOATS, 0.1, 0.5, ulp=4),
    _fill("exponential", "exponential_", ours.exponential, FLOATS, 1.7, ulp=2),
    _fill("cauchy", "cauchy_", ours.cauchy, FLOATS, 0.5, 2.0, ulp=3, offset=0.5),
    _fill("geometric", "geometric_", ours.geometric, (*FLOATS, *INTS), 0.3),
    _fill("bernoulli", "bernoulli_", ours.bernoulli, (*FLOATS, *INTS, "bool"), 0.3),
    _bernoulli_of("float32"),
    _bernoulli_of("float64"),
    _bernoulli_of("bfloat16"),
    _fill("random", "random_", ours.random, (*FLOATS, *INTS, "bool")),
    _fill("random_small", "random_", ours.random_from, (*FLOATS, *INTS), 0, 100),
    _fill("random_bits", "random_", ours.random_from, (*FLOATS, *INTS, "bool"), 0, 2),
    _fill("random_power", "random_", ours.random_from, (*FLOATS, *INTS[:4]), -64, 64),
    _fill("random_below_wide", "random_", ours.random_from, ("int64", "int32"), -7, 2**28 - 8),
    _fill("random_wide", "random_", ours.random_from, ("int64", "int32"), -7, 2**28 - 7),
    _fill("random_wider", "random_", ours.random_from, ("int64", "float64"), -(2**40), 2**41 + 3),
    _fill("random_widest", "random_", ours.random_from, ("int64",), -(2**63), 2**63 - 1),
    _fill("random_far", "random_", ours.random_from, ("int64", "float32"), 2**40, 2**40 + 9),
    _fill("random_from", "random_", ours.random_from, (*FLOATS, *INTS), 3, None),
    _fill("random_inward", "random_", ours.random_from, ("float16",), -2047, 65504),
    _fill("random_inward32", "random_", ours.random_from, ("float32",), -(2**25) - 1, 2**30 + 1),
    _fill("random_full", "random_", ours.random_from,
          ("int64", "float64", "float32", "bfloat16"), -(2**63), None),
)  # fmt: skip


def to_numpy(tensor) -> np.ndarray:
    """A tensor's data; bfloat16 by its bits, for torch has no other way to NumPy."""
    torch = __import__("torch")
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def digest(*arrays: np.ndarray) -> str:
    """Sixteen hexadecimal digits for the bytes of the arrays."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:16]


def inexact(draw: Draw, dtype: str) -> bool:
    return draw.ulp > 0 and dtype in ("float64", "complex128")


def stored_cases():
    """(key, draw, dtype, seed): all shapes in turn are drawn from one generator."""
    for draw in DRAWS:
        for dtype in draw.dtypes:
            for seed in SEEDS:
                yield f"{draw.name}/{dtype}/{seed}", draw, dtype, seed


def stored_shapes(draw: Draw, dtype: str) -> tuple:
    """Values that are stored in full leave out the large shape."""
    return SHAPES if not inexact(draw, dtype) else tuple(s for s in SHAPES if s != (1000,))


def summary(draw: Draw, dtype: str, arrays: list[np.ndarray], state: np.ndarray) -> np.ndarray:
    """What is stored of a case: a digest, or the values and the words of the state."""
    if inexact(draw, dtype):
        return np.concatenate([a.reshape(-1) for a in arrays])
    words = state[:5024]  # up to the cached normal, which is compared where torch is
    return np.array(digest(*arrays, words))


def write_stored() -> None:
    import torch
    from random_sequences import SEQUENCES

    values = {}
    for name, (_, theirs) in SEQUENCES.items():
        for seed in SEEDS:
            g = torch.Generator().manual_seed(seed)
            arrays = [to_numpy(t) for t in theirs(torch, g)]
            state = g.get_state().numpy()[:5024]
            values[f"sequence/{name}/{seed}"] = np.array(digest(*arrays, state))
    for key, draw, dtype, seed in stored_cases():
        g = torch.Generator().manual_seed(seed)
        arrays = []
        for shape in stored_shapes(draw, dtype):
            out = draw.theirs(torch, torch.empty(shape, dtype=getattr(torch, dtype)), g)
            arrays.append(to_numpy(out))
        values[key] = summary(draw, dtype, arrays, g.get_state().numpy())
    np.savez_compressed(STORED, **values)


if __name__ == "__main__":
    write_stored()
