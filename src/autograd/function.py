"""Functions with a backward of their own, in torch.autograd.function's names."""

from ..frontend.function import (
    Function as Function, FunctionCtx as FunctionCtx, once_differentiable as once_differentiable,
)  # fmt: skip
