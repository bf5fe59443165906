"""Linear algebra: torch.linalg's functions and the older names at top level."""

from __future__ import annotations

import math

from ...ir import ops
from ...ir.arith import broadcast_shape, cast, expand_to
from ...ir.ops.elementwise import full_as
from ...ir.ops.linalg import adjoint, diag_matrix
from ..autocast import cast_inputs
from . import returns
from .matmul import matmul
from .reduce import finish, vector_norm
from .select import tril, triu
from .support import all_dims, give, one_dim


def _need_matrix(name, x):
    if x.type.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")


# solving ------------------------------------------------------------------------------------------
def inv(A, *, out=None):
    """Returns the inverses of square matrices; LinAlgError (a RuntimeError) for a singular one.

    >>> import treadle
    >>> inv(treadle.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    (A,) = cast_inputs("inv", A)
    return give(ops.inv(A), out)


def inv_ex(A, *, check_errors: bool = False, out=None):
    """Returns (inverse, info); errors are raised."""
    info = full_as(A.type.with_shape(A.type.shape[:-2]).with_dtype(_int32()), 0)
    return give(returns.linalg_inv_ex(inv(A), info), out)


def _int32():
    from ...ir import dtype as dt

    return dt.int32


def solve(A, B, *, left: bool = True, out=None):
    """Returns X with A X = B (X A = B if left is False); B may be a vector or a batch of them.

    >>> import treadle
    >>> solve(treadle.tensor([[2., 0.], [0., 4.]]), treadle.tensor([2., 4.]))
    tensor([1., 1.])
    """
    A, B = cast_inputs("solve", A, B)
    _need_matrix("linalg.solve", A)
    vector = B.type.ndim == 1 or (B.type.ndim == A.type.ndim - 1 and B.type.shape == A.type.shape[:-1])
    if vector:
        B = ops.reshape(B, shape=(*B.type.shape, 1))
    if not left:
        return give(adjoint(solve(adjoint(A), adjoint(B))), out)
    if A.type.dtype is not B.type.dtype:
        raise RuntimeError(f"linalg.solve: Expected A and B to have the same dtype, but found A of type "
                           f"{A.type.dtype.name} and B of type {B.type.dtype.name} instead")
    batch = broadcast_shape(A.type.shape[:-2], B.type.shape[:-2], op="linalg.solve")
    x = ops.solve(expand_to(A, batch + A.type.shape[-2:]), expand_to(B, batch + B.type.shape[-2:]))
    return give(ops.reshape(x, shape=x.type.shape[:-1]) if vector else x, out)


def solve_triangular(A, B, *, upper: bool, left: bool = True, unitriangular: bool = False, out=None):
    """Returns X with A X = B for a triangular A, of which only that triangle is read."""
    part = triu(A) if upper else tril(A)
    if unitriangular:
        n = A.type.shape[-1]
        ones = full_as(A.type.with_shape((*A.type.shape[:-2], n)), 1)
        part = ops.diagonal_put(part, ones, offset=0, dim1=A.type.ndim - 2, dim2=A.type.ndim - 1)
    return solve(part, B, left=left, out=out)


def triangular_solve(b, A, upper: bool = True, transpose: bool = False, unitriangular: bool = False):
    """Returns (X, A) with A X = b for a triangular A (the older form)."""
    if transpose:
        A, upper = adjoint(A), not upper
    return returns.triangular_solve(solve_triangular(A, b, upper=upper, unitriangular=unitriangular), A)


def lstsq(A, B, rcond=None, *, driver=None):
    """Returns (solution, residuals, rank, singular_values) of least squares |A X - B|."""
    A, B = cast_inputs("lstsq", A, B)
    _need_matrix("linalg.lstsq", A)
    m, n = A.type.shape[-2:]
    x = matmul(pinv(A, rtol=rcond), B)
    rest = matmul(A, x) - B
    residuals = ops.reduce_sum(rest * rest, dims=(rest.type.ndim - 2,))
    if m <= n or driver in (None, "gelsy"):
        residuals = full_as(residuals.type.with_shape((0,)), 0)
    return returns.linalg_lstsq(x, residuals, matrix_rank(A), svdvals(A))


def pinv(A, *, atol=None, rtol=None, hermitian: bool = False, rcond=None, out=None):
    """Returns the pseudo-inverses of matrices."""
    from .info import finfo

    _need_matrix("linalg.pinv", A)
    u, s, vh = svd(A, full_matrices=False)
    if A.type.numel == 0:
        return give(adjoint(A), out)
    rtol = rcond if rtol is None else rtol
    rtol = max(A.type.shape[-2:]) * finfo(A.type.dtype).eps if rtol is None and atol is None else rtol or 0
    top = ops.reshape(ops.reduce_max(s, dims=(s.type.ndim - 1,)), shape=(*s.type.shape[:-1], 1))
    limit = ops.maximum(top * rtol, 0.0 if atol is None else float(atol))
    keep = ops.gt(s, ops.expand(limit, shape=s.type.shape))
    inverse = ops.where(keep, 1 / ops.where(keep, s, 1.0), 0.0)
    spread = ops.reshape(cast(inverse, A.type.dtype), shape=(*s.type.shape[:-1], 1, s.type.shape[-1]))
    return give(matmul(adjoint(vh) * spread, adjoint(u)), out)


def cholesky(A, *, upper: bool = False, out=None):
    """Returns L with A = L L^H for positive-definite matrices; LinAlgError otherwise."""
    (A,) = cast_inputs("cholesky", A)
    y = ops.cholesky(A)
    return give(adjoint(y) if upper else y, out)


def cholesky_ex(A, *, upper: bool = False, check_errors: bool = False, out=None):
    """Returns (L, info); errors are raised."""
    info = full_as(A.type.with_shape(A.type.shape[:-2]).with_dtype(_int32()), 0)
    return give(returns.linalg_cholesky_ex(cholesky(A, upper=upper), info), out)


def cholesky_solve(B, L, upper: bool = False, *, out=None):
    """Returns X with A X = B, where L is A's Cholesky factor."""
    low = adjoint(L) if upper else L
    half = solve_triangular(low, B, upper=False)
    return give(solve_triangular(adjoint(low), half, upper=True), out)


