"""What the public functions share: dims, `out=`, number operands, torch's names of dtypes."""

from __future__ import annotations

import numpy as np

from ...ir import dtype as dt
from ...ir.arith import cast, defaults, is_number
from ...ir.errors import normal_dim
from ..mutation import assign
from ..tape import modes
from ..tensor import Tensor

def dtype_name(dtype: dt.DType) -> str:
    """The name PyTorch's messages and legacy tensor types use: Float, Long, ..."""
    return dtype.scalar_name


def can_cast(from_, to) -> bool:
    """Returns whether a value of dtype `from_` may be stored in one of dtype `to`.

    A category (bool, integer, float, complex) may only grow.

    >>> import treadle
    >>> can_cast(treadle.float64, treadle.float32), can_cast(treadle.float32, treadle.int64)
    (True, False)
    """
    order = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    if from_.kind == "i" and to.kind == "u":
        return False
    return order[from_.kind] <= order[to.kind]


def store(x: Tensor, value) -> Tensor:
    """`value`, computed for an in-place op, becomes x's content; its dtype becomes x's if it may."""
    if value.type is not x.type and value.type.dtype is not x.type.dtype:
        have, want = value.type.dtype, x.type.dtype
        order = "buifc"
        if order.index(have.kind) > order.index(want.kind) and not (have.kind == "i" and want.kind == "u"):
            raise RuntimeError(f"result type {dtype_name(have)} can't be cast to the desired output type "
                               f"{dtype_name(want)}")
        value = cast(value, want)
    return assign(x, value)


def give(result, out):
    """`result`, or `out` holding it where the caller gave one (resized if it was another shape)."""
    if out is None:
        return result
    if modes.grad and not isinstance(result, tuple) and result.requires_grad:
        raise RuntimeError("functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.")
    if isinstance(result, tuple):
        for r, o in zip(result, out, strict=True):
            give(r, o)
        return out
    if out.type.shape != result.type.shape:
        from .storage import resize

        resize(out, result.type.shape)
    return store(out, result)


def one_dim(dim, ndim: int) -> int:
    """A dim argument as a non-negative int."""
    if isinstance(dim, Tensor):
        dim = int(dim)
    return normal_dim(dim, ndim)


def all_dims(dim, ndim: int) -> tuple[int, ...]:
    """A dim argument (None, int or several) as sorted non-negative dims; None and () mean all."""
    if dim is None:
        return tuple(range(ndim))
    if isinstance(dim, (tuple, list)):
        if not dim:
            return tuple(range(ndim))
        dims = sorted(normal_dim(d, ndim) for d in dim)
        for a, b in zip(dims, dims[1:], strict=False):
            if a == b:
                raise RuntimeError(f"dim {a} appears multiple times in the list of dims")
        return tuple(dims) if ndim else ()
    d = one_dim(dim, ndim)
    return (d,) if ndim else ()


def sizes(args) -> tuple[int, ...]:
    """A shape given as varargs or as one sequence."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = args[0]
    return tuple(map(as_int, args))


def as_int(n) -> int:
    if type(n) is int:
        return n
    if isinstance(n, (float, complex)):
        raise TypeError(f"an integer was expected, but got {type(n).__name__} {n}")
    return n.__index__()


def number(value):
    """A Python number of a number or a one-element tensor."""
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


def value_of(v, like):
    """`v` as an operand beside `like`: tensors, nodes and numbers pass, arrays become tensors."""
    if is_number(v) or hasattr(v, "type"):
        return v
    if isinstance(v, np.ndarray):
        from .create import as_tensor

        return as_tensor(v)
    raise TypeError(f"expected a Tensor or a number beside {like.type}, got {type(v).__name__}")


def tensor_list(name: str, tensors) -> list:
    if not isinstance(tensors, (tuple, list)):
        if hasattr(tensors, "type"):
            raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
        tensors = list(tensors)
    for i, t in enumerate(tensors):
        if not hasattr(t, "type"):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    return list(tensors)


def default_float(dtype: dt.DType) -> dt.DType:
    """`dtype` if it is floating or complex, else the default float."""
    return dtype if dtype.kind in "fc" else defaults.dtype
