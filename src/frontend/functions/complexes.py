"""Complex numbers: their parts, their making, their views as pairs of reals."""

from __future__ import annotations

from ...ir import ops
from ...ir.arith import cast, elementwise
from .support import give


def polar(abs, angle, *, out=None):
    """Returns complex numbers of the given sizes and angles.

    >>> import treadle
    >>> polar(treadle.tensor([2.0]), treadle.tensor([0.0]))
    tensor([2.+0.j])
    """
    return give(elementwise(ops.complex, abs * ops.cos(angle), abs * ops.sin(angle)), out)


def complex(real, imag, *, out=None):
    """Returns complex numbers of the given real and imaginary parts."""
    return give(elementwise(ops.complex, real, imag), out)


def real(input):
    """Returns the real parts (the input itself if it is real)."""
    return ops.real(input) if input.type.dtype.kind == "c" else input


def imag(input):
    """Returns the imaginary parts; RuntimeError for a real input."""
    if input.type.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return ops.imag(input)


def conj(input):
    """Returns the complex conjugate (the input itself if it is real)."""
    return ops.conj(input) if input.type.dtype.kind == "c" else input


conj_physical = conj


def resolve_conj(input):
    """Returns the input: no tensor here is lazily conjugated."""
    return input


def resolve_neg(input):
    """Returns the input: no tensor here is lazily negated."""
    return input


def angle(input, *, out=None):
    """Returns the angle of each element in radians: 0 or pi of real ones."""
    if input.type.dtype.kind == "c":
        return give(ops.atan2(ops.imag(input), ops.real(input)), out)
    x = input if input.type.dtype.kind == "f" else cast(input, arith_default())
    turned = ops.where(ops.lt(x, 0), 3.141592653589793, ops.where(ops.ne(x, x), x, 0.0))
    return give(turned, out)


def arith_default():
    from ...ir.arith import defaults

    return defaults.dtype


def view_as_real(input):
    """Returns complex numbers as a trailing dim of size 2: real and imaginary parts, sharing memory.

    >>> import treadle
    >>> view_as_real(treadle.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if input.type.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return ops.view_real(input)


def view_as_complex(input):
    """Returns pairs of reals in the last dim as complex numbers, sharing memory."""
    t = input.type
    if t.dtype.kind != "f":
        raise RuntimeError("view_as_complex is only supported for half, float and double tensors, but got a "
                           f"tensor of scalar type: {t.dtype.name}")
    if t.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if t.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return ops.view_complex(input)