def cholesky_inverse(L, upper: bool = False, *, out=None):
    """Returns the inverse of A, where L is A's Cholesky factor."""
    low = tril(L) if not upper else adjoint(triu(L))
    back = ops.inv(low)
    return give(matmul(adjoint(back), back), out)


# determinants, powers -------------------------------------------------------------------------------
def det(A, *, out=None):
    """Returns the determinants of square matrices.

    >>> import treadle
    >>> det(treadle.tensor([[2., 0.], [0., 4.]]))
    tensor(8.)
    """
    (A,) = cast_inputs("det", A)
    return give(ops.det(A), out)


def slogdet(A, *, out=None):
    """Returns (sign, logabsdet) of square matrices."""
    return give(returns.linalg_slogdet(*ops.slogdet(A)), out)


def logdet(input):
    """Returns the logarithms of determinants: NaN where one is negative."""
    sign, size = ops.slogdet(input)
    return ops.where(ops.lt(sign, 0), math.nan, size)


def matrix_power(A, n: int, *, out=None):
    """Returns square matrices to an integer power, by repeated squaring.

    >>> import treadle
    >>> matrix_power(treadle.tensor([[1., 1.], [0., 1.]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    _need_matrix("linalg.matrix_power", A)
    if n < 0:
        A, n = ops.inv(A), -n
    if n == 0:
        ones = full_as(A.type.with_shape(A.type.shape[:-1]), 1)
        return give(diag_matrix(ones), out)
    y = None
    while n:
        if n & 1:
            y = A if y is None else matmul(y, A)
        n >>= 1
        A = matmul(A, A) if n else A
    return give(y, out)


def matrix_exp(A):
    """Returns the matrix exponentials, by scaling, a Taylor series and squaring."""
    _need_matrix("linalg.matrix_exp", A)
    squarings = 0
    if A.type.numel:
        size = float(ops.reduce_max(ops.reduce_sum(ops.abs(A), dims=(A.type.ndim - 1,)),
                                    dims=tuple(range(A.type.ndim - 1))).nd)
        squarings = max(0, math.ceil(math.log2(size)) + 1) if size > 0.5 and math.isfinite(size) else 0
    x = A / 2.0 ** squarings
    one = diag_matrix(full_as(A.type.with_shape(A.type.shape[:-1]), 1))
    y, term = one + x, x
    for k in range(2, 19):
        term = matmul(term, x) / k
        y = y + term
    for _ in range(squarings):
        y = matmul(y, y)
    return y


# factorisations -----------------------------------------------------------------------------------------
def qr(A, mode: str = "reduced", *, out=None):
    """Returns (Q, R) with A = Q R."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")
    (A,) = cast_inputs("qr", A)
    q, r = ops.qr(A, mode="reduced" if mode == "r" else mode)
    if mode == "r":
        q = full_as(q.type.with_shape((0,)), 0)
    return give(returns.linalg_qr(q, r), out)


