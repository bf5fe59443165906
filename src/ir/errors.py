"""Errors of the engine: PyTorch's exception types with the op, what was expected, what came, the remedy."""

from __future__ import annotations


class ShapeError(RuntimeError):
    """Shapes that an op cannot take (PyTorch raises RuntimeError)."""


class DTypeError(RuntimeError):
    """Dtypes that an op cannot take (PyTorch raises RuntimeError)."""


class UnsupportedDTypeError(DTypeError, NotImplementedError):
    """A dtype for which an op has no meaning (PyTorch raises NotImplementedError)."""


class DimError(IndexError):
    """A dimension out of range (PyTorch raises IndexError)."""


class IndexRangeError(IndexError, RuntimeError):
    """An index out of range found in data (PyTorch raises IndexError here, RuntimeError there)."""


class LinAlgError(RuntimeError):
    """A matrix a factorisation cannot take: singular, or not positive-definite (torch.linalg.LinAlgError)."""


class GraphError(RuntimeError):
    """A graph that breaks the grammar: a defect of ours, with the neighbourhood of the fault."""


class CompileError(RuntimeError):
    """A function that cannot be compiled as asked (fullgraph=True), with the user's line."""


def normal_dim(dim: int, ndim: int) -> int:
    """The non-negative form of `dim`; IndexError in PyTorch's words when it is out of range."""
    bound = max(ndim, 1)
    if not -bound <= dim < bound:
        raise DimError(
            f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})"
        )
    return dim + bound if dim < 0 else dim
