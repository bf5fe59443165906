"""The state of PyTorch's CPU stream: mt19937, and the half-used pair of the last normal draw.

NumPy's MT19937 holds and advances the 624 words; this module maps its position to the pair `left`,
`next` of PyTorch's engine, so that the bytes of a state can be exchanged both ways.
"""

from __future__ import annotations

import operator
import os
import threading
from typing import Any

import numpy as np

from treadle.ir import device as devices

DEFAULT_SEED = 67280421310721
_N = 624
_FEW = 1024  # up to here `random_raw` beats the fill of an array

# The record that PyTorch copies out as bytes; fields that it no longer uses stay zero.
_LAYOUT = np.dtype(
    [
        ("seed", np.uint64),
        ("left", np.int32),
        ("seeded", np.int32),
        ("next", np.uint64),
        ("words", np.uint64, _N),
        ("normal_x", np.float64),
        ("normal_y", np.float64),
        ("normal_rho", np.float64),
        ("normal_is_valid", np.int32),
        ("end_of_older_record", np.int32),
        ("next_float_normal", np.float32),
        ("next_float_is_valid", np.bool_),
    ],
    align=True,
)


class Generator:
    """A source of random numbers with the stream of a CPU `torch.Generator`.

    The same stream serves every device: `device` is kept for the caller's information.

    >>> g = Generator().manual_seed(0)
    >>> g.words(3)
    array([2357136044, 2546248239, 3071714933], dtype=uint32)
    >>> g.initial_seed()
    0
    """

    __slots__ = (
        "_idle_next", "_seed", "_source", "_unseeded", "device", "lock", "next_float_normal",
        "next_normal",
    )  # fmt: skip

    def __init__(self, device="cpu") -> None:
        self.device = devices.device(device)
        if self.device.type == "meta":
            raise RuntimeError("META device type not an accelerator.")
        self.lock = threading.RLock()
        self._source: np.random.Generator | None = None
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Restarts the stream and returns the generator; RuntimeError if `seed` is not an int.

        The low 32 bits of the seed choose the stream; negative seeds count from 2**64.
        """
        seed = _as_seed(seed)
        with self.lock:
            self._seed = seed
            self._unseeded = True  # the engine follows at the first draw: seeding stays cheap
            self._idle_next = 0  # what PyTorch reports as `next` while no word is left
            self.next_normal: float | None = None
            self.next_float_normal: np.float32 | None = None
        return self

    def seed(self) -> int:
        """Restarts the stream from a seed of the operating system's, which is returned."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed the stream was last started from."""
        return self._seed

    def words(self, n: int) -> np.ndarray:
        """The next n words of the stream, uint32."""
        with self.lock:
            if n <= _FEW:
                return self._raw(n).astype(np.uint32)
            source, self._idle_next = self._engine(), _N
            return source.integers(0, 1 << 32, size=n, dtype=np.uint32)

    def words64(self, n: int) -> np.ndarray:
        """The next 2n words as n uint64, the earlier word of each pair on top."""
        with self.lock:
            if 2 * n <= _FEW:
                raw = self._raw(2 * n)
                return (raw[0::2] << np.uint64(32)) | raw[1::2]
            source, self._idle_next = self._engine(), _N
            return source.integers(0, 1 << 64, size=n, dtype=np.uint64)

    def get_state(self) -> np.ndarray:
        """The state as PyTorch's 5056 bytes, uint8."""
        with self.lock:
            engine = self._bits().state["state"]
            position = int(engine["pos"])
            used_up = position == _N
            record = np.zeros(1, _LAYOUT)
            record["seed"] = self._seed
            record["left"] = 1 if used_up else _N + 1 - position
            record["seeded"] = 1
            record["next"] = self._idle_next if used_up else position
            record["words"] = engine["key"]
            if self.next_normal is not None:
                record["normal_is_valid"] = 1
                record["normal_y"] = self.next_normal
            if self.next_float_normal is not None:
                record["next_float_is_valid"] = True
                record["next_float_normal"] = self.next_float_normal
            return record.view(np.uint8)

    def set_state(self, new_state: np.ndarray) -> None:
        """Continues from the bytes of `get_state`, ours or PyTorch's.

        TypeError if not a uint8 array, RuntimeError if the size is wrong or the state impossible.
        """
        if not isinstance(new_state, np.ndarray) or new_state.dtype != np.uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, but got {_kind(new_state)}")
        if new_state.size != _LAYOUT.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_LAYOUT.itemsize} but found the input "
                f"RNG state size to be {new_state.size}"
            )
        record = np.frombuffer(new_state.tobytes(), _LAYOUT)[0]
        left, following = int(record["left"]), int(record["next"])
        used_up = left == 1 and following <= _N
        if not record["seeded"] or not (used_up or (1 < left <= _N and left + following == _N + 1)):
            raise RuntimeError("Invalid mt19937 state")
        with self.lock:
            self._seed = int(record["seed"])
            self._unseeded = False
            state = {"key": record["words"].astype(np.uint32), "pos": _N if used_up else following}
            self._bits().state = {"bit_generator": "MT19937", "state": state}
            self._idle_next = following if used_up else _N
            self.next_normal = float(record["normal_y"]) if record["normal_is_valid"] else None
            valid = record["next_float_is_valid"]
            self.next_float_normal = record["next_float_normal"] if valid else None

    def clone_state(self) -> Generator:
        """A new generator that goes on from the same state, on its own."""
        return _from_state(self.device, self.get_state())

    def mark(self) -> tuple:
        """The place in the stream, for `rewind`."""
        return self._bits().state, self._idle_next

    def rewind(self, mark: tuple, words: int) -> None:
        """Goes back to `mark` and `words` on from there."""
        self._bits().state, self._idle_next = mark
        self.words(words)

    def _raw(self, n: int) -> np.ndarray:
        bits = self._bits()
        if n:
            self._idle_next = _N
        return bits.random_raw(n)

    def _bits(self) -> Any:
        return self._engine().bit_generator

    def _engine(self) -> np.random.Generator:
        if self._source is None:
            self._source = np.random.Generator(np.random.MT19937(0))
        if self._unseeded:
            # RandomState seeds the engine it is given by mt19937's classic one-integer rule.
            np.random.RandomState(self._source.bit_generator).seed(self._seed & 0xFFFFFFFF)
            self._unseeded = False
        return self._source

    def __reduce__(self):
        return _from_state, (self.device, self.get_state())

    def __repr__(self) -> str:
        return f"<treadle.Generator device='{self.device}' seed={self._seed}>"


def next_seed(generator: Generator) -> int:
    """The next word of the stream, below 2**32: the key of one draw made inside a kernel."""
    return int(generator.words(1)[0])


def _from_state(device, state: np.ndarray) -> Generator:
    generator = Generator(device)
    generator.set_state(state)
    return generator


def _as_seed(seed) -> int:
    if isinstance(seed, (bool, np.bool_, float)) or not isinstance(seed, (int, np.integer)):
        raise RuntimeError(f"manual_seed expected a long, but got {_kind(seed)}")
    seed = operator.index(seed)
    if not -(1 << 63) <= seed < 1 << 64:
        raise ValueError(f"Overflow when unpacking long long: seed {seed} needs more than 64 bits")
    return seed % (1 << 64)


def _kind(value) -> str:
    return type(value).__name__


default_generator = Generator()
default_generator.seed()
