"""The one file that touches triton's internals: its versions, and its interpreter without torch or a GPU.

Inside `interpreting()` a kernel's function runs in Python on NumPy memory. What triton's interpreter does
otherwise than a GPU is put right there, and everything is put back afterwards, so that compiling in the same
process is not disturbed: bfloat16 rounds to nearest even, fma rounds once, integers wrap, a reduction with
any combine function takes log2(n) steps, and no lane may read or write outside known memory.
"""

from __future__ import annotations

import dataclasses
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter as ti
from triton.runtime.jit import JITFunction

from .errors import GpuError
from .regions import Regions

OLDEST, NEWEST = (3, 6), (3, 9)
ELEMENTS = {"i8": tl.int8, "u8": tl.uint8, "i16": tl.int16, "i32": tl.int32, "i64": tl.int64, "fp16": tl.float16,
            "bf16": tl.bfloat16, "fp32": tl.float32, "fp64": tl.float64}


def version() -> tuple[int, int]:
    """triton's major and minor version; GpuError where it is none that this file knows."""
    major, minor = map(int, triton.__version__.split(".")[:2])
    if not OLDEST <= (major, minor) <= NEWEST:
        raise GpuError(
            f"triton: expected a version from {_text(OLDEST)} to {_text(NEWEST)}, got {triton.__version__}. "
            f"Install one: pip install 'triton>={_text(OLDEST)},<{NEWEST[0]}.{NEWEST[1] + 1}'"
        )
    return major, minor


def _text(pair: tuple[int, int]) -> str:
    return f"{pair[0]}.{pair[1]}"


# calling kernels in the interpreter ---------------------------------------------------------------
_lock = threading.RLock()  # the patches are the whole process's
_rewritten: weakref.WeakKeyDictionary[Callable, Callable] = weakref.WeakKeyDictionary()


def pointer(address: int, element: str) -> Any:
    """An address as the interpreter's pointer to elements of this type."""
    kind = tl.pointer_type(ELEMENTS[element])
    return tl.tensor(ti.TensorHandle(np.array([address], np.uint64), kind), kind)


def interpret(kernel: JITFunction, grid: int, arguments: Sequence[Any]) -> None:
    """Runs programs 0 to grid - 1 of a kernel, one after the other; only inside `interpreting()`."""
    builder = ti.interpreter_builder
    builder.set_grid_dim(grid, 1, 1)
    run = _rewrite(kernel)
    for number in range(grid):
        builder.set_grid_idx(number, 0, 0)
        run(*arguments)


def _rewrite(kernel: JITFunction) -> Callable:
    found = _rewritten.get(kernel.fn)
    if found is None:
        found = ti.InterpretedFunction(kernel.fn).rewrite()
        _rewritten[kernel.fn] = found
        ti.InterpretedFunction.rewritten_fn.pop(kernel.fn, None)  # it would be kept for ever
    return found


@contextmanager
def interpreting(regions: Regions) -> Iterator[None]:
    """Triton's language runs in Python in this block, on memory inside `regions`; one thread at a time."""
    version()
    probe = types.FunctionType((lambda: 0).__code__, {"tl": tl, "core": tl.core})
    with _lock, np.errstate(all="ignore"), _patched(regions):
        knobs = triton.knobs.runtime
        before, knobs.interpret = knobs.interpret, True
        scope = ti._patch_lang(probe)
        try:
            yield
        finally:
            scope.restore()
            knobs.interpret = before


@contextmanager
def _patched(regions: Regions) -> Iterator[None]:
    builder = ti.interpreter_builder
    changes: list[tuple[Any, str, Any]] = [
        (JITFunction, "__call__", lambda self, *a, **k: _rewrite(self)(*a, **k)),
        (ti, "_convert_float", _convert_float),
        (ti, "_patch_lang_tensor", _patch_tensor),
        (ti.ReduceOps, "generic_reduce", _reduce_by_halves),
        (ti.InterpreterBuilder, "create_dot", _dot),
        (builder, "options", dataclasses.replace(builder.options, sanitize_overflow=False)),
        *_guarded(regions),
    ]
    if version() < (3, 9):
        changes.append((ti.InterpreterBuilder, "create_fma", _fma))
    before = [(owner, name, owner.__dict__.get(name)) for owner, name, _ in changes]
    try:
        for owner, name, value in changes:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)


# memory -------------------------------------------------------------------------------------------
def _guarded(regions: Regions) -> list[tuple[Any, str, Callable]]:
    """Loads, stores and atomics that look where they go; argument lists differ between versions."""
    builder = ti.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store
    rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas

    def create_masked_load(self, pointers, mask, *rest):
        mask = _mask(pointers, mask)
        regions.check_read(pointers.data[mask.data], _itemsize(pointers))
        return load(self, pointers, mask, *rest)

    def create_masked_store(self, pointers, value, mask, *rest):
        mask = _mask(pointers, mask)
        regions.check_write(pointers.data[mask.data], _itemsize(pointers), self.grid_idx[0])
        return store(self, pointers, value, mask, *rest)

    def create_atomic_rmw(self, op, pointers, value, mask, *rest):
        mask = _mask(pointers, mask)
        regions.check_read(pointers.data[mask.data], _itemsize(pointers))
        return rmw(self, op, pointers, value, mask, *rest)

    def create_atomic_cas(self, pointers, *rest):
        regions.check_read(np.atleast_1d(pointers.data), _itemsize(pointers))
        return cas(self, pointers, *rest)

    made = (create_masked_load, create_masked_store, create_atomic_rmw, create_atomic_cas)
    return [(builder, f.__name__, f) for f in made]


