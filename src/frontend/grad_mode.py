"""no_grad, enable_grad, set_grad_enabled, inference_mode: context managers and decorators."""

from __future__ import annotations

import functools
import inspect

from .tape import modes


class _Mode:
    """Base: sets the thread's modes inside, restores them after; also decorates functions."""

    def __enter__(self):
        self._saved = (modes.grad, modes.inference)
        self._enter()

    def __exit__(self, *exc):
        modes.grad, modes.inference = self._saved

    def _enter(self) -> None:
        raise NotImplementedError

    def _again(self):
        return type(self)()

    def __call__(self, fn):
        if inspect.isgeneratorfunction(fn):
            @functools.wraps(fn)
            def generator(*args, **kwargs):
                inner = fn(*args, **kwargs)
                value = None
                while True:
                    with self._again():
                        try:
                            item = inner.send(value)
                        except StopIteration as stop:
                            return stop.value
                    value = yield item

            return generator

        @functools.wraps(fn)
        def call(*args, **kwargs):
            with self._again():
                return fn(*args, **kwargs)

        return call


class no_grad(_Mode):  # noqa: N801
    """Disables gradient recording, as torch.no_grad.

    >>> import treadle
    >>> x = treadle.ones(1, requires_grad=True)
    >>> with treadle.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    def __new__(cls, fn=None):
        self = super().__new__(cls)
        return self if fn is None else self(fn)

    def __init__(self, fn=None):
        """Decorating without parentheses is allowed."""

    def _enter(self):
        modes.grad = False


class enable_grad(no_grad):  # noqa: N801
    """Enables gradient recording, as torch.enable_grad."""

    def _enter(self):
        modes.grad = True


class set_grad_enabled(_Mode):  # noqa: N801
    """Sets gradient recording at once, and restores it if used as a context manager."""

    def __init__(self, mode: bool):
        self.mode = bool(mode)
        self._previous = (modes.grad, modes.inference)
        modes.grad = self.mode

    def __enter__(self):
        self._saved = self._previous
        modes.grad = self.mode

    def _enter(self):
        modes.grad = self.mode

    def _again(self):
        return set_grad_enabled(self.mode)

    def __call__(self, fn):
        modes.grad = self._previous[0]
        return super().__call__(fn)


class inference_mode(_Mode):  # noqa: N801
    """no_grad whose results may never take part in autograd, as torch.inference_mode."""

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        if callable(mode):
            self.mode = True
            return self(mode)
        return self

    def __init__(self, mode=True):
        self.mode = mode if not callable(mode) else True

    def _enter(self):
        modes.inference = self.mode
        if self.mode:
            modes.grad = False

    def _again(self):
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Returns whether ops are being recorded for backward."""
    return modes.grad


def is_inference_mode_enabled() -> bool:
    """Returns whether inference mode is on."""
    return modes.inference
