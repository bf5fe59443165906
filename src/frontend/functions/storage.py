"""Questions about memory: addresses, sizes, offsets; resizing."""

from __future__ import annotations

from math import prod

import numpy as np

from ..interpreter import current
from ..tensor import Tensor, from_array, rebinds
from .support import sizes


def data_ptr(input) -> int:
    """Returns the address of the first element."""
    return input.nd.__array_interface__["data"][0]


def storage_offset(input) -> int:
    """Returns the number of elements before the first one in the tensor's memory."""
    if input._root is None:
        return 0
    root, view = input._root.nd, input.nd
    if not view.size:
        return 0
    return (view.__array_interface__["data"][0] - root.__array_interface__["data"][0]) // view.itemsize


def element_size(input) -> int:
    """Returns the bytes of one element."""
    return input.type.dtype.itemsize


def numel(input) -> int:
    """Returns the number of elements."""
    return input.type.numel


def size(input, dim=None):
    """Returns the shape, or the size of one dim."""
    if dim is None:
        return input.shape
    from .support import one_dim

    if not input.type.ndim:
        one_dim(dim, 0)
    return input.type.shape[one_dim(dim, input.type.ndim)]


def dim(input) -> int:
    """Returns the number of dims."""
    return input.type.ndim


def resize(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Gives a tensor another shape in place; new elements are not defined (zeros here)."""
    if current.recorder is not None:
        current.recorder.leaves_graph("a tensor was resized")
    array = input.nd
    flat = np.zeros(prod(shape), array.dtype)
    n = min(flat.size, array.size)
    flat[:n] = array.reshape(-1)[:n]
    made = from_array(flat.reshape(shape), input.type.device)
    input.storage, input.type, input._nd = made.storage, made.type, made._nd
    input._root, input._chain = None, ()
    rebinds[0] += 1
    return input


def resize_(input, *shape, memory_format=None):
    """Resizes in place; returns input."""
    return resize(input, sizes(shape))


def resize_as_(input, the_template, memory_format=None):
    """Resizes in place to another tensor's shape; returns input."""
    return resize(input, the_template.type.shape)


def rebind(x: Tensor, view: Tensor) -> Tensor:
    """Makes x stand for `view`, a view of it, in place (squeeze_, transpose_, ...)."""
    if current.recorder is not None:
        current.recorder.flush("a tensor becomes another view of itself")
        _ = view.nd
        x._node = None
    x.type, x._nd, x._chain = view.type, view._nd, view._chain
    x._root = None if view._root is x else view._root
    if x._root is None:
        x._chain = ()
    x._fn, x._number, x._requires_grad = view._fn, view._number, view._requires_grad
    rebinds[0] += 1
    return x


def same_memory(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same view of the same memory."""
    return a.storage is b.storage and a._strides() == b._strides() and storage_offset(a) == storage_offset(b)
