"""Products of vectors and matrices."""

from __future__ import annotations

from math import prod

from ...ir import ops
from ...ir.arith import broadcast_shape, cast, elementwise, expand_to
from ...ir.dtype import promote_types
from ..autocast import cast_inputs
from .support import dtype_name, give


def _check_dtypes(a, b):
    if a.type.dtype is not b.type.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {c_name(a.type.dtype)} != "
                           f"{c_name(b.type.dtype)}")


def c_name(dtype) -> str:
    """The C++ name PyTorch uses in some messages."""
    return {"float32": "float", "float64": "double", "int64": "long", "int32": "int", "int16": "short",
            "int8": "signed char", "uint8": "unsigned char", "float16": "c10::Half",
            "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>",
            "complex128": "c10::complex<double>"}.get(dtype.name, dtype.name)


def matmul(input, other, *, out=None):
    """Returns the matrix product; 1-d operands are vectors, leading dims are broadcast batches.

    RuntimeError where the inner sizes or dtypes differ.

    >>> import treadle
    >>> matmul(treadle.tensor([[1., 2.]]), treadle.tensor([[3.], [4.]]))
    tensor([[11.]])
    """
    input, other = cast_inputs("matmul", input, other)
    _check_dtypes(input, other)
    return give(_matmul(input, other), out)


def _matmul(input, other):
    a, b = input.type.shape, other.type.shape
    if not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    if len(a) == 1 and len(b) == 1:
        return dot(input, other)
    if len(b) == 1:
        return _matrix_vector(input, other)
    if len(a) == 1:
        y = _matmul(ops.reshape(input, shape=(1, *a)), other)
        return ops.reshape(y, shape=(*y.type.shape[:-2], y.type.shape[-1]))
    if len(b) == 2:
        flat = input if len(a) == 2 else ops.reshape(input, shape=(prod(a[:-1]), a[-1]))
        y = ops.dot(flat, other)
        return y if len(a) == 2 else ops.reshape(y, shape=(*a[:-1], b[-1]))
    batch = broadcast_shape(a[:-2], b[:-2], op="matmul")
    return ops.dot(expand_to(input, batch + a[-2:]), expand_to(other, batch + b[-2:]))


def _matrix_vector(a, v):
    n = v.type.numel
    if a.type.shape[-1] != n:
        raise RuntimeError(f"size mismatch, got input ({a.type.shape[-2]}), mat ({a.type.shape[-2]}x"
                           f"{a.type.shape[-1]}), vec ({n})")
    y = _matmul(a, ops.reshape(v, shape=(n, 1)))
    return ops.reshape(y, shape=y.type.shape[:-1])


def _need(name, tensor, what, ndim):
    if tensor.type.ndim != ndim:
        raise RuntimeError(f"{what} must be a {'matrix' if ndim == 2 else f'{ndim}D tensor'}"
                           if name in ("mm", "bmm") else f"{name}: {what} must be {ndim}D")


def mm(input, mat2, *, out=None):
    """Returns the product of two matrices, without broadcasting."""
    input, mat2 = cast_inputs("mm", input, mat2)
    _need("mm", input, "self", 2)
    _need("mm", mat2, "mat2", 2)
    _check_dtypes(input, mat2)
    return give(ops.dot(input, mat2), out)


def bmm(input, mat2, *, out=None):
    """Returns the products of two batches of matrices of equal batch size."""
    input, mat2 = cast_inputs("bmm", input, mat2)
    _need("bmm", input, "batch1", 3)
    _need("bmm", mat2, "batch2", 3)
    a, b = input.type.shape, mat2.type.shape
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but "
                           f"got: [{b[0]}, {b[1]}].")
    _check_dtypes(input, mat2)
    return give(ops.dot(input, mat2), out)


def mv(input, vec, *, out=None):
    """Returns the product of a matrix and a vector."""
    if input.type.ndim != 2 or vec.type.ndim != 1:
        raise RuntimeError("vector + matrix @ vector expected, got 1, "
                           f"{input.type.ndim}, {vec.type.ndim}")
    _check_dtypes(input, vec)
    return give(_matrix_vector(input, vec), out)


def dot(input, tensor, *, out=None):
    """Returns the sum of the products of two vectors' elements.

    >>> import treadle
    >>> dot(treadle.tensor([1., 2.]), treadle.tensor([3., 4.]))
    tensor(11.)
    """
    if input.type.ndim != 1 or tensor.type.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.type.ndim}D and {tensor.type.ndim}D tensors")
    if input.type.dtype is not tensor.type.dtype:
        raise RuntimeError("dot : expected both vectors to have same dtype, but found "
                           f"{dtype_name(input.type.dtype)} and {dtype_name(tensor.type.dtype)}")
    n, m = input.type.numel, tensor.type.numel
    if n != m:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number "
                           f"of elements, but got {n} and {m} elements respectively")
    return give(ops.reshape(ops.dot(ops.reshape(input, shape=(1, n)), ops.reshape(tensor, shape=(n, 1))), shape=()),
                out)


def vdot(input, other, *, out=None):
    """Returns the dot product with the first operand conjugated."""
    from .complexes import conj

    return dot(conj(input), other, out=out)


