"""Tensor: a typed view of a storage, with its place on the tape. Methods of torch's names are in `methods`."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..ir import dtype as dt
from ..ir.arith import Arith
from ..ir.device import CPU, device
from ..ir.type import TensorType, tensor_type
from ..runtime.storage import Storage
from .interpreter import current
from .tape import AccumulateGrad, TapeNode


OFF_TAPE = -1  # generation of a detached view: its base's history is not its own


class Size(tuple):
    """A shape: a tuple with `numel()`, as torch.Size."""

    __slots__ = ()

    def numel(self) -> int:
        out = 1
        for n in self:
            out *= n
        return out

    def __getitem__(self, key):
        got = tuple.__getitem__(self, key)
        return Size(got) if isinstance(key, slice) else got

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"


class Tensor(Arith):
    """A multi-dimensional array of one dtype with automatic gradients, as torch.Tensor.

    >>> import treadle
    >>> treadle.tensor([1.0, 2.0]) * 2
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_acc", "_chain", "_fn", "_generation", "_grad", "_nd",
                 "_node", "_number", "_requires_grad", "_root", "storage", "type")
    __array_priority__ = 1000

    def __new__(cls, *args, **kwargs):
        if cls is Tensor or args:
            from .functions.create import legacy_tensor

            made = legacy_tensor(*args, **kwargs)
            return made if cls is Tensor else made.as_subclass(cls)
        return cls._bare()

    def __init__(self, *args, **kwargs):
        """Everything is done by `__new__`."""

    # making ---------------------------------------------------------------------------------------
    @classmethod
    def _bare(cls):
        self = object.__new__(cls)
        self._nd = self._grad = self._fn = self._root = self._acc = self._node = None
        self._number = self._generation = 0
        self._requires_grad, self._chain = False, ()
        return self

    @classmethod
    def _from_array(cls, array: np.ndarray, type: TensorType, storage: Storage | None = None):
        self = cls._bare()
        self._nd, self.type = array, type
        self.storage = Storage(array) if storage is None else storage
        return self

    @classmethod
    def _from_storage(cls, storage: Storage, type: TensorType, root=None, chain=()):
        """A tensor whose array is made when it is asked for."""
        self = cls._bare()
        self.storage, self.type, self._root, self._chain = storage, type, root, chain
        return self

    def shell(self, cls=None) -> Tensor:
        """The same data and view, off the tape."""
        out = (cls or Tensor)._bare()
        out.storage, out.type, out._nd = self.storage, self.type, self._nd
        out._root, out._chain, out._generation = self._root, self._chain, self._generation
        return out

    def as_output(self, node, number) -> Tensor:
        """A shell standing where `node`'s output stands on the tape."""
        out = self.shell()
        out._fn, out._number, out._requires_grad = node, number, True
        return out

    def as_subclass(self, cls):
        """Returns the same tensor as an instance of `cls`, sharing data and history."""
        out = self.shell(cls)
        out._fn, out._number, out._requires_grad = self._fn, self._number, self._requires_grad
        return out

    # data -----------------------------------------------------------------------------------------
    @property
    def nd(self) -> np.ndarray:
        """The values as an ndarray sharing memory; computes what is pending."""
        if self.storage.pending is not None:
            self.storage.pending.flush()
        if self._nd is None:
            self._nd = self._view_of(self.storage.array)
        return self._nd

    def _view_of(self, array: np.ndarray) -> np.ndarray:
        root = self.type if not self._chain else self._chain[0][2]
        if array.shape != root.shape or array.dtype != root.dtype.np:
            array = array.reshape(-1).view(root.dtype.np).reshape(root.shape)
        for op, attrs, _ in self._chain:
            array = op.eager(array, **attrs)
        return array

    @property
    def shape(self) -> Size:
        return Size(self.type.shape)

    @property
    def dtype(self) -> dt.DType:
        return self.type.dtype

    @property
    def device(self) -> device:
        return self.type.device

    @property
    def ndim(self) -> int:
        return self.type.ndim

    @property
    def _version(self) -> int:
        if current.recorder is not None:
            current.recorder.leaves_graph("a read of a version counter")
        return self.storage.version

    @property
    def _base(self):
        return self._root

    def stride(self, dim: int | None = None):
        """Returns the strides in elements, or one of them."""
        steps = self._strides()
        return steps if dim is None else steps[dim]

    def _strides(self) -> tuple[int, ...]:
        array = self._nd
        if array is None:
            root = self._chain[0][2] if self._chain else self.type
            array = np.empty(root.shape, root.dtype.np)  # never touched: for its strides only
            array = self._view_of(array)
        size = self.type.dtype.itemsize
        return tuple(s // size for s in array.strides)

    def is_contiguous(self, memory_format=None) -> bool:
        """Returns whether elements lie in row-major order without gaps."""
        if self._nd is None and not self._chain:
            return True
        if self._nd is not None:
            return self._nd.flags.c_contiguous
        from ..ir.type import contiguous_strides

        return all(a == b or n == 1 for a, b, n in
                   zip(self._strides(), contiguous_strides(self.type.shape), self.type.shape, strict=True))

    # tape -----------------------------------------------------------------------------------------
    @property
    def requires_grad(self) -> bool:
        if self._root is not None and self._generation not in (self._root._generation, OFF_TAPE):
            self._refresh()
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool):
        if not self.is_leaf:
            if not value:
                raise RuntimeError("you can only change requires_grad flags of leaf variables. If you "
                                   "want to use a computed variable in a subgraph that doesn't require "
                                   "differentiation use var_no_grad = var.detach().")
            return
        if value and not self.type.dtype.is_differentiable:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if current.recorder is not None and value is not self._requires_grad:
            current.recorder.changes_grad_flag(self)
        self._requires_grad = bool(value)

    def requires_grad_(self, requires_grad: bool = True):
        """Sets requires_grad in place; returns self."""
        self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        return not self.requires_grad or self._fn is None

    @property
    def grad_fn(self):
        if self._root is not None and self._generation not in (self._root._generation, OFF_TAPE):
            self._refresh()
        return self._fn

    @property
    def output_nr(self) -> int:
        return self._number

    def _refresh(self):
        """A view whose base was written in place gets its new history."""
        from .mutation import regenerate

        regenerate(self)

    def attach(self, node: TapeNode, number: int) -> None:
        self._fn, self._number, self._requires_grad = node, number, True

    def edge(self):
        """(producer, output number) a gradient of this tensor flows to."""
        fn = self.grad_fn
        if fn is not None:
            return fn, self._number
        acc = self._acc() if self._acc is not None else None
        if acc is None:
            acc = AccumulateGrad(self)
            self._acc = weakref.ref(acc)
            own = self.__dict__.get("_leaf_hooks")
            if own:
                acc.tensor_hooks = {0: own}
        return acc, 0

    @property
    def grad(self) -> Tensor | None:
        if current.recorder is not None:
            current.recorder.reads_grad(self)
        if self._grad is None and self._fn is not None and "_retains" not in self.__dict__:
            _warn_non_leaf_grad()
        return self._grad

    @grad.setter
    def grad(self, value):
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type "
                                f"{type(value).__name__}")
            if value.type.shape != self.type.shape:
                raise RuntimeError(f"assigned grad has data of a different size: expected "
                                   f"{list(self.type.shape)}, got {list(value.type.shape)}")
            if value.type.dtype is not self.type.dtype:
                raise RuntimeError("assigned grad has data of a different type")
        if current.recorder is not None:
            current.recorder.writes_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self):
        self.grad = None

    @property
    def retains_grad(self) -> bool:
        return "_retains" in self.__dict__

    @property
    def data(self) -> Tensor:
        """The same memory, off the tape; writes through it are not seen by autograd's checks."""
        return self.detach()

    @data.setter
    def data(self, value: Tensor):
        if current.recorder is not None:
            current.recorder.flush("assignment to .data")
        _ = value.nd
        self.storage, self.type, self._nd = value.storage, value.type, value._nd
        self._root, self._chain, self._node = value._root, value._chain, None
        rebinds[0] += 1

    def _off_tape(self) -> Tensor:
        """The same view with no history, now or after its base is written."""
        out = self.shell()
        if out._root is not None:
            out._generation = OFF_TAPE
        return out

    def detach(self) -> Tensor:
        """Returns a view that is not on the tape."""
        out = self._off_tape()
        if current.recorder is not None:
            current.recorder.detached(out, self)
        return out

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Computes the gradients of this tensor with respect to the leaves, as torch.Tensor.backward."""
        from .autograd import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    # Python's protocols ---------------------------------------------------------------------------
    def _coerce(self, other: Any):
        if isinstance(other, np.ndarray):
            from .functions.create import as_tensor

            return as_tensor(other)
        return NotImplemented

    def __eq__(self, other):
        return self._compare("eq", other)

    def __ne__(self, other):
        return self._compare("ne", other)

    def _compare(self, name, other):
        from ..ir import arith

        if not arith._known(other):
            other = self._coerce(other)
            if other is NotImplemented:
                return name == "ne" if other is None else NotImplemented
        return arith.elementwise(getattr(arith.table, name), self, other)

    def __hash__(self):
        return id(self)

    def __bool__(self) -> bool:
        if self.type.numel != 1:
            what = "no values" if self.type.numel == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(self.nd.reshape(())[()])

    def item(self):
        """Returns the value of a one-element tensor as a Python number."""
        if self.type.numel != 1:
            raise RuntimeError(f"a Tensor with {self.type.numel} elements cannot be converted to Scalar")
        value = self.nd.reshape(())
        return float(value) if self.type.dtype.kind == "f" else value.item()

    def _scalar(self):
        if self.type.numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        if self.type.dtype.kind not in "iub" or self.type.numel != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        if self.type.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.type.shape[0]

    def __iter__(self):
        if self.type.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element) -> bool:
        return bool((self == element).any())

    def tolist(self):
        """Returns nested Python lists of the values (a number for a 0-d tensor)."""
        array = self.nd
        return (array.astype(np.float32) if array.dtype.kind == "V" or self.type.dtype is dt.bfloat16
                else array).tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Returns the ndarray sharing this tensor's memory; RuntimeError if it requires grad."""
        if self.requires_grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use "
                               "tensor.detach().numpy() instead.")
        return self._exposed()

    def _exposed(self) -> np.ndarray:
        """The values as an array that its taker may keep, read and write."""
        array = self.nd
        if current.recorder is not None:
            current.recorder.entangle((self,))
        return array

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **kwargs):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self._exposed().__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return (1, 0)

    def __repr__(self, *, tensor_contents=None) -> str:
        from .printing import tensor_text

        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        if self.type.ndim == 0:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __getitem__(self, key):
        from .functions.index import getitem

        return getitem(self, key)

    def __setitem__(self, key, value):
        from .functions.index import setitem

        setitem(self, key, value)

    def __deepcopy__(self, memo):
        from .copying import deepcopy_tensor

        return deepcopy_tensor(self, memo)

    def __reduce_ex__(self, protocol):
        from .copying import reduce_tensor

        return reduce_tensor(self)

    def __setstate__(self, state):
        self.__dict__.update(state)


rebinds = [0]  # counts changes of a tensor's storage, type or hooks, for what replays remember


def _warn_non_leaf_grad():
    import warnings

    warnings.warn(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
        "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
        "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.", UserWarning, stacklevel=3)


def from_array(array: np.ndarray, dev: device = CPU) -> Tensor:
    """A tensor sharing `array`'s memory."""
    return Tensor._from_array(array, tensor_type(array.shape, dt.from_numpy(array.dtype), dev))
