"""Random tensors from PyTorch's CPU stream; in a recorded call each replay draws anew, in program order."""

from __future__ import annotations

import numpy as np

from ...ir import dtype as dt
from ...ir.arith import defaults
from ...ir.type import TensorType, tensor_type
from ...runtime import random as stream
from ..interpreter import current
from ..tensor import Tensor, from_array
from .create import _device, _finish, _shape
from .support import store

Generator = stream.Generator
default_generator = stream.default_generator


def draw(make, type: TensorType) -> Tensor:
    """The tensor of `make()`, an array of `type`; a recorder repeats the draw at each replay."""
    if current.recorder is not None:
        return current.recorder.draw(make, type)
    return from_array(np.asarray(make(), type.dtype.np).reshape(type.shape), type.device)


def next_seed(generator: Generator | None = None) -> Tensor:
    """A 0-d int64 tensor: one word of the stream, the key of random numbers made inside kernels."""
    g = generator or default_generator
    return draw(lambda: stream.next_seed(g), tensor_type((), dt.int64))


def _fresh(shape, dtype, device, generator, requires_grad, fn, *numbers) -> Tensor:
    g = generator or default_generator
    type = tensor_type(shape, dtype or defaults.dtype, _device(device))
    return _finish(draw(lambda: fn(shape, type.dtype, g, *numbers), type), requires_grad)


def rand(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
         pin_memory=False) -> Tensor:
    """Returns uniform numbers of [0, 1).

    >>> _ = manual_seed(0)
    >>> rand(2)
    tensor([0.4963, 0.7682])
    """
    return _fresh(_shape(size), dtype, device, generator, requires_grad, stream.rand)


def randn(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
          pin_memory=False) -> Tensor:
    """Returns standard normal numbers.

    >>> _ = manual_seed(0)
    >>> randn(2)
    tensor([ 1.5410, -0.2934])
    """
    return _fresh(_shape(size), dtype, device, generator, requires_grad, stream.randn)


def randint(low, high=None, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
            requires_grad=False) -> Tensor:
    """Returns integers of [low, high), int64 by default; low may be left out (0).

    >>> _ = manual_seed(0)
    >>> randint(10, (3,))
    tensor([4, 9, 3])
    """
    if size is None:
        low, high, size = 0, low, high
    if high is None or size is None:
        raise TypeError("randint() received an invalid combination of arguments")
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return _fresh(_shape(tuple(size)), dtype or dt.int64, device, generator, requires_grad, stream.randint,
                  low, high)


def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False) -> Tensor:
    """Returns a random order of 0..n-1 (int64 by default)."""
    g, type = generator or default_generator, tensor_type((int(n),), dtype or dt.int64, _device(device))
    return _finish(draw(lambda: stream.randperm(int(n), type.dtype, g), type), requires_grad)


def _like(input, dtype):
    return input.type.shape, dtype or input.type.dtype


def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
              memory_format=None):
    """Returns uniform numbers of [0, 1) of input's size and dtype."""
    shape, dtype = _like(input, dtype)
    return _fresh(shape, dtype, device, generator, requires_grad, stream.rand)


def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
               memory_format=None):
    """Returns standard normal numbers of input's size and dtype."""
    shape, dtype = _like(input, dtype)
    return _fresh(shape, dtype, device, generator, requires_grad, stream.randn)


def randint_like(input, low, high=None, *, dtype=None, layout=None, device=None, requires_grad=False,
                 memory_format=None):
    """Returns integers of [low, high) of input's size and dtype."""
    low, high = (0, low) if high is None else (low, high)
    shape, dtype = _like(input, dtype)
    return _fresh(shape, dtype, device, None, requires_grad, stream.randint, low, high)


def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           requires_grad=False) -> Tensor:
    """Returns normal numbers; mean and std are numbers (with size) or tensors that broadcast."""
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        of = mean if isinstance(mean, Tensor) else std
        shape = (mean + std * 0).type.shape if isinstance(mean, Tensor) else of.type.shape
        return randn(shape, generator=generator, dtype=of.type.dtype) * std + mean
    return _fresh(_shape(tuple(size)), dtype, device, generator, requires_grad, stream.normal, mean, std)


def bernoulli(input, p=None, *, generator=None, out=None) -> Tensor:
    """Returns 1 with the probability each element of `input` gives (or `p`), else 0."""
    g = generator or default_generator
    if p is not None:
        return _fresh(input.type.shape, input.type.dtype, None, g, False, stream.bernoulli, p)
    if current.recorder is not None:
        current.recorder.leaves_graph("a draw whose probabilities are computed in the call")
    chance = input.nd
    return draw(lambda: stream.bernoulli(input.type.shape, input.type.dtype, g, chance), input.type)


