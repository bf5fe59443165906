"""torch.nn.functional: activations, losses, normalisation, convolution, pooling, attention."""

from ..frontend.functions.nn.activation import (
    celu as celu, elu as elu, elu_ as elu_, gelu as gelu, glu as glu, gumbel_softmax as gumbel_softmax,
    hardshrink as hardshrink, hardsigmoid as hardsigmoid, hardswish as hardswish, hardtanh as hardtanh,
    hardtanh_ as hardtanh_, leaky_relu as leaky_relu, leaky_relu_ as leaky_relu_, logsigmoid as logsigmoid,
    mish as mish, prelu as prelu, relu as relu, relu6 as relu6, relu_ as relu_, rrelu as rrelu, selu as selu,
    sigmoid as sigmoid, silu as silu, softplus as softplus, softshrink as softshrink, softsign as softsign,
    tanh as tanh, tanhshrink as tanhshrink, threshold as threshold, threshold_ as threshold_,
)  # fmt: skip
from ..frontend.functions.nn.dropout import (
    alpha_dropout as alpha_dropout, dropout as dropout, dropout1d as dropout1d, dropout2d as dropout2d,
    dropout3d as dropout3d, feature_alpha_dropout as feature_alpha_dropout,
)  # fmt: skip
from ..frontend.functions.nn.linear import (
    bilinear as bilinear, embedding as embedding, linear as linear, one_hot as one_hot,
    scaled_dot_product_attention as scaled_dot_product_attention,
)  # fmt: skip
from ..frontend.functions.nn.loss import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    cosine_embedding_loss as cosine_embedding_loss, cross_entropy as cross_entropy,
    gaussian_nll_loss as gaussian_nll_loss, hinge_embedding_loss as hinge_embedding_loss,
    huber_loss as huber_loss, kl_div as kl_div, l1_loss as l1_loss, margin_ranking_loss as margin_ranking_loss,
    mse_loss as mse_loss, multi_margin_loss as multi_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss, nll_loss as nll_loss,
    poisson_nll_loss as poisson_nll_loss, smooth_l1_loss as smooth_l1_loss, soft_margin_loss as soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)  # fmt: skip
from ..frontend.functions.nn.norm import (
    batch_norm as batch_norm, cosine_similarity as cosine_similarity, group_norm as group_norm,
    instance_norm as instance_norm, layer_norm as layer_norm, local_response_norm as local_response_norm,
    normalize as normalize, pairwise_distance as pairwise_distance, rms_norm as rms_norm,
)  # fmt: skip
from ..frontend.functions.nn.softmax import (
    log_softmax as log_softmax, softmax as softmax, softmin as softmin,
)  # fmt: skip
from ..frontend.functions.nn.conv import (
    conv1d as conv1d, conv2d as conv2d, conv3d as conv3d, conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d, conv_transpose3d as conv_transpose3d,
)  # fmt: skip
from ..frontend.functions.nn.pool import (
    adaptive_avg_pool1d as adaptive_avg_pool1d, adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d, adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool2d as adaptive_max_pool2d, adaptive_max_pool3d as adaptive_max_pool3d,
    avg_pool1d as avg_pool1d, avg_pool2d as avg_pool2d, avg_pool3d as avg_pool3d, lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d, max_pool1d as max_pool1d, max_pool1d_with_indices as max_pool1d_with_indices,
    max_pool2d as max_pool2d, max_pool2d_with_indices as max_pool2d_with_indices, max_pool3d as max_pool3d,
    max_pool3d_with_indices as max_pool3d_with_indices, max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d, max_unpool3d as max_unpool3d,
)  # fmt: skip
from ..frontend.functions.nn.vision import (
    affine_grid as affine_grid, channel_shuffle as channel_shuffle, fold as fold, grid_sample as grid_sample,
    interpolate as interpolate, pad as pad, pixel_shuffle as pixel_shuffle, pixel_unshuffle as pixel_unshuffle,
    unfold as unfold, upsample as upsample, upsample_bilinear as upsample_bilinear,
    upsample_nearest as upsample_nearest,
)  # fmt: skip
from ..frontend.functions.nn.bag import embedding_bag as embedding_bag
from ..frontend.functions.nn.ctc import ctc_loss as ctc_loss
from ..frontend.functions.distance import pdist as pdist


def __getattr__(name: str):
    """multi_head_attention_forward is written with these functions, so it is looked up when asked for."""
    if name == "multi_head_attention_forward":
        from .multi_head import multi_head_attention_forward

        return multi_head_attention_forward
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
