"""Automatic differentiation in torch.autograd's names."""

from ..frontend.autograd import backward as backward, grad as grad
from ..frontend.function import Function as Function
from ..frontend.grad_mode import (
    enable_grad as enable_grad, inference_mode as inference_mode, no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)  # fmt: skip
from ..frontend.gradcheck import gradcheck as gradcheck, gradgradcheck as gradgradcheck
from . import function as function
from .variable import Variable as Variable
