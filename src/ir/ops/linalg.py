"""Matrix factorisations and solvers, by LAPACK through NumPy; over the last two dims, batches before them."""

from __future__ import annotations

import numpy as np

from ..dtype import int64
from ..errors import DTypeError, LinAlgError, ShapeError
from ..op import Joint
from .contract import dot, flip_last
from .elementwise import conj_of, convert, eq, full_as, real, where
from .library import library
from .movement import expand, reshape
from .views import diagonal, diagonal_put


def _matrices(name, t, square=True):
    if t.ndim < 2:
        raise ShapeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if square and t.shape[-1] != t.shape[-2]:
        raise ShapeError(f"{name}: A must be batches of square matrices, but they are {t.shape[-2]} by "
                         f"{t.shape[-1]} matrices")
    if t.dtype.kind not in "fc" or t.dtype.itemsize == 2:
        raise DTypeError(f"{name}: Expected a floating point or complex tensor as input. Got {t.dtype.name}")


def _square(name):
    def infer(t):
        _matrices(name, t)
        return t

    return infer


def _fails(fn, m) -> bool:
    try:
        fn(m)
    except np.linalg.LinAlgError:
        return True
    return False


def _first_bad(name, x, fn):
    """(PyTorch's opening words, the first matrix of a batch for which `fn` fails)."""
    if x.ndim == 2:
        return f"{name}: ", x
    flat = x.reshape(-1, *x.shape[-2:])
    bad = next((i for i, m in enumerate(flat) if _fails(fn, m)), 0)
    return f"{name}: (Batch element {bad}): ", flat[bad]


def _zero_pivot(m) -> int:
    """The place, from 1, of the first zero on the diagonal of U, by elimination with row exchanges."""
    m = np.array(m, np.complex128 if m.dtype.kind == "c" else np.float64)
    for k in range(len(m)):
        best = k + int(np.argmax(np.abs(m[k:, k])))
        if m[best, k] == 0:
            return k + 1
        m[[k, best]] = m[[best, k]]
        m[k + 1:] -= np.outer(m[k + 1:, k] / m[k, k], m[k])
    return len(m)


def _singular(name, x) -> LinAlgError:
    opening, m = _first_bad(name, x, np.linalg.inv)
    if name == "torch.linalg.solve":
        return LinAlgError(opening + "The solver failed because the input matrix is singular.")
    return LinAlgError(f"{opening}The diagonal element {_zero_pivot(m)} is zero, the inversion could not be completed "
                       "because the input matrix is singular.")


def adjoint(x):
    """Matrices transposed and conjugated."""
    return conj_of(flip_last(x))


# inverse, solve -------------------------------------------------------------------------------------
def _inv(x):
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        raise _singular("linalg.inv", x) from None


def _inv_vjp(g, y, _x):
    back = adjoint(y)
    return -dot(dot(back, g), back)


inv = library("inv", _square("linalg.inv"), _inv, (_inv_vjp,))


def _solve_infer(a, b):
    _matrices("linalg.solve", a)
    if b.ndim != a.ndim or a.shape[:-1] != b.shape[:-1]:
        raise ShapeError(f"linalg.solve: Incompatible shapes of A and B for the equation AX = B "
                         f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})")
    return b


def _solve(a, b):
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise _singular("torch.linalg.solve", a) from None


def _solve_pull(g, y, a, _b):
    into = solve(adjoint(a), g)
    return -dot(into, adjoint(y)), into


solve = library("solve", _solve_infer, _solve, Joint(_solve_pull))


# determinants -----------------------------------------------------------------------------------------
def _scalar_of(name):
    def infer(t):
        _matrices(name, t)
        return t.with_shape(t.shape[:-2])

    return infer


def _column(v, like):
    """One number a matrix, in the matrices' shape."""
    return expand(reshape(v, shape=(*v.type.shape, 1, 1)), shape=like.shape)


det = library("det", _scalar_of("linalg.det"), lambda x: np.asarray(np.linalg.det(x)),
              (lambda g, y, x: _column(g * conj_of(y), x) * adjoint(inv(x)),))


def _slogdet_infer(t):
    y = _scalar_of("linalg.slogdet")(t)
    return y, y.with_dtype(t.dtype.to_real())


