"""Variable: the older name for a tensor that takes part in autograd."""

from ..frontend.tensor import Tensor


class _VariableMeta(type):
    def __instancecheck__(cls, other) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=_VariableMeta):
    """Called with a tensor it returns the same data as a leaf, as torch.autograd.Variable.

    >>> import treadle
    >>> Variable(treadle.ones(1), requires_grad=True).requires_grad
    True
    """

    def __new__(cls, data=None, requires_grad: bool = False, volatile=None):
        made = Tensor(0) if data is None else data.detach()
        return made.requires_grad_(requires_grad)
