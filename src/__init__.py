"""treadle: PyTorch's API in a light package whose `compile` fuses whole training steps."""

from importlib import import_module as _import_module
from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING

from .runtime import numpy_threads as _numpy_threads  # before the first import of NumPy  # isort: split
from .frontend.functions.binary import (
    add as add, addcdiv as addcdiv, addcmul as addcmul, arctan2 as arctan2, atan2 as atan2, bitwise_and
    as bitwise_and, bitwise_left_shift as bitwise_left_shift, bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift, bitwise_xor as bitwise_xor, clamp as clamp, clamp_max as
    clamp_max, clamp_min as clamp_min, clip as clip, copysign as copysign, div as div, divide as divide,
    eq as eq, float_power as float_power, floor_divide as floor_divide, fmax as fmax, fmin as fmin, fmod
    as fmod, ge as ge, greater as greater, greater_equal as greater_equal, gt as gt, heaviside as
    heaviside, hypot as hypot, isclose as isclose, ldexp as ldexp, le as le, lerp as lerp, less as less,
    less_equal as less_equal, logaddexp as logaddexp, logaddexp2 as logaddexp2, logical_and as
    logical_and, logical_or as logical_or, logical_xor as logical_xor, lt as lt, masked_fill as
    masked_fill, maximum as maximum, minimum as minimum, mul as mul, multiply as multiply, ne as ne,
    not_equal as not_equal, pow as pow, remainder as remainder, rsub as rsub, sub as sub, subtract as
    subtract, true_divide as true_divide, where as where, xlogy as xlogy,
)  # fmt: skip
from .frontend.functions.complexes import (
    angle as angle, complex as complex, conj as conj, conj_physical as conj_physical, imag as imag,
    polar as polar, real as real, resolve_conj as resolve_conj, resolve_neg as resolve_neg,
    view_as_complex as view_as_complex, view_as_real as view_as_real,
)  # fmt: skip
from .frontend.functions.convert import (
    clone as clone,
)  # fmt: skip
from .frontend.functions.create import (
    arange as arange, as_tensor as as_tensor, asarray as asarray, empty as empty, empty_like as
    empty_like, empty_strided as empty_strided, from_dlpack as from_dlpack, from_numpy as from_numpy,
    frombuffer as frombuffer, full as full, full_like as full_like, ones as ones, ones_like as
    ones_like, scalar_tensor as scalar_tensor, tensor as tensor, zeros as zeros, zeros_like as
    zeros_like,
)  # fmt: skip
from .frontend.functions.einsum import (
    einsum as einsum,
)  # fmt: skip
from .frontend.functions.index import (
    index_put as index_put, index_put_ as index_put_,
)  # fmt: skip
from .frontend.functions.info import (
    allclose as allclose, equal as equal, finfo as finfo, get_default_dtype as get_default_dtype, iinfo
    as iinfo, is_complex as is_complex, is_conj as is_conj, is_floating_point as is_floating_point,
    is_nonzero as is_nonzero, is_signed as is_signed, is_storage as is_storage, is_tensor as is_tensor,
    promote_types as promote_types, result_type as result_type, set_default_dtype as set_default_dtype,
    set_default_tensor_type as set_default_tensor_type,
)  # fmt: skip
from .frontend.functions.inplace import (
    fill as fill,
)  # fmt: skip
from .frontend.functions.join import (
    atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, block_diag as
    block_diag, cartesian_prod as cartesian_prod, cat as cat, chunk as chunk, column_stack as
    column_stack, concat as concat, concatenate as concatenate, dsplit as dsplit, dstack as dstack, flip
    as flip, fliplr as fliplr, flipud as flipud, hsplit as hsplit, hstack as hstack, meshgrid as
    meshgrid, narrow as narrow, repeat_interleave as repeat_interleave, roll as roll, rot90 as rot90,
    row_stack as row_stack, select as select, split as split, split_with_sizes as split_with_sizes,
    stack as stack, tensor_split as tensor_split, tile as tile, unbind as unbind, vsplit as vsplit,
    vstack as vstack,
)  # fmt: skip
from .frontend.functions.linalg import (
    cholesky as cholesky, cholesky_inverse as cholesky_inverse, cholesky_solve as cholesky_solve, det as
    det, inverse as inverse, logdet as logdet, matrix_exp as matrix_exp, matrix_power as matrix_power,
    pinverse as pinverse, qr as qr, slogdet as slogdet, svd_old as svd, triangular_solve as
    triangular_solve,
)  # fmt: skip
from .frontend.functions.matmul import (
    addbmm as addbmm, addmm as addmm, addmv as addmv, addr as addr, baddbmm as baddbmm, bmm as bmm,
    chain_matmul as chain_matmul, cross as cross, dot as dot, ger as ger, inner as inner, kron as kron,
    matmul as matmul, mm as mm, mv as mv, outer as outer, tensordot as tensordot, vdot as vdot,
)  # fmt: skip
from .frontend.functions.pointwise import (
    abs as abs, absolute as absolute, acos as acos, acosh as acosh, arccos as arccos, arccosh as
    arccosh, arcsin as arcsin, arcsinh as arcsinh, arctan as arctan, arctanh as arctanh, asin as asin,
    asinh as asinh, atan as atan, atanh as atanh, bitwise_not as bitwise_not, ceil as ceil, cos as cos,
    cosh as cosh, deg2rad as deg2rad, digamma as digamma, erf as erf, erfc as erfc, erfinv as erfinv,
    exp as exp, exp2 as exp2, expm1 as expm1, fix as fix, floor as floor, frac as frac, isfinite as
    isfinite, isinf as isinf, isnan as isnan, isneginf as isneginf, isposinf as isposinf, isreal as
    isreal, lgamma as lgamma, log as log, log10 as log10, log1p as log1p, log2 as log2, logical_not as
    logical_not, logit as logit, nan_to_num as nan_to_num, neg as neg, negative as negative, positive as
    positive, rad2deg as rad2deg, reciprocal as reciprocal, relu as relu, round as round, rsqrt as
    rsqrt, sgn as sgn, sigmoid as sigmoid, sign as sign, signbit as signbit, sin as sin, sinc as sinc,
    sinh as sinh, sqrt as sqrt, square as square, tan as tan, tanh as tanh, trunc as trunc,
)  # fmt: skip
from .frontend.functions.random import (
    bernoulli as bernoulli, default_generator as default_generator, Generator as Generator,
    get_rng_state as get_rng_state, initial_seed as initial_seed, manual_seed as manual_seed,
    multinomial as multinomial, normal as normal, poisson as poisson, rand as rand, rand_like as
    rand_like, randint as randint, randint_like as randint_like, randn as randn, randn_like as
    randn_like, randperm as randperm, seed as seed, set_rng_state as set_rng_state,
)  # fmt: skip
from .frontend.functions.ranges import (
    bartlett_window as bartlett_window, blackman_window as blackman_window, eye as eye, hamming_window
    as hamming_window, hann_window as hann_window, linspace as linspace, logspace as logspace, range as
    range, tril_indices as tril_indices, triu_indices as triu_indices,
)  # fmt: skip
from .frontend.functions.reduce import (
    all as all, amax as amax, amin as amin, aminmax as aminmax, any as any, argmax as argmax, argmin as
    argmin, count_nonzero as count_nonzero, dist as dist, logsumexp as logsumexp, max as max, mean as
    mean, min as min, nanmean as nanmean, nansum as nansum, norm as norm, prod as prod, renorm as
    renorm, std as std, std_mean as std_mean, sum as sum, trace as trace, var as var, var_mean as
    var_mean,
)  # fmt: skip
from .frontend.functions.search import (
    argsort as argsort, argwhere as argwhere, bincount as bincount, bucketize as bucketize, cummax as
    cummax, cummin as cummin, cumprod as cumprod, cumsum as cumsum, diff as diff, histc as histc,
    histogram as histogram, isin as isin, kthvalue as kthvalue, logcumsumexp as logcumsumexp,
    masked_select as masked_select, median as median, mode as mode, msort as msort, nanmedian as
    nanmedian, nonzero as nonzero, quantile as quantile, searchsorted as searchsorted, sort as sort,
    topk as topk, trapezoid as trapezoid, trapz as trapz, unique as unique, unique_consecutive as
    unique_consecutive,
)  # fmt: skip
from .frontend.functions.select import (
    diag as diag, diag_embed as diag_embed, diagflat as diagflat, diagonal_scatter as diagonal_scatter,
    gather as gather, index_add as index_add, index_copy as index_copy, index_fill as index_fill,
    index_reduce as index_reduce, index_select as index_select, masked_scatter as masked_scatter, put as
    put, scatter as scatter, scatter_add as scatter_add, scatter_reduce as scatter_reduce,
    select_scatter as select_scatter, slice_scatter as slice_scatter, take as take, take_along_dim as
    take_along_dim, tril as tril, triu as triu,
)  # fmt: skip
from .frontend.functions.shape import (
    adjoint as adjoint, as_strided as as_strided, broadcast_shapes as broadcast_shapes,
    broadcast_tensors as broadcast_tensors, broadcast_to as broadcast_to, diagonal as diagonal, flatten
    as flatten, moveaxis as moveaxis, movedim as movedim, permute as permute, ravel as ravel, reshape as
    reshape, squeeze as squeeze, swapaxes as swapaxes, swapdims as swapdims, t as t, transpose as
    transpose, unflatten as unflatten, unsqueeze as unsqueeze,
)  # fmt: skip
from .frontend.functions.storage import numel as numel
from .frontend.functions.support import can_cast as can_cast
from .frontend.functions.nn.softmax import log_softmax as log_softmax, softmax as softmax
from .frontend.grad_mode import (
    enable_grad as enable_grad, inference_mode as inference_mode, is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled, no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)  # fmt: skip
