"""autograd.Function: forward and backward written by the user, one node on the tape."""

from __future__ import annotations

import functools
from typing import Any

from ..ir.ops.elementwise import full_as
from . import tape
from .grad_mode import no_grad
from .tape import TapeNode, modes
from .tensor import Tensor


class FunctionCtx:
    """What a Function's forward leaves for its backward, as torch.autograd.function.FunctionCtx."""

    def __init__(self):
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self.to_save: tuple = ()
        self._dirty: tuple = ()
        self._no_gradient: tuple = ()
        self._saved: tuple | None = None  # these two only while backward runs: the node holds ctx
        self._node = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors, with the versions they have, for `saved_tensors`."""
        self.to_save = tensors

    save_for_forward = save_for_backward

    def mark_dirty(self, *args: Tensor) -> None:
        """Says that these inputs were changed in place."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Says that no gradient flows to these outputs."""
        self._no_gradient = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients of outputs are given as zeros (the default) or None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple:
        """The tensors kept by `save_for_backward`; RuntimeError if they were changed or freed."""
        if self._node is None:
            return self.to_save
        if self._saved is None:
            raise RuntimeError(tape.FREED)
        return tuple(self._unpacked(s) for s in self._saved)

    saved_variables = saved_tensors

    def _unpacked(self, saved):
        if saved is None:
            return None
        tensor, version, number = saved
        tape.check_version(tensor.storage, version, tensor.type)
        return tensor if number is None else tensor.as_output(self._node, number)

    def _records(self, outs) -> tuple:
        """What was to be saved, for the node; an output is kept off the tape, to make no cycle."""
        numbers = {id(o): i for i, o in enumerate(outs)}
        records = tuple(None if t is None else (
            (t.shell(), t.storage.version, numbers[id(t)]) if id(t) in numbers else (t, t.storage.version, None))
            for t in self.to_save)
        self.to_save = ()
        return records


class FunctionNode(TapeNode):
    """The tape's node of one `Function.apply`; `saved` holds (tensor, version, number if it is an output)."""

    __slots__ = ("ctx", "function")

    def __init__(self, function, ctx: FunctionCtx, edges: tuple, out_types: tuple, saved: tuple):
        super().__init__(None, {}, edges, saved, out_types)
        self.function, self.ctx = function, ctx

    def name(self) -> str:
        return self.function.__name__ + "Backward"

    def pull(self, cotangents: list) -> list:
        gs = [*cotangents, *[None] * (len(self.out_types) - len(cotangents))]
        if self.ctx.materialize_grads:
            gs = [full_as(t, 0) if g is None and t is not None else g
                  for g, t in zip(gs, self.out_types, strict=True)]
        ctx = self.ctx
        ctx._node, ctx._saved = self, self.saved
        try:
            out = self.function.backward(ctx, *gs)
        finally:
            ctx._node = ctx._saved = None
        return self._checked(out if isinstance(out, tuple) else (out,))

    def _checked(self, out: tuple) -> list:
        n = len(self.edges)
        if len(out) < n or any(g is not None for g in out[n:]):
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {n}, got "
                               f"{len(out)})")
        for i, (g, e) in enumerate(zip(out, self.edges, strict=False)):
            if g is not None and e is not None and not isinstance(g, Tensor):
                raise TypeError(f"expected Variable or None (got {type(g).__name__}) at index {i} of "
                                f"{self.name()}'s gradients")
        return list(out[:n])


def once_differentiable(fn):
    """Decorates a backward that cannot be differentiated again."""

    @functools.wraps(fn)
    def backward(ctx, *grads):
        with no_grad():
            out = fn(ctx, *grads)
        if not modes.grad or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return out
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    return backward


class Function:
    """Base of operations with a backward of their own, as torch.autograd.Function.

    >>> import treadle
    >>> class Double(treadle.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = treadle.ones(1, requires_grad=True)
    >>> Double.apply(x).sum().backward(); x.grad
    tensor([2.])
    """

    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so "
                           "you should invoke them on the class itself. Instantiating an autograd function will "
                           "raise an error in a future version of PyTorch.")

    @staticmethod
    def forward(*args, **kwargs) -> Any:
        """The operation: (ctx, *inputs), or (*inputs) beside `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output) -> Any:
        """Fills ctx after a forward that does not take it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs) -> Any:
        """The gradients of the inputs, one for each, from those of the outputs."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom "
                                  "autograd.Function to use it with backward mode AD.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs forward and puts one node on the tape."""
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                out = cls.forward(ctx, *args, **kwargs)
            else:
                out = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, out)
        return _recorded(cls, ctx, args, out)


def _recorded(cls, ctx: FunctionCtx, args: tuple, out):
    single = not isinstance(out, (tuple, list))
    outs = [out] if single else list(out)
    dirty, given = {id(t) for t in ctx._dirty}, {id(a) for a in args if isinstance(a, Tensor)}
    grad = modes.grad and any(ctx.needs_input_grad)
    made = [o.shell(type(o)) if isinstance(o, Tensor) and id(o) in given and id(o) not in dirty else o for o in outs]
    if grad:
        _attach(cls, ctx, args, outs, made, dirty)
    return made[0] if single else tuple(made)


def _attach(cls, ctx, args, outs, made, dirty) -> None:
    edges = tuple(a.edge() if isinstance(a, Tensor) and a.requires_grad else None for a in args)
    closed = {id(t) for t in ctx._no_gradient}
    types = tuple(o.type if isinstance(o, Tensor) else None for o in made)
    node = FunctionNode(cls, ctx, edges, types, ctx._records(outs))
    for number, (original, o) in enumerate(zip(outs, made, strict=True)):
        if not isinstance(o, Tensor) or id(original) in closed or not o.type.dtype.is_differentiable:
            continue
        if id(o) in dirty and o.is_leaf and o.requires_grad:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        o.attach(node, number)
        if id(o) in dirty:
            o._generation += 1
