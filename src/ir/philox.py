"""Random bits by position: Philox4x32-10, the draws that kernels make for themselves.

The scheme, the same on every back end. `seed` is the word `next_seed` takes from the stream (64-bit
seeds are allowed). Element i of a draw, in row-major order, reads word i of this sequence:

    counter = (i // 4) as 64 bits in c0 (low) and c1 (high), c2 = c3 = 0
    key     = seed as 64 bits in k0 (low) and k1 (high); k1 = 0 for a seed of `next_seed`
    ten rounds:  (c0, c1, c2, c3) = (hi(M1*c2) ^ c1 ^ k0, lo(M1*c2), hi(M0*c0) ^ c3 ^ k1, lo(M0*c0))
                 with M0 = 0xD2511F53, M1 = 0xCD9E8D57; before each round but the first
                 k0 += 0x9E3779B9 and k1 += 0xBB67AE85, all modulo 2**32
    word i  = c[i % 4]

So the four words of counter q are what Triton's `tl.randint4x(seed, q)` returns for a 32-bit q.
A uniform number is built from the leading bits, so that it is exact, in [0, 1), and the same
everywhere:

    float32:  (word[i] >> 8) * 2**-24        float16: (word[i] >> 21) * 2**-11
    bfloat16: (word[i] >> 24) * 2**-8
    float64:  (((word[2i] << 32) | word[2i + 1]) >> 11) * 2**-53

A draw of probability p is `uniform < p` in float32.
"""

from __future__ import annotations

import numpy as np

from . import dtype as dt

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)
_ROUNDS = 10
DIGITS = {dt.float16: 11, dt.bfloat16: 8, dt.float32: 24, dt.float64: 53}  # of the significand
_BLOCK = 1 << 12  # counters at a time: all that a round touches stays in the cache


def philox_uint32(seed: int, offset_start: int, n: int) -> np.ndarray:
    """Words offset_start to offset_start + n - 1 of the sequence of `seed`, uint32.

    >>> philox_uint32(0, 0, 4)
    array([1713891541, 3781805453, 3159862348, 2600524760], dtype=uint32)
    """
    first, last = offset_start // 4, -(-(offset_start + n) // 4)
    out = np.empty((last - first, 4), np.uint32)
    for start in range(0, len(out), _BLOCK):
        part = out[start : start + _BLOCK]
        counter = np.arange(len(part), dtype=np.uint64) + np.uint64(first + start)
        _philox((counter & _LOW, counter >> _32, _zeros(part), _zeros(part)), seed, part)
    skipped = offset_start - 4 * first
    return out.reshape(-1)[skipped : skipped + n]


def uniform(seed: int, n: int, dtype: dt.DType) -> np.ndarray:
    """n uniform numbers in [0, 1) of a floating dtype, as the module describes.

    >>> uniform(0, 2, dt.float32)
    array([0.39904642, 0.88052016], dtype=float32)
    """
    digits = DIGITS[dtype]
    if dtype is dt.float64:
        pairs = philox_uint32(seed, 0, 2 * n).reshape(-1, 2).astype(np.uint64)
        bits = (pairs[:, 0] << _32 | pairs[:, 1]) >> np.uint64(64 - digits)
        return bits.view(np.int64) * 2.0**-digits
    bits = philox_uint32(seed, 0, n)
    bits >>= np.uint32(32 - digits)
    values = bits.view(np.int32).astype(np.float32)
    values *= np.float32(2.0**-digits)
    return values.astype(dtype.np, copy=False)


def philox4x32(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    """The four output words of one counter (four words) under one key (two words).

    >>> [hex(w) for w in philox4x32((0, 0, 0, 0), (0, 0))]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    out = np.empty((1, 4), np.uint32)
    _philox(tuple(np.array([c], np.uint64) for c in counter), key[0] | key[1] << 32, out)
    return tuple(out[0].tolist())


def _philox(counter: tuple[np.ndarray, ...], seed: int, out: np.ndarray) -> None:
    """Writes the words of counters (32-bit words in uint64 arrays) to `out`, (n, 4) uint32."""
    c0, c1, c2, c3 = counter
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(_ROUNDS):
        product0, product1 = c0 * _M0, c2 * _M1
        c0 = _mixed(product1, c1, k0)
        c2 = _mixed(product0, c3, k1)
        product1 &= _LOW
        product0 &= _LOW
        c1, c3 = product1, product0
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    for lane, words in enumerate((c0, c1, c2, c3)):
        out[:, lane] = words


def _mixed(product: np.ndarray, word: np.ndarray, key: int) -> np.ndarray:
    high = product >> _32
    high ^= word
    high ^= np.uint64(key)
    return high


def _zeros(like: np.ndarray) -> np.ndarray:
    return np.zeros(len(like), np.uint64)
