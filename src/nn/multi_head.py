"""multi_head_attention_forward: projections, attention of all heads at once, and the output projection."""

from __future__ import annotations

import math
import warnings

from ..frontend.functions.create import zeros, zeros_like
from ..frontend.functions.join import cat
from ..frontend.tensor import Tensor
from ..ir import dtype as dt
from . import functional as F  # noqa: N812

NEED_MASK = ("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
             "`generate_square_subsequent_mask` to create this mask.")


def float_mask(mask: Tensor | None, name: str, dtype: dt.DType, other: Tensor | None = None) -> Tensor | None:
    """A mask to be added to scores: a bool one becomes -inf where it is true."""
    if mask is None:
        return None
    floating = mask.dtype.is_floating_point
    if not floating and mask.dtype is not dt.bool_:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and other.dtype is not mask.dtype:
        warnings.warn(f"Support for mismatched {name} and attn_mask is deprecated. Use same type for both instead.",
                      stacklevel=4)
    return mask if floating else zeros_like(mask, dtype=dtype).masked_fill(mask, -math.inf)


def _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads) -> None:
    dims = query.ndim
    if dims not in (2, 3):
        raise AssertionError("query should be unbatched 2D or batched 3D tensor but received "
                             f"{dims}-D query tensor")
    kind = "batched (3-D)" if dims == 3 else "unbatched (2-D)"
    if key.ndim != dims or value.ndim != dims:
        raise AssertionError(f"For {kind} `query`, expected `key` and `value` to be {dims}-D but found "
                             f"{key.ndim}-D and {value.ndim}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.ndim != dims - 1:
        raise AssertionError(f"For {kind} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but "
                             f"found {key_padding_mask.ndim}-D tensor instead")
    if attn_mask is None:
        return
    if attn_mask.ndim not in (2, 3):
        raise AssertionError(f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                             f"{attn_mask.ndim}-D tensor instead")
    wanted = (num_heads, query.shape[0], key.shape[0])
    if dims == 2 and attn_mask.ndim == 3 and attn_mask.shape != wanted:
        raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")


def _project(q, k, v, weight, bias):
    """The three projections by one weight of three blocks; self-attention needs one product only."""
    size = q.shape[-1]
    if q is k and k is v:
        return F.linear(q, weight, bias).chunk(3, -1)
    if k is v:
        biases = (None, None) if bias is None else bias.split([size, 2 * size])
        weights = weight.split([size, 2 * size])
        return (F.linear(q, weights[0], biases[0]), *F.linear(k, weights[1], biases[1]).chunk(2, -1))
    return _project_each(q, k, v, *weight.chunk(3), bias)


def _project_each(q, k, v, w_q, w_k, w_v, bias):
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    size = q.shape[-1]
    for name, x, w in (("query", q, w_q), ("key", k, w_k), ("value", v, w_v)):
        if tuple(w.shape) != (size, x.shape[-1]):
            raise AssertionError(f"expecting {name} weights shape of {(size, x.shape[-1])}, but got {w.shape}")
    return tuple(F.linear(x, w, b) for x, w, b in zip((q, k, v), (w_q, w_k, w_v), biases, strict=True))


def _check_mask(mask: Tensor, batch: int, heads: int, targets: int, sources: int) -> Tensor:
    if mask.ndim == 2:
        if mask.shape != (targets, sources):
            raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be "
                               f"{(targets, sources)}.")
        return mask.unsqueeze(0)
    if mask.ndim == 3:
        if mask.shape != (batch * heads, targets, sources):
            raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be "
                               f"{(batch * heads, targets, sources)}.")
        return mask
    raise RuntimeError(f"attn_mask's dimension {mask.ndim} is not supported")


def _heads_of(x: Tensor, count: int, size: int) -> Tensor:
    """(length, batch, heads * size) as (batch * heads, length, size)."""
    return x.reshape(x.shape[0], count, size).transpose(0, 1)


