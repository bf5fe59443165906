"""Random numbers: PyTorch's CPU stream (mt19937) in NumPy, and Philox for draws inside kernels.

`Generator` holds the stream's state and exchanges it with PyTorch as bytes. Each draw is a function
`f(shape, dtype, generator, ...)` that returns a new contiguous array and leaves the stream where
PyTorch leaves it; a dtype is a `treadle.ir.dtype.DType` or what np.dtype takes. Uniforms and
integers have PyTorch's bits; float32 normals those of its vector path.
"""

from treadle.ir.philox import philox_uint32
from treadle.runtime.random.distributions import cauchy, exponential, geometric
from treadle.runtime.random.generator import Generator, default_generator, next_seed
from treadle.runtime.random.integers import randint, random, random_from
from treadle.runtime.random.multinomial import multinomial
from treadle.runtime.random.normals import log_normal, normal, randn
from treadle.runtime.random.permutation import randperm
from treadle.runtime.random.rejection import poisson, standard_gamma
from treadle.runtime.random.uniforms import bernoulli, rand, uniform

__all__ = [
    "Generator", "bernoulli", "cauchy", "default_generator", "exponential", "geometric",
    "log_normal", "multinomial", "next_seed", "normal", "philox_uint32", "poisson", "rand",
    "randint", "randn", "random", "random_from", "randperm", "standard_gamma", "uniform",
]  # fmt: skip
