"""Multinomial, Poisson and gamma draws against PyTorch, and the errors they share."""

import numpy as np
import pytest
from random_cases import SEEDS, np_dtype, to_numpy, weights

from treadle.runtime.random import Generator, multinomial, poisson, standard_gamma

CASES = [
    ((5,), 1, False), ((5,), 1, True), ((5,), 2, True), ((5,), 3, False), ((4, 7), 1, True),
    ((4, 7), 30, True), ((4, 7), 5, False), ((1, 1), 1, False), ((1000,), 500, True),
    ((3, 1000), 17, False), ((0, 3), 2, True),
]  # fmt: skip


def _weights(shape, dtype="float32"):
    return weights(int(np.prod(shape)) + 1, dtype)[1:].reshape(shape)  # not the first, zero


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(("shape", "count", "replacement"), CASES)
def test_multinomial_equals_torch(shape, count, replacement, dtype):
    torch = pytest.importorskip("torch")
    if not replacement and count > 1 and dtype in ("float16", "bfloat16"):
        pytest.skip("PyTorch leaves open which of equal quotients wins, and halves are often equal")
    for seed in SEEDS:
        g, theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
        probs = torch.from_numpy(_weights(shape)).to(getattr(torch, dtype))
        expected = torch.multinomial(probs, count, replacement, generator=theirs).numpy()
        found = multinomial(_weights(shape).astype(np_dtype(dtype)), count, replacement, g)
        assert found.dtype == np.int64 and found.shape == expected.shape
        assert (found == expected).all()
        assert (g.get_state() == theirs.get_state().numpy()).all()


def test_multinomial_without_torch():
    probs = np.float32([0.0, 1.0, 3.0, 0.0])
    g = Generator().manual_seed(0)
    assert set(multinomial(probs, 1000, True, g)) == {1, 2}
    assert sorted(multinomial(probs, 2, False, g)) == [1, 2]
    share = (multinomial(probs, 20000, True, g) == 2).mean()
    assert abs(share - 0.75) < 0.02


@pytest.mark.parametrize(
    ("probs", "count", "replacement", "words"),
    [
        (np.float32(1.0), 1, False, "prob_dist must be 1 or 2 dim"),
        (np.array([1, 2]), 1, False, "multinomial only supports floating-point .* got: Long"),
        (np.float32([1, 2]), 0, False, "cannot sample n_sample <= 0 samples"),
        (np.float32([1, 2]), 3, False, r"cannot sample n_sample > prob_dist.size\(-1\)"),
        (np.float32([1, -2]), 1, False, "probability tensor contains either `inf`, `nan` or"),
        (np.float32([1, np.nan]), 1, True, "probability tensor contains either `inf`, `nan` or"),
        (np.float32([1, -2]), 2, True, r"invalid multinomial .* probability entry < 0"),
        (np.float32([1, np.inf]), 2, True, "encountering probability entry = infinity or NaN"),
        (np.float32([0, 0]), 1, False, r"invalid multinomial .* \(sum of probabilities <="),
        (np.float32([[1, 0], [0, 0]]), 2, True, "sum of probabilities <= 0"),
        (np.float32([]), 2, True, "sum of probabilities <= 0"),
    ],
)  # fmt: skip
def test_multinomial_errors(probs, count, replacement, words):
    with pytest.raises(RuntimeError, match=words):
        multinomial(np.asarray(probs), count, replacement, Generator())


RATES = np.float64([0.0, 0.01, 0.5, 3.0, 9.99, 10.0, 11.5, 40.0, 1000.0, 1e6])
ALPHAS = np.float64([1e-3, 0.1, 0.5, 1.0, 1.5, 3.0, 20.0, 1e4])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_poisson_equals_torch(dtype):
    torch = pytest.importorskip("torch")
    rates = np.tile(RATES[:9], (30, 1)).astype(np.float32)
    for seed in SEEDS:
        g, theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
        tensor = torch.from_numpy(rates).to(getattr(torch, dtype))
        expected = to_numpy(torch.poisson(tensor, generator=theirs))
        assert poisson(rates.astype(np_dtype(dtype)), g).tobytes() == expected.tobytes()
        assert (g.get_state() == theirs.get_state().numpy()).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma_equals_torch(dtype):
    torch = pytest.importorskip("torch")
    alphas = np.tile(ALPHAS, (31, 1)).astype(dtype)
    for seed in SEEDS:
        g, theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
        expected = torch._standard_gamma(torch.from_numpy(alphas), generator=theirs).numpy()
        found = standard_gamma(alphas, g)
        assert found.dtype == expected.dtype
        np.testing.assert_array_max_ulp(found, expected, 4)
        assert (g.get_state() == theirs.get_state().numpy()).all()


def test_poisson_and_gamma_without_torch():
    g = Generator().manual_seed(1)
    assert abs(poisson(np.full(4000, 4.0), g).mean() - 4.0) < 0.15
    assert abs(poisson(np.full(4000, 50.0), g).mean() - 50.0) < 0.5
    assert abs(standard_gamma(np.full(4000, 2.5), g).mean() - 2.5) < 0.12
    for wrong in (-1.0, np.nan):
        with pytest.raises(RuntimeError, match="invalid Poisson rate, expected rate to be non-neg"):
            poisson(np.array([1.0, wrong]), g)
    with pytest.raises(NotImplementedError, match="\"poisson_cpu\" not implemented for 'Long'"):
        poisson(np.array([3]), g)
    assert poisson(np.zeros((0, 2)), g).shape == (0, 2) == standard_gamma(np.ones((0, 2)), g).shape
