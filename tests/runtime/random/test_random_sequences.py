"""Mixed draws from one stream: what one draw leaves, the next one finds."""

import numpy as np
import pytest
from random_cases import SEEDS, STORED, digest, to_numpy
from random_sequences import SEQUENCES

from treadle.runtime import random as ours
from treadle.runtime.random import Generator

CASES = pytest.mark.parametrize(
    ("name", "seed"), [(name, seed) for name in SEQUENCES for seed in SEEDS]
)


@CASES
def test_equals_torch(name, seed):
    torch = pytest.importorskip("torch")
    ours_f, theirs_f = SEQUENCES[name]
    g, theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    for i, (a, b) in enumerate(zip(ours_f(g), theirs_f(torch, theirs), strict=True)):
        expected = to_numpy(b)
        assert a.dtype == expected.dtype and a.shape == expected.shape, i
        assert a.tobytes() == expected.tobytes(), i
    assert (g.get_state() == theirs.get_state().numpy()).all()


@CASES
def test_equals_stored(name, seed):
    g = Generator().manual_seed(seed)
    arrays = SEQUENCES[name][0](g)
    with np.load(STORED) as stored:
        assert digest(*arrays, g.get_state()[:5024]) == stored[f"sequence/{name}/{seed}"]


def test_serial_normals_follow_a_tensor_that_is_not_contiguous():
    torch = pytest.importorskip("torch")
    g, theirs = Generator().manual_seed(1), torch.Generator().manual_seed(1)
    every_other = torch.empty(42)[::2].normal_(1.0, 2.0, generator=theirs)
    ours_values = ours.normal((21,), np.float32, g, 1.0, 2.0, serial=True)
    assert ours_values.tolist() == every_other.tolist()
    assert (g.get_state() == theirs.get_state().numpy()).all()
