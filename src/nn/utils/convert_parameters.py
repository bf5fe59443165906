"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...frontend.functions.join import cat
from ...frontend.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Returns all parameters, flattened, as one 1-d tensor."""
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes slices of `vec` the data of the parameters, in order."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        size = p.numel()
        p.data = vec[start:start + size].reshape(tuple(p.shape)).data
        start += size
