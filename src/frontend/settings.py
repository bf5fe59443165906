"""Switches that scripts set and read: threads, determinism, matmul precision; memory formats and layouts."""

from __future__ import annotations

from ..runtime.threads import default_threads


class memory_format:  # noqa: N801
    """How a tensor's dims lie in memory; here always row-major, so a format changes nothing."""

    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self):
        return _format, (self._name,)


class layout(memory_format):  # noqa: N801
    """How a tensor's elements are kept; here always strided."""


contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
strided = layout("strided")
_FORMATS = {f._name: f for f in (contiguous_format, preserve_format, channels_last, channels_last_3d, strided)}


def _format(name: str) -> memory_format:
    return _FORMATS[name]


class _Switches:
    deterministic = False
    warn_only = False
    precision = "highest"


_switches = _Switches()


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepts the wish: every algorithm here is deterministic."""
    _switches.deterministic, _switches.warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Returns what `use_deterministic_algorithms` was told last."""
    return _switches.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Returns whether only warnings were asked for."""
    return _switches.warn_only


def set_float32_matmul_precision(precision: str) -> None:
    """Accepts 'highest', 'high' or 'medium': products of float32 are computed in float32."""
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"Invalid value {precision!r}: expected 'highest', 'high' or 'medium'")
    _switches.precision = precision


def get_float32_matmul_precision() -> str:
    """Returns what `set_float32_matmul_precision` was told last."""
    return _switches.precision


def set_num_threads(count: int) -> None:
    """Sets how many threads kernels run on."""
    from ..runtime.support import set_num_threads as set_threads

    if not isinstance(count, int) or count < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    set_threads(count)


def get_num_threads() -> int:
    """Returns how many threads kernels run on."""
    from ..runtime.support import get_num_threads as threads

    return threads()


def get_num_interop_threads() -> int:
    """Returns 1 for the calling thread; ops are not run side by side."""
    return min(1, default_threads())


def set_default_device(device) -> None:
    """Accepts the CPU, where every tensor is made; RuntimeError for another device."""
    from .functions.create import _device

    _device(device)


def get_default_device():
    """Returns the device of new tensors: the CPU."""
    from ..ir.device import CPU

    return CPU


def assert_(condition, message: str) -> None:
    """AssertionError with the message unless condition (a bool or a one-element tensor) holds."""
    if not condition:
        raise AssertionError(message)


def typename(obj) -> str:
    """Returns the name of an object's type, of a tensor with its dtype."""
    from .tensor import Tensor

    if isinstance(obj, Tensor):
        return "torch." + obj.dtype.scalar_name + "Tensor"
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