from .frontend.printing import set_printoptions as set_printoptions
from .frontend.tensor import Size as Size, Tensor as Tensor
from .frontend import methods as _methods
from .ir.device import device as device
from .ir.dtype import (
    DType as dtype, bfloat16 as bfloat16, bool_ as bool, complex64 as cfloat, complex64 as complex64,
    complex128 as cdouble, complex128 as complex128, float16 as float16, float16 as half, float32 as float,
    float32 as float32, float64 as double, float64 as float64, int8 as int8, int16 as int16, int16 as short,
    int32 as int, int32 as int32, int64 as int64, int64 as long, uint8 as uint8,
)  # fmt: skip
from .frontend.autocast import (
    autocast as autocast, clear_autocast_cache as clear_autocast_cache, get_autocast_dtype as get_autocast_dtype,
    is_autocast_cache_enabled as is_autocast_cache_enabled, is_autocast_enabled as is_autocast_enabled,
    set_autocast_cache_enabled as set_autocast_cache_enabled, set_autocast_dtype as set_autocast_dtype,
    set_autocast_enabled as set_autocast_enabled,
)  # fmt: skip

if TYPE_CHECKING:
    from . import amp as amp, autograd as autograd, fft as fft, linalg as linalg, nn as nn, optim as optim
    from . import special as special, utils as utils
    from .frontend.compile import compile as compile

