"""Losses of torch.nn.functional."""

from __future__ import annotations

import warnings
from math import prod

from ....ir import dtype as dt
from ....ir import ops
from ....ir.arith import broadcast_shape, cast, expand_to
from ...autocast import cast_inputs
from ...composites import loss as rows
from ..binary import clamp_min, promoted
from ..reduce import mean, sum
from ..support import dtype_name
from .softmax import log_softmax


def _reduction(reduction, size_average=None, reduce=None) -> str:
    """The reduction, also from the two older flags."""
    if size_average is not None or reduce is not None:
        size_average = True if size_average is None else size_average
        reduce = True if reduce is None else reduce
        reduction = "none" if not reduce else "mean" if size_average else "sum"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduce_by(x, reduction):
    """x, its mean or its sum."""
    return rows.reduced(x, _reduction(reduction))


# classes ----------------------------------------------------------------------------------------------
def _rows_of(input):
    """(N, C, d...) as rows of classes, and the shape of a loss per row."""
    shape = input.type.shape
    if len(shape) == 1:
        return ops.reshape(input, shape=(1, *shape)), ()
    if len(shape) == 2:
        return input, shape[:1]
    last = ops.permute(input, dims=(0, *range(2, len(shape)), 1))
    spatial = (shape[0], *shape[2:])
    return ops.reshape(last, shape=(prod(spatial), shape[1])), spatial


def _check_classes(name, input, target, weight):
    have, want = input.type.shape, target.type.shape
    if not have:
        raise RuntimeError(f"{name}: input tensor should be 1D or more")
    if target.type.dtype.kind not in "ui":
        raise RuntimeError(f"expected scalar type Long but found {dtype_name(target.type.dtype)}")
    expected = (have[0], *have[2:]) if len(have) > 1 else ()
    if want != expected and not (len(have) == 1 and want == (1,)):
        if len(have) > 1 and want[:1] != have[:1]:
            raise ValueError(f"Expected input batch_size ({have[0]}) to match target batch_size "
                             f"({want[0] if want else 0}).")
        raise RuntimeError(f"Expected target size {list(expected)}, got {list(want)}")
    classes = have[1] if len(have) > 1 else have[0]
    if weight is not None and weight.type.shape != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got "
                           f"weight tensor of shape: {list(weight.type.shape)}")


def cross_entropy(input, target, weight=None, size_average=None, ignore_index: int = -100, reduce=None,
                  reduction: str = "mean", label_smoothing: float = 0.0):
    """Returns the cross entropy between logits (N, C, ...) and classes (N, ...) or probabilities.

    A class equal to ignore_index takes no part; IndexError for any other class outside 0..C-1.

    >>> import treadle
    >>> cross_entropy(treadle.tensor([[0., 0.]]), treadle.tensor([1]))
    tensor(0.6931)
    """
    input, weight = cast_inputs("cross_entropy", input, weight)
    reduction = _reduction(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.type.dtype.kind == "f":
        return _cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing)
    _check_classes("cross_entropy", input, target, weight)
    flat, shape = _rows_of(input)
    places = ops.reshape(cast(target, dt.int64), shape=(flat.type.shape[0],))
    loss = rows.cross_entropy(flat, places, *(() if weight is None else (weight,)), ignore_index=int(ignore_index),
                              smoothing=float(label_smoothing), reduction=reduction)[0]
    return ops.reshape(loss, shape=shape) if reduction == "none" and loss.type.shape != shape else loss


def _cross_entropy_of_probabilities(input, target, weight, reduction, smoothing):
    if input.type.shape != target.type.shape:
        raise RuntimeError("expected target to be of the same size as input for probabilities, got "
                           f"{list(target.type.shape)} and {list(input.type.shape)}")
    flat, shape = _rows_of(input)
    goal, _ = _rows_of(target)
    classes = flat.type.shape[1]
    if smoothing:
        goal = goal * (1 - smoothing) + smoothing / classes
    each = -log_softmax(flat, 1) * cast(goal, flat.type.dtype)
    each = each if weight is None else each * weight
    loss = sum(each, 1)
    if reduction == "none":
        return ops.reshape(loss, shape=shape)
    return sum(loss) if reduction == "sum" else sum(loss) / max(prod(shape), 1)


def nll_loss(input, target, weight=None, size_average=None, ignore_index: int = -100, reduce=None,
             reduction: str = "mean"):
    """Returns the negative log-likelihood of classes (N, ...) under log-probabilities (N, C, ...)."""
    input, weight = cast_inputs("nll_loss", input, weight)
    reduction = _reduction(reduction, size_average, reduce)
    _check_classes("nll_loss", input, target, weight)
    flat, shape = _rows_of(input)
    places = ops.reshape(cast(target, dt.int64), shape=(flat.type.shape[0],))
    loss = rows.nll_loss(flat, places, *(() if weight is None else (weight,)), ignore_index=int(ignore_index),
                         reduction=reduction)
    return ops.reshape(loss, shape=shape) if reduction == "none" else loss


