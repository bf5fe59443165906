"""One operation over lists of tensors: the `_foreach_` family."""

from __future__ import annotations

from ...ir.arith import is_number
from . import binary, pointwise
from .inplace import TWINS, copy_, zero_
from .reduce import vector_norm

_UNARY = ("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal "
          "round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc").split()
_BINARY = "add sub mul div maximum minimum clamp_min clamp_max pow".split()


def _each(value, n):
    """A number or tensor for all, or one for each."""
    return value if isinstance(value, (tuple, list)) else [value] * n


def _unary(name):
    function, twin = getattr(pointwise, name), TWINS[name + "_"]

    def out(self):
        return tuple(function(t) for t in self)

    def inplace(self):
        for t in self:
            twin(t)

    return out, inplace


def _binary(name):
    function = getattr(binary, name)
    twin = TWINS.get(name + "_")

    def out(self, other, *, alpha=None):
        more = {} if alpha is None else {"alpha": alpha}
        return tuple(function(t, o, **more) for t, o in zip(self, _each(other, len(self)), strict=True))

    def inplace(self, other, *, alpha=None):
        more = {} if alpha is None else {"alpha": alpha}
        for t, o in zip(self, _each(other, len(self)), strict=True):
            twin(t, o, **more) if twin else copy_(t, function(t, o, **more))

    return out, inplace


def _ternary(name):
    function, twin = getattr(binary, name), TWINS[name + "_"]

    def values(value, scalars, n):
        chosen = value if scalars is None else scalars
        chosen = chosen.tolist() if hasattr(chosen, "tolist") and not is_number(chosen) else chosen
        return _each(chosen, n)

    def out(self, tensor1, tensor2, scalars=None, *, value=1):
        return tuple(function(t, a, b, value=v) for t, a, b, v in
                     zip(self, tensor1, tensor2, values(value, scalars, len(self)), strict=True))

    def inplace(self, tensor1, tensor2, scalars=None, *, value=1):
        for t, a, b, v in zip(self, tensor1, tensor2, values(value, scalars, len(self)), strict=True):
            twin(t, a, b, value=v)

    return out, inplace


def _lerp(self, tensors1, weights):
    return tuple(binary.lerp(t, e, w) for t, e, w in zip(self, tensors1, _each(weights, len(self)), strict=True))


def _lerp_(self, tensors1, weights):
    for t, e, w in zip(self, tensors1, _each(weights, len(self)), strict=True):
        TWINS["lerp_"](t, e, w)


def _norm(self, ord=2, dtype=None):
    return tuple(vector_norm(t, ord, dtype=dtype) for t in self)


def _zero_(self):
    for t in self:
        zero_(t)


def _copy_(self, src, non_blocking=False):
    for t, s in zip(self, src, strict=True):
        copy_(t, s)


def _made() -> dict:
    made = {"_foreach_lerp": _lerp, "_foreach_lerp_": _lerp_, "_foreach_norm": _norm, "_foreach_zero_": _zero_,
            "_foreach_copy_": _copy_}
    for names, make in ((_UNARY, _unary), (_BINARY, _binary), (("addcmul", "addcdiv"), _ternary)):
        for name in names:
            made[f"_foreach_{name}"], made[f"_foreach_{name}_"] = make(name)
    for name, function in made.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"Applies {name[9:]} to each tensor of a list{', in place' if name.endswith('_') else ''}."
    return made


FOREACH = _made()