def _longer(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else F.pad(mask, (0, 1))


def multi_head_attention_forward(
        query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
        in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None,
        bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
        out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
        q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
        v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
        static_v: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """Returns (output, attention weights or None) for (length, batch, embed_dim) inputs, or without batch."""
    _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    batched = query.ndim == 3
    if not batched:
        same_k, same_v = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same_k else key.unsqueeze(1)
        value = key if same_v else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    targets, batch, embed_dim = query.shape
    _check_sizes(key, value, embed_dim, embed_dim_to_check, num_heads, use_separate_proj_weight)
    attn_mask, key_padding_mask, is_causal = _masks(query, key_padding_mask, attn_mask, need_weights, is_causal)
    if use_separate_proj_weight:
        q, k, v = _project_each(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias)
    else:
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _check_mask(attn_mask, batch, num_heads, targets, key.shape[0])
    if bias_k is not None:
        k, v = cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _longer(attn_mask), _longer(key_padding_mask)
    count, size = batch * num_heads, embed_dim // num_heads
    q = _heads_of(q, count, size)
    k = _heads_of(k, count, size) if static_k is None else static_k
    v = _heads_of(v, count, size) if static_v is None else static_v
    if add_zero_attn:
        none = zeros(count, 1, size, dtype=k.dtype, device=k.device)
        k, v = cat([k, none], dim=1), cat([v, none], dim=1)
        attn_mask, key_padding_mask = _longer(attn_mask), _longer(key_padding_mask)
    if key_padding_mask is not None:
        padding = key_padding_mask.reshape(batch, 1, 1, k.shape[1]).expand(-1, num_heads, -1, -1)
        padding = padding.reshape(count, 1, k.shape[1])
        attn_mask = padding if attn_mask is None else attn_mask + padding
    out, weights = _attend(q, k, v, attn_mask, batch, dropout_p if training else 0.0, need_weights, is_causal,
                           out_proj_weight, out_proj_bias)
    if weights is not None and average_attn_weights:
        weights = weights.mean(dim=1)
    if not batched:
        out, weights = out.squeeze(1), None if weights is None else weights.squeeze(0)
    return out, weights


def _check_sizes(key, value, embed_dim, wanted, num_heads, separate) -> None:
    if embed_dim != wanted:
        raise AssertionError(f"was expecting embedding dimension of {wanted}, but got {embed_dim}")
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                             f"{value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _masks(query, key_padding_mask, attn_mask, need_weights, is_causal):
    """The masks as floats; a causal hint takes the place of the mask where nothing else masks."""
    padding = float_mask(key_padding_mask, "key_padding_mask", query.dtype, attn_mask)
    if is_causal and attn_mask is None:
        raise RuntimeError(NEED_MASK)
    if is_causal and padding is None and not need_weights:
        return None, None, True
    return float_mask(attn_mask, "attn_mask", query.dtype), padding, is_causal and padding is None


def _attend(q, k, v, mask, batch, dropout_p, need_weights, is_causal, out_weight, out_bias):
    """(output (targets, batch, embed_dim), weights (batch, heads, targets, sources) or None)."""
    count, targets, size = q.shape
    heads, sources = count // batch, k.shape[1]
    if need_weights:
        scores = (q * math.sqrt(1.0 / float(size))) @ k.transpose(-2, -1)
        weights = F.softmax(scores if mask is None else mask + scores, dim=-1)
        if dropout_p > 0.0:
            weights = F.dropout(weights, p=dropout_p)
        out = (weights @ v).transpose(0, 1).reshape(targets, batch, heads * size)
        return F.linear(out, out_weight, out_bias), weights.reshape(batch, heads, targets, sources)
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.shape[0] == 1 else mask.reshape(batch, heads, -1, sources)
    out = F.scaled_dot_product_attention(
        q.reshape(batch, heads, targets, size), k.reshape(batch, heads, sources, size),
        v.reshape(batch, heads, sources, size), mask, dropout_p, is_causal and mask is None)
    out = out.permute(2, 0, 1, 3).reshape(targets, batch, heads * size)
    return F.linear(out, out_weight, out_bias), None
