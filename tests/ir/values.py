"""Inputs that find what random numbers do not: zeros of both signs, NaN, infinities, extremes, odd shapes."""

from __future__ import annotations

import itertools

import numpy as np

from treadle.ir import arith
from treadle.ir import dtype as dt
from treadle.ir.graph import Builder, Node
from treadle.ir.type import tensor_type

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.75, 3.0, 1e-30, float("inf"), float("-inf"), float("nan"),
          np.float32(1e-45), 6e-8, 65504.0, 3.0e38]
COMPLEX = [0j, complex(-0.0, 0.0), 1 + 2j, -3.5j, complex("inf"), complex(float("nan"), 1.0),
           complex(0.0, float("-inf"))]


def specials(dtype: dt.DType) -> np.ndarray:
    """Every kind of value of a dtype, as a vector."""
    with np.errstate(all="ignore"):
        if dtype.kind == "f":
            return np.array(FLOATS).astype(dtype.np)
        if dtype.kind == "c":
            return np.array(COMPLEX).astype(dtype.np)
        if dtype.kind == "b":
            return np.array([False, True])
        info = np.iinfo(dtype.np)
        return np.unique(np.array([info.min, info.max, 0, 1, 2, 7, info.max // 2]
                                  + ([-1, -5] if dtype.kind == "i" else []), dtype.np))


def products(*vectors: np.ndarray) -> list[np.ndarray]:
    """All combinations of the vectors' elements, one array per vector."""
    rows = list(itertools.product(*[range(len(v)) for v in vectors]))
    picks = np.array(rows).reshape(len(rows), len(vectors))
    return [v[picks[:, i]] for i, v in enumerate(vectors)]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal shape, dtype and bits; NaN equals NaN whatever its sign."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    if a.dtype.kind in "biu":
        return np.array_equal(a, b)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    equal = np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(bits)
    return bool(np.all((nan_a & nan_b) | equal))


class NumberBuilder(Builder):
    """A builder that makes numbers of the dtype they meet, as the operators do."""

    def process(self, op, values, attrs):
        first = next((v.type.dtype for v in reversed(values) if isinstance(v, Node)), None)
        values = tuple(v if isinstance(v, Node) else arith.number_as(v, first) for v in values)
        return super().process(op, values, attrs)


def kind_of(array: np.ndarray):
    """The tensor type of an array."""
    return tensor_type(array.shape, dt.from_numpy(array.dtype))
