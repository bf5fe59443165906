"""The scalar protocol: the verbs an op's `emit` may use; each back end has one text per verb and dtype.

An `emit` is a function of a handler `s` and scalar expressions, for example
    sigmoid = lambda s, x: s.div(s.one(x), s.add(s.one(x), s.exp(s.neg(x))))
Operands of one verb have one dtype; comparisons give bool; `convert` is the only change of dtype.
"""

from __future__ import annotations

from typing import Any

UNARY = (
    "neg abs not_ exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh "
    "cosh tanh asinh acosh atanh erf erfc erfinv lgamma digamma floor ceil trunc round"
).split()
BINARY = (
    "add sub mul div floordiv mod fmod minimum maximum pow atan2 copysign and_ or_ xor shl shr"
).split()
COMPARE = "eq ne lt le gt ge".split()
VERBS = frozenset([*UNARY, *BINARY, *COMPARE, "fma", "select", "convert", "philox"])


class Scalar:
    """Base of every handler: a verb called as a method goes to `verb(name, args)`."""

    def verb(self, name: str, args: tuple) -> Any:
        raise NotImplementedError

    def const(self, value, like: Any) -> Any:
        """A constant of the dtype of `like`."""
        raise NotImplementedError

    def convert(self, x: Any, dtype) -> Any:
        raise NotImplementedError

    def one(self, x):
        return self.const(1, x)

    def zero(self, x):
        return self.const(0, x)

    def select(self, condition, a, b):
        return self.verb("select", (condition, a, b))


def _method(name):
    def call(self, *args):
        return self.verb(name, args)

    call.__name__ = name
    return call


for _name in (*UNARY, *BINARY, *COMPARE, "fma", "philox"):
    setattr(Scalar, _name, _method(_name))