def _slogdet_vjp(g, _y, x):
    into = g[1] if x.dtype.kind != "c" else convert(g[1], dtype=x.dtype)
    return _column(into, x) * adjoint(inv(x))


slogdet = library("slogdet", _slogdet_infer, lambda x: tuple(map(np.asarray, np.linalg.slogdet(x))),
                  (_slogdet_vjp,), outputs=2)


# cholesky -----------------------------------------------------------------------------------------------
def _cholesky(x):
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        opening, m = _first_bad("linalg.cholesky", x, np.linalg.cholesky)
        order = next((k for k in range(1, len(m)) if _fails(np.linalg.cholesky, m[:k, :k])), len(m))
        raise LinAlgError(f"{opening}The factorization could not be completed because the input is not "
                          f"positive-definite (the leading minor of order {order} is not positive-definite).") from None


def _lower(x, weight):
    """The lower triangle, its diagonal times `weight`."""
    from .create import iota
    from .elementwise import gt

    n = x.shape[-1]
    lead = (1,) * (x.ndim - 2)
    line = iota(size=n, dtype=int64, device=x.type.device)
    row = expand(reshape(line, shape=(*lead, n, 1)), shape=x.shape)
    col = expand(reshape(line, shape=(*lead, 1, n)), shape=x.shape)
    zero = full_as(x, 0)
    return where(gt(row, col), x, where(eq(row, col), x * weight, zero))


def _cholesky_vjp(g, y, _x):
    inner = _lower(dot(adjoint(y), g), 0.5)
    inner = inner + adjoint(inner)
    half = solve(adjoint(y), inner)
    return adjoint(solve(adjoint(y), adjoint(half))) * 0.5


cholesky = library("cholesky", _square("linalg.cholesky"), _cholesky, (_cholesky_vjp,))


# eigh ---------------------------------------------------------------------------------------------------
def _eigh_infer(t, *, lower):
    _matrices("linalg.eigh", t)
    return t.with_shape(t.shape[:-1]).with_dtype(t.dtype.to_real()), t


def _gaps(values, like):
    """1 / (value j - value i), 0 on the diagonal, in like's dtype."""
    n = values.type.shape[-1]
    shape = (*values.type.shape, n)
    gap = expand(reshape(values, shape=(*values.type.shape[:-1], 1, n)), shape=shape) \
        - expand(reshape(values, shape=(*values.type.shape, 1)), shape=shape)
    zero = eq(gap, 0)
    inverse = where(zero, 0.0, 1 / where(zero, 1.0, gap))
    return inverse if like.dtype.kind != "c" else convert(inverse, dtype=like.dtype)


def diag_matrix(v):
    """Matrices with v's last dim on their diagonals."""
    n = v.type.shape[-1]
    return diagonal_put(full_as(v.type.with_shape((*v.type.shape, n)), 0), v, offset=0, dim1=v.ndim - 1, dim2=v.ndim)


def _eigh_vjp(g, y, _x, *, lower):
    values, vectors = y
    g_values = g[0] if vectors.dtype.kind != "c" else convert(g[0], dtype=vectors.dtype)
    inner = dot(adjoint(vectors), g[1]) * _gaps(values, vectors) + diag_matrix(g_values)
    whole = dot(dot(vectors, inner), adjoint(vectors))
    return (whole + adjoint(whole)) * 0.5


def _eigh(x, *, lower):
    return tuple(np.linalg.eigh(x, "L" if lower else "U"))


eigh = library("eigh", _eigh_infer, _eigh, (_eigh_vjp,), outputs=2)


# svd ----------------------------------------------------------------------------------------------------
def _svd_infer(t, *, full_matrices):
    _matrices("linalg.svd", t, square=False)
    *lead, m, n = t.shape
    k = min(m, n)
    u = t.with_shape((*lead, m, m if full_matrices else k))
    return u, t.with_shape((*lead, k)).with_dtype(t.dtype.to_real()), t.with_shape(
        (*lead, n if full_matrices else k, n))