def multinomial(input, num_samples, replacement=False, *, generator=None, out=None) -> Tensor:
    """Returns indices drawn by the weights in each row of `input` (1-D or 2-D)."""
    if current.recorder is not None:
        current.recorder.leaves_graph("a draw whose weights are computed in the call")
    array = stream.multinomial(input.nd, num_samples, replacement, generator or default_generator)
    return from_array(np.asarray(array))


def poisson(input, generator=None) -> Tensor:
    """Returns Poisson numbers with the rates in `input`."""
    if current.recorder is not None:
        current.recorder.leaves_graph("a draw whose rates are computed in the call")
    return from_array(np.asarray(stream.poisson(input.nd, generator or default_generator)))


# in place -----------------------------------------------------------------------------------------
def _filler(fn, *defaults_):
    def fill(self, *numbers, generator=None, **named):
        values = [*numbers, *defaults_[len(numbers):]]
        for k, (name, _) in enumerate(_NAMES.get(fn, ())):
            if name in named:
                values[k] = named.pop(name)
        if named:
            raise TypeError(f"got an unexpected keyword argument '{next(iter(named))}'")
        g = generator or default_generator
        shape, dtype = self.type.shape, self.type.dtype
        from ..grad_mode import no_grad

        with no_grad():
            return store(self, draw(lambda: fn(shape, dtype, g, *values), self.type))

    return fill


_NAMES = {
    stream.uniform: (("from", 0), ("to", 1)), stream.normal: (("mean", 0), ("std", 1)),
    stream.exponential: (("lambd", 1),), stream.cauchy: (("median", 0), ("sigma", 1)),
    stream.geometric: (("p", None),), stream.log_normal: (("mean", 1), ("std", 2)),
}
uniform_ = _filler(stream.uniform, 0.0, 1.0)
normal_ = _filler(stream.normal, 0.0, 1.0)
exponential_ = _filler(stream.exponential, 1.0)
cauchy_ = _filler(stream.cauchy, 0.0, 1.0)
log_normal_ = _filler(stream.log_normal, 1.0, 2.0)
geometric_ = _filler(stream.geometric)


def random_(self, low=None, high=None, *, generator=None, **named):
    """Fills self with integers: of the dtype's whole range, of [0, high) or of [low, high)."""
    low = named.pop("from", low)
    high = named.pop("to", high)
    g, shape, dtype = generator or default_generator, self.type.shape, self.type.dtype
    if low is None:
        return store(self, draw(lambda: stream.random(shape, dtype, g), self.type))
    if high is None:
        low, high = 0, low
    return store(self, draw(lambda: stream.random_from(shape, dtype, g, low, high), self.type))


def bernoulli_(self, p=0.5, *, generator=None):
    """Fills self with 1 with probability p (a number or tensor), else 0."""
    g, shape, dtype = generator or default_generator, self.type.shape, self.type.dtype
    chance = p.nd if isinstance(p, Tensor) else p
    from ..grad_mode import no_grad

    with no_grad():
        return store(self, draw(lambda: stream.bernoulli(shape, dtype, g, chance), self.type))


# the default stream -------------------------------------------------------------------------------
def manual_seed(seed) -> Generator:
    """Seeds the default generator; returns it."""
    if current.recorder is not None:
        current.recorder.leaves_graph("manual_seed")
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seeds the default generator from the system; returns the seed."""
    if current.recorder is not None:
        current.recorder.leaves_graph("seed")
    return default_generator.seed()


def initial_seed() -> int:
    """Returns the default generator's seed."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Returns the default generator's state as a uint8 tensor (PyTorch's own bytes)."""
    if current.recorder is not None:
        current.recorder.leaves_graph("get_rng_state")
    return from_array(np.array(default_generator.get_state()))


def set_rng_state(new_state: Tensor) -> None:
    """Sets the default generator's state."""
    if current.recorder is not None:
        current.recorder.leaves_graph("set_rng_state")
    default_generator.set_state(new_state.nd)


class fork_rng:  # noqa: N801
    """A context in which draws leave the default generator's state untouched, as torch.random.fork_rng."""

    def __init__(self, devices=None, enabled=True, **_kwargs):
        self.enabled = enabled

    def __enter__(self):
        self._state = get_rng_state() if self.enabled else None

    def __exit__(self, *exc):
        if self.enabled:
            set_rng_state(self._state)
