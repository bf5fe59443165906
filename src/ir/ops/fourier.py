"""Discrete Fourier transforms over some dims, without scaling in either direction."""

from __future__ import annotations

from math import prod

import numpy as np

from ..errors import UnsupportedDTypeError
from .elementwise import convert, real
from .library import library
from .movement import cat, narrow, pad


def _need(name, t, kinds):
    if t.dtype.kind not in kinds or t.dtype.itemsize == 2:
        raise UnsupportedDTypeError(f"{name}: Unsupported dtype {t.dtype.scalar_name}")
    return t


def _complex_like(x):
    return np.result_type(x.dtype, np.complex64)


def _c2c(x, *, dims, inverse):
    if not x.size:
        return np.array(x)
    fn = np.fft.ifftn if inverse else np.fft.fftn
    y = fn(x, axes=dims, norm="forward" if inverse else "backward")
    return y.astype(x.dtype, copy=False)


def _r2c_infer(t, *, dims):
    _need("fft", t, "f")
    shape = list(t.shape)
    shape[dims[-1]] = shape[dims[-1]] // 2 + 1
    return t.with_shape(shape).with_dtype(t.dtype.to_complex())


def _r2c(x, *, dims):
    return np.fft.rfftn(x, axes=dims).astype(_complex_like(x), copy=False)


def _r2c_vjp(g, _y, _x, *, dims):
    last = dims[-1]
    missing = _x.shape[last] - g.type.shape[last]
    zero = (0,) * g.ndim
    whole = pad(g, before=zero, after=tuple(missing if d == last else 0 for d in range(g.ndim)), value=0)
    return real(fft_c2c(whole, dims=dims, inverse=True))


def _c2r_infer(t, *, dims, size):
    _need("fft", t, "c")
    shape = list(t.shape)
    shape[dims[-1]] = size
    return t.with_shape(shape).with_dtype(t.dtype.to_real())


def _c2r(x, *, dims, size):
    sizes = [x.shape[d] for d in dims[:-1]] + [size]
    y = np.fft.irfftn(x, sizes, dims, norm="forward")
    return y.astype(x.real.dtype, copy=False)


def _c2r_vjp(g, _y, _x, *, dims, size):
    """Each number but the first (and, for even sizes, the last) stood for its conjugate too."""
    last = dims[-1]
    back = fft_r2c(g, dims=dims)
    n = back.type.shape[last]
    twice = (size - 1) // 2
    parts = [narrow(back, last, 0, 1), narrow(back, last, 1, twice) * 2]
    if n > 1 + twice:
        parts.append(narrow(back, last, 1 + twice, n - 1 - twice))
    parts = [p for p in parts if p.type.shape[last]]
    return cat(*parts, dim=last) if len(parts) > 1 else parts[0]


fft_c2c = library("fft_c2c", lambda t, *, dims, inverse: _need("fft", t, "c"), _c2c,
                  (lambda g, _y, _x, *, dims, inverse: fft_c2c(g, dims=dims, inverse=not inverse),))
fft_r2c = library("fft_r2c", _r2c_infer, _r2c, (_r2c_vjp,))
fft_c2r = library("fft_c2r", _c2r_infer, _c2r, (_c2r_vjp,))


def scale_of(shape, dims) -> int:
    """The number of elements that one transform sums."""
    return prod(shape[d] for d in dims)


def as_complex(x):
    """A real value as a complex one."""
    return x if x.type.dtype.kind == "c" else convert(x, dtype=x.type.dtype.to_complex())
