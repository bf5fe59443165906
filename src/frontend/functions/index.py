"""Indexing: `x[key]` and `x[key] = value` with ints, slices, None, Ellipsis, masks and index tensors.

A key is taken apart into a basic part, which is a view, and index tensors, which gather from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral

import numpy as np

from ...ir import dtype as dt
from ...ir.arith import broadcast_shape, cast, expand_to, is_number
from ...ir.ops import ge, index as index_row, index_add, index_set, permute, reshape, slice as slice_row, where
from ...ir.ops.movement import inverse
from ..mutation import assign
from ..tensor import Tensor
from .create import as_tensor, tensor


@dataclass(slots=True)
class Plan:
    """A key against one shape: spans per input dim, the shape after them, index tensors by its dims."""

    starts: list = field(default_factory=list)
    stops: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    shape: list = field(default_factory=list)
    tensors: dict = field(default_factory=dict)


def _items(key) -> list:
    if isinstance(key, list) and any(isinstance(k, (slice, type(None), type(Ellipsis))) for k in key):
        key = tuple(key)
    items = list(key) if isinstance(key, tuple) else [key]
    return [_as_index(k) for k in items]


def _as_index(k):
    if isinstance(k, (list, np.ndarray, range)) or (isinstance(k, tuple)):
        t = as_tensor(k) if isinstance(k, np.ndarray) else tensor(list(k))
        return cast(t, dt.int64) if t.type.numel == 0 and t.type.dtype.kind == "f" else t
    if isinstance(k, np.bool_):
        return bool(k)
    return k


def _consumed(k) -> int:
    """How many dims of the input an item takes."""
    if k is None or isinstance(k, bool):
        return 0
    if isinstance(k, Tensor) and k.type.dtype.kind in "bu" and (k.type.dtype is dt.bool_ or k.type.ndim):
        return k.type.ndim if k.type.dtype in (dt.bool_, dt.uint8) else 1
    return 1


def plan(key, shape) -> Plan:
    """The key taken apart; IndexError in torch's words for what does not fit."""
    items = _items(key)
    if sum(k is Ellipsis for k in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(_consumed(k) for k in items if k is not Ellipsis)
    if used > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    out, dim = Plan(), 0
    for k in items:
        if k is Ellipsis:
            dim = _keep(out, shape, dim, len(shape) - used)
        else:
            dim = _take(out, k, shape, dim)
    _keep(out, shape, dim, len(shape) - dim)
    return out


def _keep(out: Plan, shape, dim: int, count: int) -> int:
    for d in range(dim, dim + count):
        _span(out, 0, shape[d], 1, shape[d])
    return dim + count


def _span(out: Plan, start, stop, step, size) -> None:
    out.starts.append(start)
    out.stops.append(stop)
    out.steps.append(step)
    if size is not None:
        out.shape.append(size)


def _take(out: Plan, k, shape, dim: int) -> int:
    if k is None:
        out.shape.append(1)
        return dim
    if isinstance(k, bool):
        out.tensors[len(out.shape)] = tensor([0] if k else [], dtype=dt.int64)
        out.shape.append(1)
        return dim
    if isinstance(k, slice):
        return _take_slice(out, k, shape, dim)
    if isinstance(k, Tensor):
        return _take_tensor(out, k, shape, dim)
    if not isinstance(k, Integral) and not hasattr(k, "__index__"):
        raise TypeError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
                        f"valid indices (got {type(k).__name__})")
    i, n = k.__index__(), shape[dim]
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {n}")
    i %= n
    _span(out, i, i + 1, 1, None)
    return dim + 1


