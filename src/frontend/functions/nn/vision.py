"""Padding, resizing and rearranging of images."""

from __future__ import annotations

import math
import warnings

from ....ir import ops
from ....ir.arith import expand_to
from ...composites import resample
from ..join import narrow
from .conv import spread


# padding ------------------------------------------------------------------------------------------
def pad(input, pad, mode: str = "constant", value=None):
    """Returns input with its last dims extended (or cut, for negative numbers): (left, right, top, bottom, ...).

    mode: 'constant' with `value`, 'reflect', 'replicate' or 'circular'.

    >>> import treadle
    >>> pad(treadle.tensor([1, 2]), (1, 1))
    tensor([0, 1, 2, 0])
    """
    pad = tuple(int(p) for p in pad)
    n, k = input.type.ndim, len(pad) // 2
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, but got {len(pad)}")
    if k > n:
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got "
                           f"padding length {len(pad)} and input of dimension {n}")
    sides = [(0, 0)] * (n - k) + [pad[2 * i:2 * i + 2] for i in reversed(range(k))]
    if mode == "constant":
        for d, (a, b) in enumerate(sides):
            if input.type.shape[d] + a + b < 0:
                raise RuntimeError(f"The input size {input.type.shape[d]}, plus negative padding {a} and {b} resulted "
                                   "in a negative output size, which is invalid. Check dimension "
                                   f"{d} of your input.")
        before, after = zip(*sides, strict=True) if sides else ((), ())
        from ....ir.arith import number_as

        return ops.pad(input, before=tuple(before), after=tuple(after),
                       value=number_as(0 if value is None else value, input.type.dtype))
    if mode not in _EXTENDED:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    for d, (a, b) in enumerate(sides):
        if a or b:
            input = _extended(input, d, a, b, mode)
    return input


_EXTENDED = ("reflect", "replicate", "circular")


def _extended(x, d, a, b, mode):
    n = x.type.shape[d]
    if mode == "reflect" and (a >= n or b >= n):
        raise RuntimeError("Argument #4: Padding size should be less than the corresponding input dimension, but got: "
                           f"padding ({a}, {b}) at dimension {d} of input {list(x.type.shape)}")
    if mode == "circular" and (a > n or b > n):
        raise RuntimeError("Padding value causes wrapping around more than once.")
    left, right = max(a, 0), max(b, 0)
    inner = narrow(x, d, max(-a, 0), n - max(-a, 0) - max(-b, 0)) if a < 0 or b < 0 else x
    if mode == "replicate":
        def edge(start, times):
            shape = (*x.type.shape[:d], times, *x.type.shape[d + 1:])
            return ops.expand(narrow(x, d, start, 1), shape=shape)

        parts = [edge(0, left), inner, edge(n - 1, right)]
    elif mode == "reflect":
        parts = [ops.flip(narrow(x, d, 1, left), dims=(d,)) if left else None, inner,
                 ops.flip(narrow(x, d, n - 1 - right, right), dims=(d,)) if right else None]
    else:
        have = inner.type.shape[d]
        parts = [narrow(inner, d, have - left, left), inner, narrow(inner, d, 0, right)]
    parts = [p for p in parts if p is not None and p.type.shape[d]]
    return parts[0] if len(parts) == 1 else ops.cat(*parts, dim=d)


