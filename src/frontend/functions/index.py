"""x[key] and x[key] = value, with torch's rules: ints, slices, None, ..., masks, index tensors, mixed."""

from __future__ import annotations

import numpy as np

from ...ir import dtype as dt
from ...ir import ops
from ...ir.arith import broadcast_shape, cast, expand_to, is_number
from ...ir.ops.gather import check_range
from ..interpreter import current
from ..mutation import assign, check_writable
from ..tape import modes
from ..tensor import Tensor
from .create import tensor
from .select import filled, wrapped

_KINDS = ("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
          "(got {})")


def _as_index(k):
    """One entry of a key: int, slice, None, Ellipsis, bool, or an index tensor."""
    if k is None or k is Ellipsis or isinstance(k, (bool, int, slice)):
        return k
    if isinstance(k, np.generic):
        return k.item() if k.dtype.kind in "bui" else _refuse(k)
    if isinstance(k, Tensor):
        return _as_tensor_index(k)
    if isinstance(k, (list, tuple, range, np.ndarray)):
        made = tensor(k if isinstance(k, np.ndarray) else list(k))
        if not isinstance(k, np.ndarray) and not made.type.numel:
            made = cast(made, dt.int64)
        return _as_index(made)
    if hasattr(k, "__index__"):
        return k.__index__()
    return _refuse(k)


def _refuse(k):
    if isinstance(k, str):
        raise TypeError(f"new(): invalid data type 'str' of the index {k!r}")
    raise IndexError(_KINDS.format(type(k).__name__))


def _as_tensor_index(k: Tensor):
    if k.type.dtype.kind not in "bui":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if k.type.ndim == 0 and k.type.dtype.kind == "b":
        return bool(k)
    return cast(k, dt.bool_) if k.type.dtype is dt.uint8 else k


def _takes(k) -> int:
    """How many dims of x an entry uses."""
    if k is None or k is Ellipsis or isinstance(k, bool):
        return 0
    return k.type.ndim if isinstance(k, Tensor) and k.type.dtype.kind == "b" else 1


def _entries(key, ndim: int) -> list:
    """The key's entries with the ellipsis written out as slices and missing dims added."""
    parts = [_as_index(k) for k in (key if isinstance(key, tuple) else (key,))]
    used = sum(map(_takes, parts))
    if used > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    rest = [slice(None)] * (ndim - used)
    where = next((i for i, k in enumerate(parts) if k is Ellipsis), None)
    if where is None:
        return parts + rest
    return parts[:where] + rest + [k for k in parts[where + 1:] if k is not Ellipsis]  # a second one adds nothing


def _place(k: int, n: int, dim: int) -> int:
    if not -n <= k < n:
        raise IndexError(f"index {k} is out of bounds for dimension {dim} with size {n}")
    return k + n if k < 0 else k


def _span(k: slice, n: int) -> tuple[int, int, int]:
    step = 1 if k.step is None else k.step.__index__()
    if step <= 0:
        raise ValueError("step must be greater than zero")
    start, stop, _ = slice(*(v if v is None else v.__index__() for v in (k.start, k.stop)), step).indices(n)
    return start, max(start, stop), step


