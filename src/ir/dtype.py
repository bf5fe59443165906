"""Element types and the promotion rules between them (PyTorch's, torch.result_type)."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """One element type; each is a singleton, so `is` compares."""

    name: str
    np: np.dtype
    kind: str  # 'b' bool, 'u' and 'i' integers, 'f' floats, 'c' complex
    rank: int  # order within its kind

    @property
    def itemsize(self) -> int:
        return self.np.itemsize

    @property
    def scalar_name(self) -> str:
        """PyTorch's name in messages and legacy tensor types: Float, Long, ..."""
        return _SCALAR_NAMES[self.name]

    @property
    def is_floating_point(self) -> bool:
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        return self.kind == "c"

    @property
    def is_signed(self) -> bool:
        return self.kind in "ifc"

    @property
    def is_differentiable(self) -> bool:
        return self.kind in "fc"

    def to_complex(self) -> DType:
        return self if self.kind == "c" else complex128 if self is float64 else complex64

    def to_real(self) -> DType:
        return {complex64: float32, complex128: float64}.get(self, self)

    def __repr__(self) -> str:
        return "treadle." + self.name

    def __reduce__(self):
        return by_name, (self.name,)

    def __deepcopy__(self, _memo):
        return self


_SCALAR_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}


def _dtype(name: str, kind: str, rank: int, np_type=None) -> DType:
    return DType(name, np.dtype(np_type or name), kind, rank)


bool_ = _dtype("bool", "b", 0)
uint8 = _dtype("uint8", "u", 0)
int8 = _dtype("int8", "i", 1)
int16 = _dtype("int16", "i", 2)
int32 = _dtype("int32", "i", 3)
int64 = _dtype("int64", "i", 4)
float16 = _dtype("float16", "f", 0)
bfloat16 = _dtype("bfloat16", "f", 0, ml_dtypes.bfloat16)
float32 = _dtype("float32", "f", 1)
float64 = _dtype("float64", "f", 2)
complex64 = _dtype("complex64", "c", 0)
complex128 = _dtype("complex128", "c", 1)

ALL = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64,
       complex128)
_BY_NAME = {d.name: d for d in ALL}
_BY_NP = {d.np: d for d in ALL}


def by_name(name: str) -> DType:
    return _BY_NAME[name]


def from_numpy(np_dtype: np.dtype) -> DType:
    """The dtype of a NumPy array; TypeError for one PyTorch has no name for."""
    found = _BY_NP.get(np_dtype)
    if found is None:
        found = _BY_NP.get(np.dtype(np_dtype).newbyteorder("="))
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {np_dtype}. The only supported types are: "
            + ", ".join(_BY_NAME) + "."
        )
    return found


def _category(d: DType) -> int:
    return {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}[d.kind]


def promote_types(a: DType, b: DType) -> DType:
    """The smallest dtype to which both convert, as torch.promote_types.

    >>> promote_types(float16, bfloat16), promote_types(uint8, int8), promote_types(int64, float16)
    (treadle.float32, treadle.int16, treadle.float16)
    """
    if a is b:
        return a
    if _category(a) < _category(b):
        a, b = b, a
    if _category(a) > _category(b):
        if a.kind == "c" and b is float64:
            return complex128
        return a
    if a.kind == "c":
        return complex128
    if a.kind == "f":
        if {a, b} == {float16, bfloat16}:
            return float32
        return a if a.rank > b.rank else b
    if a is uint8 or b is uint8:
        other = b if a is uint8 else a
        return int16 if other is int8 else other
    return a if a.rank > b.rank else b


def of_number(value, default_float: DType) -> DType:
    """The dtype of a Python number as a weak operand."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return default_float
    if isinstance(value, complex):
        return complex128 if default_float is float64 else complex64
    return from_numpy(np.asarray(value).dtype)


def result_type(dimensioned, zero_dim, numbers, default_float: DType) -> DType:
    """torch.result_type for dtypes of dimensioned tensors, of 0-d tensors, and Python numbers.

    A lower class takes part only by its category (bool < int < float < complex).
    """
    result = None
    for d in dimensioned:
        result = d if result is None else promote_types(result, d)
    zero = None
    for d in zero_dim:
        zero = d if zero is None else promote_types(zero, d)
    number = None
    for v in numbers:
        d = of_number(v, default_float)
        number = d if number is None else promote_types(number, d)
    if number is not None and (zero is None or _category(number) > _category(zero)):
        weak = number if zero is None or number.kind != "c" else promote_types(number, zero)
        zero = weak if result is None and zero is None else _lift(zero, weak)
    if result is None:
        assert zero is not None
        return zero
    if zero is None or _category(zero) <= _category(result):
        return result
    return _lift(result, zero)


def _lift(low: DType | None, high: DType) -> DType:
    """`high`'s category, keeping a float width `low` already has (float16 + complex is complex64)."""
    if low is None or high.kind != "c" or low.kind != "f":
        return high
    return low.to_complex()