# windows --------------------------------------------------------------------------------------------
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Returns the windows of (N, C, H, W) as columns (N, C * taps, positions)."""
    single = input.type.ndim == 3
    x = ops.reshape(input, shape=(1, *input.type.shape)) if single else input
    if x.type.ndim != 4:
        raise NotImplementedError("Input Error: Only 3D or 4D input Tensors are supported (got "
                                  f"{input.type.ndim}D)")
    windows = resample.unfolded(x, spread(kernel_size, 2), spread(stride, 2), spread(padding, 2), spread(dilation, 2))
    n, c, kh, kw, h, w = windows.type.shape
    y = ops.reshape(windows, shape=(n, c * kh * kw, h * w))
    return ops.reshape(y, shape=y.type.shape[1:]) if single else y


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Returns columns (N, C * taps, positions) summed into images (N, C, H, W): unfold's adjoint."""
    single = input.type.ndim == 2
    x = ops.reshape(input, shape=(1, *input.type.shape)) if single else input
    size, kernel = spread(output_size, 2), spread(kernel_size, 2)
    stride, padding, dilation = spread(stride, 2), spread(padding, 2), spread(dilation, 2)
    out = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in
                zip(size, padding, dilation, kernel, stride, strict=True))
    n, columns, count = x.type.shape
    if columns % math.prod(kernel):
        raise RuntimeError(f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but "
                           f"got input.size(1)={columns} and kernel_size={kernel}.")
    if count != math.prod(out):
        raise RuntimeError(f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
                           f"stride={stride}, expected size of input's dimension 2 to match the calculated number of "
                           f"sliding blocks {out[0]} * {out[1]} = {math.prod(out)}, but got input.size(2)={count}.")
    windows = ops.reshape(x, shape=(n, columns // math.prod(kernel), *kernel, *out))
    y = resample.fold(windows, size=size, kernel=kernel, stride=stride, padding=padding, dilation=dilation)
    return ops.reshape(y, shape=y.type.shape[1:]) if single else y


# rearranging ----------------------------------------------------------------------------------------
def pixel_shuffle(input, upscale_factor: int):
    """Returns (..., C r^2, H, W) as (..., C, H r, W r)."""
    *lead, c, h, w = input.type.shape
    r = upscale_factor
    if c % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}")
    n = len(lead)
    x = ops.reshape(input, shape=(*lead, c // (r * r), r, r, h, w))
    x = ops.permute(x, dims=(*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return ops.reshape(x, shape=(*lead, c // (r * r), h * r, w * r))


def pixel_unshuffle(input, downscale_factor: int):
    """Returns (..., C, H r, W r) as (..., C r^2, H, W)."""
    *lead, c, h, w = input.type.shape
    r = downscale_factor
    if h % r or w % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but got {h} "
                           f"and {w} for {r}")
    n = len(lead)
    x = ops.reshape(input, shape=(*lead, c, h // r, r, w // r, r))
    x = ops.permute(x, dims=(*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return ops.reshape(x, shape=(*lead, c * r * r, h // r, w // r))


def channel_shuffle(input, groups: int):
    """Returns channels (N, g * k, ...) in the order of their place within each group."""
    n, c, *rest = input.type.shape
    x = ops.reshape(input, shape=(n, groups, c // groups, *rest))
    x = ops.permute(x, dims=(0, 2, 1, *range(3, x.type.ndim)))
    return ops.reshape(x, shape=input.type.shape)


# resizing -------------------------------------------------------------------------------------------
def interpolate(input, size=None, scale_factor=None, mode: str = "nearest", align_corners=None,
                recompute_scale_factor=None, antialias: bool = False):
    """Returns (N, C, ...) resized to `size` or by scale_factor.

    mode: 'nearest', 'nearest-exact', 'linear', 'bilinear', 'trilinear', 'bicubic' or 'area'.

    >>> import treadle
    >>> interpolate(treadle.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    n = input.type.ndim - 2
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | "
                             "bicubic | trilinear")
    _check_mode(mode, n, input)
    out, scales = _output_size(input, n, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        from .pool import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[n - 1](input, out)
    if antialias:
        return _antialiased(input, out, scales, mode, bool(align_corners))
    return resample.interpolate(input, out=out, scales=scales, mode=mode, align_corners=bool(align_corners))


def _check_mode(mode, n, input):
    wanted = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}.get(mode)
    if mode not in ("nearest", "area", "nearest-exact") and wanted != n:
        raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported (got "
                                  f"{input.type.ndim}D) for the modes: nearest | linear | bilinear | bicubic | "
                                  f"trilinear | area | nearest-exact (got {mode})")


def _output_size(input, n, size, scale_factor, recompute):
    if (size is None) == (scale_factor is None):
        what = "either" if size is None else "only one of"
        raise ValueError(f"{what} size or scale_factor should be defined")
    if size is not None:
        out = (size,) * n if isinstance(size, int) else tuple(map(int, size))
        if len(out) != n:
            raise ValueError("Input and output must have the same number of spatial dimensions, but got input with "
                             f"spatial dimensions of {list(input.type.shape[2:])} and output size of {list(out)}. "
                             "Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, "
                             "o2, ...,oK) format.")
        return out, (0.0,) * n
    factors = (float(scale_factor),) * n if isinstance(scale_factor, (int, float)) else tuple(map(float, scale_factor))
    out = tuple(math.floor(s * f) for s, f in zip(input.type.shape[2:], factors, strict=True))
    return out, (0.0,) * n if recompute else factors


def _antialiased(x, out, scales, mode, align_corners):
    """Each dim times a matrix of widened filter weights."""
    from ..create import tensor

    if mode not in ("bilinear", "bicubic"):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as "
                         "input")
    for i, (o, scale) in enumerate(zip(out, scales, strict=True)):
        d = 2 + i
        rows = _filter_rows(x.type.shape[d], o, scale, mode, align_corners)
        x = resample.along(x, tensor(rows, dtype=x.type.dtype), d)
    return ops.copy(x)


def _filter_rows(n, out, scale, mode, align_corners):
    step = ((n - 1) / (out - 1) if out > 1 else 0.0) if align_corners else (1 / scale if scale else n / out)
    reach = 1.0 if mode == "bilinear" else 2.0
    support = reach * step if step >= 1 else reach
    narrowing = 1 / step if step >= 1 else 1.0
    rows = []
    for i in range(out):
        centre = step * (i + 0.5)
        low, high = max(int(centre - support + 0.5), 0), min(int(centre + support + 0.5), n)
        weights = [_filter((j + low - centre + 0.5) * narrowing, mode) for j in range(high - low)]
        total = sum(weights) or 1.0
        rows.append([0.0] * low + [w / total for w in weights] + [0.0] * (n - high))
    return rows


def _filter(x, mode, a=-0.5):
    x = abs(x)
    if mode == "bilinear":
        return max(0.0, 1 - x)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


def upsample(input, size=None, scale_factor=None, mode: str = "nearest", align_corners=None):
    """interpolate under its older name."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate with mode 'nearest'."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate with mode 'bilinear' and aligned corners."""
    return interpolate(input, size, scale_factor, "bilinear", True)


# sampling at free places --------------------------------------------------------------------------------
def affine_grid(theta, size, align_corners=None):
    """Returns the grid of places (N, H, W, 2) that affine maps theta (N, 2, 3) send an image's places to."""
    from ..join import cat
    from ..matmul import matmul

    n, _, *spatial = size
    t = theta.type
    lines = []
    for d, s in enumerate(spatial):
        i = ops.iota(size=s, dtype=t.dtype, device=t.device)
        line = i * (2 / (s - 1)) - 1 if align_corners and s > 1 else (i * 2 + 1) * (1 / s) - 1 if not align_corners \
            else i * 0.0
        shape = [1] * (len(spatial) + 1)
        shape[d] = s
        lines.append(expand_to(ops.reshape(line, shape=tuple(shape)), (*spatial, 1)))
    ones = ops.full(shape=(*spatial, 1), value=1, dtype=t.dtype, device=t.device)
    base = ops.reshape(cat([*reversed(lines), ones], -1), shape=(1, math.prod(spatial), len(spatial) + 1))
    y = matmul(expand_to(base, (n, *base.type.shape[1:])), ops.permute(theta, dims=(0, 2, 1)))
    return ops.reshape(y, shape=(n, *spatial, len(spatial)))


def grid_sample(input, grid, mode: str = "bilinear", padding_mode: str = "zeros", align_corners=None):
    """Returns input (N, C, H, W) read at the places of grid (N, Ho, Wo, 2), x then y in [-1, 1]."""
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but "
                         f"got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
                         f"but got: '{padding_mode}'")
    if input.type.ndim != 4 or mode == "bicubic":
        raise NotImplementedError("grid_sample: 4-D input with mode 'bilinear' or 'nearest' is implemented")
    from .sample import sample

    return sample(input, grid, mode, padding_mode, bool(align_corners))
