"""Plans: what one call of a compiled program does, as an array of steps run without Python.

How to make and run one:

    steps = [
        KernelStep(built.address, buffers=(Ref(0), Ref(1, 4096)), sizes=(n,), extent=n, grain=8192),
        GemmStep("float32", Matrix(Ref(0), 64, 32), Matrix(Ref(2), 32, 16), Matrix(Ref(3), 64, 16)),
        HostStep(tag),                    # Python does it: host(tag, table) is called
        CopyStep(Ref(4), Ref(3), 4096),   # target, source, bytes
        FillStep(Ref(5), 4096),           # zeros
    ]
    plan = make_plan(steps, slots=6)      # once per program; immutable, shared by threads
    table = plan.new_table()              # once per simultaneous call
    table[0] = array.ctypes.data          # addresses by slot; or table[0:3] = array("q", [...])
    plan.run(table, host)                 # raises StepError where a kernel's check failed

A `Ref(slot, offset)` is the address table[slot] + offset bytes. A kernel gets its buffers as `p`,
its sizes as `n`, and chunks [k * grain, (k + 1) * grain) of its extent. The plan and the table do
not keep the memory behind the addresses alive: the caller does.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .errors import StepError
from .support import core, gemm_address

_KERNEL, _GEMM, _SGEMM, _DGEMM, _HOST, _COPY, _FILL = range(7)
_AT_HOST, _FAILED, _PAUSED = 1, 2, 3
_ERR = 4  # longs of an error record, behind the table's slots
_STEP = 8  # longs in a td_step


@dataclass(frozen=True, slots=True)
class Ref:
    """The address table[slot] + offset (bytes)."""

    slot: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Matrix:
    """A row-by-column matrix, or a batch of them: strides count elements, batch strides too.

    `strides` is (row, column), by default dense by rows. `batch` gives up to two strides; its sizes
    stand in the step.
    """

    ref: Ref
    rows: int
    columns: int
    strides: tuple[int, int] | None = None
    batch: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelStep:
    """Calls a kernel over [0, extent) in chunks of grain; extent <= grain runs on this thread."""

    address: int
    buffers: tuple[Ref, ...]
    sizes: tuple[int, ...]
    extent: int
    grain: int


@dataclass(frozen=True, slots=True)
class GemmStep:
    """c = a @ b, or c += a @ b with `accumulate`, for each matrix of up to two batch dimensions.

    Columns of c are adjacent (stride 1). dtype is "float32" or "float64".
    """

    dtype: str
    a: Matrix
    b: Matrix
    c: Matrix
    batch: tuple[int, ...] = ()
    accumulate: bool = False


@dataclass(frozen=True, slots=True)
class BlasStep:
    """A GemmStep that a CBLAS function (64-bit integers) does: its address, and the product."""

    address: int
    product: GemmStep


@dataclass(frozen=True, slots=True)
class HostStep:
    """A step that Python does: run() calls host(tag, table)."""

    tag: object


@dataclass(frozen=True, slots=True)
class CopyStep:
    """Copies bytes from source to target; the two do not overlap."""

    target: Ref
    source: Ref
    nbytes: int


@dataclass(frozen=True, slots=True)
class FillStep:
    """Writes zeros."""

    target: Ref
    nbytes: int


Step = KernelStep | GemmStep | BlasStep | HostStep | CopyStep | FillStep


class Table:
    """Addresses by slot for one call at a time, with the error record behind them."""

    __slots__ = ("_memory", "address", "view")

    def __init__(self, slots: int) -> None:
        self._memory = array("q", bytes(8 * (slots + _ERR)))
        self.address: int = self._memory.buffer_info()[0]
        self.view = memoryview(self._memory)

    def __setitem__(self, slot: int | slice, address: int | array) -> None:
        self.view[slot] = address

    def __getitem__(self, slot: int) -> int:
        return self.view[slot]


class Plan:
    """Steps packed for the executor. Immutable; any number of threads may run it at once."""

    __slots__ = ("_keep", "_launch", "address", "slots", "steps")

    def __init__(self, steps: tuple[Step, ...], slots: int) -> None:
        self.steps = steps
        self.slots = slots
        self.address, self._keep = _pack(steps, slots)
        self._launch = core().launch

    def new_table(self) -> Table:
        """Returns an empty table of this plan's slots."""
        return Table(self.slots)

    def run(self, table: Table, host: Callable[[object, Table], None] | None = None) -> None:
        """Runs all steps. Raises StepError where a check failed; what came before it is done."""
        result = self._launch(self.address, table.address, 0)
        while result:
            step, status = result >> 8, result & 255
            if status == _FAILED:
                code, value = table.view[self.slots : self.slots + 2]
                raise StepError(step, code, value)
            if status == _AT_HOST:
                self._run_host(step, table, host)
                step += 1
            result = self._launch(self.address, table.address, step)

    def _run_host(self, index: int, table: Table, host: Callable[[object, Table], None] | None) -> None:
        step = self.steps[index]
        if host is None or not isinstance(step, HostStep):
            raise TypeError(f"step {index} of the plan is done by Python: run() expected `host`")
        host(step.tag, table)


