"""What the distributions must know of element types: PyTorch's names, digits, casts."""

from __future__ import annotations

import numpy as np

from treadle.ir import dtype as dt
from treadle.ir.dtype import DType

SCALAR_NAME = {
    dt.bool_: "Bool", dt.uint8: "Byte", dt.int8: "Char", dt.int16: "Short", dt.int32: "Int",
    dt.int64: "Long", dt.float16: "Half", dt.bfloat16: "BFloat16", dt.float32: "Float",
    dt.float64: "Double", dt.complex64: "ComplexFloat", dt.complex128: "ComplexDouble",
}  # fmt: skip
C_NAME = {
    dt.bool_: "bool", dt.uint8: "unsigned char", dt.int8: "signed char", dt.int16: "short int",
    dt.int32: "int", dt.int64: "long int", dt.float16: "c10::Half", dt.bfloat16: "c10::BFloat16",
    dt.float32: "float", dt.float64: "double", dt.complex64: "c10::complex<float>",
    dt.complex128: "c10::complex<double>",
}  # fmt: skip
DIGITS = {dt.float16: 11, dt.bfloat16: 8, dt.float32: 24, dt.float64: 53}  # of the significand
_LARGEST_BFLOAT16 = float(2.0**128 - 2.0**120)


def as_dtype(dtype) -> DType:
    """The DType of a DType or of anything np.dtype takes."""
    return dtype if isinstance(dtype, DType) else dt.from_numpy(np.dtype(dtype))


def largest(dtype: DType) -> float:
    """The largest finite number of a floating dtype."""
    return _LARGEST_BFLOAT16 if dtype is dt.bfloat16 else float(np.finfo(dtype.np).max)


def is_half(dtype: DType) -> bool:
    return dtype is dt.float16 or dtype is dt.bfloat16


def require_floating(dtype: DType, kernel: str) -> None:
    """NotImplementedError in PyTorch's words unless the dtype is a real floating one."""
    if not dtype.is_floating_point:
        raise not_implemented(dtype, kernel)


def not_implemented(dtype: DType, kernel: str) -> NotImplementedError:
    return NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_NAME[dtype]}'")


def narrowed(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Float64 or int64 values cast as PyTorch's scalar types are: half types by way of float32."""
    if is_half(dtype):
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(dtype.np)
    if dtype.kind in "iu" and values.dtype == np.float64:
        with np.errstate(invalid="ignore"):
            return values.astype(np.int64).astype(dtype.np)
    with np.errstate(over="ignore"):
        return values.astype(dtype.np, copy=False)