def _take_slice(out: Plan, k: slice, shape, dim: int) -> int:
    n = shape[dim]
    bounds = [None if v is None else int(v) for v in (k.start, k.stop, k.step)]
    if bounds[2] is not None and bounds[2] <= 0:
        raise ValueError("step must be greater than zero")
    start, stop, step = slice(*bounds).indices(n)
    stop = max(start, stop)
    _span(out, start, stop, step, -(-(stop - start) // step))
    return dim + 1


def _take_tensor(out: Plan, k: Tensor, shape, dim: int) -> int:
    if k.type.dtype in (dt.bool_, dt.uint8):
        return _take_mask(out, k, shape, dim)
    if k.type.dtype not in (dt.int64, dt.int32, dt.int16, dt.int8):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    n = shape[dim]
    k = cast(k, dt.int64)
    out.tensors[len(out.shape)] = where(ge(k, 0), k, k + n)
    _span(out, 0, n, 1, n)
    return dim + 1


def _take_mask(out: Plan, k: Tensor, shape, dim: int) -> int:
    from ..tensor import from_array

    ndim = k.type.ndim
    if ndim == 0:
        return _take(out, bool(k), shape, dim)
    for d in range(ndim):
        if k.type.shape[d] != shape[dim + d]:
            raise IndexError(f"The shape of the mask {list(k.type.shape)} at index {d} does not match the shape "
                             f"of the indexed tensor {list(shape)} at index {dim + d}")
    for d, places in enumerate(np.nonzero(k.nd)):  # a read of data
        out.tensors[len(out.shape)] = from_array(places)
        _span(out, 0, shape[dim + d], 1, shape[dim + d])
    return dim + ndim


def basic(x, p: Plan):
    """The view of x that the basic part of a key names."""
    shape = x.type.shape
    if tuple(p.stops) != shape or any(p.starts) or any(s != 1 for s in p.steps):
        x = slice_row(x, starts=tuple(p.starts), stops=tuple(p.stops), steps=tuple(p.steps))
    elif tuple(p.shape) == shape:
        return reshape(x, shape=shape)  # `x[...]` and `x[:]` are new views
    return x if x.type.shape == tuple(p.shape) else reshape(x, shape=tuple(p.shape))


def _order(p: Plan) -> tuple[list[int], tuple[int, ...]]:
    """The dims with index tensors, and the order that brings them to the front."""
    dims = sorted(p.tensors)
    return dims, (*dims, *(d for d in range(len(p.shape)) if d not in p.tensors))


def _indices(p: Plan) -> tuple[list, tuple[int, ...]]:
    dims = sorted(p.tensors)
    try:
        common = broadcast_shape(*[p.tensors[d].type.shape for d in dims])
    except RuntimeError:
        shapes = ", ".join(str(list(p.tensors[d].type.shape)) for d in dims)
        raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                         + shapes) from None
    return [expand_to(p.tensors[d], common) for d in dims], common


def _home(p: Plan, width: int) -> tuple[int, ...] | None:
    """The order that puts the index dims where the indexed dims were (adjacent ones), or None."""
    dims = sorted(p.tensors)
    first = dims[0]
    if dims != list(range(first, first + len(dims))) or first == 0:
        return None
    rest = len(p.shape) - len(dims)
    return (*range(width, width + first), *range(width), *range(width + first, width + rest))


def getitem(x: Tensor, key) -> Tensor:
    """x[key]: a view where the key has no index tensors, else a gather."""
    p = plan(key, x.type.shape)
    view = basic(x, p)
    if not p.tensors:
        return view
    _, order = _order(p)
    places, common = _indices(p)
    front = view if order == tuple(range(len(order))) else permute(view, dims=order)
    out = index_row(front, *places)
    home = _home(p, len(common))
    return out if home is None else _contiguous(permute(out, dims=home))


def _contiguous(x):
    from ...ir.ops import copy

    return copy(x)


def _value(value, x: Tensor, shape):
    """`value` as a tensor of x's dtype broadcast to `shape` (leading ones may be dropped)."""
    if not isinstance(value, Tensor):
        value = as_tensor(value) if isinstance(value, np.ndarray) else (
            tensor(value, dtype=x.type.dtype))
    value = cast(value, x.type.dtype)
    have = value.type.shape
    while len(have) > len(shape) and have[0] == 1:
        have = have[1:]
    if have != value.type.shape:
        value = reshape(value, shape=have)
    try:
        fits = broadcast_shape(have, tuple(shape)) == tuple(shape)
    except RuntimeError:
        fits = False
    if not fits:
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing "
                           f"result of shape {list(shape)}")
    return expand_to(value, tuple(shape))


def setitem(x: Tensor, key, value) -> None:
    """x[key] = value, in place."""
    if _is_mask(key, x) and (is_number(value) or (isinstance(value, Tensor) and value.type.ndim == 0)):
        _fill_masked(x, key, value)
        return
    write(x, key, value, index_set)


def _is_mask(key, x) -> bool:
    return isinstance(key, Tensor) and key.type.dtype is dt.bool_ and (
        key.type.ndim > 0 and key.type.shape == x.type.shape[: key.type.ndim])


def _fill_masked(x: Tensor, mask: Tensor, value) -> None:
    """A mask with one value needs no read of the mask."""
    shape = x.type.shape
    mask = expand_to(reshape(mask, shape=mask.type.shape + (1,) * (len(shape) - mask.type.ndim)), shape)
    assign(x, where(mask, _value(value, x, shape), x))


def write(x: Tensor, key, value, row) -> Tensor:
    """Writes value at the places of `key` by a scatter row (index_set or index_add)."""
    p = plan(key, x.type.shape)
    view = basic(x, p)
    if not p.tensors:
        if row is index_add:
            return assign(view, view + _value(value, x, view.type.shape))
        return assign(view, _value(value, x, view.type.shape))
    _, order = _order(p)
    places, common = _indices(p)
    front = permute(view, dims=order)
    home = _home(p, len(common))
    shape = common + front.type.shape[len(places):]
    if home is None:
        value = _value(value, x, shape)
    else:
        value = permute(_value(value, x, [shape[d] for d in home]), dims=inverse(home))
    return assign(view, permute(row(front, value, *places), dims=inverse(order)))


def index_put_(self: Tensor, indices, values, accumulate: bool = False) -> Tensor:
    """Writes (or with accumulate adds) `values` at the places of a tuple of index tensors; returns self."""
    write(self, tuple(indices), values, index_add if accumulate else index_set)
    return self


def index_put(input: Tensor, indices, values, accumulate: bool = False) -> Tensor:
    """Returns a copy of input with `values` at the places of a tuple of index tensors."""
    return index_put_(input.clone(), indices, values, accumulate)
