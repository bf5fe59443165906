"""Autocast: which dtype the inputs of public functions are cast to, by the state of the thread.

`cast_inputs(name, *tensors)` is called by the public function `name` before anything else.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
import weakref
from typing import Any

from ..ir import dtype as dt
from ..ir.arith import cast
from .interpreter import current
from .tape import modes
from .tensor import Tensor

# PyTorch's lists for the CPU, by the names of the public functions
LOWER = frozenset((
    "addbmm", "addmm", "baddbmm", "bmm", "chain_matmul", "conv1d", "conv2d", "conv3d", "conv_tbc",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "einsum", "linear", "lstm", "matmul", "mm",
    "multi_dot", "prelu", "scaled_dot_product_attention", "tensordot", "vecdot",
))  # fmt: skip
FLOAT32 = frozenset((
    "adaptive_avg_pool3d", "avg_pool3d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist",
    "cholesky", "cholesky_inverse", "cholesky_solve", "cosine_embedding_loss", "cross_entropy", "ctc_loss",
    "eig", "eigh", "eigvals", "eigvalsh", "fft", "fft2", "fftn", "grid_sample", "hfft",
    "hinge_embedding_loss", "huber_loss", "ifft", "ifft2", "ifftn", "ihfft", "inv", "inverse", "irfft",
    "irfft2", "irfftn", "kl_div", "l1_loss", "lstsq", "lu_solve", "margin_ranking_loss", "matrix_rank",
    "max_pool3d", "max_unpool2d", "max_unpool3d", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "nanquantile", "nll_loss", "ormqr", "pinverse", "poisson_nll_loss", "polar",
    "prod", "qr", "quantile", "reflection_pad1d", "reflection_pad2d", "replication_pad1d",
    "replication_pad2d", "replication_pad3d", "rfft", "rfft2", "rfftn", "smooth_l1_loss",
    "soft_margin_loss", "solve", "stft", "svd", "svdvals", "trace", "triplet_margin_loss",
    "view_as_complex",
))  # fmt: skip
WIDEST = frozenset(("cat", "index_copy", "stack"))

DEVICES = ("cpu", "cuda", "xpu", "mps", "mtia", "hpu", "maia")
_HALF = {"cuda": dt.float16, "mps": dt.float16}


class _State(threading.local):
    """One thread's autocast state: per device whether and to what; the casts of weights so far."""

    def __init__(self) -> None:
        self.enabled = dict.fromkeys(DEVICES, False)
        self.dtype = {name: _HALF.get(name, dt.bfloat16) for name in DEVICES}
        self.cache_enabled, self.nesting = True, 0
        self.cache: dict[int, tuple] = {}
        self.any = False  # whether some device is enabled: the one thing most calls look at

    def key(self) -> tuple:
        """All that decides what a call computes."""
        if not self.any:
            return ()
        return tuple((name, self.dtype[name]) for name in DEVICES if self.enabled[name])


state = _State()


def cast_inputs(name: str, *tensors: Any) -> tuple:
    """Returns the inputs of function `name` in the dtype autocast wants; others than floats as they are.

    >>> import treadle
    >>> x = treadle.ones(2)
    >>> with autocast("cpu"):
    ...     cast_inputs("matmul", x, None)[0].dtype
    treadle.bfloat16
    """
    if not state.any:
        return tensors
    if name in LOWER:
        return tuple(_lowered(t) if _eligible(t) else t for t in tensors)
    if name in FLOAT32:
        return tuple(cast(t, dt.float32) if _eligible(t) else t for t in tensors)
    if name in WIDEST:
        return _widened(tensors)
    return tensors


def cast_list(name: str, tensors) -> Any:
    """`cast_inputs` for functions that take a sequence of tensors."""
    return cast_inputs(name, *tensors) if state.any else tensors


def _eligible(t: Any) -> bool:
    if not isinstance(t, Tensor) or not state.enabled.get(t.type.device.type, False):
        return False
    return t.type.dtype.kind == "f" and t.type.dtype is not dt.float64


def _widened(tensors: tuple) -> tuple:
    dtypes = {t.type.dtype for t in tensors if _eligible(t)}
    if len(dtypes) < 2:
        return tensors
    lower = state.dtype[next(t.type.device.type for t in tensors if _eligible(t))]
    widest = dt.float32 if dtypes - {lower} else lower
    return tuple(cast(t, widest) if _eligible(t) else t for t in tensors)


