"""Values made of nothing: constants and ranges."""

import numpy as np

from ..buffer import empty
from ..op import Kind, make_op
from ..type import tensor_type


def _full(*, shape, value, dtype, device):
    out = empty(shape, dtype.np)
    np.copyto(out, value, casting="unsafe")
    return out


def _iota(*, size, dtype, device):
    return np.arange(size).astype(dtype.np, copy=False)


# every element is `value`
full = make_op(
    "full", Kind.CREATE, lambda *, shape, value, dtype, device: tensor_type(shape, dtype, device),
    _full, (), lambda s, index, *, shape, value, dtype, device: s.constant(value, dtype),
)
# element i is i
iota = make_op(
    "iota", Kind.CREATE, lambda *, size, dtype, device: tensor_type((size,), dtype, device),
    _iota, (), lambda s, index, *, size, dtype, device: s.index(index[0], dtype),
)
