"""Convolutions of torch.nn.functional: 1, 2 and 3 spatial dims, and transposed ones."""

from __future__ import annotations

from ....ir import ops
from ...autocast import cast_inputs
from ...composites import conv as rows
from ..matmul import c_name


def spread(value, n: int, name: str = "value") -> tuple[int, ...]:
    """An int or a sequence as n ints."""
    if isinstance(value, int):
        return (value,) * n
    out = tuple(int(v) for v in value)
    if len(out) == 1:
        return out * n
    if len(out) != n:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {n} values to match the "
                           f"convolution dimensions, but got {name}={list(out)}")
    return out


def _batched(x, n: int, name: str):
    """(x with a batch dim, whether it lacked one)."""
    if x.type.ndim == n + 2:
        return x, False
    if x.type.ndim == n + 1:
        return ops.reshape(x, shape=(1, *x.type.shape)), True
    raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: "
                       f"{list(x.type.shape)}")


def _check(x, w, b, groups, n, name, transposed=False):
    if w.type.ndim != n + 2:
        raise RuntimeError(f"{name}: expected a weight of {n + 2} dims, got {list(w.type.shape)}")
    if x.type.dtype is not w.type.dtype:
        raise RuntimeError(f"Input type ({c_name(x.type.dtype)}) and weight type ({c_name(w.type.dtype)}) should be "
                           "the same")
    if b is not None and b.type.dtype is not x.type.dtype:
        raise RuntimeError(f"Input type ({c_name(x.type.dtype)}) and bias type ({c_name(b.type.dtype)}) should be the "
                           "same")
    have, want = x.type.shape[1], w.type.shape[0] if transposed else w.type.shape[1] * groups
    if have != want:
        raise RuntimeError(f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size "
                           f"{list(w.type.shape)}, expected input{list(x.type.shape)} to have {want} channels, but got "
                           f"{have} channels instead")
    outputs = w.type.shape[1] * groups if transposed else w.type.shape[0]
    if not transposed and outputs % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
                           f"weight of size {list(w.type.shape)} instead")
    if b is not None and b.type.shape != (outputs,):
        raise RuntimeError(f"Given weight of size {list(w.type.shape)}, expected bias to be 1-dimensional with "
                           f"{outputs} elements, but got bias of size {list(b.type.shape)} instead")


def _check_sizes(x, w, stride, padding, dilation):
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    padded = [s + 2 * p for s, p in zip(x.type.shape[2:], padding, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.type.shape[2:], strict=True)]
    if any(r > s for r, s in zip(reach, padded, strict=True)):
        raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
                           f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size")


def _same(x, w, stride, dilation, n):
    """x padded so that the output has its size; the odd zero goes to the end."""
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, w.type.shape[2:], strict=True)]
    if all(t % 2 == 0 for t in total):
        return x, tuple(t // 2 for t in total)
    before = tuple(t // 2 for t in total)
    after = tuple(t - t // 2 for t in total)
    return ops.pad(x, before=(0, 0, *before), after=(0, 0, *after), value=0), (0,) * n


def _conv(name, n, input, weight, bias, stride, padding, dilation, groups):
    x, w, b = cast_inputs(name, input, weight, bias)
    x, single = _batched(x, n, name)
    _check(x, w, b, groups, n, name)
    stride, dilation = spread(stride, n, "stride"), spread(dilation, n, "dilation")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        x, padding = _same(x, w, stride, dilation, n) if padding == "same" else (x, (0,) * n)
    padding = spread(padding, n, "padding")
    _check_sizes(x, w, stride, padding, dilation)
    y = rows.conv(x, w, *(() if b is None else (b,)), stride=stride, padding=padding, dilation=dilation, groups=groups)
    return ops.reshape(y, shape=y.type.shape[1:]) if single else y


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1):
    """Returns the 1-d convolution of input (N, C, L) with weight (O, C / groups, K), plus bias."""
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1):
    """Returns the 2-d convolution of input (N, C, H, W) with weight (O, C / groups, KH, KW), plus bias.

    padding may be 'same' or 'valid'; RuntimeError where channels or sizes do not fit.

    >>> import treadle
    >>> conv2d(treadle.ones(1, 1, 3, 3), treadle.ones(1, 1, 2, 2)).squeeze()
    tensor([[4., 4.],
            [4., 4.]])
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1):
    """Returns the 3-d convolution of input (N, C, D, H, W) with weight (O, C / groups, KD, KH, KW)."""
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _transposed(name, n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    x, w, b = cast_inputs(name, input, weight, bias)
    x, single = _batched(x, n, name)
    _check(x, w, b, groups, n, name, transposed=True)
    stride, dilation = spread(stride, n, "stride"), spread(dilation, n, "dilation")
    padding, extra = spread(padding, n, "padding"), spread(output_padding, n, "output_padding")
    for e, s, d in zip(extra, stride, dilation, strict=True):
        if e >= max(s, d):
            raise RuntimeError("output padding must be smaller than either stride or dilation, but got output_padding: "
                               f"{list(extra)} stride: {list(stride)} dilation: {list(dilation)}")
    size = tuple((m - 1) * s - 2 * p + d * (k - 1) + e + 1 for m, s, p, d, k, e in
                 zip(x.type.shape[2:], stride, padding, dilation, w.type.shape[2:], extra, strict=True))
    if any(v <= 0 for v in size):
        raise RuntimeError(f"Given input size per channel: {list(x.type.shape[2:])}. Calculated output size per "
                           f"channel: {list(size)}. Output size is too small")
    y = rows.conv_input(x, w, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups)
    if b is not None:
        y = y + ops.reshape(b, shape=(1, b.type.numel) + (1,) * n)
    return ops.reshape(y, shape=y.type.shape[1:]) if single else y


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1):
    """Returns the transposed 1-d convolution of input with weight (C, O / groups, K), plus bias."""
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1):
    """Returns the transposed 2-d convolution of input with weight (C, O / groups, KH, KW), plus bias."""
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1):
    """Returns the transposed 3-d convolution of input with weight (C, O / groups, KD, KH, KW), plus bias."""
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)