# elementwise ------------------------------------------------------------------------------------------
def _pair(name, input, target):
    """Both in one dtype and shape; a warning where they are broadcast, as torch gives it."""
    input, target = cast_inputs(name, input, target)
    if input.type.shape != target.type.shape:
        warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
                      "This will likely lead to incorrect results due to broadcasting. Please ensure they have the "
                      "same size.", UserWarning, stacklevel=3)
    return promoted(input, target)


def mse_loss(input, target, size_average=None, reduce=None, reduction: str = "mean", weight=None):
    """Returns the mean of (input - target)^2.

    >>> import treadle
    >>> mse_loss(treadle.tensor([1., 2.]), treadle.tensor([1., 4.]))
    tensor(2.)
    """
    x, y = _pair("mse_loss", input, target)
    reduction = _reduction(reduction, size_average, reduce)
    if weight is not None:
        each = rows.mse_loss(x, y, reduction="none") * weight
        return sum(each) / sum(expand_to(weight, x.type.shape)) if reduction == "mean" else reduce_by(each, reduction)
    return rows.mse_loss(x, y, reduction=reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction: str = "mean", weight=None):
    """Returns the mean of |input - target|."""
    x, y = _pair("l1_loss", input, target)
    reduction = _reduction(reduction, size_average, reduce)
    if weight is not None:
        each = rows.l1_loss(x, y, reduction="none") * weight
        return sum(each) / sum(expand_to(weight, x.type.shape)) if reduction == "mean" else reduce_by(each, reduction)
    return rows.l1_loss(x, y, reduction=reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction: str = "mean", beta: float = 1.0):
    """Returns the mean of a loss that is squared below beta and linear above."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    x, y = _pair("smooth_l1_loss", input, target)
    reduction = _reduction(reduction, size_average, reduce)
    if beta == 0:
        return rows.l1_loss(x, y, reduction=reduction)
    return rows.smooth_l1_loss(x, y, beta=float(beta), reduction=reduction)


def huber_loss(input, target, reduction: str = "mean", delta: float = 1.0, weight=None):
    """Returns the mean of a loss that is squared up to delta and linear above."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    x, y = _pair("huber_loss", input, target)
    if weight is not None:
        return reduce_by(rows.huber_loss(x, y, delta=float(delta), reduction="none") * weight, reduction)
    return rows.huber_loss(x, y, delta=float(delta), reduction=_reduction(reduction))


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction: str = "mean"):
    """Returns the binary cross entropy of probabilities and targets of the same shape."""
    input, target, weight = cast_inputs("binary_cross_entropy", input, target, weight)
    if input.type.shape != target.type.shape:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
                         "deprecated. Please ensure they have the same size.")
    if input.type.dtype is not target.type.dtype:
        raise RuntimeError(f"Found dtype {dtype_name(target.type.dtype)} but expected "
                           f"{dtype_name(input.type.dtype)}")
    more = () if weight is None else (expand_to(weight, input.type.shape),)
    return reduce_by(rows.bce_loss(input, target, *more), _reduction(reduction, size_average, reduce))


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None,
                                     reduction: str = "mean", pos_weight=None):
    """Returns the binary cross entropy of sigmoid(input) and targets of the same shape, without overflow."""
    input, target, weight = cast_inputs("binary_cross_entropy_with_logits", input, target, weight)
    if input.type.shape != target.type.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    shape = input.type.shape
    target = cast(target, input.type.dtype)
    more = [None if v is None else expand_to(cast(v, input.type.dtype), shape) for v in (weight, pos_weight)]
    if more[1] is not None and more[0] is None:
        more[0] = ops.full(shape=shape, value=1, dtype=input.type.dtype, device=input.type.device)
    more = [v for v in more if v is not None]
    return rows.bce_with_logits(input, target, *more, reduction=_reduction(reduction, size_average, reduce))


def kl_div(input, target, size_average=None, reduce=None, reduction: str = "mean", log_target: bool = False):
    """Returns the Kullback-Leibler divergence of log-probabilities from a target distribution."""
    x, y = promoted(*cast_inputs("kl_div", input, target))
    if reduction == "batchmean":
        total = rows.kl_div(x, y, log_target=bool(log_target), reduction="sum")
        return total / input.type.shape[0] if input.type.ndim else total
    if reduction == "mean":
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
                      "'batchmean' divides only by the batch size, and aligns with the KL div math definition.'mean' "
                      "will be changed to behave the same as 'batchmean' in the next major release.", stacklevel=2)
    return rows.kl_div(x, y, log_target=bool(log_target), reduction=_reduction(reduction, size_average, reduce))


