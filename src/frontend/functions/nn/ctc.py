"""The loss of connectionist temporal classification."""

from __future__ import annotations

from math import inf

import numpy as np

from ....ir import ops
from ....ir.arith import cast
from ...autocast import cast_inputs
from ...composites.reduce import logsumexp
from ..create import tensor
from ..reads import data, made
from .loss import _reduction, reduce_by


def _numbers(v) -> np.ndarray:
    return np.asarray(data(v) if hasattr(v, "type") else v).reshape(-1).astype(np.int64)


def _labels(targets, lengths, blank, count):
    """The targets with blanks between, (N, 2 S + 1), and where a step may skip the blank before it."""
    flat = data(targets)
    longest = int(lengths.max(initial=0))
    table = np.full((count, 2 * longest + 1), blank, np.int64)
    start = 0
    for n, length in enumerate(lengths):
        row = flat[n, :length] if flat.ndim == 2 else flat[start:start + length]
        table[n, 1:2 * length:2] = row
        start += length
    skips = np.zeros(table.shape, bool)
    skips[:, 2:] = (table[:, 2:] != blank) & (table[:, 2:] != table[:, :-2])
    return table, skips


def _shifted(alpha, steps):
    n = alpha.type.shape
    part = ops.slice(alpha, starts=(0, 0), stops=(n[0], max(n[1] - steps, 0)), steps=(1, 1))
    return ops.pad(part, before=(0, min(steps, n[1])), after=(0, 0), value=-inf)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank: int = 0, reduction: str = "mean",
             zero_infinity: bool = False):
    """Returns minus the log-probability of all alignments of targets with log_probs (T, N, C).

    targets are (N, S) or one after the other; 'mean' divides each loss by its target's length first.
    """
    (log_probs,) = cast_inputs("ctc_loss", log_probs)
    single = log_probs.type.ndim == 2
    x = ops.reshape(log_probs, shape=(log_probs.type.shape[0], 1, log_probs.type.shape[1])) if single else log_probs
    steps, count, _ = x.type.shape
    inputs, lengths = _numbers(input_lengths), _numbers(target_lengths)
    if single and targets.type.ndim == 1:
        targets = ops.reshape(targets, shape=(1, targets.type.numel))
    if inputs.max(initial=0) > steps:
        raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {inputs.max()} (while "
                           "checking arguments for ctc_loss_allocate_outputs)")
    table, skips = _labels(targets, lengths, blank, count)
    loss = -_likelihood(x, table, skips, inputs, lengths)
    if zero_infinity:
        loss = ops.where(ops.eq(loss, inf), 0, loss)
    if _reduction(reduction) == "mean":
        loss = loss / cast(tensor(np.maximum(lengths, 1)), loss.type.dtype)
    loss = ops.reshape(loss, shape=()) if single and reduction == "none" else loss
    return reduce_by(loss, reduction)


def _likelihood(x, table, skips, inputs, lengths):
    """The forward recursion over time; each row is read at its own last step."""
    steps, count, _ = x.type.shape
    labels, may_skip = made(table), made(skips)
    width = table.shape[1]
    first = made(np.arange(width)[None, :] < np.where(lengths[:, None] > 0, 2, 1))

    def emitted(t):
        row = ops.reshape(ops.slice(x, starts=(t, 0, 0), stops=(t + 1, *x.type.shape[1:]), steps=(1, 1, 1)),
                          shape=x.type.shape[1:])
        return ops.gather(row, labels, dim=1)

    alpha = ops.where(first, emitted(0), -inf)
    final = alpha
    for t in range(1, steps):
        skip = ops.where(may_skip, _shifted(alpha, 2), -inf)
        parts = [ops.reshape(p, shape=(1, count, width)) for p in (alpha, _shifted(alpha, 1), skip)]
        alpha = logsumexp(ops.cat(*parts, dim=0), dims=(0,)) + emitted(t)
        live = made(np.broadcast_to((inputs > t)[:, None], table.shape).copy())
        final = ops.where(live, alpha, final)
    last = np.stack([2 * lengths, np.maximum(2 * lengths - 1, 0)], 1)
    ends = ops.gather(final, made(last), dim=1)
    ends = ops.where(made(np.stack([np.ones_like(lengths, bool), lengths > 0], 1)), ends, -inf)
    return logsumexp(ends, dims=(1,))
