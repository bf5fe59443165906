"""Refusals, in PyTorch's exception types and first words, with the stream untouched."""

import numpy as np
import pytest

from treadle.ir.dtype import bfloat16
from treadle.runtime import random as ours
from treadle.runtime.random import Generator

F32, I32, I64, C64 = np.float32, np.int32, np.int64, np.complex64
NOT_IMPLEMENTED, RUNTIME = NotImplementedError, RuntimeError
ROWS = [
    (ours.uniform, F32, (1, 0), RUNTIME, "uniform_ expects .* found from=1 > to=0"),
    (ours.uniform, F32, (-3e38, 3e38), RUNTIME, "uniform_ expects to-from <="),
    (ours.uniform, F32, (0, 1e39), RUNTIME, "to is out of bounds for float"),
    (ours.uniform, np.float16, (-7e4, 0), RUNTIME, "from is out of bounds for c10::Half"),
    (ours.uniform, bfloat16, (np.nan, 1), RUNTIME, "from is out of bounds for c10::BFloat16"),
    (ours.uniform, I32, (), NOT_IMPLEMENTED, "\"check_uniform_bounds\" not implemented for"),
    (ours.normal, F32, (0, -1), RUNTIME, "normal expects std >= 0.0, but found std -1"),
    (ours.normal, I64, (), NOT_IMPLEMENTED, "\"normal_kernel_cpu\" not implemented for"),
    (ours.log_normal, F32, (0, 0), RUNTIME, "log_normal_ expects std > 0.0, but found std=0"),
    (ours.log_normal, I64, (), NOT_IMPLEMENTED, "\"log_normal_cpu\" not implemented for"),
    (ours.exponential, F32, (0,), RUNTIME, "exponential_ expects lambda > 0.0, but found"),
    (ours.exponential, I64, (), RUNTIME, "Exponential distribution .* you specified Long"),
    (ours.cauchy, F32, (0, 0), RUNTIME, "cauchy_ expects sigma > 0.0, but found sigma=0"),
    (ours.cauchy, I64, (), RUNTIME, "Cauchy distribution .* you specified long int"),
    (ours.geometric, F32, (0,), RUNTIME, r"geometric_ expects p to be in \(0, 1\), but got"),
    (ours.geometric, np.bool_, (0.5,), NOT_IMPLEMENTED, "\"geometric_cpu\" not implemented"),
    (ours.bernoulli, F32, (2,), RUNTIME, r"bernoulli_ expects p to be in \[0, 1\], but got p=2"),
    (ours.bernoulli, F32, (np.nan,), RUNTIME, r"bernoulli_ expects p to be in \[0, 1\]"),
    (ours.bernoulli, C64, (0.5,), NOT_IMPLEMENTED, "\"bernoulli_scalar_cpu_\" not"),
    (ours.bernoulli, F32, (np.float32([0.5, 2, 0]),), RUNTIME, "Expected p_in >= 0"),
    (ours.bernoulli, F32, (np.array([0.5, np.nan, 1]),), RUNTIME, "Expected p_in >= 0"),
    (ours.bernoulli, F32, (np.array([1, 0, 1]),), NOT_IMPLEMENTED, "bernoulli_tensor_cpu_p_"),
    (ours.randint, I64, (5, 5), RUNTIME, "random_ expects 'from' .* from=5 >= to=5"),
    (ours.randint, np.uint8, (0, 300), RUNTIME, "to - 1 is out of bounds for unsigned char"),
    (ours.randint, np.int8, (-129, 5), RUNTIME, "from is out of bounds for signed char"),
    (ours.randint, np.bool_, (0, 3), RUNTIME, "to - 1 is out of bounds for bool"),
    (ours.randint, np.float16, (0, 70000), RUNTIME, "to - 1 is out of bounds for c10::Half"),
    (ours.randint, C64, (0, 3), RUNTIME, "check_random_bounds handles only"),
    (ours.randint, I64, (0, 2**63), ValueError, "Overflow when unpacking long long"),
    (ours.random_from, I32, (-(2**63),), RUNTIME, "random_full_64_bits_range_kernel_cpu"),
    (ours.random, C64, (), NOT_IMPLEMENTED, "\"random_kernel_cpu\" not implemented"),
]  # fmt: skip


@pytest.mark.parametrize(("draw", "dtype", "args", "error", "words"), ROWS)
def test_refusals(draw, dtype, args, error, words):
    g = Generator().manual_seed(1)
    before = g.get_state()
    with pytest.raises(error, match=words):
        draw((3,), dtype, g, *args)
    assert (g.get_state() == before).all()


def test_bounds_are_checked_for_empty_tensors_too():
    with pytest.raises(RuntimeError, match="uniform_ expects"):
        ours.uniform((0,), F32, Generator(), 1, 0)
    with pytest.raises(RuntimeError, match="random_ expects"):
        ours.randint((0,), I64, Generator(), 5, 5)


def test_probabilities_must_broadcast():
    with pytest.raises(ValueError):
        ours.bernoulli((3,), F32, Generator(), np.float32([0.5, 0.5]))
    assert ours.bernoulli((3, 2), F32, Generator(), np.float32([0.0, 1.0])).tolist() == [[0, 1]] * 3