def inner(input, other, *, out=None):
    """Returns sums of products over the last dims of two tensors."""
    if input.type.ndim == 0 or other.type.ndim == 0:
        return give(input * other, out)
    return tensordot(input, other, dims=([-1], [-1]), out=out)


def outer(input, vec2, *, out=None):
    """Returns the matrix of products of two vectors' elements.

    >>> import treadle
    >>> outer(treadle.tensor([1, 2]), treadle.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    if input.type.ndim != 1 or vec2.type.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {input.type.ndim}-D"
                           if input.type.ndim != 1 else
                           f"outer: Expected 1-D argument vec2, but got {vec2.type.ndim}-D")
    column = ops.reshape(input, shape=(input.type.numel, 1))
    return give(elementwise(ops.mul, column, vec2), out)


ger = outer


def _scaled_sum(input, product, beta, alpha):
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return elementwise(ops.add, input if beta == 1 else input * beta, product)


def addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """Returns beta * input + alpha * (mat1 @ mat2)."""
    (input,) = cast_inputs("addmm", input)
    return give(_scaled_sum(input, mm(mat1, mat2), beta, alpha), out)


def addbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """Returns beta * input + alpha * the sum of the batch's products."""
    (input,) = cast_inputs("addbmm", input)
    return give(_scaled_sum(input, ops.reduce_sum(bmm(batch1, batch2), dims=(0,)), beta, alpha), out)


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """Returns beta * input + alpha * (batch1 @ batch2)."""
    (input,) = cast_inputs("baddbmm", input)
    return give(_scaled_sum(input, bmm(batch1, batch2), beta, alpha), out)


def addmv(input, mat, vec, *, beta=1, alpha=1, out=None):
    """Returns beta * input + alpha * (mat @ vec)."""
    return give(_scaled_sum(input, mv(mat, vec), beta, alpha), out)


def addr(input, vec1, vec2, *, beta=1, alpha=1, out=None):
    """Returns beta * input + alpha * the outer product."""
    return give(_scaled_sum(input, outer(vec1, vec2), beta, alpha), out)


def tensordot(a, b, dims=2, out=None):
    """Returns products summed over pairs of dims: the last n and first n, or two lists.

    >>> import treadle
    >>> tensordot(treadle.ones(2, 3), treadle.ones(3, 4), 1).shape
    torch.Size([2, 4])
    """
    if hasattr(dims, "tolist"):
        dims = dims.tolist()
    na, nb = a.type.ndim, b.type.ndim
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        dims = (list(range(na - dims, na)), list(range(dims)))
    left, right = ([d % max(n, 1) for d in ([v] if isinstance(v, int) else v)]
                   for v, n in zip(dims, (na, nb), strict=True))
    for i, j in zip(left, right, strict=True):
        if a.type.shape[i] != b.type.shape[j]:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {a.type.shape[i]} in dim "
                               f"{i} and second has size {b.type.shape[j]} in dim {j}")
    rest_a = [d for d in range(na) if d not in left]
    rest_b = [d for d in range(nb) if d not in right]
    k = prod(a.type.shape[d] for d in left)
    shape_a, shape_b = [a.type.shape[d] for d in rest_a], [b.type.shape[d] for d in rest_b]
    x = ops.reshape(ops.permute(a, dims=(*rest_a, *left)), shape=(prod(shape_a), k))
    y = ops.reshape(ops.permute(b, dims=(*right, *rest_b)), shape=(k, prod(shape_b)))
    _check_dtypes(x, y)
    return give(ops.reshape(ops.dot(x, y), shape=(*shape_a, *shape_b)), out)


def kron(input, other, *, out=None):
    """Returns the Kronecker product."""
    n = max(input.type.ndim, other.type.ndim)
    a = (1,) * (n - input.type.ndim) + input.type.shape
    b = (1,) * (n - other.type.ndim) + other.type.shape
    x = ops.reshape(input, shape=tuple(v for m in a for v in (m, 1)))
    y = ops.reshape(other, shape=tuple(v for m in b for v in (1, m)))
    product = elementwise(ops.mul, x, y)
    return give(ops.reshape(product, shape=tuple(p * q for p, q in zip(a, b, strict=True))), out)


def chain_matmul(*matrices, out=None):
    """Returns the product of the matrices, from left to right."""
    y = matrices[0]
    for m in matrices[1:]:
        y = mm(y, m)
    return give(y, out)


def cross(input, other, *, dim=None, out=None):
    """Returns the cross products of vectors of 3 along a dim (the first of size 3 by default)."""
    from .join import roll

    d = promote_types(input.type.dtype, other.type.dtype)
    shape = broadcast_shape(input.type.shape, other.type.shape, op="cross")
    a, b = expand_to(cast(input, d), shape), expand_to(cast(other, d), shape)
    if dim is None:
        dim = next((i for i, n in enumerate(shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    if shape[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {shape[dim]} and "
                           f"{shape[dim]}")
    return give(roll(a, -1, dim) * roll(b, 1, dim) - roll(a, 1, dim) * roll(b, -1, dim), out)