__version__ = "0.1.0"
newaxis = None
del _methods
_LATE = ("amp", "autograd", "fft", "linalg", "nn", "optim", "special", "utils")  # loaded when first asked for
_LATE_NAMES = {
    "compile": "compile",
    **dict.fromkeys(("istft", "stft"), "functions.fft"),
    **dict.fromkeys(("cdist", "pdist"), "functions.distance"),
    **dict.fromkeys(("cosine_similarity", "pairwise_distance", "layer_norm", "group_norm"), "functions.nn.norm"),
    **dict.fromkeys(("dropout", "alpha_dropout"), "functions.nn.dropout"),
    **dict.fromkeys(("celu", "hardshrink", "prelu", "relu_", "rrelu", "selu", "threshold"), "functions.nn.activation"),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
                    "functions.nn.conv"),
    **dict.fromkeys(("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"), "functions.nn.vision"),
    **dict.fromkeys(("BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor",
                     "HalfTensor", "IntTensor", "LongTensor", "ShortTensor"), "functions.legacy"),
    **dict.fromkeys(("are_deterministic_algorithms_enabled", "channels_last", "channels_last_3d",
                     "contiguous_format", "get_default_device", "get_float32_matmul_precision",
                     "get_num_interop_threads", "get_num_threads", "is_deterministic_algorithms_warn_only_enabled",
                     "layout", "memory_format", "preserve_format", "set_default_device",
                     "set_float32_matmul_precision", "set_num_threads", "strided", "typename",
                     "use_deterministic_algorithms"), "settings"),
}


def __getattr__(name: str):
    if name in _LATE:
        return _import_module("." + name, __name__)
    if name in _LATE_NAMES:
        value = getattr(_import_module(".frontend." + _LATE_NAMES[name], __name__), name)
    elif name.startswith("_foreach_"):
        value = _import_module(".frontend.functions.foreach", __name__).FOREACH.get(name)
    elif name == "_assert":
        value = _import_module(".frontend.settings", __name__).assert_
    else:
        value = None
    if value is not None:
        globals()[name] = value
        return value
    raise AttributeError(f"module 'treadle' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE, *_LATE_NAMES})