def _svd_vjp(g, y, x, *, full_matrices):
    """For distinct singular values; U and Vh are used reduced."""
    if full_matrices and x.shape[-1] != x.shape[-2]:
        raise RuntimeError("svd_backward: The SVD with full_matrices=True of a matrix that is not square has no "
                           "gradient; use full_matrices=False")
    u, s, vh = y
    v = adjoint(vh)
    sc = s if u.dtype.kind != "c" else convert(s, dtype=u.dtype)
    ug, vg = dot(adjoint(u), g[0]), dot(vh, adjoint(g[2]))
    square = _gaps(s * s, u)
    skew_u, skew_v = ug - adjoint(ug), vg - adjoint(vg)
    rows, cols = _as_rows(sc, ug), _as_cols(sc, ug)
    inner = (skew_u * square) * rows + cols * (skew_v * square)
    inner = inner + diag_matrix(g[1] if u.dtype.kind != "c" else convert(g[1], dtype=u.dtype))
    out = dot(dot(u, inner), vh)
    inverse = 1 / sc
    if x.shape[-2] > x.shape[-1]:  # the part of gU outside U's columns
        rest = g[0] - dot(u, ug)
        out = out + dot(rest * _as_rows(inverse, g[0]), vh)
    if x.shape[-1] > x.shape[-2]:
        rest = adjoint(g[2]) - dot(v, vg)
        out = out + dot(u * _as_rows(inverse, u), adjoint(rest))
    return out


def _as_rows(v, like):
    return expand(reshape(v, shape=(*v.type.shape[:-1], 1, v.type.shape[-1])), shape=like.shape)


def _as_cols(v, like):
    return expand(reshape(v, shape=(*v.type.shape, 1)), shape=like.shape)


def _svd(x, *, full_matrices):
    return tuple(np.linalg.svd(x, full_matrices=full_matrices))


svd = library("svd", _svd_infer, _svd, (_svd_vjp,), outputs=3)


# qr -----------------------------------------------------------------------------------------------------
def _qr_infer(t, *, mode):
    _matrices("linalg.qr", t, square=False)
    *lead, m, n = t.shape
    k = m if mode == "complete" else min(m, n)
    return t.with_shape((*lead, m, k)), t.with_shape((*lead, k, n))


def _qr_vjp(g, y, x, *, mode):
    """For matrices with at least as many rows as columns (or square Q)."""
    q, r = y
    rows, cols = x.shape[-2:]
    if rows < cols or (mode == "complete" and rows != cols):
        raise RuntimeError("linalg_qr_backward: The QR decomposition is not differentiable when mode='complete' and "
                           "nrows > ncols, or for fewer rows than columns")
    m = dot(r, adjoint(g[1])) - dot(adjoint(g[0]), q)
    low = _lower(m, 0.5)
    inner = g[0] + dot(q, low + adjoint(low))
    return adjoint(solve(r, adjoint(inner)))


def _qr(x, *, mode):
    return tuple(np.linalg.qr(x, mode))


qr = library("qr", _qr_infer, _qr, (_qr_vjp,), outputs=2)


# eig: complex results ---------------------------------------------------------------------------------------
def _eig_infer(t):
    _matrices("linalg.eig", t)
    c = t.with_dtype(t.dtype.to_complex())
    return c.with_shape(t.shape[:-1]), c


def _eig(x):
    values, vectors = np.linalg.eig(x)
    want = np.result_type(x.dtype, np.complex64)
    return values.astype(want, copy=False), vectors.astype(want, copy=False)


def _eig_vjp(g, y, x):
    """For distinct eigenvalues; eigenvectors have norm 1, so their own length's direction is taken out."""
    values, vectors = y
    back = dot(adjoint(vectors), g[1])
    scale = convert(real(diagonal(back, offset=0, dim1=back.ndim - 2, dim2=back.ndim - 1)), dtype=vectors.dtype)
    turned = back - dot(adjoint(vectors), vectors) * _as_rows(scale, vectors)
    inner = turned * conj_of(_gaps_complex(values)) + diag_matrix(g[0])
    out = solve(adjoint(vectors), dot(inner, adjoint(vectors)))
    return out if x.dtype.kind == "c" else real(out)


def _gaps_complex(values):
    n = values.type.shape[-1]
    shape = (*values.type.shape, n)
    gap = expand(reshape(values, shape=(*values.type.shape[:-1], 1, n)), shape=shape) \
        - expand(reshape(values, shape=(*values.type.shape, 1)), shape=shape)
    zero = eq(gap, 0)
    return where(zero, 0.0, 1 / where(zero, 1.0, gap))


eig = library("eig", _eig_infer, _eig, (_eig_vjp,), outputs=2)
