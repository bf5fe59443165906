"""Shapes of tensors: views where torch gives views."""

from __future__ import annotations

from math import prod

from ...ir import ops
from ...ir.arith import expand_to
from ...ir.errors import normal_dim
from ...ir.type import contiguous_strides
from ..tensor import Tensor
from .support import all_dims, as_int, one_dim, sizes


def infer_size(shape, numel: int) -> tuple[int, ...]:
    """`shape` with its -1 filled in; RuntimeError in PyTorch's words if it does not fit."""
    if -1 not in shape:
        if prod(shape) != numel or any(n < 0 for n in shape):
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return shape
    at = shape.index(-1)
    rest = prod(n for i, n in enumerate(shape) if i != at)
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if rest == 0:
        if numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                           "unspecified dimension size -1 can be any value and is ambiguous")
    if numel % rest or rest < 0:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return (*shape[:at], numel // rest, *shape[at + 1:])


def reshape(input, *shape):
    """Returns the same elements in another shape, a view where that is possible; one size may be -1.

    >>> import treadle
    >>> reshape(treadle.arange(6), (2, -1))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    return ops.reshape(input, shape=infer_size(sizes(shape), input.type.numel))


def viewable(input: Tensor, shape) -> bool:
    """Whether `shape` is a view of input's memory: each run of new dims lies in one even run of old ones."""
    if input.is_contiguous() or input.type.numel == 0:
        return True
    runs = [(n, s) for n, s in zip(input.type.shape, input.stride(), strict=True) if n != 1]
    merged: list[list[int]] = []
    for n, s in runs:
        if merged and merged[-1][1] == n * s:
            merged[-1] = [merged[-1][0] * n, s]
        else:
            merged.append([n, s])
    wanted = [n for n in shape if n != 1]
    for size, _ in merged:
        got = 1
        while got < size and wanted:
            got *= wanted.pop(0)
        if got != size:
            return False
    return not wanted


def view(input, *shape):
    """Returns a view of the same elements in another shape, or of the same bytes in another dtype.

    RuntimeError where the memory's layout does not allow it.
    """
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list)) and hasattr(shape[0], "itemsize"):
        from .convert import view_dtype

        return view_dtype(input, shape[0])
    shape = infer_size(sizes(shape), input.type.numel)
    if isinstance(input, Tensor) and not viewable(input, shape):
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one "
                           "dimension spans across two contiguous subspaces). Use .reshape(...) instead.")
    return ops.reshape(input, shape=shape)


def view_as(input, other):
    """Returns input viewed in other's shape."""
    return view(input, other.type.shape)


def reshape_as(input, other):
    """Returns input in other's shape."""
    return ops.reshape(input, shape=infer_size(other.type.shape, input.type.numel))


def flatten(input, start_dim: int = 0, end_dim: int = -1):
    """Returns dims start_dim..end_dim merged into one.

    >>> import treadle
    >>> flatten(treadle.zeros(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    shape = input.type.shape
    start, end = one_dim(start_dim, len(shape)), one_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return ops.reshape(input, shape=(1,))
    if start == end:
        return input
    return ops.reshape(input, shape=(*shape[:start], prod(shape[start:end + 1]), *shape[end + 1:]))


def ravel(input):
    """Returns the elements in one dim."""
    return flatten(input)


def unflatten(input, dim, sizes):
    """Returns one dim split into several; one of them may be -1.

    >>> import treadle
    >>> unflatten(treadle.zeros(6), 0, (2, 3)).shape
    torch.Size([2, 3])
    """
    shape = input.type.shape
    d = one_dim(dim, len(shape))
    sizes = tuple(map(as_int, sizes))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inner = infer_size(sizes, shape[d])
    except RuntimeError:
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
                           f"({shape[d]}) in the input tensor") from None
    return ops.reshape(input, shape=(*shape[:d], *inner, *shape[d + 1:]))


def squeeze(input, dim=None):
    """Returns input without its dims of size 1, or without those named.

    >>> import treadle
    >>> squeeze(treadle.zeros(1, 2, 1)).shape, squeeze(treadle.zeros(1, 2, 1), 0).shape
    (torch.Size([2]), torch.Size([2, 1]))
    """
    shape = input.type.shape
    dims = range(len(shape)) if dim is None else all_dims(dim, len(shape)) if dim != () else ()
    kept = tuple(n for d, n in enumerate(shape) if n != 1 or d not in dims)
    return ops.reshape(input, shape=kept)


def unsqueeze(input, dim: int):
    """Returns input with a dim of size 1 put at `dim`.

    >>> import treadle
    >>> unsqueeze(treadle.zeros(3), 1).shape
    torch.Size([3, 1])
    """
    shape = input.type.shape
    d = normal_dim(dim, len(shape) + 1)
    return ops.reshape(input, shape=(*shape[:d], 1, *shape[d:]))


def permute(input, *dims):
    """Returns a view with the dims in the given order.

    >>> import treadle
    >>> permute(treadle.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    order = sizes(dims)
    n = input.type.ndim
    if len(order) != n:
        raise RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input does not match the "
                           f"length of the desired ordering of dimensions i.e. input.dim() = {n} is not equal "
                           f"to len(dims) = {len(order)}")
    order = tuple(normal_dim(d, n) for d in order)
    if len(set(order)) != n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return ops.permute(input, dims=order)


