"""Binds torch's method names onto Tensor: each is a public function whose first argument is the tensor."""

from __future__ import annotations

from .functions import (binary, complexes, convert, create, hooks, index, info, inplace, join, linalg, matmul,
                        pointwise, random, reduce, search, select, shape, storage)
from .functions.nn import softmax
from .tensor import Tensor

_METHODS = (
    (pointwise, "abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh "
                "bitwise_not ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac isfinite "
                "isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit nan_to_num neg "
                "negative positive rad2deg reciprocal relu round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt "
                "square tan tanh trunc"),
    (binary, "add addcdiv addcmul arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift "
             "bitwise_xor clamp clamp_max clamp_min clip copysign div divide eq float_power floor_divide fmax fmin "
             "fmod ge greater greater_equal gt heaviside hypot isclose ldexp le lerp less less_equal logaddexp "
             "logaddexp2 logical_and logical_or logical_xor lt masked_fill maximum minimum mul multiply ne not_equal "
             "pow remainder sub subtract true_divide xlogy"),
    (complexes, "angle conj conj_physical resolve_conj resolve_neg"),
    (convert, "bfloat16 bool byte cdouble cfloat char clone contiguous cpu cuda double float half int long short to "
              "type_as"),  # not `type`: the slot of that name is the TensorType
    (create, "new new_empty new_full new_ones new_tensor new_zeros"),
    (hooks, "register_hook register_post_accumulate_grad_hook retain_grad"),
    (index, "index_put index_put_"),
    (info, "allclose equal is_complex is_conj is_floating_point is_nonzero is_signed"),
    (inplace, "apply_ copy_ cumprod_ cumsum_ detach_ fill_ fill_diagonal_ map_ set_ squeeze_ swapaxes_ swapdims_ t_ "
              "transpose_ unsqueeze_ zero_"),
    (join, "chunk dsplit flip fliplr flipud hsplit narrow repeat repeat_interleave roll rot90 select split "
           "split_with_sizes tensor_split tile unbind vsplit"),
    (linalg, "cholesky cholesky_inverse cholesky_solve det inverse logdet matrix_exp matrix_power pinverse qr "
             "slogdet"),
    (matmul, "addbmm addmm addmv addr baddbmm bmm cross dot ger inner kron matmul mm mv outer vdot"),
    (random, "bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_ uniform_"),
    (reduce, "all amax amin aminmax any argmax argmin count_nonzero dist logsumexp max mean min nanmean nansum norm "
             "prod renorm std sum trace var"),
    (search, "argsort argwhere bincount cummax cummin cumprod cumsum diff histc histogram kthvalue logcumsumexp "
             "masked_select median mode msort nanmedian nonzero quantile sort topk unique unique_consecutive"),
    (select, "diag diag_embed diagflat diagonal_scatter gather index_add index_copy index_fill index_reduce "
             "index_select masked_scatter put scatter scatter_add scatter_reduce select_scatter slice_scatter take "
             "take_along_dim tril triu"),
    (shape, "adjoint as_strided broadcast_to diagonal expand expand_as flatten moveaxis movedim permute ravel reshape "
            "reshape_as squeeze swapaxes swapdims t transpose unflatten unfold unsqueeze view view_as"),
    (softmax, "log_softmax softmax"),
    (storage, "data_ptr dim element_size numel resize_ resize_as_ size storage_offset"),
)
for _module, _names in _METHODS:
    for _name in _names.split():
        setattr(Tensor, _name, getattr(_module, _name))
for _name, _twin in inplace.TWINS.items():
    setattr(Tensor, _name, _twin)
Tensor.nelement, Tensor.ndimension = storage.numel, storage.dim


# properties -----------------------------------------------------------------------------------------
def _transposed(self):
    """A view with all dims in reverse order."""
    return shape.reversed_dims(self)


def _conjugate_transposed(self):
    """A matrix transposed and conjugated."""
    return complexes.conj(shape.t(self) if self.type.ndim < 3 else shape.mT(self))


def _flag(value, text: str):
    return property(lambda self: value, doc=f"{text}: {value}.")


Tensor.T = property(_transposed)
Tensor.H = property(_conjugate_transposed)
Tensor.mT = property(shape.mT)
Tensor.mH = property(shape.adjoint)
Tensor.real = property(complexes.real)
Tensor.imag = property(complexes.imag)
Tensor.itemsize = property(storage.element_size)
Tensor.nbytes = property(lambda self: self.type.nbytes, doc="The bytes of all elements.")
Tensor.is_cpu = property(lambda self: self.type.device.type == "cpu", doc="Whether it lies on the CPU.")
Tensor.is_cuda = property(lambda self: self.type.device.type == "cuda", doc="Whether it lies on a GPU.")
for _name in ("is_sparse", "is_quantized", "is_meta", "is_mps", "is_xpu", "is_mkldnn", "is_nested", "is_sparse_csr"):
    setattr(Tensor, _name, _flag(False, f"Tensor.{_name}"))


def get_device(self) -> int:
    """Returns the device's number, -1 for the CPU."""
    return -1 if self.type.device.index is None or self.type.device.type == "cpu" else self.type.device.index


def is_shared(self) -> bool:
    """Returns whether the memory is shared among processes: never."""
    return False


def unchanged(self, *_args, **_kwargs):
    """Returns self: memory here needs no pinning and no sharing."""
    return self


def _layout(self):
    """How the elements are kept: strided."""
    from .settings import strided

    return strided


def _stft(self, *args, **kwargs):
    """torch.stft of this signal."""
    from .functions.fft import stft

    return stft(self, *args, **kwargs)


Tensor.layout, Tensor.stft = property(_layout), _stft
Tensor.get_device, Tensor.is_shared, Tensor.is_pinned = get_device, is_shared, is_shared
Tensor.pin_memory = Tensor.share_memory_ = unchanged
Tensor.__pos__ = pointwise.positive
Tensor.__matmul__ = matmul.matmul
Tensor.__abs__ = pointwise.abs
Tensor.__neg__ = pointwise.neg


def _reflected_matmul(self, other):
    return matmul.matmul(self._coerce(other), self)


Tensor.__rmatmul__ = _reflected_matmul
for _name, _twin in (("__iadd__", "add_"), ("__isub__", "sub_"), ("__imul__", "mul_"), ("__itruediv__", "div_"),
                     ("__ifloordiv__", "floor_divide_"), ("__imod__", "remainder_"), ("__ipow__", "pow_"),
                     ("__iand__", "bitwise_and_"), ("__ior__", "bitwise_or_"), ("__ixor__", "bitwise_xor_"),
                     ("__ilshift__", "bitwise_left_shift_"), ("__irshift__", "bitwise_right_shift_")):
    setattr(Tensor, _name, inplace.TWINS[_twin])
