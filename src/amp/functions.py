"""custom_fwd, custom_bwd: autograd.Function under autocast."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..frontend.autocast import DEVICES, autocast, get_autocast_dtype, is_autocast_enabled
from ..frontend.tensor import Tensor
from ..ir import dtype as dt
from ..ir.arith import cast


def is_autocast_available(device_type: str) -> bool:
    """Returns whether autocast knows the kind of device."""
    return device_type in DEVICES


def _cast(value: Any, device_type: str, dtype: dt.DType) -> Any:
    """`value` with the floating tensors within it cast, float64 left alone."""
    if isinstance(value, Tensor):
        fits = (value.dtype.is_floating_point and value.device.type == device_type
                and value.dtype is not dt.float64)
        return cast(value, dtype) if fits else value
    if isinstance(value, (str, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value


def custom_fwd(fwd=None, *, device_type: str, cast_inputs: dt.DType | None = None):
    """A decorator for `forward` of an autograd.Function: its inputs cast, autocast off inside.

    Without `cast_inputs` the region's state stays; `custom_bwd` restores it in backward.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args, **kwargs):
        enabled = is_autocast_enabled(device_type)
        args[0]._dtype = get_autocast_dtype(device_type)
        args[0]._fwd_used_autocast = enabled if cast_inputs is None else False
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd=None, *, device_type: str):
    """A decorator for `backward` of an autograd.Function: it runs in the autocast state of forward."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args, **kwargs):
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return backward
