"""Pooling over windows: max_pool with the places of its maxima, avg_pool, and their gradients."""

from __future__ import annotations

from math import prod

import numpy as np

from ...ir import ops
from ...ir.composite import composite
from ...ir.device import CPU
from ...ir.dtype import int64
from ...ir.ops.elementwise import full_as
from ...ir.ops.reduce import limits
from .blocks import narrow, quiet, wide


def pooled_size(n, k, s, p, d, ceil_mode):
    """How many windows there are; with ceil_mode a last one may hang over, if it starts inside."""
    reach = n + 2 * p - d * (k - 1) - 1
    out = (-(-reach // s) if ceil_mode else reach // s) + 1
    return out - 1 if ceil_mode and (out - 1) * s >= n + p else out


def _sizes(shape, kernel, stride, padding, dilation, ceil_mode):
    k = len(kernel)
    size = shape[len(shape) - k:]
    out = tuple(pooled_size(*v, ceil_mode) for v in zip(size, kernel, stride, padding, dilation, strict=True))
    extra = tuple(max(0, (o - 1) * s + d * (w - 1) + 1 - n - p) for o, s, d, w, n, p in
                  zip(out, stride, dilation, kernel, size, padding, strict=True))
    return size, out, extra


def _windows(x, fill, kernel, stride, padding, dilation, ceil_mode):
    """x's windows (lead, out, taps), and the sizes."""
    lead = x.type.ndim - len(kernel)
    size, out, extra = _sizes(x.type.shape, kernel, stride, padding, dilation, ceil_mode)
    if any(padding) or any(extra):
        x = ops.pad(x, before=(0,) * lead + padding, after=(0,) * lead + extra, value=fill)
    full = ops.window(x, kernel=kernel, stride=stride, dilation=dilation)
    spans = full.type.shape[lead:lead + len(kernel)]
    if spans != out:
        stops = (*full.type.shape[:lead], *out, *kernel)
        full = ops.slice(full, starts=(0,) * full.type.ndim, stops=stops, steps=(1,) * full.type.ndim)
    return ops.reshape(full, shape=(*full.type.shape[:lead], *out, prod(kernel))), size, out


# max_pool -----------------------------------------------------------------------------------------
def _lowest(x):
    return limits(x.type.dtype)[0]


def _along(n, d, ndim):
    line = ops.iota(size=n, dtype=int64, device=CPU)
    return ops.reshape(line, shape=(1,) * d + (n,) + (1,) * (ndim - d - 1))


def _max_body(x, *, kernel, stride, padding, dilation, ceil_mode):
    flat, size, out = _windows(x, _lowest(x), kernel, stride, padding, dilation, ceil_mode)
    values, tap = ops.max_with_index(flat, dims=(flat.type.ndim - 1,))
    lead = values.type.ndim - len(out)
    place, rest = full_as(tap, 0), tap
    for i in range(len(kernel)):
        below = prod(kernel[i + 1:])
        own = ops.floordiv(rest, below)
        rest = ops.mod(rest, below)
        start = _along(out[i], lead + i, tap.type.ndim) * stride[i] - padding[i]
        place = place * size[i] + own * dilation[i] + ops.expand(start, shape=tap.type.shape)
    return values, place


def _shifted(x, tap, out, stride, dilation):
    """Padded images as one tap sees them."""
    spot = tuple(slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in
                 zip(tap, dilation, out, stride, strict=True))
    return x[(Ellipsis, *spot)]


def _padded(x, fill, padding, extra):
    if not any(padding) and not any(extra):
        return x
    lead = x.ndim - len(padding)
    return np.pad(x, [(0, 0)] * lead + list(zip(padding, extra, strict=True)), constant_values=fill)


def _max_numpy(x, *, kernel, stride, padding, dilation, ceil_mode):
    size, out, extra = _sizes(x.shape, kernel, stride, padding, dilation, ceil_mode)
    w = wide(x) if x.dtype.kind not in "iu" else x
    low = -np.inf if w.dtype.kind == "f" else np.iinfo(w.dtype).min
    images = _padded(w, low, padding, extra)
    best, chosen = None, None
    for number, tap in enumerate(np.ndindex(*kernel)):
        seen = _shifted(images, tap, out, stride, dilation)
        if best is None:
            best, chosen = np.array(seen), np.zeros(seen.shape, np.int64)
            continue
        better = (seen > best) | ((seen != seen) & (best == best))
        np.copyto(best, seen, where=better)
        np.copyto(chosen, number, where=better)
    return narrow(best, x.dtype), _flat_places(chosen, size, out, kernel, stride, padding, dilation)


def _flat_places(tap, size, out, kernel, stride, padding, dilation):
    """Numbers of taps as places in the flat image."""
    place = np.zeros_like(tap)
    lead = tap.ndim - len(out)
    for i in range(len(kernel)):
        below = prod(kernel[i + 1:])
        own, tap = np.divmod(tap, below)
        start = (np.arange(out[i]) * stride[i] - padding[i]).reshape((1,) * (lead + i) + (-1,) + (1,) * (
            len(out) - i - 1))
        place = place * size[i] + own * dilation[i] + start
    return place


def _unpool_body(g, place, *, size, apart):
    lead = g.type.shape[:g.type.ndim - len(size)]
    n = prod(g.type.shape[len(lead):])
    zeros = full_as(g.type.with_shape((prod(lead), prod(size))), 0)
    shape = (prod(lead), n)
    flat = ops.scatter_add(zeros, ops.reshape(place, shape=shape), ops.reshape(g, shape=shape), dim=1)
    return ops.reshape(flat, shape=(*lead, *size))


def _unpool_numpy(g, place, *, size, apart):
    lead = g.shape[:g.ndim - len(size)]
    rows, at = g.reshape(prod(lead), -1), place.reshape(prod(lead), -1)
    out = np.zeros((prod(lead), prod(size)), wide(g).dtype)
    if apart:
        np.put_along_axis(out, at, wide(rows), 1)
    else:
        flat = at + (np.arange(len(at)) * out.shape[1])[:, None]
        np.add.at(out.reshape(-1), flat.reshape(-1), wide(rows).reshape(-1))
    return narrow(out, g.dtype).reshape(*lead, *size)


def _unpool_back(g, _y, _g, place, *, size, apart):
    lead = place.type.shape[:place.type.ndim - len(size)]
    n = prod(place.type.shape[len(lead):])
    picked = ops.gather(ops.reshape(g, shape=(prod(lead), prod(size))),
                        ops.reshape(place, shape=(prod(lead), n)), dim=1)
    return ops.reshape(picked, shape=place.type.shape)


# what reaches x of max_pool; `apart` says that windows do not meet
max_unpool = composite("max_unpool", _unpool_body, eager=quiet(_unpool_numpy), vjp=(_unpool_back, None))


def _max_pull(g, y, _x, *, kernel, stride, padding, dilation, ceil_mode):
    apart = all(s >= d * (k - 1) + 1 for s, d, k in zip(stride, dilation, kernel, strict=True))
    return max_unpool(g[0], y[1], size=tuple(_x.shape[_x.ndim - len(kernel):]), apart=apart)


max_pool = composite("max_pool", _max_body, eager=quiet(_max_numpy), vjp=(_max_pull,), outputs=2)


# avg_pool -------------------------------------------------------------------------------------------
def counts(size, out, kernel, stride, padding, include_pad):
    """Per dim, how many elements each window averages (a window hanging over the end has fewer)."""
    spans = []
    for n, o, k, s, p in zip(size, out, kernel, stride, padding, strict=True):
        starts = [i * s - p for i in range(o)]
        ends = [min(a + k, n + p) for a in starts]
        if not include_pad:
            starts, ends = [max(a, 0) for a in starts], [min(b, n) for b in ends]
        spans.append([max(0, b - a) for a, b in zip(starts, ends, strict=True)])
    return spans


def _uniform(spans):
    """The one count of all windows, or None if they differ."""
    sets = [set(line) for line in spans]
    return prod(s.pop() for s in sets) if all(len(s) == 1 for s in sets) else None


def _divided(y, spans):
    """y over the counts of its windows."""
    one = _uniform(spans)
    if one is not None:
        return y / one
    lead = y.type.ndim - len(spans)
    for i, line in enumerate(spans):
        y = y / ops.expand(_span_line(line, lead + i, y), shape=y.type.shape)
    return y


def _span_line(line, d, like):
    """A line of small whole numbers as a value: constant runs joined."""
    runs: list[list[int]] = []
    for v in line:
        if runs and runs[-1][0] == v:
            runs[-1][1] += 1
        else:
            runs.append([v, 1])
    t = like.type
    parts = [ops.full(shape=(n,), value=v, dtype=t.dtype, device=t.device) for v, n in runs]
    joined = parts[0] if len(parts) == 1 else ops.cat(*parts, dim=0)
    return ops.reshape(joined, shape=(1,) * d + (len(line),) + (1,) * (t.ndim - d - 1))


def _avg_body(x, *, kernel, stride, padding, ceil_mode, include_pad, divisor):
    ones = (1,) * len(kernel)
    flat, size, out = _windows(x, 0, kernel, stride, padding, ones, ceil_mode)
    y = ops.reduce_sum(flat, dims=(flat.type.ndim - 1,))
    return y / divisor if divisor else _divided(y, counts(size, out, kernel, stride, padding, include_pad))


def _scale_numpy(y, spans, divisor):
    if divisor:
        y /= divisor
        return y
    for i, line in enumerate(spans):
        y /= np.array(line, y.dtype).reshape((-1,) + (1,) * (len(spans) - 1 - i))
    return y


def _avg_numpy(x, *, kernel, stride, padding, ceil_mode, include_pad, divisor):
    ones = (1,) * len(kernel)
    size, out, extra = _sizes(x.shape, kernel, stride, padding, ones, ceil_mode)
    images = _padded(wide(x), 0, padding, extra)
    total = None
    for tap in np.ndindex(*kernel):
        seen = _shifted(images, tap, out, stride, ones)
        total = np.array(seen) if total is None else np.add(total, seen, out=total)
    return narrow(_scale_numpy(total, counts(size, out, kernel, stride, padding, include_pad), divisor), x.dtype)


def _avg_back_body(g, *, size, kernel, stride, padding, include_pad, divisor):
    lead, k = g.type.ndim - len(kernel), len(kernel)
    out = g.type.shape[lead:]
    g = g / divisor if divisor else _divided(g, counts(size, out, kernel, stride, padding, include_pad))
    taps = ops.expand(ops.reshape(g, shape=(*g.type.shape, *(1,) * k)), shape=(*g.type.shape, *kernel))
    reach = tuple(max(n + 2 * p, (o - 1) * s + w) for n, p, o, s, w in
                  zip(size, padding, out, stride, kernel, strict=True))
    spread = ops.unwindow(taps, size=reach, kernel=kernel, stride=stride, dilation=(1,) * k)
    x = ops.reduce_sum(spread, dims=tuple(range(lead + k, lead + 2 * k)))
    if reach == tuple(size):
        return x
    starts = (0,) * lead + padding
    stops = (*x.type.shape[:lead], *(p + n for p, n in zip(padding, size, strict=True)))
    return ops.slice(x, starts=starts, stops=stops, steps=(1,) * x.type.ndim)


def _avg_back_numpy(g, *, size, kernel, stride, padding, include_pad, divisor):
    k = len(kernel)
    out = g.shape[g.ndim - k:]
    part = _scale_numpy(np.array(wide(g)), counts(size, out, kernel, stride, padding, include_pad), divisor)
    reach = tuple(max(n + 2 * p, (o - 1) * s + w) for n, p, o, s, w in
                  zip(size, padding, out, stride, kernel, strict=True))
    whole = np.zeros((*g.shape[:g.ndim - k], *reach), part.dtype)
    for tap in np.ndindex(*kernel):
        target = _shifted(whole, tap, out, stride, (1,) * k)
        target += part
    inner = tuple(slice(p, p + n) for p, n in zip(padding, size, strict=True))
    return narrow(np.ascontiguousarray(whole[(Ellipsis, *inner)]), g.dtype)


def _avg_pull(g, _y, _x, *, kernel, stride, padding, ceil_mode, include_pad, divisor):
    return avg_pool_backward(g, size=tuple(_x.shape[_x.ndim - len(kernel):]), kernel=kernel, stride=stride,
                             padding=padding, include_pad=include_pad, divisor=divisor)


avg_pool_backward = composite("avg_pool_backward", _avg_back_body, eager=quiet(_avg_back_numpy))
avg_pool = composite("avg_pool", _avg_body, eager=quiet(_avg_numpy), vjp=(_avg_pull,))
