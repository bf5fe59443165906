"""Comparing many words of memory at once: a memoryview whose elements lie behind pointers.

`view == wanted` reads each word through its pointer and compares, in C and without letting go of
the interpreter lock: about 2 ns a word. Whoever points at a word must see to it that the word
stays allocated, or call `forget` first.
"""

import ctypes
from array import array
from collections.abc import Iterable

_DUMMY = ctypes.c_uint64(0)
_DUMMY_ADDRESS = ctypes.addressof(_DUMMY)


class _Buffer(ctypes.Structure):
    """Py_buffer."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    )


_memory_view = ctypes.pythonapi.PyMemoryView_FromBuffer
_memory_view.restype = ctypes.py_object
_memory_view.argtypes = [ctypes.POINTER(_Buffer)]


def _size(value: int):
    return ctypes.pointer(ctypes.c_ssize_t(value))


class Words:
    """Words of one width, each with the address it lies at and the value it shall have.

    A word that nobody wanted yet is wanted to be 0, which no pointer and no version is.
    """

    __slots__ = ("_buffer", "goal", "pointers", "view", "wanted")

    def __init__(self, addresses: Iterable[int], code: str = "Q"):
        self.pointers = array("Q", addresses)
        self.wanted = array(code, [0]) * len(self.pointers)
        width, count = self.wanted.itemsize, len(self.pointers)
        start = self.pointers.buffer_info()[0]
        self._buffer = _Buffer(
            start, None, count * width, width, 1, 1, code.encode(), _size(count), _size(8), _size(0), None
        )
        self.view = _memory_view(ctypes.byref(self._buffer))
        self.goal = memoryview(self.wanted)

    def spoil(self, index: int) -> None:
        """Make this word unequal until it is wanted anew: no object lies at address 1."""
        self.wanted[index] = 1

    def forget(self, index: int) -> None:
        """Make this word compare equal for good, whatever becomes of the memory it lay in."""
        self.pointers[index] = _DUMMY_ADDRESS
        self.wanted[index] = 0

    def retire(self) -> None:
        """Make every word unequal for good, and read none of them again."""
        for index in range(len(self.pointers)):
            self.pointers[index] = _DUMMY_ADDRESS
            self.wanted[index] = 1


def word_at(address: int, code: str = "Q") -> int:
    """Return the word at `address`, which must be allocated."""
    kind = ctypes.c_uint64 if code == "Q" else ctypes.c_uint32
    return kind.from_address(address).value