def _basic(x, entries):
    """(view by ints, slices and None; advanced entries as (dim of the view, index tensor))."""
    shape = x.type.shape
    starts, stops, steps, kept, advanced = [], [], [], [], []
    dim = 0
    for k in entries:
        if k is None:
            kept.append(1)
        elif isinstance(k, bool):
            advanced.append((len(kept), tensor([k])))
            kept.append(1)
        elif isinstance(k, Tensor):
            width = _takes(k)
            advanced.append((len(kept), k))
            for n in shape[dim:dim + width]:
                starts.append(0), stops.append(n), steps.append(1), kept.append(n)
            dim += width
        else:
            n = shape[dim]
            if isinstance(k, slice):
                span = _span(k, n)
                kept.append(max(0, -(-(span[1] - span[0]) // span[2])))
            else:
                at = _place(k, n, dim)
                span = (at, at + 1, 1)
            starts.append(span[0]), stops.append(span[1]), steps.append(span[2])
            dim += 1
    return _viewed(x, starts, stops, steps, tuple(kept)), advanced


def _viewed(x, starts, stops, steps, kept):
    shape = x.type.shape
    if any(starts) or tuple(stops) != shape or any(s != 1 for s in steps):
        x = ops.slice(x, starts=tuple(starts), stops=tuple(stops), steps=tuple(steps))
    return ops.reshape(x, shape=kept) if x.type.shape != kept else x


def _mask_columns(mask, view, dim):
    """A mask as index tensors, one for each of its dims (a read of data)."""
    shape = view.type.shape[dim:dim + mask.type.ndim]
    if mask.type.shape != shape:
        bad = next(i for i, (a, b) in enumerate(zip(mask.type.shape, shape, strict=True)) if a != b)
        raise IndexError(f"The shape of the mask {list(mask.type.shape)} at index {bad} does not match the shape of "
                         f"the indexed tensor {list(view.type.shape)} at index {dim + bad}")
    from .search import nonzero

    return nonzero(mask, as_tuple=True)


def _positive(index, n: int):
    """An index tensor as int64 without negatives; the check of its range is the row's."""
    index = cast(index, dt.int64)
    if current.recorder is None and isinstance(index, Tensor):
        array = index.nd
        if array.size == 0 or array.min() >= 0:
            return index
    return wrapped(index, n)


def _columns(view, advanced):
    """(dims, index tensors of one shape) of the advanced entries."""
    dims, columns = [], []
    for dim, k in advanced:
        parts = _mask_columns(k, view, dim) if k.type.dtype.kind == "b" else (k,)
        for offset, part in enumerate(parts):
            dims.append(dim + offset)
            columns.append(_positive(part, view.type.shape[dim + offset]))
    try:
        shape = broadcast_shape(*[c.type.shape for c in columns])
    except RuntimeError:
        raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                         + ", ".join(str(list(c.type.shape)) for c in columns)) from None
    return dims, [expand_to(c, shape) for c in columns], shape


def _aligned(view, dims, columns, shape):
    """(view, index operands) for the index rows: adjacent dims stay in place, others move to the front."""
    first, n = dims[0], len(dims)
    if dims != list(range(first, first + n)):
        rest = [d for d in range(view.type.ndim) if d not in dims]
        return ops.permute(view, dims=(*dims, *rest)), columns
    if first == 0:
        return view, columns
    lead = view.type.shape[:first]
    whole = (*lead, *shape)
    lines = []
    for i, size in enumerate(lead):
        line = ops.iota(size=size, dtype=dt.int64, device=view.type.device)
        lines.append(ops.expand(ops.reshape(line, shape=(1,) * i + (size,) + (1,) * (len(whole) - i - 1)),
                                shape=whole))
    return view, [*lines, *[expand_to(c, whole) for c in columns]]


def getitem(x, key):
    """Returns x[key]: a view for ints, slices, None and ...; a copy where masks or index tensors take part.

    IndexError for a place out of range, too many indices, or a key of a wrong kind.

    >>> import treadle
    >>> x = treadle.arange(6).reshape(2, 3)
    >>> getitem(x, (slice(None), 1)), getitem(x, x > 3)
    (tensor([1, 4]), tensor([4, 5]))
    """
    if x.type.ndim == 0 and isinstance(key, (int, slice)) and not isinstance(key, bool):
        raise _zero_dim(key)
    view, advanced = _basic(x, _entries(key, x.type.ndim))
    if not advanced:
        return ops.reshape(x, shape=x.type.shape) if view is x else view
    aligned, columns = _aligned(view, *_columns(view, advanced))
    return ops.index(aligned, *columns)


def _zero_dim(key):
    if isinstance(key, slice):
        return IndexError("slice() cannot be applied to a 0-dim tensor.")
    return IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in "
                      "C++ to convert a 0-dim tensor to a number")


def _operand(value, dtype):
    """The value of an assignment as a tensor in the target's dtype, or a number."""
    if is_number(value):
        if isinstance(value, complex) and dtype.kind != "c":
            raise RuntimeError("value cannot be converted to type without overflow")
        return value
    if not hasattr(value, "type"):
        raise TypeError(f"can't assign a {type(value).__name__} to a torch.{dtype.scalar_name}Tensor")
    return cast(value, dtype)


def _fitted(value, type):
    """value expanded to type's shape; extra leading dims of size 1 are dropped."""
    if is_number(value):
        return filled(value, type)
    have = value.type.shape
    extra = len(have) - type.ndim
    if extra > 0 and all(n == 1 for n in have[:extra]):
        value = ops.reshape(value, shape=have[extra:])
    fits = value.type.ndim <= type.ndim and all(
        a in (1, b) for a, b in zip(value.type.shape[::-1], type.shape[::-1], strict=False))
    if not fits:
        raise RuntimeError(_mismatch(value.type.shape, type.shape))
    return expand_to(value, type.shape)


def _mismatch(have, want):
    if len(have) > len(want):
        return f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing result of " \
               f"shape {list(want)}"
    pairs = list(zip(have[::-1], want[::-1], strict=False))
    bad = next(i for i, (a, b) in enumerate(pairs) if a not in (1, b))
    return (f"The expanded size of the tensor ({pairs[bad][1]}) must match the existing size ({pairs[bad][0]}) at "
            f"non-singleton dimension {len(want) - 1 - bad}.  Target sizes: {list(want)}.  Tensor sizes: "
            f"{list(have)}")


def setitem(x, key, value) -> None:
    """Writes value, broadcast and cast to x's dtype, to x[key] in place."""
    if x.type.ndim == 0 and isinstance(key, (int, slice)) and not isinstance(key, bool):
        raise _zero_dim(key)
    value = _operand(value, x.type.dtype)
    view, advanced = _basic(x, _entries(key, x.type.ndim))
    if not advanced:
        assign(view, _fitted(value, view.type))
        return
    if _is_fill(advanced, value):
        _fill(view, *advanced[0], value)
        return
    aligned, columns = _aligned(view, *_columns(view, advanced))
    _write(ops.index_set, aligned, columns, value)


def _is_fill(advanced, value) -> bool:
    """Whether one number goes to where one mask holds: a select, without a read of the mask."""
    mask = advanced[0][1]
    return len(advanced) == 1 and mask.type.dtype.kind == "b" and (is_number(value) or value.type.numel == 1)


def _fill(view, dim, mask, value):
    t = view.type
    if mask.type.shape != t.shape[dim:dim + mask.type.ndim]:
        _mask_columns(mask, view, dim)  # raises
    whole = ops.reshape(mask, shape=(1,) * dim + mask.type.shape + (1,) * (t.ndim - dim - mask.type.ndim))
    if not is_number(value):
        value = ops.reshape(value, shape=())
    assign(view, ops.where(expand_to(whole, t.shape), filled(value, t), view))


def _write(row, target, columns, value):
    shape = columns[0].type.shape + target.type.shape[len(columns):]
    value = _fitted(value, target.type.with_shape(shape))
    if row is ops.index_set and current.recorder is None and not (
            modes.grad and (target.requires_grad or value.requires_grad)):
        _write_now(target, columns, value)
    else:
        assign(target, row(target, value, *columns))


def _write_now(target, columns, value):
    """The write alone, where nothing needs the tensor's former value."""
    array = target.nd
    places = tuple(c.nd for c in columns)
    for d, place in enumerate(places):
        check_range(place, array.shape[d], d)
    check_writable(target, target)
    array[places] = value.nd
    target.storage.version += 1


def _put_target(x, indices):
    view, advanced = _basic(x, _entries(tuple(indices), x.type.ndim))
    return _aligned(view, *_columns(view, advanced))


def index_put_(input, indices, values, accumulate: bool = False):
    """Writes (or adds) values at the places given by a tuple of index tensors, in place; returns input."""
    target, columns = _put_target(input, indices)
    _write(ops.index_add if accumulate else ops.index_set, target, columns, _operand(values, input.type.dtype))
    return input


def index_put(input, indices, values, accumulate: bool = False):
    """Returns a copy of input with values written (or added) at the places given by index tensors."""
    return index_put_(ops.copy(input), indices, values, accumulate)
