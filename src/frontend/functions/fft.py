"""Fourier transforms in torch.fft's names, and the short-time ones built on them."""

from __future__ import annotations

import math

from ...ir import dtype as dt
from ...ir import ops
from ...ir.arith import cast, defaults
from ...ir.ops.fourier import as_complex, scale_of
from ..autocast import cast_inputs
from .complexes import conj
from .create import _device, _finish
from .join import cat, narrow, roll
from .support import give, one_dim


def _sized(x, dims, sizes):
    """x cut or padded with zeros at the end of dims."""
    for d, n in zip(dims, sizes, strict=True):
        have = x.type.shape[d]
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        if n < have:
            x = narrow(x, d, 0, n)
        elif n > have:
            zero = (0,) * x.type.ndim
            x = ops.pad(x, before=zero, after=tuple(n - have if i == d else 0 for i in range(x.type.ndim)), value=0)
    return x


def _float(x):
    return x if x.type.dtype.kind in "fc" else cast(x, defaults.dtype)


def _scaled(y, n: int, norm, inverse: bool):
    if norm not in (None, "backward", "forward", "ortho"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return y / math.sqrt(n)
    return y / n if inverse == (norm != "forward") else y


def _dims(x, s, dim):
    """(dims, sizes) of a transform over several dims."""
    if dim is None:
        dims = list(range(0 if s is None else x.type.ndim - len(s), x.type.ndim))
    else:
        dims = [one_dim(d, x.type.ndim) for d in ((dim,) if isinstance(dim, int) else dim)]
    if len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique")
    sizes = [x.type.shape[d] for d in dims] if s is None else [
        x.type.shape[d] if n == -1 else n for d, n in zip(dims, s, strict=True)]
    return dims, sizes


def _complex(name, x, s, dim, norm, inverse, out):
    (x,) = cast_inputs(name, _float(x))
    dims, sizes = _dims(x, s, dim)
    x = as_complex(_sized(x, dims, sizes))
    y = ops.fft_c2c(x, dims=tuple(dims), inverse=inverse) if dims else x
    return give(_scaled(y, scale_of(x.type.shape, dims), norm, inverse), out)


def _half(name, x, s, dim, norm, out):
    (x,) = cast_inputs(name, _float(x))
    if x.type.dtype.kind == "c":
        raise RuntimeError(f"{name} expects a real input tensor, but got {x.type.dtype.scalar_name}")
    dims, sizes = _dims(x, s, dim)
    x = _sized(x, dims, sizes)
    return give(_scaled(ops.fft_r2c(x, dims=tuple(dims)), scale_of(x.type.shape, dims), norm, False), out)


def _real(name, x, s, dim, norm, out):
    (x,) = cast_inputs(name, _float(x))
    dims, sizes = _dims(x, s, dim)
    if s is None or s[-1] == -1:
        sizes[-1] = 2 * (x.type.shape[dims[-1]] - 1)
    if sizes[-1] < 1:
        raise RuntimeError(f"Invalid number of data points ({sizes[-1]}) specified")
    last = sizes[-1]
    x = _sized(as_complex(x), dims, [*sizes[:-1], last // 2 + 1])
    y = ops.fft_c2r(x, dims=tuple(dims), size=last)
    return give(_scaled(y, scale_of(y.type.shape, dims), norm, True), out)


def _one(n):
    return None if n is None else (n,)


def fft(input, n=None, dim: int = -1, norm=None, *, out=None):
    """Returns the discrete Fourier transform along a dim, complex.

    >>> import treadle
    >>> fft(treadle.tensor([1., 0., 0., 0.]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _complex("fft", input, _one(n), dim, norm, False, out)


def ifft(input, n=None, dim: int = -1, norm=None, *, out=None):
    """Returns the inverse of fft along a dim."""
    return _complex("ifft", input, _one(n), dim, norm, True, out)


def fft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """Returns the transform over two dims."""
    return _complex("fft2", input, s, dim, norm, False, out)


def ifft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """Returns the inverse of fft2."""
    return _complex("ifft2", input, s, dim, norm, True, out)


def fftn(input, s=None, dim=None, norm=None, *, out=None):
    """Returns the transform over several dims (all by default)."""
    return _complex("fftn", input, s, dim, norm, False, out)


def ifftn(input, s=None, dim=None, norm=None, *, out=None):
    """Returns the inverse of fftn."""
    return _complex("ifftn", input, s, dim, norm, True, out)


def rfft(input, n=None, dim: int = -1, norm=None, *, out=None):
    """Returns the first half of the transform of a real input."""
    return _half("rfft", input, _one(n), dim, norm, out)


def irfft(input, n=None, dim: int = -1, norm=None, *, out=None):
    """Returns the real inverse of rfft, of size n (2 (m - 1) by default)."""
    return _real("irfft", input, _one(n), dim, norm, out)


def rfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """Returns rfft over two dims, halved in the last."""
    return _half("rfft2", input, s, dim, norm, out)


def irfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """Returns the real inverse of rfft2."""
    return _real("irfft2", input, s, dim, norm, out)


def rfftn(input, s=None, dim=None, norm=None, *, out=None):
    """Returns rfft over several dims, halved in the last."""
    return _half("rfftn", input, s, dim, norm, out)


def irfftn(input, s=None, dim=None, norm=None, *, out=None):
    """Returns the real inverse of rfftn."""
    return _real("irfftn", input, s, dim, norm, out)


_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def hfft(input, n=None, dim: int = -1, norm=None, *, out=None):
    """Returns the real transform of a Hermitian input given by its first half."""
    return irfft(conj(as_complex(_float(input))), n, dim, _SWAPPED[norm], out=out)


def ihfft(input, n=None, dim: int = -1, norm=None, *, out=None):
    """Returns the inverse of hfft."""
    return conj(rfft(input, n, dim, _SWAPPED[norm], out=out))


def _frequencies(count, start, n, d, dtype, device):
    line = ops.iota(size=count, dtype=dt.float64, device=_device(device)) + float(start)
    return cast(line / (n * d), dtype or defaults.dtype)


def fftfreq(n: int, d: float = 1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns the frequencies of fft's elements, for samples d apart.

    >>> fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    up = _frequencies((n + 1) // 2, 0, n, d, dtype, device)
    down = _frequencies(n // 2, -(n // 2), n, d, dtype, device)
    return give(_finish(cat([up, down], 0), requires_grad), out)


def rfftfreq(n: int, d: float = 1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns the frequencies of rfft's elements, for samples d apart."""
    return give(_finish(_frequencies(n // 2 + 1, 0, n, d, dtype, device), requires_grad), out)


def _shift_dims(x, dim):
    if dim is None:
        return tuple(range(x.type.ndim))
    return tuple(one_dim(d, x.type.ndim) for d in ((dim,) if isinstance(dim, int) else dim))


def fftshift(input, dim=None):
    """Returns input with frequency 0 moved to the middle of each dim."""
    dims = _shift_dims(input, dim)
    return roll(input, tuple(input.type.shape[d] // 2 for d in dims), dims)


def ifftshift(input, dim=None):
    """Returns the inverse of fftshift."""
    dims = _shift_dims(input, dim)
    return roll(input, tuple((input.type.shape[d] + 1) // 2 for d in dims), dims)


# short-time transforms --------------------------------------------------------------------------------
def _window(window, win_length, n_fft, like):
    if window is None:
        window = ops.full(shape=(win_length,), value=1, dtype=like.type.dtype.to_real(), device=like.type.device)
    left = (n_fft - win_length) // 2
    if win_length == n_fft:
        return window
    return ops.pad(window, before=(left,), after=(n_fft - win_length - left,), value=0)


def stft(input, n_fft: int, hop_length=None, win_length=None, window=None, center: bool = True,
         pad_mode: str = "reflect", normalized: bool = False, onesided=None, return_complex=None):
    """Returns the transforms (..., frequencies, frames) of windowed pieces of a signal (..., length)."""
    from .nn.vision import pad
    from .shape import unfold, unsqueeze

    hop, width = hop_length or n_fft // 4, win_length or n_fft
    if return_complex is None:
        if input.type.dtype.kind != "c":
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further "
                               "require that return_complex=True in a future PyTorch release.")
        return_complex = True
    x = unsqueeze(input, 0) if input.type.ndim == 1 else input
    if center:
        x = ops.reshape(pad(unsqueeze(x, 1), (n_fft // 2, n_fft // 2), pad_mode), shape=(
            x.type.shape[0], x.type.shape[1] + 2 * (n_fft // 2)))
    if not 0 < n_fft <= x.type.shape[-1]:
        raise RuntimeError(f"stft({list(input.type.shape)}): expected 0 < n_fft <= {x.type.shape[-1]}, but got "
                           f"n_fft={n_fft}")
    frames = unfold(x, 1, n_fft, hop) * _window(window, width, n_fft, x)
    half = input.type.dtype.kind != "c" if onesided is None else onesided
    y = (rfft if half else fft)(frames, norm="ortho" if normalized else None)
    y = ops.permute(y, dims=(0, 2, 1))
    y = ops.reshape(y, shape=y.type.shape[1:]) if input.type.ndim == 1 else y
    return y if return_complex else ops.view_real(ops.copy(y))


def istft(input, n_fft: int, hop_length=None, win_length=None, window=None, center: bool = True,
          normalized: bool = False, onesided=None, length=None, return_complex: bool = False):
    """Returns the signal whose stft is input, by overlapping and adding."""
    from ..composites.resample import fold
    from .shape import unsqueeze

    hop, width = hop_length or n_fft // 4, win_length or n_fft
    x = unsqueeze(input, 0) if input.type.ndim == 2 else input
    frames = ops.permute(x, dims=(0, 2, 1))
    half = x.type.shape[1] != n_fft if onesided is None else onesided
    norm = "ortho" if normalized else None
    pieces = irfft(frames, n_fft, norm=norm) if half else ifft(frames, norm=norm)
    if pieces.type.dtype.kind == "c" and not return_complex:
        pieces = ops.real(pieces)
    shape = _window(window, width, n_fft, x)
    count = pieces.type.shape[1]
    total = n_fft + hop * (count - 1)

    def overlapped(p):
        columns = ops.reshape(ops.permute(p, dims=(0, 2, 1)), shape=(p.type.shape[0], 1, n_fft, count))
        y = fold(columns, size=(total,), kernel=(n_fft,), stride=(hop,), padding=(0,), dilation=(1,))
        return ops.reshape(y, shape=(p.type.shape[0], total))

    square = ops.expand(ops.reshape(shape * shape, shape=(1, 1, n_fft)), shape=(1, count, n_fft))
    envelope = overlapped(square)
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else total - (n_fft // 2 if center else 0)
    signal, weight = (narrow(v, 1, start, min(stop, total) - start) for v in (overlapped(pieces * shape), envelope))
    if not bool((weight > 1e-11).all()):
        raise RuntimeError("window overlap add min: 1")
    y = signal / weight
    if length is not None and length > y.type.shape[1]:
        y = _sized(y, [1], [length])
    return ops.reshape(y, shape=y.type.shape[1:]) if input.type.ndim == 2 else y
