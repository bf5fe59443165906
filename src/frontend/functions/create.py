"""Tensors from data, constants and ranges."""

from __future__ import annotations

import math

import numpy as np

from ...ir import dtype as dt
from ...ir.arith import defaults
from ...ir.device import CPU, device as Device
from ...ir.ops import full as full_op
from ...ir.ops import iota
from ..interpreter import current
from ..tensor import Tensor, from_array


def _device(dev) -> Device:
    if dev is None:
        return CPU
    dev = Device(dev)
    if dev.type == "cpu":
        return CPU
    raise RuntimeError(f"device {dev} is not available: this build of treadle computes on the CPU")


def _shape(size) -> tuple[int, ...]:
    if len(size) == 1 and not isinstance(size[0], int) and hasattr(size[0], "__iter__"):
        size = tuple(size[0])
    shape = tuple(int(n) for n in size)
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape


def _finish(t: Tensor, requires_grad: bool) -> Tensor:
    return t.requires_grad_() if requires_grad else t


def _constant(shape, value, dtype, dev, requires_grad) -> Tensor:
    return _finish(full_op(shape=shape, value=value, dtype=dtype or defaults.dtype, device=_device(dev)),
                   requires_grad)


def zeros(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False) -> Tensor:
    """Returns a tensor of zeros of the given size.

    >>> zeros(2, 2)
    tensor([[0., 0.],
            [0., 0.]])
    """
    return _constant(_shape(size), 0, dtype, device, requires_grad)


def ones(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False) -> Tensor:
    """Returns a tensor of ones of the given size.

    >>> ones(3)
    tensor([1., 1., 1.])
    """
    return _constant(_shape(size), 1, dtype, device, requires_grad)


def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False) -> Tensor:
    """Returns a tensor of `size` filled with a number; its dtype is the number's by default.

    >>> full((2,), 7)
    tensor([7, 7])
    """
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    shape = _shape((size,) if isinstance(size, int) else tuple(size))
    return _constant(shape, fill_value, dtype or dt.of_number(fill_value, defaults.dtype), device,
                     requires_grad)


def empty(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
          memory_format=None) -> Tensor:
    """Returns a tensor of the given size whose values are not defined (zeros here)."""
    return zeros(*size, dtype=dtype, device=device, requires_grad=requires_grad)


def _like(input, value, dtype, device, requires_grad):
    t = input.type
    return _constant(t.shape, value, dtype or t.dtype, device or t.device, requires_grad)


def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Returns zeros of input's size and dtype."""
    return _like(input, 0, dtype, device, requires_grad)


def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Returns ones of input's size and dtype."""
    return _like(input, 1, dtype, device, requires_grad)


def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Returns a tensor of input's size and dtype whose values are not defined (zeros here)."""
    return _like(input, 0, dtype, device, requires_grad)


def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False,
              memory_format=None):
    """Returns a tensor of input's size and dtype filled with a number."""
    return _like(input, fill_value, dtype, device, requires_grad)


