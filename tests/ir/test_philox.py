"""Philox against its published vectors, Triton's bits, and its own definition by element."""

import numpy as np
import pytest

from treadle.ir import dtype as dt
from treadle.ir.philox import philox4x32, philox_uint32, uniform

# Random123's known answers for philox4x32, 10 rounds: counter, key, output.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]  # fmt: skip


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter, key, expected):
    assert philox4x32(counter, key) == expected


@pytest.mark.parametrize("seed", [0, 42, 2**32 - 1, 2**40 + 5])
@pytest.mark.parametrize(("start", "n"), [(0, 0), (0, 1), (0, 4), (3, 9), (5, 1), (2**34 - 3, 8),
                                          (0, 20001), (16383, 3)])  # fmt: skip
def test_words_by_element(seed, start, n):
    words = philox_uint32(seed, start, n)
    assert words.dtype == np.uint32 and words.shape == (n,)
    for i in {0, 1, 2, n // 2, n - 1} if n else ():
        if i < n:
            q = (start + i) // 4
            block = philox4x32((q & 0xFFFFFFFF, q >> 32, 0, 0), (seed & 0xFFFFFFFF, seed >> 32))
            assert words[i] == block[(start + i) % 4]


def test_triton_bits():
    """tl.rand(42, i) is lane 0 of counter i, scaled Triton's way; its values for i = 0."""
    lane = philox_uint32(42, 0, 1).view(np.int32)
    positive = np.where(lane < 0, -lane - 1, lane).astype(np.float32)
    assert positive * np.float32(4.6566127342e-10) == np.float32(0.77408016)


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16, dt.bfloat16])
def test_uniform_is_built_from_leading_bits(dtype):
    values = uniform(7, 5001, dtype)
    assert values.dtype == dtype.np and values.shape == (5001,)
    exact = values.astype(np.float64)
    assert exact.min() >= 0.0 and exact.max() < 1.0 and abs(exact.mean() - 0.5) < 0.02
    if dtype is dt.float64:
        words = philox_uint32(7, 0, 2 * 5001).astype(np.uint64)
        whole = words[0::2] << np.uint64(32) | words[1::2]
        assert (exact == (whole >> np.uint64(11)).astype(np.float64) * 2.0**-53).all()
        return
    digits = {dt.float32: 24, dt.float16: 11, dt.bfloat16: 8}[dtype]
    words = philox_uint32(7, 0, 5001)
    assert (exact == (words >> np.uint32(32 - digits)) * 2.0**-digits).all()


def test_seeds_and_positions_differ():
    a, b = uniform(1, 4096, dt.float32), uniform(2, 4096, dt.float32)
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.06
    assert abs(np.corrcoef(a[:-1], a[1:])[0, 1]) < 0.06
    assert len(set(philox_uint32(1, 0, 4096).tolist())) > 4090