def make_plan(steps: Sequence[Step], slots: int) -> Plan:
    """Returns the plan of these steps over a table of `slots` addresses.

    Raises ValueError where a step refers to no slot, or a product's sizes do not agree.
    """
    return Plan(tuple(steps), slots)


# --- packing: rows of longs, as abi.cpp and executor.cpp declare them ----------------------------


def _pack(steps: tuple[Step, ...], slots: int) -> tuple[int, tuple[array, ...]]:
    rows = [_row(step) for step in steps]
    for index, (_, _, _, _, refs, _) in enumerate(rows):
        for ref in refs:
            if not 0 <= ref.slot < slots:
                raise ValueError(f"step {index} expected a slot below {slots}, got {ref.slot}")
    pool = array("q", [0])  # all refs and sizes, one after the other
    places: list[tuple[int, int]] = []
    for _, _, _, _, refs, sizes in rows:
        ref_place = len(pool)
        pool.extend(number for ref in refs for number in (ref.slot, ref.offset))
        places.append((ref_place, len(pool)))
        pool.extend(sizes)
    base = pool.buffer_info()[0]
    packed = array("q", [0])
    for (kind, function, extent, grain, refs, sizes), (ref_place, place) in zip(rows, places, strict=True):
        pointers = (base + 8 * ref_place, base + 8 * place)
        packed.extend((kind, _signed(function), extent, grain, len(refs), len(sizes), *pointers))
    head = array("q", [len(rows), slots, packed.buffer_info()[0] + 8])
    return head.buffer_info()[0], (head, packed, pool)


def _signed(address: int) -> int:
    return address - (1 << 64) if address >> 63 else address


_Row = tuple[int, int, int, int, tuple[Ref, ...], tuple[int, ...]]


def _row(step: Step) -> _Row:
    """Returns kind, function, extent, grain, buffers and sizes of a step."""
    match step:
        case KernelStep():
            if not step.address:
                raise ValueError("a kernel step expected the address of a kernel, got 0")
            grain = max(1, step.grain)
            return _KERNEL, step.address, step.extent, grain, step.buffers, step.sizes
        case GemmStep():
            return _GEMM, gemm_address(step.dtype), 0, 0, _operands(step), gemm_record(step)
        case BlasStep():
            return _blas_row(step)
        case HostStep():
            return _HOST, 0, 0, 0, (), ()
        case CopyStep():
            return _COPY, 0, 0, 0, (step.target, step.source), (step.nbytes,)
        case FillStep():
            return _FILL, 0, 0, 0, (step.target,), (step.nbytes,)


def _operands(step: GemmStep) -> tuple[Ref, ...]:
    return step.a.ref, step.b.ref, step.c.ref


def gemm_record(step: GemmStep) -> tuple[int, ...]:
    """Returns the integers of a td_gemm_args (abi.cpp) for this product."""
    a, b, c = step.a, step.b, step.c
    if a.columns != b.rows or (c.rows, c.columns) != (a.rows, b.columns):
        raise ValueError(
            "a product expected (m, k) @ (k, n) -> (m, n), got "
            f"({a.rows}, {a.columns}) @ ({b.rows}, {b.columns}) -> ({c.rows}, {c.columns})"
        )
    row, column = _strides(c)
    if column != 1 and c.columns > 1 and c.rows and 0 not in step.batch:
        raise ValueError(f"a product expected adjacent columns of its result, got stride {column}")
    if len(step.batch) > 2:
        raise ValueError(f"a product expected at most 2 batch dimensions, got {len(step.batch)}")
    count = (1,) * (2 - len(step.batch)) + step.batch
    batches = [number for matrix in (a, b, c) for number in _batch(matrix, len(step.batch))]
    sizes = (a.rows, b.columns, a.columns)
    return (*sizes, *_strides(a), *_strides(b), row, *count, *batches, int(step.accumulate))


def _strides(matrix: Matrix) -> tuple[int, int]:
    return matrix.strides or (matrix.columns, 1)


def _batch(matrix: Matrix, rank: int) -> tuple[int, int]:
    if len(matrix.batch) != rank:
        raise ValueError(f"a matrix expected {rank} batch strides, got {len(matrix.batch)}")
    first, second = (0, 0, *matrix.batch)[-2:]
    return first, second


def _blas_row(step: BlasStep) -> _Row:
    product = step.product
    if not can_use_blas(product):
        raise ValueError("a BLAS step expected a stride of 1 in each operand and nothing empty")
    kind = _SGEMM if product.dtype == "float32" else _DGEMM
    return kind, step.address, 0, 0, _operands(product), gemm_record(product)


def can_use_blas(step: GemmStep) -> bool:
    """Tells whether CBLAS takes this product: one stride is 1, the other spans a row."""
    if min(step.a.rows, step.a.columns, step.b.columns) == 0:
        return False
    for matrix in (step.a, step.b, step.c):
        row, column = _strides(matrix)
        by_rows = column == 1 and row >= max(1, matrix.columns)
        by_columns = row == 1 and column >= max(1, matrix.rows)
        if not by_rows and (matrix is step.c or not by_columns):
            return False
    return True
