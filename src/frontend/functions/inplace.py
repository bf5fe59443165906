"""In-place twins: each computes the new value, then the tensor takes it (`mutation.assign`)."""

from __future__ import annotations

from ...ir import ops
from ...ir.arith import cast, expand_to, is_number
from ..interpreter import current
from ..mutation import assign
from ..tensor import Tensor
from . import binary, complexes, matmul, pointwise, select, shape, storage
from .index import index_put_ as index_put_
from .select import filled
from .support import store


def _twin(function, name: str):
    def twin(input, *args, **kwargs):
        return store(input, function(input, *args, **kwargs))

    twin.__name__ = twin.__qualname__ = name
    first = (function.__doc__ or "").partition("\n")[0].rstrip(".")
    twin.__doc__ = f"In place: {first[0].lower()}{first[1:]}; returns input." if first else None
    return twin


_SOURCES = (
    (pointwise, "abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh "
                "bitwise_not ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log "
                "log10 log1p log2 logical_not logit nan_to_num neg negative rad2deg reciprocal relu round rsqrt sgn "
                "sigmoid sign sin sinc sinh sqrt square tan tanh trunc"),
    (binary, "add addcdiv addcmul arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift "
             "bitwise_xor clamp clamp_max clamp_min clip copysign div divide eq float_power floor_divide fmod ge gt "
             "greater greater_equal heaviside hypot ldexp le less less_equal lerp logical_and logical_or logical_xor "
             "lt masked_fill mul multiply ne not_equal pow remainder sub subtract true_divide xlogy"),
    (matmul, "addbmm addmm addmv addr baddbmm"),
    (select, "index_add index_copy index_fill index_reduce masked_scatter put scatter scatter_add scatter_reduce "
             "tril triu"),
    (complexes, "conj conj_physical"),
)
TWINS = {f"{name}_": _twin(getattr(module, name), f"{name}_") for module, names in _SOURCES
         for name in names.split()}


def copy_(input, src, non_blocking: bool = False):
    """Writes src, broadcast and cast, to input in place; returns input.

    >>> import treadle
    >>> treadle.zeros(2).copy_(treadle.tensor([1, 2]))
    tensor([1., 2.])
    """
    if is_number(src):
        return fill_(input, src)
    if not isinstance(src, Tensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}")
    if src is input:
        return input
    t = input.type
    value = cast(src, t.dtype)
    if value.type.shape != t.shape:
        extra = value.type.ndim - t.ndim
        fits = extra <= 0 and all(a in (1, b) for a, b in
                                  zip(value.type.shape[::-1], t.shape[::-1], strict=False))
        if not fits:
            raise RuntimeError(_does_not_fit(value.type.shape, t.shape))
        value = expand_to(value, t.shape)
    return assign(input, value)


def _does_not_fit(have, want):
    if len(have) > len(want):
        return f"output with shape {list(want)} doesn't match the broadcast shape {list(have)}"
    pairs = list(zip(have[::-1], want[::-1], strict=False))
    bad = next(i for i, (a, b) in enumerate(pairs) if a not in (1, b))
    return (f"The size of tensor a ({pairs[bad][1]}) must match the size of tensor b ({pairs[bad][0]}) at "
            f"non-singleton dimension {len(want) - 1 - bad}")


def fill_(input, value):
    """Sets every element to a number, in place; returns input."""
    if not is_number(value) and value.type.ndim:
        raise RuntimeError("fill_ only supports 0-dimension value tensor but got tensor with "
                           f"{value.type.ndim} dimensions.")
    return assign(input, filled(value, input.type))


def fill(input, value):
    """Returns a tensor like input filled with a number."""
    return filled(value, input.type)


def zero_(input):
    """Sets every element to 0 in place; returns input."""
    return assign(input, filled(0, input.type))


def fill_diagonal_(input, fill_value, wrap: bool = False):
    """Sets the main diagonal of a matrix (or cube of equal sizes) in place; returns input."""
    t = input.type
    if t.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if t.ndim == 2:
        fill_(shape.diagonal(input), fill_value)
        cols = t.shape[1]
        for start in range(cols + 1, t.shape[0], cols + 1) if wrap else ():
            fill_(shape.diagonal(input, -start), fill_value)
        return input
    if len(set(t.shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    view = input
    for _ in range(t.ndim - 1):
        view = shape.diagonal(view, 0, 0, view.type.ndim - 1)
    fill_(view, fill_value)
    return input


def set_(input, source=None):
    """Makes input share source's memory, shape and dtype; returns input."""
    input.data = source if source is not None else input.data[:0]
    return input


def apply_(input, callable):
    """Replaces each element by callable(element), in place; returns input."""
    from .create import tensor

    values = [callable(v) for v in input.nd.reshape(-1).tolist()]
    return assign(input, ops.reshape(tensor(values, dtype=input.type.dtype), shape=input.type.shape))


def map_(input, tensor, callable):
    """Replaces each element by callable(element, other element), in place; returns input."""
    from .create import tensor as make

    pairs = zip(input.nd.reshape(-1).tolist(), expand_to(tensor, input.type.shape).nd.reshape(-1).tolist(),
                strict=True)
    values = [callable(a, b) for a, b in pairs]
    return assign(input, ops.reshape(make(values, dtype=input.type.dtype), shape=input.type.shape))


def cumsum_(input, dim, *, dtype=None):
    """In place: running sums along a dim; returns input."""
    from .search import cumsum

    return store(input, cumsum(input, dim, dtype=dtype))


def cumprod_(input, dim, *, dtype=None):
    """In place: running products along a dim; returns input."""
    from .search import cumprod

    return store(input, cumprod(input, dim, dtype=dtype))


# views of a tensor taking its place -----------------------------------------------------------------
def _becomes(function, name):
    def twin(input, *args, **kwargs):
        return storage.rebind(input, function(input, *args, **kwargs))

    twin.__name__ = twin.__qualname__ = name
    twin.__doc__ = f"Makes input its own {name[:-1]} in place; returns input."
    return twin


squeeze_ = _becomes(shape.squeeze, "squeeze_")
unsqueeze_ = _becomes(shape.unsqueeze, "unsqueeze_")
transpose_ = _becomes(shape.transpose, "transpose_")
swapaxes_ = swapdims_ = transpose_
t_ = _becomes(shape.t, "t_")


def detach_(input):
    """Takes input off the tape, in place; returns input."""
    if current.recorder is not None and current.recorder.is_outside(input):
        current.recorder.leaves_graph("a tensor from outside is taken off the tape")
    input._fn, input._number, input._requires_grad = None, 0, False
    return input


