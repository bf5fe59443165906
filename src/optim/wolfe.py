"""The line search of LBFGS: a step size that satisfies the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..frontend.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Point:
    """A step size with the loss, the gradient and the slope there."""

    t: float
    loss: float
    gradient: Tensor
    slope: float


def cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with their slopes is least, within bounds (default: between them)."""
    low, high = bounds if bounds is not None else (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    left, right = (a, b) if a.t <= b.t else (b, a)
    scale = right.slope - left.slope + 2 * d2
    place = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / scale) if scale else math.nan
    return min(max(place, low), high)


def strong_wolfe(at: Callable[[float], tuple[float, Tensor]], t: float, direction: Tensor, loss: float,
                 gradient: Tensor, slope: float, c1: float = 1e-4, c2: float = 0.9, least: float = 1e-9,
                 most: int = 25) -> tuple[float, Tensor, float, int]:
    """Returns (loss, gradient, step size, evaluations) of the step found."""
    calls = 0

    def point(t: float) -> Point:
        nonlocal calls
        calls += 1
        value, g = at(t)
        return Point(t, value, g, float(g.dot(direction)))

    start = Point(0.0, loss, gradient.clone(), slope)
    low, high, done = _bracket(point, start, t, c1, c2, most)
    if not done:
        if high.loss < low.loss:
            low, high = high, low
        low = _zoom(point, start, low, high, float(direction.abs().max()), c1, c2, least, most - (calls - 1))
    return low.loss, low.gradient, low.t, calls


def _bracket(point, start: Point, t: float, c1: float, c2: float, most: int) -> tuple[Point, Point, bool]:
    """Two points with a good step between them, or one good point twice."""
    before, now = start, point(t)
    for tries in range(most):
        if now.loss > start.loss + c1 * now.t * start.slope or (tries > 1 and now.loss >= before.loss):
            return before, now, False
        if abs(now.slope) <= -c2 * start.slope:
            return now, now, True
        if now.slope >= 0:
            return before, now, False
        bounds = (now.t + 0.01 * (now.t - before.t), now.t * 10)
        before, now = now, point(cubic_minimum(before, now, bounds))
    return start, now, False


def _zoom(point, start: Point, low: Point, high: Point, longest: float, c1: float, c2: float, least: float,
          most: int) -> Point:
    """The better end of a bracket narrowed until it satisfies the conditions."""
    stuck = False
    for _ in range(most):
        if abs(high.t - low.t) * longest < least:
            break
        t, stuck = _inside(low, high, stuck)
        now = point(t)
        if now.loss > start.loss + c1 * t * start.slope or now.loss >= low.loss:
            high = now
            if high.loss < low.loss:
                low, high = high, low
            continue
        if abs(now.slope) <= -c2 * start.slope:
            return now
        if now.slope * (high.t - low.t) >= 0:
            high = low
        low = now
    return low


def _inside(low: Point, high: Point, stuck: bool) -> tuple[float, bool]:
    """The next step size, kept off the ends of the bracket when it was near them twice."""
    left, right = min(low.t, high.t), max(low.t, high.t)
    t, margin = cubic_minimum(low, high), 0.1 * (right - left)
    if min(right - t, t - left) >= margin:
        return t, False
    if stuck or t >= right or t <= left:
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False
    return t, True