def poisson_nll_loss(input, target, log_input: bool = True, full: bool = False, size_average=None,
                     eps: float = 1e-8, reduce=None, reduction: str = "mean"):
    """Returns the negative log-likelihood of counts under Poisson rates (or their logarithms)."""
    x, y = promoted(*cast_inputs("poisson_nll_loss", input, target))
    return rows.poisson_nll_loss(x, y, log_input=bool(log_input), full=bool(full), eps=float(eps),
                                 reduction=_reduction(reduction, size_average, reduce))


def gaussian_nll_loss(input, target, var, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
    """Returns the negative log-likelihood of targets under normal distributions."""
    from math import log, pi

    if not hasattr(var, "type"):
        var = ops.full(shape=input.type.shape, value=float(var), dtype=input.type.dtype, device=input.type.device)
    if var.type.shape != input.type.shape and var.type.shape == input.type.shape[:-1]:
        var = ops.reshape(var, shape=(*var.type.shape, 1))
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    limited = var + (clamp_min(var, eps) - var).detach()
    d = input - target
    loss = 0.5 * (ops.log(limited) + d * d / limited)
    return reduce_by(loss + 0.5 * log(2 * pi) if full else loss, reduction)


# margins ------------------------------------------------------------------------------------------------
def hinge_embedding_loss(input, target, margin: float = 1.0, size_average=None, reduce=None,
                         reduction: str = "mean"):
    """Returns input where target is 1, max(0, margin - input) where it is -1."""
    zero = input * 0
    loss = ops.where(ops.eq(target, 1), input, zero) + ops.where(
        ops.eq(target, -1), clamp_min(margin - input, 0), zero)
    return reduce_by(loss, _reduction(reduction, size_average, reduce))


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction: str = "mean"):
    """Returns log(1 + exp(-target * input))."""
    x, y = promoted(input, target)
    return rows.soft_margin_loss(x, y, reduction=_reduction(reduction, size_average, reduce))


def margin_ranking_loss(input1, input2, target, margin: float = 0, size_average=None, reduce=None,
                        reduction: str = "mean"):
    """Returns max(0, -target * (input1 - input2) + margin)."""
    return reduce_by(clamp_min(-target * (input1 - input2) + margin, 0), _reduction(reduction, size_average, reduce))


def cosine_embedding_loss(input1, input2, target, margin: float = 0, size_average=None, reduce=None,
                          reduction: str = "mean"):
    """Returns 1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    from .norm import cosine_similarity

    cos = cosine_similarity(input1, input2, -1)
    zero = cos * 0
    shape = broadcast_shape(cos.type.shape, target.type.shape)
    hit, miss = expand_to(ops.eq(target, 1), shape), expand_to(ops.eq(target, -1), shape)
    loss = ops.where(hit, 1 - cos, zero) + ops.where(miss, clamp_min(cos - margin, 0), zero)
    return reduce_by(loss, _reduction(reduction, size_average, reduce))


def triplet_margin_loss(anchor, positive, negative, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
                        swap: bool = False, size_average=None, reduce=None, reduction: str = "mean"):
    """Returns max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    from ..binary import minimum
    from .norm import pairwise_distance

    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduce_by(clamp_min(near - far + margin, 0), _reduction(reduction, size_average, reduce))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin: float = 1.0,
                                      swap: bool = False, reduction: str = "mean"):
    """triplet_margin_loss with a distance of the caller's."""
    from ..binary import minimum
    from .norm import pairwise_distance

    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    far = minimum(far, distance(positive, negative)) if swap else far
    return reduce_by(clamp_min(near - far + margin, 0), reduction)


def multi_margin_loss(input, target, p: int = 1, margin: float = 1.0, weight=None, size_average=None, reduce=None,
                      reduction: str = "mean"):
    """Returns the mean over other classes of max(0, margin - x[target] + x[class]) ** p."""
    from ..select import gather

    x = input if input.type.ndim == 2 else ops.reshape(input, shape=(1, input.type.numel))
    column = ops.reshape(target, shape=(x.type.shape[0], 1))
    gap = clamp_min(margin - gather(x, 1, column) + x, 0)
    gap = gap * gap if p == 2 else gap
    gap = gap if weight is None else gap * ops.reshape(weight[column], shape=(x.type.shape[0], 1))
    classes = ops.iota(size=x.type.shape[1], dtype=dt.int64, device=x.type.device)
    own = expand_to(column, x.type.shape).eq(classes)
    loss = mean(ops.where(own, gap * 0, gap), 1)
    loss = loss if input.type.ndim == 2 else ops.reshape(loss, shape=())
    return reduce_by(loss, _reduction(reduction, size_average, reduce))


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None,
                                reduction: str = "mean"):
    """Returns the mean over labels of the logistic loss of each."""
    each = rows.bce_with_logits(*promoted(input, target), reduction="none")
    each = each if weight is None else each * weight
    return reduce_by(mean(each, -1), _reduction(reduction, size_average, reduce))
