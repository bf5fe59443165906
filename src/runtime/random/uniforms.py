"""Uniform numbers from the words of the stream, and the draws that are one comparison away.

A float32 takes the low 24 bits of one word, a float64 the low 53 bits of two (the earlier on top),
float16 and bfloat16 are rounded float32 numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from treadle.ir import dtype as dt
from treadle.ir.dtype import DType
from treadle.runtime.random.arith import affine32, fma64
from treadle.runtime.random.dtypes import (
    C_NAME,
    SCALAR_NAME,
    as_dtype,
    largest,
    not_implemented,
    require_floating,
)
from treadle.runtime.random.generator import Generator

BLOCK = 1 << 16  # elements drawn at a time: what a draw works on stays in the cache
_MASK32, _UNIT32 = np.uint32((1 << 24) - 1), np.float32(2.0**-24)
_MASK64, _UNIT64 = np.uint64((1 << 53) - 1), 2.0**-53


def floats32(generator: Generator, n: int) -> np.ndarray:
    """n float32 uniforms in [0, 1), one word each."""
    values = _counts32(generator, n).astype(np.float32)
    values *= _UNIT32
    return values


def _counts32(generator: Generator, n: int) -> np.ndarray:
    """The uniforms in units of 2**-24, int32."""
    words = generator.words(n)
    words &= _MASK32
    return words.view(np.int32)


def floats64(generator: Generator, n: int) -> np.ndarray:
    """n float64 uniforms in [0, 1), two words each."""
    words = generator.words64(n)
    words &= _MASK64
    values = words.view(np.int64).astype(np.float64)
    values *= _UNIT64
    return values


def blocks(n: int) -> Iterator[slice]:
    """Slices of at most BLOCK elements that cover range(n) in order."""
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def rand(shape: tuple[int, ...], dtype, generator: Generator) -> np.ndarray:
    """Uniform numbers in [0, 1), as torch.rand: a new array of a floating or complex dtype.

    >>> rand((2,), np.float32, Generator().manual_seed(0))
    array([0.4962566, 0.7682218], dtype=float32)
    """
    return uniform(shape, dtype, generator)


def uniform(
    shape: tuple[int, ...], dtype, generator: Generator, a: float = 0.0, b: float = 1.0
) -> np.ndarray:
    """Uniform numbers in [a, b), as Tensor.uniform_; b where rounding reached it becomes a.

    RuntimeError if a > b or a bound does not fit the dtype, NotImplementedError for integer dtypes.

    >>> uniform((2,), np.float64, Generator().manual_seed(0), -1.0, 1.0)
    array([0.940106  , 0.41563973])
    """
    dtype, a, b = as_dtype(dtype), float(a), float(b)
    if dtype.is_complex:
        pairs = uniform((*shape, 2), dtype.to_real(), generator, a, b)
        return pairs.view(dtype.np)[..., 0]
    require_floating(dtype, "check_uniform_bounds")
    _check_bounds(dtype, a, b)
    out = np.empty(math.prod(shape), dtype.np)
    fill = _fill64 if dtype is dt.float64 else _fill32
    with generator.lock:
        for part in blocks(out.size):
            fill(out[part], generator, a, b)
    return out.reshape(shape)


def _fill64(out: np.ndarray, generator: Generator, a: float, b: float) -> None:
    values = floats64(generator, out.size)
    if (a, b) != (0.0, 1.0):
        values = fma64(values, b - a, a)
        values[values == b] = a
    out[...] = values


def _fill32(out: np.ndarray, generator: Generator, a: float, b: float) -> None:
    """Float32 and the half types, which are cast at the end."""
    low, high = np.float32(a), np.float32(b)
    if (a, b) == (0.0, 1.0):
        np.multiply(_counts32(generator, out.size), _UNIT32, out=out, casting="unsafe")
        if out.dtype == np.float32:  # exact, so below 1
            return
    else:
        out[...] = affine32(_counts32(generator, out.size), float(high - low), float(low))
    if _may_reach(out.dtype, float(low), float(high)):
        out[out == high.astype(out.dtype)] = low.astype(out.dtype)


def _may_reach(dtype: np.dtype, low: float, high: float) -> bool:
    """Whether rounding takes the largest uniform below 1 to the upper bound."""
    top = affine32(np.array([(1 << 24) - 1]), float(np.float32(high - low)), low)
    return bool(top.astype(dtype)[0] == np.float32(high).astype(dtype))


def _check_bounds(dtype: DType, a: float, b: float) -> None:
    limit = largest(dtype)
    for name, bound in (("from", a), ("to", b)):
        if not -limit <= bound <= limit:
            raise RuntimeError(f"{name} is out of bounds for {C_NAME[dtype]}, got {bound:g}")
    if a > b:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={a:g} > to={b:g}"
        )
    if b - a > limit:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{SCALAR_NAME[dtype]}>::max(), but "
            f"found to={b:g} and from={a:g} which result in to-from to exceed the limit"
        )


def bernoulli(
    shape: tuple[int, ...], dtype, generator: Generator, p: float | np.ndarray
) -> np.ndarray:
    """Ones with probability p and zeros, as Tensor.bernoulli_: any dtype but the complex ones.

    A number or a float64 array takes a float64 uniform per element, an array of another floating
    dtype a float32 one; an array is broadcast to `shape`. PyTorch built with MKL may leave this
    stream for a number p on Intel processors; here it never does. RuntimeError if p leaves [0, 1].

    >>> bernoulli((4,), np.int64, Generator().manual_seed(0), 0.5)
    array([0, 0, 1, 0])
    """
    dtype = as_dtype(dtype)
    chances, draw = None, floats64
    if isinstance(p, np.ndarray):
        if dtype.is_complex:
            raise not_implemented(dtype, "bernoulli_tensor_cpu_self_")
        chances, draw = _probabilities(p, shape)
    elif not 0.0 <= p <= 1.0:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    elif dtype.is_complex:
        raise not_implemented(dtype, "bernoulli_scalar_cpu_")
    out = np.empty(math.prod(shape), dtype.np)
    with generator.lock:
        for part in blocks(out.size):
            out[part] = draw(generator, part.stop - part.start) < (
                p if chances is None else chances[part]
            )
    return out.reshape(shape)


def _probabilities(p: np.ndarray, shape: tuple[int, ...]):
    """The flat probabilities per element and the draw to compare them with."""
    dtype = as_dtype(p.dtype)
    require_floating(dtype, "bernoulli_tensor_cpu_p_")
    draw = floats64 if dtype is dt.float64 else floats32
    flat = np.broadcast_to(p, shape).reshape(-1)
    flat = flat if dtype is dt.float64 else flat.astype(np.float32)
    if not ((flat >= 0) & (flat <= 1)).all():
        wrong = flat[~((flat >= 0) & (flat <= 1))][0]
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false: every probability must be "
            f"in [0, 1], found {wrong:g}"
        )
    return flat, draw
