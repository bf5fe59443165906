"""LBFGS: quasi-Newton steps from a short history, with an optional strong Wolfe line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..frontend.functions.create import zeros_like
from ..frontend.functions.join import cat
from ..frontend.grad_mode import enable_grad, no_grad
from ..frontend.interpreter import current
from ..frontend.tensor import Tensor
from .checking import check_lr
from .optimizer import Optimizer
from .wolfe import strong_wolfe


class LBFGS(Optimizer):
    """L-BFGS over one group of parameters; `step` needs a closure that computes the loss anew."""

    def __init__(self, params, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check_lr(lr)
        super().__init__(params, dict(
            lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
            tolerance_grad=tolerance_grad, tolerance_change=tolerance_change, history_size=history_size,
            line_search_fn=line_search_fn))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def _gradient(self) -> Tensor:
        """All gradients as one vector."""
        return cat([(zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._params])

    def _move(self, size: float, direction: Tensor) -> None:
        start = 0
        for p in self._params:
            count = p.numel()
            p.add_(direction[start:start + count].reshape(tuple(p.shape)), alpha=size)
            start += count

    def step(self, closure: Callable[[], Any]):  # type: ignore[override]
        """Takes up to max_iter steps; returns the loss at the start."""
        if current.recorder is not None:
            current.recorder.leaves_graph("LBFGS decides by the loss")
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        with no_grad():
            return _Search(self, group, state, enable_grad()(closure)).run()


class _Search:
    """The iterations of one step."""

    def __init__(self, optimizer: LBFGS, group: dict, state: dict, closure: Callable) -> None:
        self.optimizer, self.group, self.state, self.closure = optimizer, group, state, closure
        lr = group["lr"]
        self.lr = float(lr.item()) if isinstance(lr, Tensor) else float(lr)

    def run(self):
        group, state = self.group, self.state
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = self.closure()
        self.loss = float(first)
        self.evaluations = 1
        state["func_evals"] += 1
        self.gradient = self.optimizer._gradient()
        if self._flat():
            return first
        for iteration in range(1, group["max_iter"] + 1):
            if not self._iterate(iteration):
                break
        return first

    def _flat(self) -> bool:
        return float(self.gradient.abs().max()) <= self.group["tolerance_grad"]

    def _iterate(self, iteration: int) -> bool:
        """One iteration; returns whether to go on."""
        group, state, least = self.group, self.state, self.group["tolerance_change"]
        state["n_iter"] += 1
        begin = state["n_iter"] == 1
        direction = self._direction(begin)
        state["prev_flat_grad"], previous = self.gradient.clone(), self.loss
        size = min(1.0, 1.0 / float(self.gradient.abs().sum())) * self.lr if begin else self.lr
        slope = float(self.gradient.dot(direction))
        state.update(d=direction, t=size, prev_loss=previous)
        if slope > -least:
            return False
        size, calls, flat = self._advance(size, direction, slope, iteration == group["max_iter"])
        state["t"] = size
        self.evaluations += calls
        state["func_evals"] += calls
        done = (iteration == group["max_iter"] or self.evaluations >= group["max_eval"] or flat
                or float((direction * size).abs().max()) <= least or abs(self.loss - previous) < least)
        return not done

    def _direction(self, begin: bool) -> Tensor:
        state, gradient = self.state, self.gradient
        if begin:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -gradient
        y = gradient - state["prev_flat_grad"]
        s = state["d"] * state["t"]
        curvature = float(y.dot(s))
        histories = [state["old_dirs"], state["old_stps"], state["ro"]]
        if curvature > 1e-10:
            for history, new in zip(histories, (y, s, 1.0 / curvature), strict=True):
                if len(history) == self.group["history_size"]:
                    history.pop(0)
                history.append(new)
            state["H_diag"] = curvature / float(y.dot(y))
        q, shares = -gradient, []
        for y, s, ro in zip(*map(reversed, histories), strict=True):
            shares.append(float(s.dot(q)) * ro)
            q.add_(y, alpha=-shares[-1])
        r = q * state["H_diag"]
        for (y, s, ro), share in zip(zip(*histories, strict=True), reversed(shares), strict=True):
            r.add_(s, alpha=share - float(y.dot(r)) * ro)
        return r

    def _advance(self, size: float, direction: Tensor, slope: float, last: bool) -> tuple[float, int, bool]:
        """Moves the parameters; returns (step size, calls of the closure, whether the gradient vanished)."""
        optimizer, search = self.optimizer, self.group["line_search_fn"]
        if search is None:
            optimizer._move(size, direction)
            if last:
                return size, 0, False
            self.loss = float(self.closure())
            self.gradient = optimizer._gradient()
            return size, 1, self._flat()
        if search != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [p.clone() for p in optimizer._params]

        def at(t: float) -> tuple[float, Tensor]:
            optimizer._move(t, direction)
            loss = float(self.closure())
            gradient = optimizer._gradient()
            for p, value in zip(optimizer._params, start, strict=True):
                p.copy_(value)
            return loss, gradient

        self.loss, self.gradient, size, calls = strong_wolfe(
            at, size, direction, self.loss, self.gradient, slope,
            most=self.group["max_eval"] - self.evaluations, least=self.group["tolerance_change"])
        optimizer._move(size, direction)
        return size, calls, self._flat()