def _lowered(t: Tensor) -> Tensor:
    """t in the lower dtype; a weight is cast once within the outermost autocast region."""
    dtype = state.dtype[t.type.device.type]
    if t.type.dtype is dtype:
        return t
    weight = (state.cache_enabled and modes.grad and t.type.dtype is dt.float32 and t._root is None
              and t.is_leaf and t.requires_grad)
    if not weight:
        return cast(t, dtype)
    stamp = (t.storage, t.storage.version, dtype, current.recorder)
    kept = state.cache.get(id(t))
    if kept is not None and kept[0]() is t and kept[1] == stamp:
        return kept[2]
    lowered = cast(t, dtype)
    state.cache[id(t)] = (weakref.ref(t), stamp, lowered)
    return lowered


def _set(device: str, enabled: bool, dtype: dt.DType, cache_enabled: bool) -> None:
    state.enabled[device], state.dtype[device], state.cache_enabled = enabled, dtype, cache_enabled
    state.any = any(state.enabled.values())


def _check_device(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if device_type not in DEVICES:
        raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
    return device_type


class autocast:  # noqa: N801
    """A context manager or decorator in which products run in bfloat16 or float16, as torch.autocast.

    >>> import treadle
    >>> a = treadle.ones(2, 2)
    >>> with autocast("cpu", dtype=treadle.bfloat16):
    ...     (a @ a).dtype
    treadle.bfloat16
    """

    def __init__(self, device_type: str, dtype: dt.DType | None = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        self.device = _check_device(device_type)
        self.fast_dtype = state.dtype[self.device] if dtype is None else dtype
        self._cache_enabled = state.cache_enabled if cache_enabled is None else cache_enabled
        if enabled and self.fast_dtype not in (dt.bfloat16, dt.float16):
            warnings.warn(f"In {self.device.upper()} autocast, but the target dtype is not supported. Disabling "
                          f"autocast.\n{self.device.upper()} Autocast only supports dtypes of torch.bfloat16, "
                          "torch.float16 currently.", stacklevel=2)
            enabled = False
        self._enabled = enabled
        self._outer: list[tuple] = []

    def __enter__(self) -> autocast:
        device = self.device
        self._outer.append((state.enabled[device], state.dtype[device], state.cache_enabled))
        _set(device, self._enabled, self.fast_dtype, self._cache_enabled)
        state.nesting += 1
        return self

    def __exit__(self, *exc) -> None:
        state.nesting -= 1
        if state.nesting == 0:
            state.cache.clear()
        _set(self.device, *self._outer.pop())

    def __call__(self, fn):
        if not callable(fn):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(fn).__name__}. Did you mean to "
                            "use autocast as a context manager? For example:\n    with "
                            "torch.autocast(device_type=...):\n        output = model(input)")
        if inspect.iscoroutinefunction(fn):
            @functools.wraps(fn)
            async def wrapped(*args, **kwargs):
                with self:
                    return await fn(*args, **kwargs)
        else:
            @functools.wraps(fn)
            def wrapped(*args, **kwargs):
                with self:
                    return fn(*args, **kwargs)
        return wrapped


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Returns whether autocast is on for a kind of device."""
    return state.enabled[_check_device(device_type)]


def get_autocast_dtype(device_type: str) -> dt.DType:
    """Returns the dtype autocast casts to on a kind of device."""
    return state.dtype[_check_device(device_type)]


def is_autocast_cache_enabled() -> bool:
    """Returns whether casts of weights are kept within a region."""
    return state.cache_enabled


def clear_autocast_cache() -> None:
    """Forgets the casts of weights."""
    state.cache.clear()


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switches autocast for a kind of device, outside of any region."""
    _set(_check_device(device_type), enabled, state.dtype[device_type], state.cache_enabled)


def set_autocast_dtype(device_type: str, dtype: dt.DType) -> None:
    """Sets the dtype autocast casts to on a kind of device."""
    _set(_check_device(device_type), state.enabled[device_type], dtype, state.cache_enabled)


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Sets whether casts of weights are kept within a region."""
    state.cache_enabled = enabled
