"""Changes of dtype, device and memory: to, float, type, clone, contiguous, view(dtype)."""

from __future__ import annotations

import builtins  # `bool`, `int` and `float` are methods here

from ...ir import dtype as dt
from ...ir import ops
from ...ir.arith import cast
from ...ir.device import device as Device
from ..tensor import Tensor
from .create import _device
from .support import dtype_name


def clone(input, *, memory_format=None):
    """Returns a copy in memory of its own; gradients flow through.

    >>> import treadle
    >>> x = treadle.ones(2)
    >>> y = clone(x); _ = x.zero_(); y
    tensor([1., 1.])
    """
    return ops.copy(input)


def contiguous(input, memory_format=None):
    """Returns input if its elements lie in row-major order, else a copy in which they do."""
    if isinstance(input, Tensor) and not input.is_contiguous():
        return ops.copy(input)
    return input


def to(input, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """Returns input with another dtype and/or device: `to(dtype)`, `to(device)`, `to(other)`.

    The tensor itself is returned if nothing changes and `copy` is False.

    >>> import treadle
    >>> treadle.tensor([1, 2]).to(treadle.float32)
    tensor([1., 2.])
    """
    for a in args:
        if isinstance(a, dt.DType):
            dtype = a
        elif isinstance(a, (str, builtins.int, Device)) and not isinstance(a, builtins.bool):
            device = a
        elif isinstance(a, Tensor):
            dtype, device = a.dtype, a.device
        elif a is not None and not isinstance(a, builtins.bool):
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(a).__name__}), but "
                            "expected a dtype, a device or a Tensor")
    bools = [a for a in args if isinstance(a, builtins.bool)]
    copy = copy or (len(bools) > 1 and bools[1])
    if device is not None:
        _device(device)
    if dtype is None or dtype is input.type.dtype:
        return ops.copy(input) if copy else input
    return ops.convert(input, dtype=dtype)


def _caster(name: str, dtype: dt.DType):
    def function(input, memory_format=None):
        return cast(input, dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Returns input as {dtype.name} (itself if it is)."
    return function


double = _caster("double", dt.float64)
float = _caster("float", dt.float32)
half = _caster("half", dt.float16)
bfloat16 = _caster("bfloat16", dt.bfloat16)
long = _caster("long", dt.int64)
int = _caster("int", dt.int32)
short = _caster("short", dt.int16)
char = _caster("char", dt.int8)
byte = _caster("byte", dt.uint8)
bool = _caster("bool", dt.bool_)
cfloat = _caster("cfloat", dt.complex64)
cdouble = _caster("cdouble", dt.complex128)


def type_as(input, other):
    """Returns input in other's dtype."""
    return cast(input, other.type.dtype)


LEGACY = {"torch." + dtype_name(d) + "Tensor": d for d in dt.ALL}


def type(input, dtype=None, non_blocking=False, **kwargs):  # noqa: A001
    """Returns PyTorch's name of the tensor's type, or the tensor as another type (dtype, name, class).
    """
    if dtype is None:
        return "torch." + dtype_name(input.type.dtype) + "Tensor"
    if isinstance(dtype, str):
        if dtype not in LEGACY:
            raise ValueError(f"invalid type: {dtype!r}")
        dtype = LEGACY[dtype]
    elif not isinstance(dtype, dt.DType):
        dtype = dtype.dtype
    return cast(input, dtype)


def cpu(input, memory_format=None):
    """Returns input on the CPU: itself."""
    return input


def cuda(input, device=None, non_blocking=False, memory_format=None):
    """RuntimeError: this build computes on the CPU."""
    _device("cuda" if device is None else device)
    return input


def view_dtype(input, dtype: dt.DType):
    """Returns a view of the same bytes as another dtype; the last dim grows or shrinks with its size."""
    have, want = input.type.dtype, dtype
    if have is want:
        return ops.reshape(input, shape=input.type.shape)
    if have.itemsize != want.itemsize:
        if input.type.ndim == 0:
            raise RuntimeError(f"self.dim() cannot be 0 to view {dtype_name(have)} as {dtype_name(want)} (different "
                               "element sizes)")
        if input.type.shape[-1] * have.itemsize % want.itemsize:
            raise RuntimeError(f"self.size(-1) must be divisible by {want.itemsize // have.itemsize} to view "
                               f"{dtype_name(have)} as {dtype_name(want)} (different element sizes), but got "
                               f"{input.type.shape[-1]}")
    return ops.bitcast(input, dtype=want)
