"""treadle: PyTorch's API in a light package whose `compile` fuses whole training steps."""

from .frontend.functions.create import (
    arange as arange,
    as_tensor as as_tensor,
    empty as empty,
    empty_like as empty_like,
    from_numpy as from_numpy,
    full as full,
    full_like as full_like,
    ones as ones,
    ones_like as ones_like,
    tensor as tensor,
    zeros as zeros,
    zeros_like as zeros_like,
)
from .frontend.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from .frontend.tensor import Size as Size, Tensor as Tensor