def transpose(input, dim0: int, dim1: int):
    """Returns a view with two dims exchanged.

    >>> import treadle
    >>> transpose(treadle.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
    n = input.type.ndim
    a, b = one_dim(dim0, n), one_dim(dim1, n)
    if n < 2:
        return ops.reshape(input, shape=input.type.shape)
    order = list(range(n))
    order[a], order[b] = b, a
    return ops.permute(input, dims=tuple(order))


def t(input):
    """Returns a matrix transposed; a tensor of fewer dims as it is."""
    if input.type.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.type.ndim}D")
    return transpose(input, 0, 1) if input.type.ndim == 2 else ops.reshape(input, shape=input.type.shape)


def mT(input):  # noqa: N802
    """Returns the matrices in the last two dims transposed."""
    if input.type.ndim < 2:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got "
                           f"{input.type.ndim}-D tensor.")
    return transpose(input, -2, -1)


def reversed_dims(input):
    """Returns a view with all dims in reverse order (Tensor.T)."""
    return ops.permute(input, dims=tuple(reversed(range(input.type.ndim))))


def movedim(input, source, destination):
    """Returns a view with dims `source` moved to places `destination`, the others in their order.

    >>> import treadle
    >>> movedim(treadle.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    n = input.type.ndim
    source = [source] if isinstance(source, int) else source
    destination = [destination] if isinstance(destination, int) else destination
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(source)} dims) should "
                           f"contain the same number of dims as destination ({list(destination)} dims)")
    src, dst = [normal_dim(d, n) for d in source], [normal_dim(d, n) for d in destination]
    if n == 0:
        return ops.reshape(input, shape=())
    if len(set(src)) != len(src) or len(set(dst)) != len(dst):
        raise RuntimeError(f"movedim: repeated dim in `source` ({list(source)}) or `destination`")
    order: list[int | None] = [None] * n
    for s, d in zip(src, dst, strict=True):
        order[d] = s
    rest = iter(d for d in range(n) if d not in src)
    return ops.permute(input, dims=tuple(next(rest) if d is None else d for d in order))


def expand(input, *size):
    """Returns a view with dims of size 1 repeated without a copy; -1 keeps a dim's size.

    >>> import treadle
    >>> expand(treadle.tensor([[1], [2]]), 2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    want, have = sizes(size), input.type.shape
    lead = len(want) - len(have)
    if lead < 0:
        raise RuntimeError(f"expand({input.type.dtype.name}{list(have)}, size={list(want)}): the number of sizes "
                           f"provided ({len(want)}) must be greater or equal to the number of dimensions in "
                           f"the tensor ({len(have)})")
    out = []
    for i, n in enumerate(want):
        old = have[i - lead] if i >= lead else 1
        if n == -1 and i < lead:
            raise RuntimeError(f"expand({input.type.dtype.name}{list(have)}, size={list(want)}): the expanded size "
                               f"of the tensor ({n}) isn't allowed in a leading, non-existing dimension {i}")
        if n != -1 and old not in (1, n):
            raise RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({old}) at "
                               f"non-singleton dimension {i}.  Target sizes: {list(want)}.  Tensor sizes: "
                               f"{list(have)}")
        out.append(old if n == -1 else n)
    return expand_to(input, tuple(out))


def expand_as(input, other):
    """Returns input expanded to other's shape."""
    return expand(input, other.type.shape)


def broadcast_to(input, size):
    """Returns input expanded to `size`."""
    return expand(input, size)


def broadcast_shapes(*shapes):
    """Returns the shape that the given shapes broadcast to."""
    from ...ir.arith import broadcast_shape
    from ..tensor import Size

    return Size(broadcast_shape(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


def broadcast_tensors(*tensors):
    """Returns the tensors expanded to their common shape."""
    from ...ir.arith import broadcast_shape

    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape = broadcast_shape(*[x.type.shape for x in tensors])
    return tuple(expand_to(x, shape) for x in tensors)


def diagonal(input, offset: int = 0, dim1: int = 0, dim2: int = 1):
    """Returns a view of the diagonal of dims dim1 and dim2, as the last dim.

    >>> import treadle
    >>> diagonal(treadle.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    n = input.type.ndim
    a, b = one_dim(dim1, n), one_dim(dim2, n)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return ops.diagonal(input, offset=offset, dim1=a, dim2=b)


def unfold(input, dimension: int, size: int, step: int):
    """Returns windows of `size` elements of one dim, `step` apart, as a new last dim.

    >>> import treadle
    >>> unfold(treadle.arange(5), 0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    n = input.type.ndim
    d = one_dim(dimension, n)
    length = input.type.shape[d] if n else 1
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    x = input if n else ops.reshape(input, shape=(1,))
    last = movedim(x, d, -1)
    out = ops.window(last, kernel=(size,), stride=(step,), dilation=(1,))
    return movedim(out, -2, d) if n else ops.reshape(out, shape=(size,))


def as_strided(input, size, stride, storage_offset=None):
    """Returns a view of input's memory with the given sizes, strides and offset, in elements."""
    offset = input.storage_offset() if storage_offset is None else storage_offset
    size, stride = tuple(size), tuple(stride)
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    root = input if input._root is None else input._root
    if prod(size) and (last >= root.type.numel or any(s < 0 for s in stride)):
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset} "
                           f"are out of bounds for storage of {root.type.numel} elements")
    flat = ops.reshape(root, shape=(root.type.numel,))
    return ops.as_strided(flat, shape=size, strides=stride, offset=offset)


def strides_of(shape) -> tuple[int, ...]:
    """Row-major strides."""
    return contiguous_strides(shape)


moveaxis, swapaxes, swapdims = movedim, transpose, transpose


def adjoint(input):
    """Returns the matrices in the last two dims transposed and conjugated."""
    from .complexes import conj

    return conj(mT(input))