def svd(A, full_matrices: bool = True, *, driver=None, out=None):
    """Returns (U, S, Vh) with A = U diag(S) Vh, S descending."""
    (A,) = cast_inputs("svd", A)
    return give(returns.linalg_svd(*ops.svd(A, full_matrices=bool(full_matrices))), out)


def svd_old(input, some: bool = True, compute_uv: bool = True, *, out=None):
    """Returns (U, S, V) with input = U diag(S) V^H (torch.svd, the older form)."""
    u, s, vh = ops.svd(input, full_matrices=not some)
    return give(returns.svd(u, s, adjoint(vh)), out)


def svdvals(A, *, driver=None, out=None):
    """Returns the singular values of matrices, descending."""
    return give(svd(A, False).S, out)


def eigh(A, UPLO: str = "L", *, out=None):  # noqa: N803
    """Returns (eigenvalues, eigenvectors) of Hermitian matrices, ascending; one triangle is read."""
    (A,) = cast_inputs("eigh", A)
    _need_matrix("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return give(returns.linalg_eigh(*ops.eigh(A, lower=UPLO.upper() == "L")), out)


def eigvalsh(A, UPLO: str = "L", *, out=None):  # noqa: N803
    """Returns the eigenvalues of Hermitian matrices, ascending."""
    return give(eigh(A, UPLO).eigenvalues, out)


def eig(A, *, out=None):
    """Returns (eigenvalues, eigenvectors) of square matrices, complex."""
    (A,) = cast_inputs("eig", A)
    return give(returns.linalg_eig(*ops.eig(A)), out)


def eigvals(A, *, out=None):
    """Returns the eigenvalues of square matrices, complex."""
    return give(eig(A).eigenvalues, out)


# norms and ranks ---------------------------------------------------------------------------------------
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim: bool = False, *, dtype=None, out=None):
    """Returns the norms of matrices: 'fro', 'nuc', 2, -2, 1, -1, inf or -inf."""
    from .shape import movedim

    A = A if dtype is None else cast(A, dtype)
    if A.type.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    rows, cols = (one_dim(d, A.type.ndim) for d in dim)
    dims = all_dims((rows, cols), A.type.ndim)
    if ord == "fro":
        return vector_norm(A, 2, dims, keepdim, out=out)
    if ord in ("nuc", 2, -2):
        s = svdvals(movedim(A, (rows, cols), (-2, -1)))
        last = (s.type.ndim - 1,)
        y = {"nuc": ops.reduce_sum, 2: ops.reduce_max, -2: ops.reduce_min}[ord](s, dims=last)
        return give(finish(y, A.type.shape, dims, keepdim), out)
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, other = (rows, cols) if abs(ord) == 1 else (cols, rows)
    sums = ops.reduce_sum(ops.abs(A), dims=(summed,))
    place = other - (other > summed)
    y = (ops.reduce_max if ord > 0 else ops.reduce_min)(sums, dims=(place,))
    return give(finish(y, A.type.shape, dims, keepdim), out)


