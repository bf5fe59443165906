"""Distributions by inversion of one float64 uniform: exponential, Cauchy, geometric."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from treadle.ir import dtype as dt
from treadle.ir.dtype import DType
from treadle.runtime.random.arith import by_libm, fma64
from treadle.runtime.random.dtypes import C_NAME, SCALAR_NAME, as_dtype, narrowed, not_implemented
from treadle.runtime.random.generator import Generator
from treadle.runtime.random.uniforms import blocks, floats64


def exponential(
    shape: tuple[int, ...], dtype, generator: Generator, lambd: float = 1.0
) -> np.ndarray:
    """Exponential numbers of rate `lambd`, as Tensor.exponential_; RuntimeError unless lambd > 0.

    PyTorch built with MKL may leave this stream on Intel processors; here it never does.

    >>> exponential((2,), np.float32, Generator().manual_seed(0))
    array([3.5083263, 1.2303847], dtype=float32)
    """
    dtype, lambd = as_dtype(dtype), float(lambd)
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    _require_continuous(dtype, "Exponential", SCALAR_NAME)
    log1p = _function(dtype, math.log1p, np.log1p)
    return _inverted(shape, dtype, generator, lambda u: (-1.0 / lambd) * log1p(-u))


def cauchy(
    shape: tuple[int, ...], dtype, generator: Generator, median: float = 0.0, sigma: float = 1.0
) -> np.ndarray:
    """Cauchy numbers, as Tensor.cauchy_; RuntimeError unless sigma > 0.

    >>> cauchy((1,), np.float64, Generator().manual_seed(0))
    array([10.59772933])
    """
    dtype, median, sigma = as_dtype(dtype), float(median), float(sigma)
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    _require_continuous(dtype, "Cauchy", C_NAME)
    tan = _function(dtype, math.tan, np.tan)
    return _inverted(
        shape, dtype, generator, lambda u: fma64(tan(math.pi * (u - 0.5)), sigma, median)
    )


def geometric(shape: tuple[int, ...], dtype, generator: Generator, p: float) -> np.ndarray:
    """The number of trials up to the first success, as Tensor.geometric_; p in (0, 1).

    >>> geometric((4,), np.int64, Generator().manual_seed(0), 0.25)
    array([1, 2, 3, 1])
    """
    dtype, p = as_dtype(dtype), float(p)
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if dtype is dt.bool_ or dtype.is_complex:
        raise not_implemented(dtype, "geometric_cpu")
    scale = math.log1p(-p)
    return _inverted(shape, dtype, generator, lambda u: np.ceil(np.log(u) / scale))


def _inverted(
    shape: tuple[int, ...], dtype: DType, generator: Generator, inverse: Callable
) -> np.ndarray:
    out = np.empty(math.prod(shape), dtype.np)
    with generator.lock, np.errstate(divide="ignore"):
        for part in blocks(out.size):
            out[part] = narrowed(inverse(floats64(generator, part.stop - part.start)), dtype)
    return out.reshape(shape)


def _function(dtype: DType, scalar: Callable, vector: Callable) -> Callable:
    """The C library's function for float64; NumPy's faster one where an ulp does not show."""
    return (lambda x: by_libm(scalar, x)) if dtype is dt.float64 else vector


def _require_continuous(dtype: DType, name: str, names: dict[DType, str]) -> None:
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {names[dtype]}"
        )
