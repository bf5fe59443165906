"""softmax, log_softmax and their kin."""

from __future__ import annotations

from ....ir.arith import cast
from ...autocast import cast_inputs
from ...composites import activation
from ..support import one_dim


def _floats(input, dtype):
    if dtype is not None:
        return cast(input, dtype)
    return input if input.type.dtype.kind == "f" else _refuse(input)


def _refuse(input):
    from ..support import dtype_name

    raise NotImplementedError(f'"softmax_lastdim_kernel_impl" not implemented for '
                              f"'{dtype_name(input.type.dtype)}'")


def _implicit(dim, ndim: int) -> int:
    if dim is not None:
        return dim
    import warnings

    warnings.warn("Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X as "
                  "an argument.", UserWarning, stacklevel=4)
    return 0 if ndim in (0, 1, 3) else 1


def _along(op, input, dim, dtype):
    x = _floats(input, dtype)
    d = one_dim(_implicit(dim, x.type.ndim), x.type.ndim)
    if x.type.ndim:
        return op(x, dim=d)
    from ....ir import ops

    return ops.reshape(op(ops.reshape(x, shape=(1,)), dim=0), shape=())


def softmax(input, dim=None, _stacklevel: int = 3, dtype=None):
    """Returns exp(input) divided by its sum along a dim.

    >>> import treadle
    >>> softmax(treadle.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])
    """
    (input,) = cast_inputs("softmax", input)
    return _along(activation.softmax, input, dim, dtype)


def log_softmax(input, dim=None, _stacklevel: int = 3, dtype=None):
    """Returns log(softmax(input)) along a dim, without overflow."""
    (input,) = cast_inputs("log_softmax", input)
    return _along(activation.log_softmax, input, dim, dtype)


def softmin(input, dim=None, _stacklevel: int = 3, dtype=None):
    """Returns softmax(-input) along a dim."""
    return softmax(-input, dim, dtype=dtype)
