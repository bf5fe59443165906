"""Facts about dtypes and defaults: finfo, iinfo, promotion, the default dtype."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ...ir import dtype as dt
from ...ir.arith import defaults
from ...ir.arith import result_dtype as _result_dtype
from ..tensor import Tensor
from .support import dtype_name


class finfo:  # noqa: N801
    """Limits of a floating dtype: bits, eps, max, min, tiny, smallest_normal, resolution.

    >>> import treadle
    >>> finfo(treadle.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: dt.DType | None = None):
        type = defaults.dtype if type is None else type
        if not isinstance(type, dt.DType) or type.kind not in "fc":
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '"
                            f"{type!r}'")
        real = type.to_real()
        facts = (ml_dtypes.finfo if real is dt.bfloat16 else np.finfo)(real.np)
        self.bits, self.dtype = int(facts.bits), real.name
        self.eps, self.max, self.min = float(facts.eps), float(facts.max), float(facts.min)
        self.tiny = self.smallest_normal = float(facts.tiny)
        self.resolution = float(facts.resolution)

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo:  # noqa: N801
    """Limits of an integer dtype: bits, max, min.

    >>> import treadle
    >>> iinfo(treadle.int8).max
    127
    """

    def __init__(self, type: dt.DType):
        if not isinstance(type, dt.DType) or type.kind not in "ui":
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type!r}'")
        facts = np.iinfo(type.np)
        self.bits, self.max, self.min, self.dtype = int(facts.bits), int(facts.max), int(facts.min), type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def promote_types(type1, type2):
    """Returns the smallest dtype to which both convert."""
    return dt.promote_types(type1, type2)


def result_type(tensor1, tensor2):
    """Returns the dtype of arithmetic between two tensors or numbers.

    >>> import treadle
    >>> result_type(treadle.tensor([1, 2]), 1.0)
    treadle.float32
    """
    return _result_dtype(tensor1, tensor2)


def set_default_dtype(d) -> None:
    """Sets the dtype of new floating tensors; TypeError unless floating."""
    if not isinstance(d, dt.DType) or d.kind != "f":
        raise TypeError("only floating-point types are supported as the default type")
    defaults.dtype = d


def get_default_dtype():
    """Returns the dtype of new floating tensors."""
    return defaults.dtype


def set_default_tensor_type(t) -> None:
    """Sets the default dtype by a legacy tensor type or its name."""
    from .convert import LEGACY

    set_default_dtype(LEGACY[t] if isinstance(t, str) else t.dtype)


def is_tensor(obj) -> bool:
    """Returns whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input) -> bool:
    """Returns whether the dtype is a real floating one."""
    return input.type.dtype.kind == "f"


def is_complex(input) -> bool:
    """Returns whether the dtype is complex."""
    return input.type.dtype.kind == "c"


def is_signed(input) -> bool:
    """Returns whether the dtype has negative numbers."""
    return input.type.dtype.is_signed


def is_conj(input) -> bool:
    """Returns False: no tensor here is lazily conjugated."""
    return False


def is_nonzero(input) -> bool:
    """Returns whether a one-element tensor is not zero; RuntimeError for other sizes."""
    return bool(input)


def is_storage(obj) -> bool:
    """Returns whether obj is a tensor's storage."""
    from ...runtime.storage import Storage

    return isinstance(obj, Storage)


def equal(input, other) -> bool:
    """Returns whether two tensors have one shape and equal elements (NaN is not equal).

    >>> import treadle
    >>> equal(treadle.tensor([1, 2]), treadle.tensor([1, 2]))
    True
    """
    if input.type.dtype is not other.type.dtype:
        raise RuntimeError(f"Expected object of data type {dtype_name(input.type.dtype)} but got data type "
                           f"{dtype_name(other.type.dtype)} for argument 'other'")
    if input.type.shape != other.type.shape:
        return False
    return bool(np.array_equal(input.nd, other.nd))


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan: bool = False) -> bool:
    """Returns whether all |input - other| <= atol + rtol * |other|.

    >>> import treadle
    >>> allclose(treadle.tensor([1.0]), treadle.tensor([1.0 + 1e-6]))
    True
    """
    from .binary import isclose
    from .reduce import all

    return bool(all(isclose(input, other, rtol, atol, equal_nan)))