def _itemsize(pointers) -> int:
    return max(1, pointers.get_element_ty().primitive_bitwidth // 8)


def _mask(pointers, mask) -> ti.TensorHandle:
    """A mask as bools of the pointers' shape; a comparison spread over a block comes as integers."""
    return ti.TensorHandle(np.broadcast_to(mask.data, pointers.data.shape).astype(bool), tl.int1)


# arithmetic ---------------------------------------------------------------------------------------
_own_convert_float, _own_patch_tensor = ti._convert_float, ti._patch_lang_tensor
_own_dot = ti.InterpreterBuilder.create_dot


def _convert_float(x, source, target, mode):
    """As triton's, but float32 to bfloat16 rounds to nearest even, as on a GPU."""
    if source == tl.float32 and target == tl.bfloat16:
        return _to_bfloat16(x)
    return _own_convert_float(x, source, target, mode)


def _to_bfloat16(x: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).reshape(np.shape(x))
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FC0), rounded)


def _dot(self, a, b, *rest):
    """Products of bfloat16, which the interpreter keeps as bits, are those of their float32 values."""
    return _own_dot(self, _widened(a), _widened(b), *rest)


def _widened(handle):
    if handle.dtype.scalar != tl.bfloat16:
        return handle
    return ti.TensorHandle((handle.data.astype(np.uint32) << 16).view(np.float32), tl.float32)


def _patch_tensor(tensor, scope) -> None:
    """As triton's, with bounds of loops that are arrays of one element (NumPy 2.4 refuses int() of them)."""
    _own_patch_tensor(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(np.asarray(self.handle.data).reshape(-1)[0]))


def _fma(self, x, y, z):
    """x * y + z, rounded once."""
    data = _fma32(x.data, y.data, z.data) if z.data.dtype == np.float32 else _fma64(x.data, y.data, z.data)
    return ti.TensorHandle(data, z.dtype.scalar)


def _fma32(x, y, z) -> np.ndarray:
    """The product is exact in float64; the sum is rounded to odd there, so that rounding again is right."""
    total, error = _sum(x.astype(np.float64) * y.astype(np.float64), z.astype(np.float64))
    even = (total.view(np.int64) & 1) == 0
    odd = np.where(even & (error != 0), np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)
    return np.where(np.isfinite(total), odd, total).astype(np.float32)


def _fma64(x, y, z) -> np.ndarray:
    """By an exact product; exact where the sum cancels, as algorithms that need an fma expect."""
    x, y, z = np.broadcast_arrays(x, y, z)
    plain = x * y + z
    scale = np.where(np.abs(x) > 2.0**900, 2.0**-200, 1.0)  # the halves of a large x must not overflow
    product, low = _product(x * scale, y)
    total, error = _sum(product / scale, z)
    exact = total + (error + low / scale)
    return np.where(np.isfinite(exact), exact, plain)


def _sum(a, b) -> tuple[np.ndarray, np.ndarray]:
    """a + b and what rounding cut off."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _product(a, b) -> tuple[np.ndarray, np.ndarray]:
    """a * b and what rounding cut off."""
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    product = a * b
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


def _halves(a) -> tuple[np.ndarray, np.ndarray]:
    wide = a * 134217729.0  # 2^27 + 1
    high = wide - (wide - a)
    return high, a - high


def _reduce_by_halves(self, operands):
    """A reduction by any combine function, on halves of the whole blocks at once."""
    data = [t.handle.data for t in operands]
    kinds = [t.dtype for t in operands]
    axis, rank = self.axis, data[0].ndim
    if axis is None:
        data, axis = [d.reshape(-1) for d in data], 0
    data = [np.moveaxis(d, axis, 0) for d in data]
    while len(data[0]) > 1:
        half = len(data[0]) // 2
        sides = [self.to_tensor(d[part], k) for part in (slice(0, half), slice(half, None))
                 for d, k in zip(data, kinds, strict=True)]
        out = self.combine_fn.fn(*sides)
        out = out if isinstance(out, tuple) else (out,)
        data = [np.broadcast_to(o.handle.data, (half, *data[0].shape[1:])) for o in out]
    results = [d[0] for d in data]
    if self.keep_dims:
        results = [np.expand_dims(r, axis) if self.axis is not None else r.reshape((1,) * rank) for r in results]
    return [self.to_tensor(r if r.ndim else r[()], k) for r, k in zip(results, kinds, strict=True)]
