"""Convolution in NumPy: windows copied to columns for a group of images at a time, then matrix products.

With stride 1 in the rows of a picture only the taps of one row are copied: the columns of the next row of
taps are the same numbers one line further.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .blocks import narrow, quiet, wide

GROUP = 1 << 18  # elements of columns at a time


def _out_size(size, kernel, stride, padding, dilation):
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1
                 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True))


def _padded(x, padding):
    if not any(padding):
        return x
    out = np.zeros((*x.shape[:2], *(n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True))), x.dtype)
    out[(slice(None), slice(None), *(slice(p, p + n) for p, n in zip(padding, x.shape[2:], strict=True)))] = x
    return out


def _batches(n, each):
    step = max(1, GROUP // max(each, 1))
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


class Plan:
    """How the columns of one convolution are laid out.

    sliding  the first spatial dim has stride 1 in pictures: taps of one row are copied, `rows` times fewer
    rows     products whose results are added, one a row of taps (1 if not sliding)
    """

    __slots__ = ("dilation", "groups", "kernel", "out", "padding", "rows", "sliding", "stride")

    def __init__(self, size, kernel, stride, padding, dilation, groups):
        self.kernel, self.stride, self.padding = kernel, stride, padding
        self.dilation, self.groups = dilation, groups
        self.out = _out_size(size, kernel, stride, padding, dilation)
        self.sliding = len(kernel) == 2 and stride[0] == 1 and kernel[0] > 1
        self.rows = kernel[0] if self.sliding else 1

    @property
    def taps(self) -> int:
        """Taps in one product."""
        return prod(self.kernel) // self.rows

    def columns(self, x: np.ndarray) -> list[np.ndarray]:
        """For padded images, the columns (n, groups, C / groups * taps, positions) of each product."""
        n, c = x.shape[:2]
        lead = (n, self.groups, c // self.groups * self.taps, prod(self.out))
        if prod(self.kernel) == 1:
            cut = x[(slice(None), slice(None), *(slice(None, None, s) for s in self.stride))]
            return [cut.reshape(lead)]
        if not self.sliding:
            return [np.ascontiguousarray(self._windows(x)).reshape(lead)]
        return self._sliding(x, lead)

    def _windows(self, x):
        """A view (n, C, taps..., positions...) of padded images."""
        steps = x.strides[2:]
        taps = tuple(s * d for s, d in zip(steps, self.dilation, strict=True))
        places = tuple(s * d for s, d in zip(steps, self.stride, strict=True))
        return as_strided(x, (*x.shape[:2], *self.kernel, *self.out), (*x.strides[:2], *taps, *places))

    def _sliding(self, x, lead):
        n, c, height, _ = x.shape
        width = self.out[1]
        row, step = x.strides[2:]
        view = as_strided(x, (n, c, self.kernel[1], height, width),
                          (*x.strides[:2], step * self.dilation[1], row, step * self.stride[1]))
        lines = np.ascontiguousarray(view).reshape(n, self.groups, lead[2], height * width)
        return [lines[..., k * self.dilation[0] * width:][..., :lead[3]] for k in range(self.rows)]

    def weights(self, w: np.ndarray) -> list[np.ndarray]:
        """w as (groups, O / groups, C / groups * taps) for each product."""
        o, c = w.shape[:2]
        if not self.sliding:
            return [w.reshape(self.groups, o // self.groups, c * self.taps)]
        return [np.ascontiguousarray(w[:, :, k]).reshape(self.groups, o // self.groups, c * self.taps)
                for k in range(self.rows)]


def _is_depthwise(w, groups) -> bool:
    return groups > 1 and w.shape[1] == 1 and w.shape[0] == groups


def _shifted(x, tap, plan):
    """Padded images as one tap sees them, (n, C, out)."""
    spot = tuple(slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in
                 zip(tap, plan.dilation, plan.out, plan.stride, strict=True))
    return x[(slice(None), slice(None), *spot)]


def _per_channel(w, tap):
    return w[(slice(None), 0, *tap)].reshape(-1, *(1,) * len(tap))


def _depthwise(x, w, plan):
    out = np.zeros((*x.shape[:2], *plan.out), x.dtype)
    for s in _batches(len(x), prod(out.shape[1:])):
        part = _padded(x[s], plan.padding)
        for tap in np.ndindex(*plan.kernel):
            out[s] += _shifted(part, tap, plan) * _per_channel(w, tap)
    return out


def conv_arrays(x, w, b, plan):
    """The convolution of arrays of one float dtype."""
    n, o = len(x), len(w)
    if _is_depthwise(w, plan.groups):
        out = _depthwise(x, w, plan)
    else:
        out = np.empty((n, plan.groups, o // plan.groups, prod(plan.out)), x.dtype)
        weights = plan.weights(w)
        for s in _batches(n, x.shape[1] * plan.taps * prod(plan.out)):
            y = out[s]
            columns = plan.columns(_padded(x[s], plan.padding))
            np.matmul(weights[0], columns[0], out=y)
            for m, c in zip(weights[1:], columns[1:], strict=True):
                y += np.matmul(m, c)
        out = out.reshape(n, o, *plan.out)
    if b is not None:
        out += b.reshape(-1, *(1,) * len(plan.out))
    return out


@quiet
def conv(x, w, b=None, *, stride, padding, dilation, groups):
    """conv of arrays, as the module says."""
    plan = Plan(x.shape[2:], w.shape[2:], stride, padding, dilation, groups)
    return narrow(conv_arrays(wide(x), wide(w), None if b is None else wide(b), plan), x.dtype)


# gradients --------------------------------------------------------------------------------------------
def _turned(w, groups):
    """w as the weights of the convolution that takes y's cotangent back: taps reversed, channels exchanged."""
    o, c, *kernel = w.shape
    flipped = np.flip(w, tuple(range(2, w.ndim)))
    parts = flipped.reshape(groups, o // groups, c, *kernel)
    return np.ascontiguousarray(np.swapaxes(parts, 1, 2)).reshape(groups * c, o // groups, *kernel)


def _crop_or_pad(x, before, after):
    """x with its spatial dims padded by zeros, or cut where the padding is negative."""
    cut = tuple(slice(max(0, -a), n - max(0, -b)) for a, b, n in zip(before, after, x.shape[2:], strict=True))
    x = x[(slice(None), slice(None), *cut)]
    if not any(v > 0 for v in (*before, *after)):
        return x
    width = [(0, 0), (0, 0), *((max(0, a), max(0, b)) for a, b in zip(before, after, strict=True))]
    return np.pad(x, width)


def _input_by_conv(g, w, size, padding, dilation, groups):
    """With stride 1 the gradient is the convolution of g, padded, with w turned round."""
    kernel = w.shape[2:]
    before = tuple(d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding, strict=True))
    after = tuple(n + d * (k - 1) - o - b for n, d, k, o, b in
                  zip(size, dilation, kernel, g.shape[2:], before, strict=True))
    ones = (1,) * len(size)
    g = _crop_or_pad(g, before, after)
    return conv_arrays(g, _turned(w, groups), None, Plan(g.shape[2:], kernel, ones, (0,) * len(size), dilation, groups))


def _input_by_taps(g, w, plan, size):
    """Each tap's part is added where that tap read."""
    n, o = g.shape[:2]
    groups, c = plan.groups, w.shape[1] * plan.groups
    kernel = w.shape[2:]
    padded = tuple(s + 2 * p for s, p in zip(size, plan.padding, strict=True))
    out = np.empty((n, c, *size), g.dtype)
    matrix = np.swapaxes(w.reshape(groups, o // groups, w.shape[1] * prod(kernel)), -1, -2)
    inner = (slice(None), slice(None), *(slice(p, p + s) for p, s in zip(plan.padding, size, strict=True)))
    for s in _batches(n, c * prod(kernel) * prod(plan.out)):
        rows = g[s].reshape(-1, groups, o // groups, prod(plan.out))
        columns = np.matmul(matrix, rows).reshape(len(rows), c, *kernel, *plan.out)
        whole = np.zeros((len(rows), c, *padded), g.dtype)
        for tap in np.ndindex(*kernel):
            target = _shifted(whole, tap, plan)
            target += columns[(slice(None), slice(None), *tap)]
        out[s] = whole[inner]
    return out


@quiet
def conv_input(g, w, *, size, stride, padding, dilation, groups):
    """What reaches x from y's cotangent g."""
    dtype, g, w = g.dtype, np.ascontiguousarray(wide(g)), wide(w)
    plan = Plan(size, w.shape[2:], stride, padding, dilation, groups)
    if all(s == 1 for s in stride):
        return narrow(_input_by_conv(g, w, size, padding, dilation, groups), dtype)
    return narrow(_input_by_taps(g, w, plan, size), dtype)


@quiet
def conv_weight(g, x, *, kernel, stride, padding, dilation, groups):
    """What reaches w from y's cotangent g."""
    dtype, g, x = g.dtype, np.ascontiguousarray(wide(g)), wide(x)
    plan = Plan(x.shape[2:], kernel, stride, padding, dilation, groups)
    n, o = g.shape[:2]
    c = x.shape[1] // groups
    if groups > 1 and c == 1 and o == groups:
        return narrow(_depthwise_weight(g, x, plan), dtype)
    sums = [np.zeros((groups, o // groups, c * plan.taps), g.dtype) for _ in range(plan.rows)]
    for s in _batches(n, x.shape[1] * plan.taps * prod(plan.out)):
        rows = g[s].reshape(-1, groups, o // groups, prod(plan.out))
        for total, columns in zip(sums, plan.columns(_padded(x[s], plan.padding)), strict=True):
            total += np.matmul(rows, np.swapaxes(columns, -1, -2)).sum(axis=0)
    if not plan.sliding:
        return narrow(sums[0].reshape(o, c, *kernel), dtype)
    return narrow(np.stack([t.reshape(o, c, kernel[1]) for t in sums], axis=2), dtype)


def _depthwise_weight(g, x, plan):
    out = np.zeros((g.shape[1], 1, *plan.kernel), g.dtype)
    dims = (0, *range(2, g.ndim))
    for s in _batches(len(x), prod(g.shape[1:])):
        part = _padded(x[s], plan.padding)
        for tap in np.ndindex(*plan.kernel):
            out[(slice(None), 0, *tap)] += np.sum(_shifted(part, tap, plan) * g[s], axis=dims)
    return out
