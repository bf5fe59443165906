"""linear, bilinear, embedding, one_hot, attention."""

from __future__ import annotations

import math

from ....ir import dtype as dt
from ....ir import ops
from ....ir.arith import broadcast_shape, elementwise, expand_to
from ...autocast import cast_inputs
from ...composites import attention as attention_rows
from ...composites import linear as rows
from ..matmul import c_name, matmul
from ..support import dtype_name


def linear(input, weight, bias=None):
    """Returns input @ weight.T + bias; weight is (out, in), the input's last dim is `in`.

    >>> import treadle
    >>> linear(treadle.ones(1, 2), treadle.tensor([[1., 2.], [3., 4.]]))
    tensor([[3., 7.]])
    """
    input, weight, bias = cast_inputs("linear", input, weight, bias)
    if weight.type.ndim == 1:
        y = matmul(input, weight)
        return y if bias is None else y + bias
    _check_linear(input, weight, bias)
    if input.type.ndim == 1:
        y = linear(ops.reshape(input, shape=(1, input.type.numel)), weight, bias)
        return ops.reshape(y, shape=(weight.type.shape[0],))
    if bias is None or bias.type.shape == (weight.type.shape[0],):
        return rows.linear(input, weight, *(() if bias is None else (bias,)))
    return rows.linear(input, weight) + bias


def _check_linear(input, weight, bias):
    a, b = input.type, weight.type
    if a.ndim == 0:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are 0D and {b.ndim}D")
    if a.shape[-1] != b.shape[1]:
        rows_ = math.prod(a.shape[:-1])
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows_}x{a.shape[-1]} and {b.shape[1]}x"
                           f"{b.shape[0]})")
    for t in (b, *([] if bias is None else [bias.type])):
        if t.dtype is not a.dtype:
            raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {dtype_name(a.dtype)} and "
                               f"{dtype_name(t.dtype)}")


