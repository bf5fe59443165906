"""Where CPython keeps what a watch reads: struct offsets per minor version, and the self-test.

All raw memory is read in this file and in `words.py`. A version without a row, or one whose
self-test fails, gets no watching at all: the caller then treats every function as lazy.
"""

import ctypes
import sys
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from types import CodeType, FrameType


@dataclass(frozen=True, slots=True)
class FrameLayout:
    """Offsets, in bytes, from a frame object to its value stack."""

    frame: int  # PyFrameObject.f_frame
    func: int  # _PyInterpreterFrame.f_func
    stacktop: int  # _PyInterpreterFrame.stacktop, saved before the trace function is called
    slots: int  # _PyInterpreterFrame.localsplus


@dataclass(frozen=True, slots=True)
class HeapLayout:
    """Offsets, in bytes, of the words whose change means that an object changed."""

    type: int  # PyObject.ob_type
    dict_version: int  # PyDictObject.ma_version_tag, 8 bytes, unique in the process
    dict_order: int  # PyODictObject.od_state, changed also by what leaves the version alone
    type_version: int  # PyTypeObject.tp_version_tag, 4 bytes, 0 when not assigned
    managed_dict: int  # from an instance to its dict pointer, where the type keeps it in front
    cell: int  # PyCellObject.ob_ref
    function: tuple[int, int, int]  # func_code, func_defaults, func_kwdefaults


FRAMES: dict[tuple[int, int], FrameLayout] = {(3, 11): FrameLayout(24, 0, 64, 72)}
# 3.12 and later keep watcher bits in the version word, so they have no row here: exact checks.
HEAPS: dict[tuple[int, int], HeapLayout] = {
    (3, 11): HeapLayout(8, 24, 88, 384, -24, 16, (48, 56, 64)),
}

GETATTRO = 144  # PyTypeObject.tp_getattro, in every version
VERSION = sys.version_info[:2]
MANAGED_DICT = 1 << 4  # Py_TPFLAGS_MANAGED_DICT
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


class Stack:
    """The value stack of one running frame; valid only while that frame is being traced."""

    __slots__ = ("slots", "top")

    def __init__(self, frame: FrameType, layout: FrameLayout):
        base = ctypes.c_void_p.from_address(id(frame) + layout.frame).value or 0
        room = _local_count(frame.f_code) + frame.f_code.co_stacksize
        self.slots = (ctypes.py_object * room).from_address(base + layout.slots)
        self.top = ctypes.c_int.from_address(base + layout.stacktop)

    def peek(self, depth: int) -> object:
        """Return the object `depth` below the top (1 is the top); ValueError for a NULL slot."""
        return self.slots[self.top.value - depth]

    def take(self, count: int) -> list[object]:
        """Return the `count` topmost objects, deepest first."""
        top = self.top.value
        return list(self.slots[top - count : top])


def _local_count(code: CodeType) -> int:
    own_cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    return code.co_nlocals + len(own_cells) + len(code.co_freevars)


def running_function(frame: FrameType, layout: FrameLayout) -> object:
    """Return the function object that `frame` executes."""
    base = ctypes.c_void_p.from_address(id(frame) + layout.frame).value or 0
    return ctypes.py_object.from_address(base + layout.func).value


def reads_attributes_plainly(owner: type) -> bool:
    """Tell whether the type's attribute access is object's own C function."""
    return _word(id(owner) + GETATTRO) == _word(id(object) + GETATTRO)


def _known_interpreter() -> bool:
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    return sys.implementation.name == "cpython" and sys.maxsize > 2**32 and gil


@cache
def frame_layout() -> FrameLayout | None:
    """Return the frame layout of this interpreter, or None when it is unknown or fails its test.

    The first call traces a function for the test: ask only where no other tool is tracing.
    """
    layout = FRAMES.get(VERSION) if _known_interpreter() else None
    return layout if layout is not None and _frames_read_right(layout) else None


@cache
def heap_layout() -> HeapLayout | None:
    """Return the heap layout of this interpreter, or None: then every guard is checked exactly."""
    layout = HEAPS.get(VERSION) if _known_interpreter() else None
    return layout if layout is not None and _heap_reads_right(layout) else None


def _probe(first: object, second: object) -> object:
    kept = [first, second]
    return lambda: kept


def _frames_read_right(layout: FrameLayout) -> bool:
    """Trace one known function and compare each operand read with what it must be."""
    seen: list[tuple[object, ...]] = []
    first, second = object(), object()

    def local(frame: FrameType, event: str, _arg: object):
        if event == "opcode":
            stack = Stack(frame, layout)
            depth = stack.top.value - _local_count(frame.f_code)
            seen.append((frame.f_lasti, depth, *stack.take(depth)))
        return local

    def outer(frame: FrameType, _event: str, _arg: object):
        if frame.f_code is not _probe.__code__:
            return None
        frame.f_trace_opcodes = True
        seen.append((running_function(frame, layout),))
        return local

    sys.settrace(outer)
    try:
        _probe(first, second)
    except ValueError:  # a NULL among the slots read: this is not the stack
        return False
    finally:
        sys.settrace(None)
    stacks = [entry[1:] for entry in seen if len(entry) > 1]
    plain = reads_attributes_plainly(list) and not reads_attributes_plainly(type)
    return seen[0] == (_probe,) and (2, first, second) in stacks and (0,) in stacks and plain


class _Probe:
    value = 0


def _word(address: int, size: int = 8) -> int:
    return int.from_bytes(ctypes.string_at(address, size), sys.byteorder)


def _heap_reads_right(layout: HeapLayout) -> bool:
    """Compare each word with what Python itself says, before and after a change."""
    instance, table = _Probe(), {"a": 1}
    cell = (lambda: table).__closure__[0]  # type: ignore[index]
    owned = instance.__dict__
    versions = [_word(id(table) + layout.dict_version)]
    table["a"] = 2
    versions.append(_word(id(table) + layout.dict_version))
    ordered = OrderedDict(a=1, b=2)
    orders = [_word(id(ordered) + layout.dict_order)]
    ordered.move_to_end("a")
    orders.append(_word(id(ordered) + layout.dict_order))
    tags = []
    for value in (1, 2):
        _Probe.value = value
        type.__getattribute__(_Probe, "value")  # a lookup gives the type its tag
        tags.append(_word(id(_Probe) + layout.type_version, 4))
    code, defaults, _ = layout.function
    managed = bool(_Probe.__flags__ & MANAGED_DICT)
    return (
        _word(id(instance) + layout.type) == id(_Probe)
        and versions[0] < versions[1] < versions[0] + 2**20
        and orders[0] < orders[1] < orders[0] + 8
        and 0 < tags[0] < tags[1]
        and managed
        and _word(id(instance) + layout.managed_dict) == id(owned)
        and _word(id(cell) + layout.cell) == id(table)
        and _word(id(_word) + code) == id(_word.__code__)
        and _word(id(_word) + defaults) == id(_word.__defaults__)
    )