def norm(A, ord=None, dim=None, keepdim: bool = False, *, out=None, dtype=None):
    """Returns vector or matrix norms: a matrix norm for two dims (or a matrix) with `ord` given."""
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if ord is None:
        return vector_norm(A, 2, dims, keepdim, dtype=dtype, out=out)
    if isinstance(ord, str) or (dims is not None and len(dims) == 2) or (dims is None and A.type.ndim == 2):
        return matrix_norm(A, ord, dims or (-2, -1), keepdim, dtype=dtype, out=out)
    return vector_norm(A, ord, dims, keepdim, dtype=dtype, out=out)


def cond(A, p=None, *, out=None):
    """Returns the condition numbers of matrices."""
    if p in (None, 2, -2):
        s = svdvals(A)
        last = (s.type.ndim - 1,)
        top, low = ops.reduce_max(s, dims=last), ops.reduce_min(s, dims=last)
        return give(low / top if p == -2 else top / low, out)
    return give(matrix_norm(A, p) * matrix_norm(ops.inv(A), p), out)


def matrix_rank(A, *, atol=None, rtol=None, hermitian: bool = False, tol=None, out=None):
    """Returns the ranks of matrices: the count of singular values above a bound."""
    from .info import finfo

    s = svdvals(A)
    atol = tol if atol is None else atol
    rtol = (max(A.type.shape[-2:]) * finfo(A.type.dtype).eps if atol is None else 0.0) if rtol is None else rtol
    if s.type.shape[-1] == 0:
        from ...ir import dtype as dt

        return give(full_as(s.type.with_shape(s.type.shape[:-1]).with_dtype(dt.int64), 0), out)
    top = ops.reshape(ops.reduce_max(s, dims=(s.type.ndim - 1,)), shape=(*s.type.shape[:-1], 1)) * rtol
    limit = ops.expand(ops.maximum(top, 0.0 if atol is None else float(atol)), shape=s.type.shape)
    from ...ir import dtype as dt

    return give(ops.reduce_sum(cast(ops.gt(s, limit), dt.int64), dims=(s.type.ndim - 1,)), out)


# products ----------------------------------------------------------------------------------------------
def multi_dot(tensors, *, out=None):
    """Returns the product of several matrices, in the cheapest order of two neighbours."""
    parts = list(tensors)
    first, last = parts[0].type.ndim == 1, parts[-1].type.ndim == 1
    parts[0] = ops.reshape(parts[0], shape=(1, parts[0].type.numel)) if first else parts[0]
    parts[-1] = ops.reshape(parts[-1], shape=(parts[-1].type.numel, 1)) if last else parts[-1]
    while len(parts) > 1:  # the largest inner size goes first
        inner = [p.type.shape[1] for p in parts[:-1]]
        k = inner.index(max(inner))
        parts[k:k + 2] = [matmul(parts[k], parts[k + 1])]
    y = parts[0]
    shape = y.type.shape[1 if first else 0:1 if last else 2]
    return give(ops.reshape(y, shape=shape) if first or last else y, out)


def vecdot(x, y, *, dim: int = -1, out=None):
    """Returns the dot products of vectors along a dim, the first conjugated."""
    from .complexes import conj
    from .reduce import sum

    return give(sum(conj(x) * y, dim), out)


def cross(input, other, *, dim: int = -1, out=None):
    """Returns the cross products of vectors of 3 along a dim."""
    from .matmul import cross as cross_along

    return cross_along(input, other, dim=dim, out=out)


def diagonal(A, *, offset: int = 0, dim1: int = -2, dim2: int = -1):
    """Returns a view of the matrices' diagonals, as the last dim."""
    from .shape import diagonal as diagonal_of

    return diagonal_of(A, offset, dim1, dim2)


def vander(x, *, N=None):  # noqa: N803
    """Returns the matrix of powers 0, 1, ... of each element."""
    from .join import stack

    n = x.type.shape[-1] if N is None else N
    powers = [full_as(x, 1)]
    for _ in range(n - 1):
        powers.append(powers[-1] * x)
    return stack(powers[:n], -1)



inverse, pinverse = inv, pinv