def arange(start, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns start, start + step, ... below end; integers give int64.

    >>> arange(1, 6, 2)
    tensor([1, 3, 5])
    """
    if end is None:
        start, end = 0, start
    numbers = [v.item() if isinstance(v, Tensor) else v for v in (start, end, step)]
    start, end, step = numbers
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        dtype = dt.int64 if all(isinstance(v, int) for v in numbers) else defaults.dtype
    size = max(0, math.ceil((end - start) / step))
    if dtype.kind in "f":
        ramp = iota(size=size, dtype=dt.float64, device=_device(device)) * float(step) + float(start)
        from ...ir.arith import cast

        return _finish(cast(ramp, dtype), requires_grad)
    ramp = iota(size=size, dtype=dtype, device=_device(device))
    ramp = ramp if step == 1 else ramp * int(step)
    return _finish(ramp if start == 0 else ramp + int(start), requires_grad)


def _guess_dtype(data) -> np.dtype | None:
    """The dtype of nested Python data: default float for floats, int64 for ints, bool for bools."""
    if isinstance(data, (np.ndarray, np.generic)):
        return None
    sample = np.asarray(data)
    if sample.dtype.kind == "f" and not isinstance(data, np.ndarray):
        return defaults.dtype.np
    if sample.dtype.kind == "c":
        return defaults.dtype.to_complex().np
    return None


def _uneven(data, dim: int = 0) -> Exception:
    """What is wrong with nested lists that are no array, in PyTorch's words."""
    if dim and not isinstance(data[0], (list, tuple)) and any(isinstance(v, (list, tuple)) for v in data):
        return TypeError("must be real number, not list")
    if not all(isinstance(v, (list, tuple)) for v in data):
        return TypeError("'list' object cannot be interpreted as an integer")
    sizes = [len(v) for v in data]
    for n in sizes:
        if n != sizes[0]:
            return ValueError(f"expected sequence of length {sizes[0]} at dim {dim + 1} (got {n})")
    return _uneven([w for v in data for w in v], dim + 1)


def _numpy(data, dtype):
    if isinstance(data, (list, tuple)) and any(isinstance(v, Tensor) for v in data):
        data = [v.tolist() if isinstance(v, Tensor) else v for v in data]
    if isinstance(data, (list, tuple)) and len(data) == 0:
        return np.empty((0,), (dtype or defaults.dtype).np)
    if dtype is not None:
        try:
            array = np.asarray(data)
        except ValueError:
            raise _uneven(data) from None
        return array.astype(dtype.np)
    try:
        array = np.array(data, dtype=_guess_dtype(data))
    except ValueError:
        raise _uneven(data) from None
    if array.dtype.kind in "OUS":
        raise TypeError(f"new(): data must be numbers, got {type(data).__name__} of {array.dtype}")
    return array


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor:
    """Returns a new tensor with a copy of `data` (numbers, nested lists, arrays).

    >>> tensor([[1, 2], [3, 4]]).dtype
    treadle.int64
    """
    if isinstance(data, Tensor):
        out = data.detach().clone()
        out = out if dtype is None else out.to(dtype)
    else:
        out = from_array(np.array(_numpy(data, dtype), order="C"), _device(device))
        if current.recorder is not None:
            current.recorder.constant(out, data)
    return _finish(out, requires_grad)


def as_tensor(data, dtype=None, device=None) -> Tensor:
    """Returns `data` as a tensor, sharing memory where it can."""
    if isinstance(data, Tensor):
        return data if dtype is None or dtype is data.dtype else data.to(dtype)
    if isinstance(data, np.ndarray) and dtype is None:
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """Returns a tensor that shares the array's memory."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if any(s < 0 for s in ndarray.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with "
                         "negative strides are not currently supported. (You can probably work around this "
                         "by making a copy of your array  with array.copy().)")
    if not ndarray.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order.")
    out = from_array(ndarray)
    if current.recorder is not None:
        current.recorder.entangle((out,))
    return out


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False) -> Tensor:
    """Returns obj (tensor, array, DLPack exporter, numbers) as a tensor, sharing memory unless copy is True."""
    if isinstance(obj, Tensor):
        out = obj.detach().clone() if copy else obj
        out = out if dtype is None else out.to(dtype)
    elif isinstance(obj, np.ndarray) or hasattr(obj, "__dlpack__"):
        out = from_numpy(obj) if isinstance(obj, np.ndarray) else from_dlpack(obj)
        out = out.clone() if copy else out
        out = out if dtype is None else out.to(dtype)
    elif copy is False:
        raise ValueError("can't alias or copy: asarray(..., copy=False) of data that is not an array")
    else:
        out = tensor(obj, dtype=dtype, device=device)
    return _finish(out, True) if requires_grad else out


def from_dlpack(ext_tensor) -> Tensor:
    """Returns a tensor that shares the memory of an object with `__dlpack__` (CPU memory)."""
    return from_array(np.from_dlpack(ext_tensor))


def frombuffer(buffer, *, dtype, count: int = -1, offset: int = 0, requires_grad=False) -> Tensor:
    """Returns a 1-d tensor over a buffer's bytes, sharing memory."""
    return _finish(from_array(np.frombuffer(buffer, dtype.np, count, offset)), requires_grad)


def scalar_tensor(s, *, dtype=None, layout=None, device=None, requires_grad=False) -> Tensor:
    """Returns a 0-d tensor of the default float dtype."""
    return tensor(s, dtype=dtype or defaults.dtype, device=device, requires_grad=requires_grad)


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Returns a tensor of the given size and strides whose values are not defined (zeros here)."""
    from .shape import as_strided

    last = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 if 0 not in tuple(size) else 0
    return _finish(as_strided(zeros(last, dtype=dtype, device=device), size, stride, 0), requires_grad)


# like another tensor ------------------------------------------------------------------------------
def _new(input, shape, value, dtype, device, requires_grad):
    t = input.type
    return _constant(shape, value, dtype or t.dtype, device or t.device, requires_grad)


def new_zeros(input, *size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Returns zeros of the given size in input's dtype."""
    return _new(input, _shape(size), 0, dtype, device, requires_grad)


def new_ones(input, *size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Returns ones of the given size in input's dtype."""
    return _new(input, _shape(size), 1, dtype, device, requires_grad)


def new_empty(input, *size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Returns a tensor of the given size in input's dtype whose values are not defined (zeros here)."""
    return _new(input, _shape(size), 0, dtype, device, requires_grad)


def new_full(input, size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=False,
             requires_grad=False):
    """Returns a tensor of the given size in input's dtype filled with a number."""
    return _new(input, _shape((size,)), fill_value, dtype, device, requires_grad)


def new(input, *args, device=None):
    """Returns a tensor of input's dtype: of a size, or with a copy of data (Tensor.new, the older form)."""
    if not args:
        return _new(input, (0,), 0, None, device, False)
    if len(args) == 1 and not isinstance(args[0], (int, Size_)):
        return tensor(args[0], dtype=input.type.dtype, device=device)
    return _new(input, _shape(args), 0, None, device, False)


def new_tensor(input, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Returns a new tensor with a copy of `data` in input's dtype."""
    return tensor(data, dtype=dtype or input.type.dtype, device=device, requires_grad=requires_grad)


def legacy_tensor(*args, **kwargs) -> Tensor:
    """What `torch.Tensor(...)` makes: a size gives undefined values, data gives floats."""
    kwargs.pop("device", None)
    if not args:
        return zeros(0)
    if all(isinstance(a, int) for a in args):
        return empty(*args)
    (data,) = args
    if isinstance(data, Tensor):
        return data.detach()
    if isinstance(data, Size_):
        return empty(data)
    return tensor(data, dtype=defaults.dtype)


from ..tensor import Size as Size_  # noqa: E402

