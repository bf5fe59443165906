"""Draws of category indices by weight, with and without replacement."""

from __future__ import annotations

import numpy as np

from treadle.runtime.random.distributions import exponential
from treadle.runtime.random.dtypes import SCALAR_NAME, as_dtype, is_half
from treadle.runtime.random.generator import Generator
from treadle.runtime.random.uniforms import floats64

_INVALID = "invalid multinomial distribution"


def multinomial(
    probs: np.ndarray, num_samples: int, replacement: bool, generator: Generator
) -> np.ndarray:
    """Indices of categories, int64 of shape (..., num_samples), for 1-D or 2-D weights.

    With replacement each sample takes a float64 uniform; without, or for a single sample, each
    weight is divided by an exponential number and the largest quotients win (among equal ones,
    as of weights that are zero, the first). RuntimeError for weights that are negative, not
    finite or all zero, and for more samples than categories without replacement.

    >>> multinomial(np.float32([0.0, 1.0, 3.0]), 4, True, Generator().manual_seed(0))
    array([2, 2, 2, 2])
    """
    _check(probs, num_samples, replacement)
    if probs.size == 0 and probs.ndim == 2 and probs.shape[0] == 0:
        return np.empty((0, num_samples), np.int64)
    rows = np.atleast_2d(probs)
    with generator.lock:
        draw = _with_replacement if replacement and num_samples > 1 else _by_quotient
        drawn = draw(rows, num_samples, generator)
    return drawn.reshape(*probs.shape[:-1], num_samples)


def _by_quotient(rows: np.ndarray, num_samples: int, generator: Generator) -> np.ndarray:
    if rows.size and not (rows.max() < np.inf and rows.min() >= 0):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not rows.any(axis=1).all():
        raise RuntimeError(f"{_INVALID} (sum of probabilities <= 0)")
    waits = exponential(rows.shape, rows.dtype, generator)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotients = rows / waits
    if num_samples == 1:
        return quotients.argmax(axis=1)
    order = np.argsort(-quotients, axis=1, kind="stable")
    return order[:, :num_samples].astype(np.int64, copy=False)


def _with_replacement(rows: np.ndarray, num_samples: int, generator: Generator) -> np.ndarray:
    if is_half(as_dtype(rows.dtype)):
        rows = rows.astype(np.float32)
    drawn = np.empty((rows.shape[0], num_samples), np.int64)
    for row, out in zip(rows, drawn, strict=True):
        bounds = _cumulative(row).astype(np.float64)
        out[...] = np.searchsorted(bounds, floats64(generator, num_samples), side="left")
    return drawn


def _cumulative(row: np.ndarray) -> np.ndarray:
    """The running sums of a row over its sum, added and divided in the row's own dtype."""
    if not (row >= 0).all():
        raise RuntimeError(f"{_INVALID} (encountering probability entry < 0)")
    if not np.isfinite(row).all():
        raise RuntimeError(f"{_INVALID} (encountering probability entry = infinity or NaN)")
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.add.accumulate(row)
        if not (row.size and sums[-1] > 0):
            raise RuntimeError(f"{_INVALID} (sum of probabilities <= 0)")
        sums /= sums[-1]
    sums[-1] = 1.0
    return sums


def _check(probs: np.ndarray, num_samples: int, replacement: bool) -> None:
    dtype = as_dtype(probs.dtype)
    if probs.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {probs.ndim}")
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {SCALAR_NAME[dtype]}"
        )
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got {num_samples}")
    categories = probs.shape[-1]
    if not replacement and num_samples > categories:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement: "
            f"{num_samples} samples of {categories} categories"
        )
    if categories > 1 << 24:
        raise RuntimeError(f"number of categories cannot exceed 2^24, got {categories}")
