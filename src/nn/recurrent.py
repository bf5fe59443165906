"""One layer of LSTM, GRU or RNN over all time steps, in one direction, as one op with one joint backward.

Each loop is written once over a set of functions `m`: NumPy's on arrays in eager, ops on graph nodes in a
body. Time comes first; `gx` is the input's share of the gates, (time, batch, gates). Where `mask`
(time, batch, 1) is 0 the state is handed on unchanged: sequences that ended, or have not begun.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir import dtype as dt
from ..ir import ops
from ..ir.arith import cast
from ..ir.composite import composite
from ..ir.op import Joint
from ..ir.ops.movement import narrow


class _Arrays:
    """Functions of arrays."""

    tanh, dot, maximum = np.tanh, np.matmul, np.maximum

    @staticmethod
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    @staticmethod
    def at(x, t: int):
        return x[t]

    @staticmethod
    def stack(xs: list):
        return np.stack(xs)

    @staticmethod
    def split(x, count: int) -> list:
        return np.split(x, count, axis=-1)

    @staticmethod
    def cat(xs: list, axis: int = -1):
        return np.concatenate(xs, axis)

    @staticmethod
    def turned(w):
        return w.T

    @staticmethod
    def positive(x):
        return (x > 0).astype(x.dtype)

    @staticmethod
    def pick(mask, new, old):
        return np.where(mask > 0, new, old)

    @staticmethod
    def only(mask, x):
        return np.where(mask > 0, x, x.dtype.type(0))

    @staticmethod
    def flat(x):
        return x.reshape(-1, x.shape[-1])

    @staticmethod
    def total(x):
        return x.sum(0)


class _Values:
    """The same functions of graph nodes and tensors."""

    tanh, sigmoid, dot = staticmethod(ops.tanh), staticmethod(ops.sigmoid), staticmethod(ops.dot)

    @staticmethod
    def maximum(x, number):
        return ops.maximum(x, number)

    @staticmethod
    def at(x, t: int):
        return ops.reshape(narrow(x, 0, t, 1), shape=x.type.shape[1:])

    @staticmethod
    def stack(xs: list):
        return ops.cat(*[ops.reshape(x, shape=(1, *x.type.shape)) for x in xs], dim=0)

    @staticmethod
    def split(x, count: int) -> list:
        size = x.type.shape[-1] // count
        return [narrow(x, x.type.ndim - 1, i * size, size) for i in range(count)]

    @staticmethod
    def cat(xs: list, axis: int = -1):
        return ops.cat(*xs, dim=axis % xs[0].type.ndim)

    @staticmethod
    def turned(w):
        return ops.permute(w, dims=(1, 0))

    @staticmethod
    def positive(x):
        return cast(ops.gt(x, 0), x.type.dtype)

    @staticmethod
    def pick(mask, new, old):
        return ops.where(ops.expand(ops.gt(mask, 0), shape=new.type.shape), new, old)

    @staticmethod
    def only(mask, x):
        return ops.where(ops.expand(ops.gt(mask, 0), shape=x.type.shape), x, 0)

    @staticmethod
    def flat(x):
        width = x.type.shape[-1]
        return ops.reshape(x, shape=(x.type.numel // width, width))

    @staticmethod
    def total(x):
        return ops.reduce_sum(x, dims=(0,))


def _op(name: str, loop: Callable, outputs: int, vjp=None):
    """The composite of `loop(m, *values, **attrs)`; half precision is computed in float32."""

    def body(*values, **attrs):
        dtype = values[0].type.dtype
        wide = dt.float32 if dtype.itemsize == 2 else dtype
        outs = loop(_Values, *[cast(v, wide) for v in values], **attrs)
        return tuple(cast(o, dtype) for o in outs)

    def eager(*arrays, **attrs):
        dtype = arrays[0].dtype
        wide = np.float32 if dtype.itemsize == 2 else dtype
        with np.errstate(all="ignore"):
            outs = loop(_Arrays, *[a.astype(wide, copy=False) for a in arrays], **attrs)
        return tuple(o.astype(dtype, copy=False) for o in outs)

    return composite(name, body, eager=eager, outputs=outputs, vjp=None if vjp is None else Joint(vjp))


def _times(gx, reverse: bool) -> range:
    steps = gx.shape[0]
    return range(steps - 1, -1, -1) if reverse else range(steps)


def _in_order(m, found: list, reverse: bool):
    return m.stack(found[::-1] if reverse else found)


def _kept(m, new, old, mask, t: int):
    """`new` where the mask is 1, `old` where it is 0."""
    return new if mask is None else m.pick(m.at(mask, t), new, old)


def _before(m, first, states, reverse: bool):
    """The state each step started from: (time, batch, size)."""
    steps = states.shape[0]
    before = [first, *[m.at(states, t) for t in (range(steps - 1, 0, -1) if reverse else range(steps - 1))]]
    return _in_order(m, before, reverse)


def _weight_grad(m, gates, before):
    """The gradient of the recurrent weight: one product over all steps."""
    return m.dot(m.turned(m.flat(gates)), m.flat(before))


# LSTM -------------------------------------------------------------------------------------------------
def _lstm(m, gx, h, c, w, mask=None, w_hr=None, *, reverse):
    """(outputs, cells, gates after their activation), each for all steps."""
    ys, cells, gates = [], [], []
    wt = m.turned(w)
    for t in _times(gx, reverse):
        i, f, g, o = m.split(m.at(gx, t) + m.dot(h, wt), 4)
        i, f, g, o = m.sigmoid(i), m.sigmoid(f), m.tanh(g), m.sigmoid(o)
        c_new = f * c + i * g
        h_new = o * m.tanh(c_new)
        if w_hr is not None:
            h_new = m.dot(h_new, m.turned(w_hr))
        h, c = _kept(m, h_new, h, mask, t), _kept(m, c_new, c, mask, t)
        ys.append(h)
        cells.append(c)
        gates.append(m.cat([i, f, g, o]))
    return tuple(_in_order(m, found, reverse) for found in (ys, cells, gates))


def _lstm_backward(m, gy, gc, h0, c0, w, y, cells, gates, mask=None, w_hr=None, *, reverse):
    """Gradients of gx, h0, c0, w (and of w_hr, where there is one)."""
    before = _before(m, c0, cells, reverse)
    dh = dc = None
    found, projected, raw = [], [], []
    for t in _times(gy, not reverse):
        dh = m.at(gy, t) if dh is None else dh + m.at(gy, t)
        dc = m.at(gc, t) if dc is None else dc + m.at(gc, t)
        rest_h, rest_c = dh, dc
        if mask is not None:
            dh, dc = m.only(m.at(mask, t), dh), m.only(m.at(mask, t), dc)
            rest_h, rest_c = rest_h - dh, rest_c - dc
        i, f, g, o = m.split(m.at(gates, t), 4)
        c_old = m.at(before, t)
        wave = m.tanh(f * c_old + i * g)
        if w_hr is not None:
            projected.append(dh)
            raw.append(o * wave)
            dh = m.dot(dh, w_hr)
        dc = dc + dh * o * (1 - wave * wave)
        da = m.cat([dc * g * i * (1 - i), dc * c_old * f * (1 - f), dc * i * (1 - g * g),
                    dh * wave * o * (1 - o)])
        found.append(da)
        dh, dc = m.dot(da, w), dc * f
        if mask is not None:
            dh, dc = dh + rest_h, dc + rest_c
    dgx = _in_order(m, found, not reverse)
    dw = _weight_grad(m, dgx, _before(m, h0, y, reverse))
    grads = (dgx, dh, dc, dw)
    return grads if w_hr is None else (*grads, _weight_grad(m, m.stack(projected), m.stack(raw)))


lstm_backward = _op("lstm_backward", _lstm_backward, 4)
lstm_projected_backward = _op("lstm_projected_backward", _lstm_backward, 5)


def _lstm_pull(g, y, gx, h0, c0, w, mask=None, w_hr=None, *, reverse):
    back = lstm_backward if w_hr is None else lstm_projected_backward
    more = [v for v in (mask, w_hr) if v is not None]
    out = back(g[0], g[1], h0, c0, w, *y, *more, reverse=reverse)
    return (*out[:4], None, None if w_hr is None else out[4])[: 4 + len(more)]


lstm_layer = _op("lstm_layer", _lstm, 3, _lstm_pull)


# GRU --------------------------------------------------------------------------------------------------
def _gru(m, gx, h, w, b, mask=None, *, reverse):
    """(outputs, [reset, update, new, the recurrent share of new]) for all steps."""
    ys, kept = [], []
    wt = m.turned(w)
    for t in _times(gx, reverse):
        xr, xz, xn = m.split(m.at(gx, t), 3)
        hr, hz, hn = m.split(m.dot(h, wt) + _row(m, b, h), 3)
        r, z = m.sigmoid(xr + hr), m.sigmoid(xz + hz)
        n = m.tanh(xn + r * hn)
        h = _kept(m, n + z * (h - n), h, mask, t)
        ys.append(h)
        kept.append(m.cat([r, z, n, hn]))
    return _in_order(m, ys, reverse), _in_order(m, kept, reverse)


def _row(m, b, like):
    """A bias for each row of a batch."""
    if m is _Arrays:
        return b
    shape = (like.type.shape[0], b.type.shape[0])
    return ops.expand(ops.reshape(b, shape=(1, shape[1])), shape=shape)


def _gru_backward(m, gy, h0, w, y, kept, mask=None, *, reverse):
    """Gradients of gx, h0, w and b."""
    before = _before(m, h0, y, reverse)
    dh, by_input, by_state = None, [], []
    for t in _times(gy, not reverse):
        dh = m.at(gy, t) if dh is None else dh + m.at(gy, t)
        rest = dh
        if mask is not None:
            dh = m.only(m.at(mask, t), dh)
            rest = rest - dh
        r, z, n, hn = m.split(m.at(kept, t), 4)
        dn = dh * (1 - z) * (1 - n * n)
        dz = dh * (m.at(before, t) - n) * z * (1 - z)
        dr = dn * hn * r * (1 - r)
        by_input.append(m.cat([dr, dz, dn]))
        by_state.append(m.cat([dr, dz, dn * r]))
        dh = dh * z + m.dot(by_state[-1], w)
        if mask is not None:
            dh = dh + rest
    dgh = _in_order(m, by_state, not reverse)
    return _in_order(m, by_input, not reverse), dh, _weight_grad(m, dgh, before), m.total(m.flat(dgh))


gru_backward = _op("gru_backward", _gru_backward, 4)


def _gru_pull(g, y, gx, h0, w, b, mask=None, *, reverse):
    more = () if mask is None else (mask,)
    return (*gru_backward(g[0], h0, w, *y, *more, reverse=reverse), None)[: 4 + len(more)]


gru_layer = _op("gru_layer", _gru, 2, _gru_pull)


# RNN --------------------------------------------------------------------------------------------------
def _rnn(m, gx, h, w, mask=None, *, reverse, relu):
    """(outputs, states before they were handed on) for all steps."""
    ys, raw = [], []
    wt = m.turned(w)
    for t in _times(gx, reverse):
        a = m.at(gx, t) + m.dot(h, wt)
        new = m.maximum(a, 0) if relu else m.tanh(a)
        h = _kept(m, new, h, mask, t)
        ys.append(h)
        raw.append(new)
    return _in_order(m, ys, reverse), _in_order(m, raw, reverse)


def _rnn_backward(m, gy, h0, w, y, raw, mask=None, *, reverse, relu):
    """Gradients of gx, h0 and w."""
    dh, found = None, []
    for t in _times(gy, not reverse):
        dh = m.at(gy, t) if dh is None else dh + m.at(gy, t)
        rest = dh
        if mask is not None:
            dh = m.only(m.at(mask, t), dh)
            rest = rest - dh
        new = m.at(raw, t)
        found.append(dh * (m.positive(new) if relu else 1 - new * new))
        dh = m.dot(found[-1], w)
        if mask is not None:
            dh = dh + rest
    dgx = _in_order(m, found, not reverse)
    return dgx, dh, _weight_grad(m, dgx, _before(m, h0, y, reverse))


rnn_backward = _op("rnn_backward", _rnn_backward, 3)


def _rnn_pull(g, y, gx, h0, w, mask=None, *, reverse, relu):
    more = () if mask is None else (mask,)
    return (*rnn_backward(g[0], h0, w, *y, *more, reverse=reverse, relu=relu), None)[: 3 + len(more)]


rnn_layer = _op("rnn_layer", _rnn, 2, _rnn_pull)
