"""Pooling of torch.nn.functional."""

from __future__ import annotations

import math

from ....ir import dtype as dt
from ....ir import ops
from ...composites import pool as rows
from ...composites import resample
from ..support import dtype_name
from .conv import _batched, spread


def _windows(x, n, kernel_size, stride, padding, dilation, ceil_mode):
    kernel = spread(kernel_size, n, "kernel_size")
    stride = kernel if stride is None or stride == [] else spread(stride, n, "stride")
    padding, dilation = spread(padding, n, "padding"), spread(dilation, n, "dilation")
    for p, k, d in zip(padding, kernel, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} "
                               f"and dilation={d}")
    if any(s <= 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    size = x.type.shape[x.type.ndim - n:]
    out = [rows.pooled_size(*v, ceil_mode) for v in zip(size, kernel, stride, padding, dilation, strict=True)]
    if any(o < 1 for o in out):
        raise RuntimeError(f"Given input size: ({'x'.join(map(str, x.type.shape[1:]))}). Calculated output size: "
                           f"({'x'.join(map(str, (x.type.shape[1], *out)))}). Output size is too small")
    return dict(kernel=kernel, stride=stride, padding=padding, ceil_mode=bool(ceil_mode)), dilation


def _single(y, single):
    return ops.reshape(y, shape=y.type.shape[1:]) if single else y


def _max(name, n, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    x, single = _batched(input, n, name)
    attrs, dilation = _windows(x, n, kernel_size, stride, padding, dilation, ceil_mode)
    y, place = rows.max_pool(x, dilation=dilation, **attrs)
    return (_single(y, single), _single(place, single)) if return_indices else _single(y, single)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False,
               return_indices: bool = False):
    """Returns the largest element of each window of (N, C, L), with its place if asked."""
    return _max("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False,
               return_indices: bool = False):
    """Returns the largest element of each window of (N, C, H, W), with its place if asked.

    >>> import treadle
    >>> max_pool2d(treadle.arange(4.).reshape(1, 1, 2, 2), 2).item()
    3.0
    """
    return _max("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False,
               return_indices: bool = False):
    """Returns the largest element of each window of (N, C, D, H, W), with its place if asked."""
    return _max("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False,
                            return_indices: bool = False):
    """Returns max_pool1d's values and places."""
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False,
                            return_indices: bool = False):
    """Returns max_pool2d's values and places."""
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False,
                            return_indices: bool = False):
    """Returns max_pool3d's values and places."""
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def _avg(name, n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
    x, single = _batched(input, n, name)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    attrs, _ = _windows(x, n, kernel_size, stride, padding, 1, ceil_mode)
    y = rows.avg_pool(x, include_pad=bool(count_include_pad), divisor=divisor_override or 0, **attrs)
    return _single(y, single)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True):
    """Returns the mean of each window of (N, C, L)."""
    return _avg("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override=None):
    """Returns the mean of each window of (N, C, H, W)."""
    return _avg("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override=None):
    """Returns the mean of each window of (N, C, D, H, W)."""
    return _avg("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _power(name, n, input, norm_type, kernel_size, stride, ceil_mode):
    kernel = spread(kernel_size, n)
    powered = ops.pow(input, float(norm_type))
    mean = _avg(name, n, powered, kernel_size, stride, 0, ceil_mode, True)
    total = mean * math.prod(kernel)
    from ..pointwise import relu, sign

    return ops.pow(sign(total) * relu(ops.abs(total)), 1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False):
    """Returns (sum x^p)^(1/p) of each window of (N, C, L)."""
    return _power("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False):
    """Returns (sum x^p)^(1/p) of each window of (N, C, H, W)."""
    return _power("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


# adaptive ---------------------------------------------------------------------------------------------
def _target(x, output_size, n):
    size = x.type.shape[x.type.ndim - n:]
    wanted = (output_size,) * n if isinstance(output_size, int) or output_size is None else tuple(output_size)
    return tuple(s if o is None else int(o) for s, o in zip(size, wanted, strict=True))


def _adaptive_avg(name, n, input, output_size):
    x, single = _batched(input, n, name)
    out = _target(x, output_size, n)
    if x.type.dtype.kind != "f":
        raise RuntimeError(f'"{name}" not implemented for \'{dtype_name(x.type.dtype)}\'')
    return _single(resample.adaptive_avg_pool(x, out=out), single)


def adaptive_avg_pool1d(input, output_size):
    """Returns means over intervals of (N, C, L) so that L becomes output_size."""
    return _adaptive_avg("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input, output_size):
    """Returns means over rectangles of (N, C, H, W) so that (H, W) becomes output_size.

    >>> import treadle
    >>> adaptive_avg_pool2d(treadle.arange(4.).reshape(1, 1, 2, 2), 1).item()
    1.5
    """
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input, output_size):
    """Returns means over boxes of (N, C, D, H, W) so that (D, H, W) becomes output_size."""
    return _adaptive_avg("adaptive_avg_pool3d", 3, input, output_size)


def _interval_places(n, out):
    """Per output element, the places of its interval; shorter ones repeat their last place."""
    spans = [(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]
    width = max(b - a for a, b in spans)
    return [[min(a + k, b - 1) for k in range(width)] for a, b in spans], width


def _adaptive_max(name, n, input, output_size, return_indices):
    from ..create import tensor

    x, single = _batched(input, n, name)
    out = _target(x, output_size, n)
    size = x.type.shape[2:]
    flat = ops.reshape(x, shape=(*x.type.shape[:2], math.prod(size)))
    lines = [_interval_places(s, o) for s, o in zip(size, out, strict=True)]
    places = None  # flat places (out..., taps...)
    for d, ((table, width), s) in enumerate(zip(lines, size, strict=True)):
        t = tensor(table, dtype=dt.int64)
        shape = [1] * (2 * n)
        shape[d], shape[n + d] = out[d], width
        t = ops.reshape(t, shape=tuple(shape))
        places = t if places is None else places * s + t
    windows = flat[:, :, ops.reshape(places, shape=(math.prod(out), math.prod(w for _, w in lines)))]
    values, tap = ops.max_with_index(windows, dims=(3,))
    y = ops.reshape(values, shape=(*x.type.shape[:2], *out))
    if not return_indices:
        return _single(y, single)
    table = ops.expand(ops.reshape(places, shape=(1, 1, math.prod(out), windows.type.shape[3])),
                       shape=windows.type.shape)
    at = ops.gather(table, ops.reshape(tap, shape=(*tap.type.shape, 1)), dim=3)
    return _single(y, single), _single(ops.reshape(at, shape=y.type.shape), single)


def adaptive_max_pool1d(input, output_size, return_indices: bool = False):
    """Returns maxima over intervals of (N, C, L) so that L becomes output_size."""
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(input, output_size, return_indices: bool = False):
    """Returns maxima over rectangles of (N, C, H, W) so that (H, W) becomes output_size."""
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(input, output_size, return_indices: bool = False):
    """Returns maxima over boxes of (N, C, D, H, W) so that (D, H, W) becomes output_size."""
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, return_indices)


# unpooling --------------------------------------------------------------------------------------------
def _unpool(n, input, indices, kernel_size, stride, padding, output_size):
    x, single = _batched(input, n, "max_unpool")
    place = ops.reshape(indices, shape=x.type.shape)
    kernel = spread(kernel_size, n)
    stride = kernel if stride is None else spread(stride, n)
    padding = spread(padding, n)
    size = tuple((m - 1) * s - 2 * p + k for m, s, p, k in
                 zip(x.type.shape[2:], stride, padding, kernel, strict=True))
    size = size if output_size is None else tuple(output_size)[-n:]
    shape = (x.type.shape[0] * x.type.shape[1], math.prod(x.type.shape[2:]))
    zeros = ops.full(shape=(shape[0], math.prod(size)), value=0, dtype=x.type.dtype, device=x.type.device)
    flat = ops.scatter(zeros, ops.reshape(place, shape=shape), ops.reshape(x, shape=shape), dim=1)
    return _single(ops.reshape(flat, shape=(*x.type.shape[:2], *size)), single)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Returns maxima put back at their places, zeros elsewhere."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Returns maxima put back at their places, zeros elsewhere."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Returns maxima put back at their places, zeros elsewhere."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
