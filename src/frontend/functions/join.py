"""Joining and cutting: cat, stack, split, chunk, repeat, and the like."""

from __future__ import annotations

from math import prod

from ...ir import ops
from ...ir.arith import cast, expand_to
from ...ir.dtype import promote_types
from ...ir.ops.movement import narrow as narrow_row
from .shape import unsqueeze
from .support import as_int, give, one_dim, sizes, tensor_list


def cat(tensors, dim: int = 0, *, out=None, axis=None):
    """Returns the tensors joined along one dim; dtypes are promoted.

    >>> import treadle
    >>> cat([treadle.zeros(1, 2), treadle.ones(1, 2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
    parts = tensor_list("cat", tensors)
    if not parts:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(parts):
        if t.type.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    dtype = parts[0].type.dtype
    for t in parts[1:]:
        dtype = promote_types(dtype, t.type.dtype)
    kept = [t for t in parts if t.type.shape != (0,)] or parts[:1]  # an empty 1-d tensor joins with any
    d = one_dim(dim if axis is None else axis, kept[0].type.ndim)
    _check_cat(kept, d)
    if len(kept) == 1:
        return give(ops.copy(cast(kept[0], dtype)), out)
    return give(ops.cat(*[cast(t, dtype) for t in kept], dim=d), out)


def _check_cat(parts, dim):
    first = parts[0].type.shape
    for i, t in enumerate(parts[1:], 1):
        shape = t.type.shape
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for d, (a, b) in enumerate(zip(first, shape, strict=True)):
            if d != dim and a != b:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but "
                                   f"got size {b} for tensor number {i} in the list.")


concat = concatenate = cat


def stack(tensors, dim: int = 0, *, out=None, axis=None):
    """Returns tensors of one shape joined along a new dim.

    >>> import treadle
    >>> stack([treadle.tensor([1, 2]), treadle.tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    parts = tensor_list("stack", tensors)
    if not parts:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = parts[0].type.shape
    for i, t in enumerate(parts):
        if t.type.shape != first:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                               f"{list(t.type.shape)} at entry {i}")
    d = one_dim(dim if axis is None else axis, len(first) + 1)
    return cat([unsqueeze(t, d) for t in parts], d, out=out)


def _at_least(tensors, make):
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    made = tuple(map(make, tensors))
    return made[0] if len(made) == 1 else made


def _one(t):
    return ops.reshape(t, shape=(1,)) if t.type.ndim == 0 else t


def _two(t):
    return ops.reshape(t, shape=(1, t.type.numel)) if t.type.ndim < 2 else t


def _three(t):
    return t if t.type.ndim > 2 else unsqueeze(_two(t), -1)


def atleast_1d(*tensors):
    """Returns each tensor with one dim at least."""
    return _at_least(tensors, _one)


def atleast_2d(*tensors):
    """Returns each tensor with two dims at least."""
    return _at_least(tensors, _two)


def atleast_3d(*tensors):
    """Returns each tensor with three dims at least."""
    return _at_least(tensors, _three)


def hstack(tensors, *, out=None):
    """Returns tensors joined along dim 1 (dim 0 if they are 1-d)."""
    parts = [_one(t) for t in tensor_list("hstack", tensors)]
    return cat(parts, 0 if parts and parts[0].type.ndim == 1 else 1, out=out)


def vstack(tensors, *, out=None):
    """Returns tensors joined along dim 0, 1-d ones as rows."""
    return cat([_two(t) for t in tensor_list("vstack", tensors)], 0, out=out)


def dstack(tensors, *, out=None):
    """Returns tensors joined along dim 2."""
    return cat([_three(t) for t in tensor_list("dstack", tensors)], 2, out=out)


def column_stack(tensors, *, out=None):
    """Returns tensors joined along dim 1, 1-d ones as columns."""
    columns = [ops.reshape(t, shape=(t.type.numel, 1)) if t.type.ndim < 2 else t for t in tensors]
    return cat(columns, 1, out=out)


row_stack = vstack


# cutting ------------------------------------------------------------------------------------------
def narrow(input, dim: int, start, length: int):
    """Returns a view of elements start..start+length of one dim.

    >>> import treadle
    >>> narrow(treadle.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    shape = input.type.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    d, start = one_dim(dim, len(shape)), as_int(start)
    size = shape[d]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return narrow_row(input, d, start, length)


def select(input, dim: int, index: int):
    """Returns a view of one place of a dim, without that dim.

    >>> import treadle
    >>> select(treadle.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    shape = input.type.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d, i = one_dim(dim, len(shape)), as_int(index)
    if not -shape[d] <= i < shape[d]:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(shape)} at dimension {dim}")
    part = narrow_row(input, d, i + shape[d] if i < 0 else i, 1)
    return ops.reshape(part, shape=(*shape[:d], *shape[d + 1:]))


def split(tensor, split_size_or_sections, dim: int = 0):
    """Returns views of pieces of the given size (the last may be smaller) or sizes.

    >>> import treadle
    >>> split(treadle.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    shape = tensor.type.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = one_dim(dim, len(shape))
    size = shape[d]
    if isinstance(split_size_or_sections, (tuple, list)):
        parts = tuple(map(as_int, split_size_or_sections))
        if sum(parts) != size:
            raise RuntimeError("split_with_sizes expects split_sizes to sum exactly to "
                               f"{size} (input tensor's size at dimension {dim}), but got split_sizes="
                               f"{list(parts)}")
    else:
        step = as_int(split_size_or_sections)
        if step < 0 or (step == 0 and size):
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
        parts = (step,) * (size // step) + ((size % step,) if size % step else ()) if size else (0,)
    return _cut(tensor, parts, d)


def _cut(x, parts, dim):
    out, start = [], 0
    for n in parts:
        out.append(narrow_row(x, dim, start, n))
        start += n
    return tuple(out)


def split_with_sizes(input, split_sizes, dim: int = 0):
    """Returns views of pieces of the given sizes."""
    return split(input, list(split_sizes), dim)


def chunk(input, chunks: int, dim: int = 0):
    """Returns views of at most `chunks` equal pieces (the last may be smaller).

    >>> import treadle
    >>> chunk(treadle.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if not input.type.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input.type.shape[one_dim(dim, input.type.ndim)]
    if size == 0:
        return split(input, [0] * chunks, dim)
    return split(input, -(-size // chunks), dim)


def tensor_split(input, indices_or_sections, dim: int = 0):
    """Returns views cut in n pieces as equal as possible, or before the given places."""
    if not input.type.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = one_dim(dim, input.type.ndim)
    size = input.type.shape[d]
    where = indices_or_sections
    if hasattr(where, "tolist"):
        where = where.tolist()
    if isinstance(where, int):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        short, more = divmod(size, where)
        return _cut(input, [short + (i < more) for i in range(where)], d)
    cuts = [min(max(c + size if c < 0 else c, 0), size) for c in where]
    edges = [0, *cuts, size]
    return tuple(narrow_row(input, d, a, max(0, b - a)) for a, b in zip(edges, edges[1:], strict=False))


def hsplit(input, indices_or_sections):
    """Returns input cut along dim 1 (dim 0 if it is 1-d)."""
    return tensor_split(input, indices_or_sections, 0 if input.type.ndim == 1 else 1)


def vsplit(input, indices_or_sections):
    """Returns input cut along dim 0."""
    return tensor_split(input, indices_or_sections, 0)


def dsplit(input, indices_or_sections):
    """Returns input cut along dim 2."""
    return tensor_split(input, indices_or_sections, 2)


def unbind(input, dim: int = 0):
    """Returns views of each place of one dim, without that dim.

    >>> import treadle
    >>> unbind(treadle.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    if not input.type.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = one_dim(dim, input.type.ndim)
    return tuple(select(input, d, i) for i in range(input.type.shape[d]))


# repeating ----------------------------------------------------------------------------------------
def repeat(input, *repeats):
    """Returns a copy repeated the given number of times along each dim.

    >>> import treadle
    >>> repeat(treadle.tensor([1, 2]), 2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    times, shape = sizes(repeats), input.type.shape
    if len(times) < len(shape):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of "
                           "tensor")
    if any(n < 0 for n in times):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(times)}")
    shape = (1,) * (len(times) - len(shape)) + shape
    inner = tuple(v for n in shape for v in (1, n))
    outer = tuple(v for t, n in zip(times, shape, strict=True) for v in (t, n))
    spread = ops.expand(ops.reshape(input, shape=inner), shape=outer)
    return ops.reshape(ops.copy(spread), shape=tuple(t * n for t, n in zip(times, shape, strict=True)))


def tile(input, *dims):
    """Returns a copy repeated along each dim; missing repeats are 1."""
    times = sizes(dims)
    return repeat(input, (1,) * (input.type.ndim - len(times)) + times)


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Returns each element repeated in place: n times, or as often as `repeats` says.

    >>> import treadle
    >>> repeat_interleave(treadle.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    from .search import repeats_index
    from .select import index_select

    if repeats is None:
        return repeats_index(input)
    if dim is None:
        input, dim = ops.reshape(input, shape=(input.type.numel,)), 0
    d = one_dim(dim, input.type.ndim)
    if hasattr(repeats, "type") and repeats.type.numel == 1:
        repeats = int(repeats)
    if isinstance(repeats, int):
        shape = input.type.shape
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        wide = (*shape[:d + 1], repeats, *shape[d + 1:])
        spread = ops.expand(ops.reshape(input, shape=(*shape[:d + 1], 1, *shape[d + 1:])), shape=wide)
        return ops.reshape(ops.copy(spread), shape=(*shape[:d], shape[d] * repeats, *shape[d + 1:]))
    if not hasattr(repeats, "type"):
        from .create import tensor

        repeats = tensor(list(repeats))
    if repeats.type.numel != input.type.shape[d]:
        raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{repeats.type.numel} and input.size({d}) = {input.type.shape[d]}")
    return index_select(input, d, repeats_index(repeats))


def roll(input, shifts, dims=None):
    """Returns input with elements moved along dims, those pushed off the end coming back at the start.

    >>> import treadle
    >>> roll(treadle.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    if dims is None:
        flat = ops.reshape(input, shape=(input.type.numel,))
        return ops.reshape(roll(flat, shifts, 0), shape=input.type.shape)
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    x = input
    for shift, dim in zip(shifts, dims, strict=True):
        d = one_dim(dim, x.type.ndim)
        n = x.type.shape[d]
        k = shift % n if n else 0
        if k:
            x = ops.cat(narrow_row(x, d, n - k, k), narrow_row(x, d, 0, n - k), dim=d)
    return x if x is not input else ops.copy(input)


def flip(input, *dims):
    """Returns input reversed along the given dims.

    >>> import treadle
    >>> flip(treadle.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    chosen = tuple(sorted(one_dim(d, input.type.ndim) for d in sizes(dims)))
    if len(set(chosen)) != len(chosen):
        raise RuntimeError("dim appears multiple times in the list of dims")
    return ops.flip(input, dims=chosen)


def fliplr(input):
    """Returns input reversed along dim 1."""
    return flip(input, 1)


def flipud(input):
    """Returns input reversed along dim 0."""
    return flip(input, 0)


def rot90(input, k: int = 1, dims=(0, 1)):
    """Returns input turned by k quarter turns in the plane of two dims."""
    from .shape import transpose

    a, b = dims
    k %= 4
    if k == 2:
        return flip(input, a, b)
    if k == 0:
        return ops.copy(input)
    return flip(transpose(input, a, b), a if k == 1 else b)


def meshgrid(*tensors, indexing: str | None = None):
    """Returns the coordinate grids of 1-d tensors ('ij' or 'xy' order of the first two dims).

    >>> import treadle
    >>> a, b = meshgrid(treadle.tensor([1, 2]), treadle.tensor([3, 4, 5]), indexing='ij')
    >>> a
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swap = indexing == "xy" and len(tensors) > 1
    order = (tensors[1], tensors[0], *tensors[2:]) if swap else tensors
    shape = tuple(t.type.numel for t in order)
    grids = [expand_to(ops.reshape(t, shape=(1,) * i + (t.type.numel,) + (1,) * (len(order) - i - 1)), shape)
             for i, t in enumerate(order)]
    return (grids[1], grids[0], *grids[2:]) if swap else tuple(grids)


def cartesian_prod(*tensors):
    """Returns the rows of the product of 1-d tensors."""
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(*tensors, indexing="ij")
    return stack([ops.reshape(g, shape=(g.type.numel,)) for g in grids], 1)


def block_diag(*tensors):
    """Returns the tensors as blocks along the diagonal of one matrix."""
    parts = [_two(t) for t in tensors]
    dtype = parts[0].type.dtype
    for t in parts[1:]:
        dtype = promote_types(dtype, t.type.dtype)
    width, left, rows = sum(t.type.shape[1] for t in parts), 0, []
    for t in parts:
        n = t.type.shape[1]
        rows.append(ops.pad(cast(t, dtype), before=(0, left), after=(0, width - left - n), value=0))
        left += n
    return cat(rows, 0)


def numel_of(shape) -> int:
    return prod(shape)
