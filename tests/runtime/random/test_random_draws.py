"""Every draw at every size against PyTorch where installed, against stored values anywhere."""

import warnings

import numpy as np
import pytest
from random_cases import (
    DRAWS,
    SEEDS,
    SHAPES,
    STORED,
    inexact,
    np_dtype,
    stored_cases,
    stored_shapes,
    summary,
    to_numpy,
)

from treadle.runtime.random import Generator

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of bounds.*:UserWarning")
PAIRS = [(draw, dtype) for draw in DRAWS for dtype in draw.dtypes]
NAMES = [f"{draw.name}-{dtype}" for draw, dtype in PAIRS]


def ulps(a: np.ndarray, b: np.ndarray, offset: float = 0.0) -> int:
    """The largest distance in float64 ulp; arrays must agree in shape and where they are NaN."""
    a, b = a.reshape(-1).view(np.float64), b.reshape(-1).view(np.float64)
    assert a.shape == b.shape and (np.isnan(a) == np.isnan(b)).all()
    spacing = np.spacing(np.maximum(np.abs(a), np.abs(b)).clip(offset))
    distance = np.where(a == b, 0.0, np.abs(a - b) / spacing)
    return int(np.nan_to_num(distance).max(initial=0.0))


def same(draw, dtype: str, ours: np.ndarray, theirs: np.ndarray) -> None:
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    assert ours.flags.c_contiguous
    if inexact(draw, dtype):
        assert ulps(ours, theirs, draw.offset) <= draw.ulp
    else:
        assert ours.tobytes() == theirs.tobytes()


def same_state(draw, ours: Generator, theirs) -> None:
    """Equal bytes, the half normal within the draw's ulp."""
    a, b = ours.get_state(), theirs.get_state().numpy()
    assert (np.delete(a, np.s_[5032:5040]) == np.delete(b, np.s_[5032:5040])).all()
    assert ulps(a[5032:5040].copy(), b[5032:5040].copy()) <= draw.ulp


@pytest.mark.parametrize(("draw", "dtype"), PAIRS, ids=NAMES)
def test_equals_torch(draw, dtype):
    torch = pytest.importorskip("torch")
    for seed in SEEDS:
        theirs, ours = torch.Generator().manual_seed(seed), Generator().manual_seed(seed)
        for shape in SHAPES:
            out = torch.empty(shape, dtype=getattr(torch, dtype))
            expected = to_numpy(draw.theirs(torch, out, theirs))
            same(draw, dtype, draw.ours(shape, np_dtype(dtype), ours), expected)
            same_state(draw, ours, theirs)


@pytest.mark.parametrize(("draw", "dtype"), PAIRS, ids=NAMES)
def test_large_equals_torch(draw, dtype):
    torch = pytest.importorskip("torch")
    theirs, ours = torch.Generator().manual_seed(7), Generator().manual_seed(7)
    shape = (201, 1003)  # several blocks, and no multiple of 16
    out = torch.empty(shape, dtype=getattr(torch, dtype))
    expected = to_numpy(draw.theirs(torch, out, theirs))
    same(draw, dtype, draw.ours(shape, np_dtype(dtype), ours), expected)
    same_state(draw, ours, theirs)


def test_equals_stored():
    with np.load(STORED) as stored:
        for key, draw, dtype, seed in stored_cases():
            g = Generator().manual_seed(seed)
            arrays = [draw.ours(shape, np_dtype(dtype), g) for shape in stored_shapes(draw, dtype)]
            found = summary(draw, dtype, arrays, g.get_state())
            if inexact(draw, dtype):
                assert ulps(found, stored[key], draw.offset) <= draw.ulp, key
            else:
                assert found == stored[key], key


def test_warns_as_torch():
    from treadle.runtime.random import random_from

    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        random_from((3,), np.float32, Generator(), 0, 2**25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        random_from((3,), np.float32, Generator(), 0, 2**24)
