"""Normal numbers: in groups of 16 from size 16 on, one pair at a time below.

The pairwise path draws in float64 for every dtype and keeps the unused half of a pair in the
generator. Where the result is float64 both take the C library's logarithm, as PyTorch does.
"""

from __future__ import annotations

import math

import numpy as np

from treadle.ir import dtype as dt
from treadle.ir.dtype import DType
from treadle.runtime.random.arith import by_libm, fma64
from treadle.runtime.random.boxmuller import normals32, normals64
from treadle.runtime.random.dtypes import as_dtype, is_half, narrowed, require_floating
from treadle.runtime.random.generator import Generator
from treadle.runtime.random.uniforms import BLOCK, blocks, floats32, floats64

_GROUP = 16


def randn(shape: tuple[int, ...], dtype, generator: Generator) -> np.ndarray:
    """Standard normal numbers, as torch.randn: a new array of a floating or complex dtype.

    >>> randn((2,), np.float32, Generator().manual_seed(0))
    array([ 1.5409961, -0.2934289], dtype=float32)
    """
    return normal(shape, dtype, generator)


def normal(
    shape: tuple[int, ...],
    dtype,
    generator: Generator,
    mean: float = 0.0,
    std: float = 1.0,
    serial: bool = False,
) -> np.ndarray:
    """Normal numbers, as Tensor.normal_ on a contiguous tensor.

    `serial` takes the pairwise path at every size, as PyTorch does for a tensor that is not
    contiguous. The bits are PyTorch's on a CPU with AVX2 and, for float64, the same C library. A
    complex number has variance std**2 in all. RuntimeError if std < 0, NotImplementedError for
    integer dtypes.

    >>> normal((1,), np.float64, Generator().manual_seed(0), mean=10.0)
    array([11.54099611])
    """
    dtype, mean, std = as_dtype(dtype), float(mean), float(std)
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if dtype.is_complex:
        part = (*shape, 2), dtype.to_real(), generator, mean, std / math.sqrt(2.0), serial
        return normal(*part).view(dtype.np)[..., 0]
    require_floating(dtype, "normal_kernel_cpu")
    n = math.prod(shape)
    with generator.lock:
        if n >= _GROUP and not serial:
            return _grouped(n, dtype, generator, mean, std).reshape(shape)
        out = np.empty(n, dtype.np)
        for part in blocks(n):
            samples = _serial(generator, part.stop - part.start, dtype)
            out[part] = narrowed(fma64(samples, std, mean), dtype)
        return out.reshape(shape)


def log_normal(
    shape: tuple[int, ...], dtype, generator: Generator, mean: float = 1.0, std: float = 2.0
) -> np.ndarray:
    """Numbers whose logarithms are normal, as Tensor.log_normal_; RuntimeError unless std > 0.

    >>> log_normal((2,), np.float64, Generator().manual_seed(0))
    array([59.26341788,  1.51155994])
    """
    dtype, mean, std = as_dtype(dtype), float(mean), float(std)
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    require_floating(dtype, "log_normal_cpu")
    out = np.empty(math.prod(shape), dtype.np)
    with generator.lock, np.errstate(over="ignore"):
        for part in blocks(out.size):
            logs = fma64(_serial(generator, part.stop - part.start, dtype), std, mean)
            exact = dtype is dt.float64 and bool((np.abs(logs) < 700.0).all())
            out[part] = narrowed(by_libm(math.exp, logs) if exact else np.exp(logs), dtype)
    return out.reshape(shape)


def _serial(generator: Generator, n: int, dtype: DType) -> np.ndarray:
    """n float64 standard normals by the pairwise path; a left-over half starts, and may be left."""
    out = np.empty(n)
    rest = out
    if n and generator.next_normal is not None:
        out[0] = generator.next_normal
        generator.next_normal = None
        rest = out[1:]
    pairs = (rest.size + 1) // 2
    uniforms = floats64(generator, 2 * pairs)
    rest[...] = _pairs(uniforms, dtype)[: rest.size]
    if rest.size % 2:
        generator.next_normal = float(_pairs(uniforms[-2:], dt.float64)[1])
    return out


def _pairs(uniforms: np.ndarray, dtype: DType) -> np.ndarray:
    if dtype is dt.float64:
        logs = by_libm(math.log1p, -uniforms[1::2])
    else:
        logs = np.log1p(-uniforms[1::2])  # an ulp of float64 does not show in the narrower types
    radius = np.sqrt(-2.0 * logs)
    angle = (2.0 * math.pi) * uniforms[0::2]
    samples = np.empty_like(uniforms)
    samples[0::2] = radius * np.cos(angle)
    samples[1::2] = radius * np.sin(angle)
    return samples


def _grouped(n: int, dtype: DType, generator: Generator, mean: float, std: float) -> np.ndarray:
    """Groups of 16; an incomplete last group is drawn anew and ends at the last element."""
    draw, transform = (floats64, normals64) if dtype is dt.float64 else (floats32, normals32)
    out = np.empty(n, dtype.np)
    whole = n - n % _GROUP
    for start in range(0, whole, BLOCK):
        stop = min(start + BLOCK, whole)
        out[start:stop] = transform(draw(generator, stop - start), mean, std)
    if n > whole:
        if not is_half(dtype):
            draw(generator, n - whole)  # PyTorch draws these, then overwrites what became of them
        out[n - _GROUP :] = transform(draw(generator, _GROUP), mean, std)
    return out
