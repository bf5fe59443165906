"""Tensors as text, in PyTorch's format."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..ir import dtype as dt
from ..ir.arith import defaults


@dataclass(slots=True)
class Options:
    """torch.set_printoptions' settings."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options = Options()
_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None,
                     sci_mode=None) -> None:
    """Sets how tensors print, as torch.set_printoptions."""
    if profile is not None:
        options.precision, options.threshold, options.edgeitems, options.linewidth = _PROFILES[profile]
    for name, value in (("precision", precision), ("threshold", threshold), ("edgeitems", edgeitems),
                        ("linewidth", linewidth)):
        if value is not None:
            setattr(options, name, value)
    options.sci_mode = sci_mode


class _Numbers:
    """How the elements of one tensor are written: all with one width."""

    def __init__(self, values: np.ndarray, kind: str):
        self.kind, self.width, self.integral, self.scientific = kind, 1, True, False
        flat = values.reshape(-1)
        if kind == "f":
            self._floats(flat.astype(np.float64))
        else:
            self.width = max((len(self._plain(v)) for v in flat), default=1)

    def _plain(self, v) -> str:
        return str(bool(v)) if self.kind == "b" else str(int(v))

    def _floats(self, flat: np.ndarray) -> None:
        shown = flat[np.isfinite(flat) & (flat != 0)]  # as torch: zeros, NaN and infinities take what room there is
        if not shown.size:
            return
        finite = np.abs(shown)
        low, high = float(finite.min()), float(finite.max())
        self.integral = bool(np.all(finite == np.ceil(finite)))
        self.scientific = high / low > 1000.0 or high > 1.0e8 or (not self.integral and low < 1.0e-4)
        if options.sci_mode is not None:
            self.scientific = options.sci_mode
        self.width = max(len(self.text_of(v)) for v in shown)

    def text_of(self, v) -> str:
        """One element without padding."""
        if self.kind != "f":
            return self._plain(v)
        v = float(v)
        if self.scientific:
            return f"{v:.{options.precision}e}"
        if self.integral:
            return f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}"
        return f"{v:.{options.precision}f}"

    def __call__(self, v) -> str:
        return self.text_of(v).rjust(self.width)


class _Complex:
    """Complex elements: both parts with a format of their own."""

    def __init__(self, values: np.ndarray):
        self.real, self.imag = _Numbers(values.real, "f"), _Numbers(np.abs(values.imag), "f")
        self.width = self.real.width + self.imag.width + 2

    def __call__(self, v) -> str:
        sign = "-" if np.signbit(v.imag) else "+"
        return f"{self.real(v.real)}{sign}{self.imag.text_of(abs(v.imag)).rjust(self.imag.width)}j"


def _shown(array: np.ndarray, summarize: bool) -> np.ndarray:
    """The elements that will be printed, for choosing the format."""
    if not summarize:
        return array
    k = options.edgeitems
    for d, n in enumerate(array.shape):
        if n > 2 * k:
            array = np.concatenate([array.take(range(k), d), array.take(range(n - k, n), d)], d)
    return array


def _vector(row, indent: int, write, summarize: bool) -> str:
    per_line = max(1, (options.linewidth - indent) // (write.width + 2))
    k = options.edgeitems
    if summarize and len(row) > 2 * k:
        words = [write(v) for v in row[:k]] + [" ..."] + [write(v) for v in row[-k:]]
    else:
        words = [write(v) for v in row]
    lines = [", ".join(words[i:i + per_line]) for i in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(array, indent: int, write, summarize: bool) -> str:
    if array.ndim == 0:
        return write(array[()])
    if array.ndim == 1:
        return _vector(array, indent, write, summarize)
    k, n = options.edgeitems, len(array)
    if summarize and n > 2 * k:
        parts = [_nested(array[i], indent + 1, write, summarize) for i in range(k)] + ["..."] \
            + [_nested(array[i], indent + 1, write, summarize) for i in range(n - k, n)]
    else:
        parts = [_nested(a, indent + 1, write, summarize) for a in array]
    gap = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + gap.join(parts) + "]"


def contents(array: np.ndarray, kind: str, indent: int) -> str:
    """The brackets and numbers alone."""
    summarize = array.size > options.threshold
    sample = _shown(array, summarize)
    write = _Complex(sample) if kind == "c" else _Numbers(sample, kind)
    return _nested(array, indent, write, summarize)


def tensor_text(t, name: str = "tensor") -> str:
    """What `repr(t)` gives."""
    type, array = t.type, t.nd
    if type.dtype is dt.bfloat16:
        array = array.astype(np.float32)
    head = name + "("
    tails = []
    if type.device.type != "cpu":
        tails.append(f"device='{type.device}'")
    if type.numel == 0:
        body = "[]"
        if type.ndim != 1:
            tails.append(f"size={tuple(type.shape)}")
        if type.dtype is not defaults.dtype:
            tails.append(f"dtype={_dtype_text(type.dtype)}")
    else:
        body = contents(array, type.dtype.kind, len(head))
        usual = (defaults.dtype, dt.int64, dt.bool_, defaults.dtype.to_complex())
        if type.dtype not in usual:
            tails.append(f"dtype={_dtype_text(type.dtype)}")
    if t.grad_fn is not None:
        tails.append(f"grad_fn=<{t.grad_fn.name()}>")
    elif t.requires_grad:
        tails.append("requires_grad=True")
    return _join(head + body, tails, len(head)) + ")"


def _dtype_text(dtype) -> str:
    return "torch." + dtype.name


def _join(text: str, tails: list[str], indent: int) -> str:
    """The suffixes, on a new line when they do not fit."""
    length = len(text) - text.rfind("\n")
    for tail in tails:
        if length + len(tail) + 2 > options.linewidth:
            text += ",\n" + " " * indent + tail
            length = indent + len(tail)
        else:
            text += ", " + tail
            length += len(tail) + 2
    return text
