"""Parameter and Buffer: tensors that a Module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any

from ..frontend.functions.create import empty
from ..frontend.tensor import Tensor


class _ParameterMeta(type):
    """A tensor of a class of its own that was made a parameter counts as one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter and isinstance(instance, Tensor) and "_is_param" in instance.__dict__)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a parameter of the module it is assigned to; requires grad by default.

    It shares the memory of `data` and is a leaf, also under `no_grad`.

    >>> import treadle
    >>> Parameter(treadle.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True):
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter(): argument 'data' must be Tensor, not {type(data).__name__}")
        if type(data) is Tensor or isinstance(data, cls):
            out = data.shell(cls)
        else:
            out = data.shell(type(data))
            out.__dict__["_is_param"] = True
        out.requires_grad = requires_grad
        return out

    def __repr__(self, *, tensor_contents=None) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict):
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return found

    def __reduce_ex__(self, protocol):
        state = {k: v for k, v in self.__dict__.items() if k not in _UNSAVED}
        return _rebuild, (type(self), self.data, self.requires_grad, state)


_UNSAVED = ("_accumulate_hooks", "_is_param", "_leaf_hooks", "_retains")  # hooks are not saved


def _rebuild(cls, data, requires_grad, state):
    out = cls(data, requires_grad)
    out.__dict__.update(state)
    return out


class _BufferMeta(type):
    """Buffers are plain tensors with a mark."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and "_is_buffer" in instance.__dict__


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that is a buffer of the module it is assigned to.

    >>> import treadle
    >>> b = Buffer(treadle.zeros(2), persistent=False)
    >>> isinstance(b, Buffer), b.persistent
    (True, False)
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True):
        if data is None:
            data = empty(0)
        out = data.shell(type(data))
        out.requires_grad = data.requires_grad
        out.__dict__.update(persistent=persistent, _is_buffer=True)
        return out


def is_lazy(param: Any) -> bool:
    """Returns whether `param` has no shape yet (none does here: lazy modules are not offered)."""
    return False