def bilinear(input1, input2, weight, bias=None):
    """Returns input1 @ weight[k] @ input2 for each output k, plus bias."""
    lead, n, m = input1.type.shape[:-1], input1.type.shape[-1], input2.type.shape[-1]
    k = weight.type.shape[0]
    count = math.prod(lead)
    a, b = ops.reshape(input1, shape=(count, n)), ops.reshape(input2, shape=(count, m))
    left = matmul(a, ops.reshape(ops.permute(weight, dims=(1, 0, 2)), shape=(n, k * m)))
    y = ops.reduce_sum(ops.reshape(left, shape=(count, k, m)) * ops.reshape(b, shape=(count, 1, m)), dims=(2,))
    y = ops.reshape(y, shape=(*lead, k))
    return y if bias is None else y + bias


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type: float = 2.0,
              scale_grad_by_freq: bool = False, sparse: bool = False):
    """Returns the rows of weight at the places of input; the row padding_idx gets no gradient.

    IndexError for a place out of range.

    >>> import treadle
    >>> embedding(treadle.tensor([1, 0]), treadle.tensor([[1., 2.], [3., 4.]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if input.type.dtype not in (dt.int64, dt.int32):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
                           f"Int; but got {dtype_name(input.type.dtype)} instead (while checking arguments for "
                           "embedding)")
    if weight.type.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    size = weight.type.shape[0]
    pad = -1
    if padding_idx is not None:
        if not -size <= padding_idx < size:
            raise AssertionError("Padding_idx must be within num_embeddings")
        pad = padding_idx % size
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    return rows.embedding(weight, input, padding_idx=pad)


def _renorm(weight, input, max_norm, norm_type):
    """Scales the rows that are looked up down to max_norm, in place."""
    from ...grad_mode import no_grad
    from ..reduce import renorm
    from ..search import unique
    from ..select import index_copy

    with no_grad():
        used = unique(ops.reshape(input, shape=(input.type.numel,)))
        picked = renorm(ops.index(weight, used, error=rows.RANGE), norm_type, 0, max_norm)
        weight.copy_(index_copy(weight, 0, used, picked))


def one_hot(tensor, num_classes: int = -1):
    """Returns 1 at each class and 0 elsewhere, in a new last dim (int64).

    >>> import treadle
    >>> one_hot(treadle.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.type.dtype is not dt.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1:
        if tensor.type.numel == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(tensor.nd.max()) + 1
    if num_classes < 1 and tensor.type.numel:
        raise RuntimeError("num_classes should be positive")
    zeros = ops.full(shape=(*tensor.type.shape, num_classes), value=0, dtype=dt.int64, device=tensor.type.device)
    place = ops.reshape(tensor, shape=(*tensor.type.shape, 1))
    ones = ops.full(shape=place.type.shape, value=1, dtype=dt.int64, device=tensor.type.device)
    return ops.scatter(zeros, place, ones, dim=tensor.type.ndim)


# attention ------------------------------------------------------------------------------------------
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False):
    """Returns softmax(query @ key^T * scale + mask) @ value over the last two dims.

    A bool mask says which keys may be looked at, a float one is added; is_causal masks later keys.
    A row that may look at nothing gives 0.

    >>> import treadle
    >>> q = treadle.ones(1, 2, 4)
    >>> scaled_dot_product_attention(q, q, q, is_causal=True).shape
    torch.Size([1, 2, 4])
    """
    query, key, value, attn_mask = cast_inputs("scaled_dot_product_attention", query, key, value, attn_mask)
    _check_attention(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = _repeated(query, key), _repeated(query, value)
    scale = 1 / math.sqrt(query.type.shape[-1]) if scale is None else float(scale)
    batch = broadcast_shape(*[t.type.shape[:-2] for t in (query, key, value)])
    query, key, value = (expand_to(t, batch + t.type.shape[-2:]) for t in (query, key, value))
    if attn_mask is not None and attn_mask.requires_grad:
        return _by_parts(query, key, value, attn_mask, dropout_p, scale)
    more = [] if attn_mask is None else [_lifted(attn_mask, len(batch) + 2)]
    if dropout_p > 0:
        from ..random import next_seed

        more.append(next_seed())
    return attention_rows.attention(query, key, value, *more, has_mask=attn_mask is not None,
                                    is_causal=bool(is_causal), dropout_p=float(dropout_p), scale=scale)[0]


def _check_attention(query, key, value, mask, is_causal):
    if is_causal and mask is not None:
        raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if any(t.type.ndim < 2 for t in (query, key, value)):
        raise RuntimeError("scaled_dot_product_attention: Expected query, key, and value to all be  at least 2 "
                           f"dimensional, but got Query dim: {query.type.ndim}, Key dim: {key.type.ndim}, Value dim: "
                           f"{value.type.ndim} instead.")
    if not query.type.dtype is key.type.dtype is value.type.dtype:
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                           f"{c_name(query.type.dtype)} key.dtype: {c_name(key.type.dtype)} and value.dtype: "
                           f"{c_name(value.type.dtype)} instead.")
    if mask is not None and mask.type.dtype not in (dt.bool_, query.type.dtype):
        raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                           f"attn_mask.dtype: {c_name(mask.type.dtype)} and  query.dtype: "
                           f"{c_name(query.type.dtype)} instead.")


def _repeated(query, t):
    """Key or value heads repeated to the query's number of heads."""
    heads, have = query.type.shape[-3], t.type.shape[-3]
    if heads == have:
        return t
    if heads % have:
        raise RuntimeError(f"Number of heads in key and value must divide the number of heads in query, got {have} and "
                           f"{heads}")
    from ..join import repeat_interleave

    return repeat_interleave(t, heads // have, -3)


def _lifted(mask, ndim):
    """The mask with as many dims as the scores."""
    extra = ndim - mask.type.ndim
    return ops.reshape(mask, shape=(1,) * extra + mask.type.shape) if extra > 0 else mask


def _by_parts(query, key, value, mask, dropout_p, scale):
    """By separate ops: a float mask that wants a gradient takes part in autograd."""
    from .dropout import dropout
    from .softmax import softmax

    scores = elementwise(ops.add, matmul(query * scale, ops.permute(key, dims=(
        *range(key.type.ndim - 2), key.type.ndim - 1, key.type.ndim - 2))), mask)
    weights = softmax(scores, -1)
    weights = dropout(weights, dropout_p) if dropout_p > 0 else weights
    return matmul(weights, value)


