"""torch.FloatTensor and its kin: classes of one dtype, for scripts of the older style."""

from __future__ import annotations

from ...ir import dtype as dt
from ..tensor import Tensor
from .create import empty, tensor


class _Typed(type):
    """A class whose instances are the tensors of its dtype."""

    dtype: dt.DType

    def __instancecheck__(cls, obj) -> bool:
        return isinstance(obj, Tensor) and obj.dtype is cls.dtype

    def __call__(cls, *args, device=None):
        if len(args) == 1 and not isinstance(args[0], int) and type(args[0]).__name__ != "Size":
            return tensor(args[0], dtype=cls.dtype)
        return empty(*(args or (0,)), dtype=cls.dtype)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _typed(dtype: dt.DType):
    name = dtype.scalar_name + "Tensor"
    return _Typed(name, (), {"dtype": dtype, "__doc__": f"Tensors of {dtype.name}; called, it makes one."})


FloatTensor, DoubleTensor, HalfTensor = map(_typed, (dt.float32, dt.float64, dt.float16))
BFloat16Tensor, ByteTensor, CharTensor = map(_typed, (dt.bfloat16, dt.uint8, dt.int8))
ShortTensor, IntTensor, LongTensor, BoolTensor = map(_typed, (dt.int16, dt.int32, dt.int64, dt.bool_))
