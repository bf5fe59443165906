"""Matrices and lines made by rule: eye, linspace, index triangles, windows."""

from __future__ import annotations

import math

from ...ir import dtype as dt
from ...ir import ops
from ...ir.arith import cast, defaults, expand_to
from .create import _device, _finish
from .support import give, number


def eye(n: int, m: int | None = None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns a matrix with ones on its diagonal.

    >>> eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    m = n if m is None else m
    if n < 0 or m < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {min(n, m)}")
    dev = _device(device)
    row, col = _grid(n, m, dev)
    return give(_finish(cast(ops.eq(row, col), dtype or defaults.dtype), requires_grad), out)


def _grid(n, m, dev):
    row = ops.reshape(ops.iota(size=n, dtype=dt.int64, device=dev), shape=(n, 1))
    col = ops.reshape(ops.iota(size=m, dtype=dt.int64, device=dev), shape=(1, m))
    return expand_to(row, (n, m)), expand_to(col, (n, m))


def linspace(start, end, steps: int, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns `steps` numbers from start to end, both included, evenly spaced.

    >>> linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    steps = int(steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = number(start), number(end)
    want = dtype or (defaults.dtype if not isinstance(start, complex) else defaults.dtype.to_complex())
    return give(_finish(cast(_line(start, end, steps, want, _device(device)), want), requires_grad), out)


def _line(start, end, steps, dtype, dev):
    """From both ends to the middle, as PyTorch, so that the last is `end` exactly."""
    work = dtype if dtype.kind in "fc" and dtype.itemsize > 2 else dt.float64 if dtype.kind in "bui" else dt.float32
    i = cast(ops.iota(size=steps, dtype=dt.int64, device=dev), work)
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    up = i * step + start
    down = (i * -1 + (steps - 1)) * -step + end
    half = ops.lt(ops.iota(size=steps, dtype=dt.int64, device=dev), steps // 2 if steps > 1 else 1)
    return ops.where(half, up, down)


def logspace(start, end, steps: int, base: float = 10.0, *, out=None, dtype=None, layout=None, device=None,
             requires_grad=False):
    """Returns `steps` powers of base, the exponents evenly spaced from start to end."""
    want = dtype or defaults.dtype
    powers = _line(float(number(start)), float(number(end)), int(steps), dt.float64, _device(device))
    return give(_finish(cast(ops.pow(float(base), powers), want), requires_grad), out)


def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns start, start + step, ... up to end, included (torch.range, deprecated for arange)."""
    from .create import arange

    count = math.floor((end - start) / step) + 1
    line = arange(count, dtype=dtype or defaults.dtype, device=device) * step + start
    return give(_finish(line, requires_grad), out)


def _triangle_places(row, col, offset, lower, dtype, device):
    import builtins

    places = [(i, j) for i in builtins.range(row) for j in builtins.range(col)
              if (j - i <= offset if lower else j - i >= offset)]
    from .create import tensor

    columns = [[i for i, _ in places], [j for _, j in places]]
    return tensor(columns, dtype=dtype, device=device)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype=dt.int64, device=None, layout=None):
    """Returns the (2, n) places of a lower triangle, row by row."""
    return _triangle_places(row, col, offset, True, dtype, device)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype=dt.int64, device=None, layout=None):
    """Returns the (2, n) places of an upper triangle, row by row."""
    return _triangle_places(row, col, offset, False, dtype, device)


# windows --------------------------------------------------------------------------------------------
def _window(terms, window_length, periodic, dtype, device, requires_grad):
    """The sum of a_k (-1)^k cos(2 pi k n / N)."""
    want = dtype or defaults.dtype
    dev = _device(device)
    if window_length == 1:
        return _finish(ops.full(shape=(1,), value=1, dtype=want, device=dev), requires_grad)
    n = window_length if periodic else window_length - 1
    angle = ops.iota(size=window_length, dtype=dt.float64, device=dev) * (2 * math.pi / max(n, 1))
    y = angle * 0.0
    for k, a in enumerate(terms):
        y = y + ops.cos(angle * float(k)) * (a if k % 2 == 0 else -a)
    return _finish(cast(y, want), requires_grad)


def hann_window(window_length: int, periodic: bool = True, *, dtype=None, layout=None, device=None,
                requires_grad=False):
    """Returns the Hann window."""
    return _window((0.5, 0.5), window_length, periodic, dtype, device, requires_grad)


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
                   dtype=None, layout=None, device=None, requires_grad=False):
    """Returns the Hamming window."""
    return _window((alpha, beta), window_length, periodic, dtype, device, requires_grad)


def blackman_window(window_length: int, periodic: bool = True, *, dtype=None, layout=None, device=None,
                    requires_grad=False):
    """Returns the Blackman window."""
    return _window((0.42, 0.5, 0.08), window_length, periodic, dtype, device, requires_grad)


def bartlett_window(window_length: int, periodic: bool = True, *, dtype=None, layout=None, device=None,
                    requires_grad=False):
    """Returns the triangular window that is 0 at both ends."""
    want, dev = dtype or defaults.dtype, _device(device)
    n = window_length if periodic else window_length - 1
    place = ops.iota(size=window_length, dtype=dt.float64, device=dev) * (2 / max(n, 1))
    y = ops.abs(place - 1) * -1 + 1
    return _finish(cast(y if window_length > 1 else y * 0 + 1, want), requires_grad)
