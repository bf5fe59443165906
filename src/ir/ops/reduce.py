"""Reductions over a tuple of dims (sorted, non-negative); the dims disappear from the result."""

from __future__ import annotations

from math import inf, prod

import numpy as np

from .. import dtype as dt
from ..errors import UnsupportedDTypeError
from ..op import Kind, Reduction, make_op
from .elementwise import conj_of, convert, eq, wide
from .movement import expand, flip, inverse, permute, reshape


def kept(shape, dims):
    """`shape` with the reduced dims of size 1."""
    return tuple(1 if d in dims else n for d, n in enumerate(shape))


def spread(g, shape, dims):
    """g, a reduction's cotangent, repeated along the reduced dims."""
    return expand(reshape(g, shape=kept(shape, dims)), shape=shape)


def _infer(name, kinds, empty_ok=True):
    def infer(t, *, dims):
        if t.dtype.kind not in kinds:
            raise UnsupportedDTypeError(f'"{name}_cpu" not implemented for \'{t.dtype.scalar_name}\'')
        if not empty_ok and any(t.shape[d] == 0 for d in dims):
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                             f"Specify the reduction dim with the 'dim' argument. Got {t}")
        return t.with_shape(n for d, n in enumerate(t.shape) if d not in dims)

    return infer


def reduction(name, fn, vjp, identity, combine, kinds="buifc", empty_ok=True, **more):
    run = wide(lambda x, *, dims: fn(x, axis=dims))
    return make_op(name, Kind.REDUCE, _infer(name, kinds, empty_ok), run, (vjp,),
                   Reduction(identity, combine), **more)


def limits(dtype):
    """The lowest and highest value of a dtype."""
    if dtype.kind == "f":
        return -inf, inf
    if dtype.kind == "b":
        return False, True
    bits = 8 * dtype.itemsize
    return (0, 255) if dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _keep_dtype(fn):
    """Integers stay in their dtype: NumPy would widen them."""
    return lambda x, axis: fn(x, axis=axis, dtype=x.dtype)


def _prod_vjp(g, _y, x, *, dims):
    """Each element gets the product of the others: of those before it times of those after it."""
    from .scan import behind, cumprod

    if not dims:
        return g
    rest = tuple(d for d in range(x.ndim) if d not in dims)
    order = (*rest, *dims)
    line = permute(conj_of(x), dims=order)
    flat = reshape(line, shape=(*(x.shape[d] for d in rest), prod(x.shape[d] for d in dims)))
    last = flat.ndim - 1
    before = behind(cumprod(flat, dim=last), last, 1)
    after = flip(behind(cumprod(flip(flat, dims=(last,)), dim=last), last, 1), dims=(last,))
    others = permute(reshape(before * after, shape=line.type.shape), dims=inverse(order))
    return spread(g, x.shape, dims) * others


def _extreme_vjp(g, y, x, *, dims):
    """Ties share the gradient evenly, as torch.amax."""
    chosen = convert(eq(x, spread(y, x.shape, dims)), dtype=x.dtype)
    share = g / reduce_sum(chosen, dims=dims)
    return chosen * spread(share, x.shape, dims)


def _extreme(fn):
    def run(x, axis):
        with np.errstate(all="ignore"):
            return fn(x, axis=axis)

    return run


reduce_sum = reduction(
    "reduce_sum", _keep_dtype(np.sum), lambda g, _y, _x, *, dims: spread(g, _x.shape, dims),
    lambda d: (0,), lambda s, a, b: (s.add(a[0], b[0]),), kinds="uifc",
)
reduce_prod = reduction("reduce_prod", _keep_dtype(np.prod), _prod_vjp, lambda d: (1,),
                        lambda s, a, b: (s.mul(a[0], b[0]),), kinds="uifc", domain=(0.5, 2))
reduce_max = reduction(
    "reduce_max", _extreme(np.max), _extreme_vjp, lambda d: (limits(d)[0],),
    lambda s, a, b: (s.maximum(a[0], b[0]),), kinds="buif", empty_ok=False,
)
reduce_min = reduction(
    "reduce_min", _extreme(np.min), _extreme_vjp, lambda d: (limits(d)[1],),
    lambda s, a, b: (s.minimum(a[0], b[0]),), kinds="buif", empty_ok=False,
)
reduce_any = reduction("reduce_any", np.any, None, lambda d: (False,),
                       lambda s, a, b: (s.or_(a[0], b[0]),), kinds="b")
reduce_all = reduction("reduce_all", np.all, None, lambda d: (True,),
                       lambda s, a, b: (s.and_(a[0], b[0]),), kinds="b")


# extreme with position: two outputs (value, index of its first place) over one dim -----------------
def _with_index_infer(name):
    check = _infer(name, "buif", empty_ok=False)

    def infer(t, *, dims):
        y = check(t, dims=dims)
        return y, y.with_dtype(dt.int64)

    return infer


def _with_index(arg):
    def run(x, *, dims):
        (dim,) = dims
        wide_x = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
        at = arg(wide_x, axis=dim)
        return np.take_along_axis(x, np.expand_dims(at, dim), dim).squeeze(dim), at

    return run


def _with_index_vjp(g, y, _x, *, dims):
    from .elementwise import full_as
    from .gather import scatter_add

    (dim,) = dims
    shape = kept(_x.shape, dims)
    return scatter_add(full_as(_x, 0), reshape(y[1], shape=shape), reshape(g[0], shape=shape), dim=dim)


def _prefer(better):
    """State b replaces a if it is better, or NaN where a is not, or equal and earlier."""

    def combine(s, a, b):
        nan = s.and_(s.ne(b[0], b[0]), s.eq(a[0], a[0]))
        tie = s.and_(s.or_(s.eq(a[0], b[0]), s.and_(s.ne(a[0], a[0]), s.ne(b[0], b[0]))),
                     s.lt(b[1], a[1]))
        take = s.or_(s.or_(s.verb(better, (b[0], a[0])), nan), tie)
        return s.select(take, b[0], a[0]), s.select(take, b[1], a[1])

    return combine


_FAR = (1 << 63) - 1
max_with_index = make_op(
    "max_with_index", Kind.REDUCE, _with_index_infer("max"), _with_index(np.argmax), (_with_index_vjp,),
    Reduction(lambda d: (limits(d)[0], _FAR), _prefer("gt"), indexed=True), outputs=2)
min_with_index = make_op(
    "min_with_index", Kind.REDUCE, _with_index_infer("min"), _with_index(np.argmin), (_with_index_vjp,),
    Reduction(lambda d: (limits(d)[1], _FAR), _prefer("lt"), indexed=True), outputs=2)


def count(shape, dims) -> int:
    return prod(shape[d] for d in dims)



