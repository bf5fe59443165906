"""checkpoint: a function whose intermediate values are computed again in backward instead of kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

from ..autograd import Function, backward
from ..frontend.functions.create import empty
from ..frontend.functions.random import get_rng_state, set_rng_state
from ..frontend.grad_mode import enable_grad, no_grad
from ..frontend.interpreter import current
from ..frontend.tape import modes
from ..frontend.tensor import Tensor


def checkpoint(function: Callable, *args: Any, use_reentrant: bool | None = None,
               context_fn: Callable = lambda: (nullcontext(), nullcontext()),
               determinism_check: str = "default", debug: bool = False, early_stop: bool = True,
               **kwargs: Any) -> Any:
    """Returns function(*args, **kwargs); backward runs the function again, with the same random numbers.

    Gradients reach the tensors among the arguments and whatever else the function uses. With
    use_reentrant=True only if some argument requires grad, as in PyTorch.

    >>> import treadle
    >>> x = treadle.ones(2, requires_grad=True)
    >>> checkpoint(lambda t: (t * 3).exp(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([60.2566, 60.2566])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
                      "use_reentrant=False is recommended.", stacklevel=2)
        use_reentrant = True
    if use_reentrant and kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if not modes.grad:
        return function(*args, **kwargs)
    if current.recorder is not None:
        current.recorder.leaves_graph("a checkpoint, which runs its function again in backward")
    first, again = context_fn()
    run = _Run(function, args, kwargs, preserve, again)
    anchor = [] if use_reentrant else [empty(0, requires_grad=True)]  # puts the node on the tape in any case
    with first:
        return _Checkpoint.apply(run, *anchor, *run.tensors)


class _Run:
    """The call: its tensors taken out of the arguments, and the random state it began with."""

    def __init__(self, function: Callable, args: tuple, kwargs: dict, preserve: bool, again: Any) -> None:
        self.function, self.args, self.kwargs, self.again = function, args, kwargs, again
        self.state = get_rng_state() if preserve else None
        self.keys = [k for k, v in (*enumerate(args), *kwargs.items()) if isinstance(v, Tensor)]
        self.tensors = [kwargs[k] if isinstance(k, str) else args[k] for k in self.keys]
        self.single = True

    def __call__(self, tensors: Iterable[Tensor]) -> Any:
        args, kwargs = list(self.args), dict(self.kwargs)
        for key, t in zip(self.keys, tensors, strict=True):
            if isinstance(key, str):
                kwargs[key] = t
            else:
                args[key] = t
        return self.function(*args, **kwargs)

    def with_gradients(self, tensors: list[Tensor]) -> Any:
        """The call once more, on the tape, from the same random state."""
        if self.state is None:
            with enable_grad(), self.again:
                return self(tensors)
        now = get_rng_state()
        set_rng_state(self.state)
        try:
            with enable_grad(), self.again:
                return self(tensors)
        finally:
            set_rng_state(now)


class _Checkpoint(Function):
    @staticmethod
    def forward(ctx: Any, run: _Run, *tensors: Tensor) -> Any:
        ctx.run, ctx.anchors = run, len(tensors) - len(run.tensors)
        ctx.save_for_backward(*tensors[ctx.anchors:])
        with no_grad():
            return run(tensors[ctx.anchors:])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple:
        inputs = [t.detach().requires_grad_(t.requires_grad) for t in ctx.saved_tensors]
        out = ctx.run.with_gradients(inputs)
        outs = out if isinstance(out, (tuple, list)) else (out,)
        pairs = [(o, g) for o, g in zip(outs, grads, strict=True)
                 if isinstance(o, Tensor) and o.requires_grad and g is not None]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None,) * (1 + ctx.anchors) + tuple(t.grad for t in inputs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None,
                          **kwargs: Any) -> Any:
    """Returns the functions applied one after the other, all but the last of `segments` parts checkpointed."""
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed "
                      "explicitly.", stacklevel=2)
        use_reentrant = True
    steps = list(functions)
    size = len(steps) // segments

    def part(start: int, end: int) -> Callable:
        def run(x: Any) -> Any:
            for step in steps[start:end]:
                x = step(x)
            return x

        return run

    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(part(start, end), input, use_reentrant=use_reentrant, **kwargs)
    return part(end, len(steps))(input)
