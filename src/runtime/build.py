"""Turns kernel texts into addresses of machine code: look up, group, compile, keep, load.

    built = build([("k_add", text), ...], prelude=prelude)
    address = built[0].address        # 0 where built[0].error is set

The unit of the cache is one kernel; new kernels share a few translation units, and each kernel's
entry names the library that holds it. A kernel's text is put in a namespace of its own, so helpers
of equal names do not meet.
"""

import contextlib
import ctypes
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .cache import Cache, digest, open_cache
from .compiler import Outcome, Unit, compile_units, side_by_side
from .errors import BrokenCompilerError, BuildError, NoCompilerError
from .toolchain import (
    Toolchain,
    find_toolchain,
    flags_for,
    kernel_link_flags,
    library_link_flags,
)

UNIT_SIZE = 60_000  # characters of kernel text that one unit may hold, more or less

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Built:
    """One kernel after a build: its address and its library's path, or the error that stopped it."""

    symbol: str
    address: int
    library: str
    error: BuildError | None


@dataclass(frozen=True, slots=True)
class _Kernel:
    key: str
    symbol: str
    text: str


@dataclass(frozen=True, slots=True)
class _Order:
    """What the kernels of one call have in common."""

    toolchain: Toolchain
    cache: Cache
    prelude: str
    flags: tuple[str, ...]
    link: tuple[str, ...]


def build(
    kernels: Sequence[tuple[str, str]],
    *,
    prelude: str = "",
    flags: Sequence[str] = (),
    progress: Progress | None = None,
) -> tuple[Built, ...]:
    """Returns one `Built` for each (symbol, text), in order; what the cache has is not rebuilt.

    `prelude` stands once at the head of each unit; `flags` are added to the usual ones. One
    kernel that does not compile carries its `error`; the others are built all the same. Raises
    NoCompilerError and BrokenCompilerError where nothing can be built at all.
    """
    order = _make_order(prelude, tuple(flags), kernel_link_flags)
    wanted = [_Kernel(_key(order, symbol, text), symbol, text) for symbol, text in kernels]
    found = _look_up(order, wanted)
    missing = list({k.key: k for k in wanted if k.key not in found}.values())
    if missing:
        _require_sound(order.toolchain)
        with order.cache.lock([kernel.key for kernel in missing]):
            found.update(_look_up(order, missing))
            left = [kernel for kernel in missing if kernel.key not in found]
            found.update(_compile(order, left, progress))
    return tuple(found[kernel.key] for kernel in wanted)


@dataclass(frozen=True, slots=True)
class Library:
    """A text to compile into a shared library of its own, with flags beside the usual ones."""

    text: str
    flags: tuple[str, ...] = ()


def compile_library(library: Library) -> str:
    """Returns the path of one shared library; raises BuildError where it does not compile."""
    return compile_libraries([library])[0]


def compile_libraries(libraries: Sequence[Library]) -> list[str]:
    """Returns the paths of shared libraries; those not in the cache are built side by side.

    Raises BuildError where one does not compile.
    """
    orders = [_make_order("", library.flags, library_link_flags) for library in libraries]
    keys = [
        digest("library", library.text, *_identity(order))
        for library, order in zip(libraries, orders, strict=True)
    ]
    if not keys:
        return []
    cache = orders[0].cache
    if not all(cache.get(key, ".so") for key in keys):
        _require_sound(orders[0].toolchain)
        with cache.lock(keys):
            _compile_missing(libraries, orders, keys)
    return [str(cache.path_of(key, ".so")) for key in keys]


def _compile_missing(libraries: Sequence[Library], orders: list[_Order], keys: list[str]) -> None:
    cache = orders[0].cache
    missing = [index for index, key in enumerate(keys) if cache.get(key, ".so") is None]
    units = [Unit(libraries[i].text, orders[i].flags, orders[i].link) for i in missing]
    outcomes = _run(orders[0], units)
    for index, outcome in zip(missing, outcomes, strict=True):
        if outcome.library:
            cache.put(keys[index], ".so", outcome.library)
    for index, outcome in zip(missing, outcomes, strict=True):
        if not outcome.library:
            _check_compiler(orders[0].toolchain, cache)
            name = "a library of treadle"
            raise _failure(orders[0], keys[index], name, libraries[index].text, outcome.log)


def _make_order(prelude: str, flags: tuple[str, ...], link: Callable[[Toolchain], tuple[str, ...]]) -> _Order:
    toolchain = find_toolchain()
    if toolchain is None:
        raise NoCompilerError(
            "no C++ compiler was found: g++ and clang++ are not on PATH, and the package ziglang "
            "is not installed; install one (pip install treadle[cc]) or set TREADLE_CXX"
        )
    return _Order(toolchain, open_cache(), prelude, (*flags_for(toolchain), *flags), link(toolchain))


def _identity(order: _Order) -> tuple[str, ...]:
    tool = order.toolchain
    return (" ".join(tool.argv), tool.version, tool.isa, *order.flags, *order.link)


def _key(order: _Order, symbol: str, text: str) -> str:
    return digest("kernel", symbol, text, order.prelude, *_identity(order))


# --- looking up and loading ----------------------------------------------------------------------

_loaded: dict[str, ctypes.CDLL] = {}  # by path of a library whose bytes were checked
_addresses: dict[tuple[str, str], Built] = {}  # by cache root and kernel key


def load_library(path: str) -> ctypes.CDLL:
    """Returns the loaded library; raises BuildError where the loader refuses it.

    A directory mounted `noexec` is got round by a file in memory, where there are such files.
    """
    library = _loaded.get(path)
    if library is None:
        library = _loaded.setdefault(path, _load(path))
    return library


def _load(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        first = error
    if sys.platform != "linux":
        raise BuildError(f"{path} was built but cannot be loaded: {first}")
    try:
        with open(path, "rb") as file:
            data = file.read()
        handle = os.memfd_create("treadle", os.MFD_CLOEXEC)
        with os.fdopen(handle, "wb") as memory:
            memory.write(data)
            memory.flush()
            return ctypes.CDLL(f"/proc/self/fd/{handle}")
    except OSError:
        raise BuildError(f"{path} was built but cannot be loaded: {first}") from first


def address_of(library: ctypes.CDLL, symbol: str) -> int:
    """Returns the address of a function; raises AttributeError where the library lacks it."""
    return ctypes.cast(library[symbol], ctypes.c_void_p).value or 0


def _look_up(order: _Order, kernels: list[_Kernel]) -> dict[str, Built]:
    found: dict[str, Built] = {}
    for kernel in kernels:
        if kernel.key in found:
            continue
        built = _addresses.get((str(order.cache.root), kernel.key)) or _recall(order, kernel)
        if built is not None:
            found[kernel.key] = built
    return found


def _recall(order: _Order, kernel: _Kernel) -> Built | None:
    """Returns a kernel from disk; an entry that leads nowhere is dropped."""
    text = order.cache.read_text(kernel.key, ".json")
    if text is None:
        return None
    with contextlib.suppress(BuildError, AttributeError, ValueError, KeyError, TypeError):
        unit_key = json.loads(text)["library"]
        path = str(order.cache.path_of(unit_key, ".so"))
        if path in _loaded or order.cache.get(unit_key, ".so") is not None:
            return _remember(order, kernel, path)
    order.cache.drop(kernel.key, ".json")
    return None


def _remember(order: _Order, kernel: _Kernel, path: str) -> Built:
    address = address_of(load_library(path), kernel.symbol)
    built = Built(kernel.symbol, address, path, None)
    _addresses[str(order.cache.root), kernel.key] = built
    return built


# --- compiling -----------------------------------------------------------------------------------


def _compile(order: _Order, kernels: list[_Kernel], progress: Progress | None) -> dict[str, Built]:
    """Returns all kernels built; those of a unit that fails are tried again one by one."""
    if not kernels:
        return {}
    groups = _group(kernels)
    count = _Count(len(kernels), progress)
    outcomes = _run(order, [_unit(order, group) for group in groups], groups, count)
    found: dict[str, Built] = {}
    suspects: list[_Kernel] = []
    for group, outcome in zip(groups, outcomes, strict=True):
        if outcome.library:
            found.update(_keep(order, group, outcome))
        else:
            suspects += group
    if not suspects:
        return found
    _check_compiler(order.toolchain, order.cache)
    if len(groups) < len(kernels):
        outcomes = _run(order, [_unit(order, [kernel]) for kernel in suspects])
    else:
        outcomes = [outcome for outcome in outcomes if not outcome.library]
    for kernel, outcome in zip(suspects, outcomes, strict=True):
        found.update(_keep(order, [kernel], outcome))
    return found


class _Count:
    """Tells the caller's progress function how many kernels are done."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.done, self.total, self.progress = 0, total, progress
        self.add(0)

    def add(self, number: int) -> None:
        self.done += number
        if self.progress is not None:
            self.progress(self.done, self.total)


def _run(
    order: _Order,
    units: list[Unit],
    groups: list[list[_Kernel]] | None = None,
    count: _Count | None = None,
) -> list[Outcome]:
    def on_done(index: int) -> None:
        if groups is not None and count is not None:
            count.add(len(groups[index]))

    with order.cache.workspace() as workspace:
        return compile_units(order.toolchain, units, workspace, on_done=on_done)


def _group(kernels: list[_Kernel]) -> list[list[_Kernel]]:
    """Returns the kernels in a few units of near equal size, no symbol twice in a unit."""
    size = sum(len(kernel.text) for kernel in kernels)
    number = min(len(kernels), max(side_by_side(), -(-size // UNIT_SIZE)))
    groups: list[list[_Kernel]] = [[] for _ in range(number)]
    sizes = [0] * number
    for kernel in sorted(kernels, key=lambda k: (-len(k.text), k.key)):
        order = sorted(range(len(groups)), key=lambda g: sizes[g])
        home = next((g for g in order if not _holds(groups[g], kernel.symbol)), None)
        if home is None:
            home = len(groups)
            groups.append([])
            sizes.append(0)
        groups[home].append(kernel)
        sizes[home] += len(kernel.text)
    return groups


def _holds(group: list[_Kernel], symbol: str) -> bool:
    return any(kernel.symbol == symbol for kernel in group)


def _unit(order: _Order, group: list[_Kernel]) -> Unit:
    parts = [order.prelude]
    for number, kernel in enumerate(group):
        parts.append(f"namespace td_unit_{number} {{\n{kernel.text}\n}}")
    return Unit("\n".join(parts) + "\n", order.flags, order.link)


def _keep(order: _Order, group: list[_Kernel], outcome: Outcome) -> dict[str, Built]:
    """Returns the kernels of one unit, stored and loaded, or each with its error."""
    unit = _unit(order, group)
    key = digest("unit", unit.text, *_identity(order))
    if not outcome.library:
        error = _failure(order, key, group[0].symbol, unit.text, outcome.log)
        return {kernel.key: Built(kernel.symbol, 0, "", error) for kernel in group}
    path = str(order.cache.put(key, ".so", outcome.library))
    order.cache.put_text(key, ".cpp", unit.text)
    found: dict[str, Built] = {}
    for kernel in group:
        try:
            found[kernel.key] = _remember(order, kernel, path)
        except (BuildError, AttributeError) as error:
            reason = BuildError(f"the kernel {kernel.symbol} was built but not found: {error}")
            found[kernel.key] = Built(kernel.symbol, 0, path, reason)
            continue
        order.cache.put_text(kernel.key, ".json", json.dumps({"library": key}))
    return found


def _failure(order: _Order, key: str, name: str, text: str, log: str) -> BuildError:
    """Returns the error of a text that does not compile; keeps the text and the log."""
    head = f"the compiler {' '.join(order.toolchain.argv)} refused {name}"
    first = next((line for line in log.splitlines() if "error" in line), log.strip()[-200:])
    try:
        source = str(order.cache.put_text(key, ".cpp", text))
        log_path = str(order.cache.put_text(key, ".log", log))
    except OSError:
        source = log_path = ""
    if order.cache.on_disk and source:
        message = f"{head}: {first.strip()}\nsource: {source}\nlog: {log_path}"
        return BuildError(message, source=source, log=log_path)
    message = f"{head}: {first.strip()}\nlog:\n{log[-4000:]}\nsource:\n{text[-8000:]}"
    return BuildError(message, source=source, log=log_path)


# --- a compiler that cannot compile --------------------------------------------------------------

_verdicts: dict[Toolchain, BrokenCompilerError | None] = {}


def _require_sound(toolchain: Toolchain) -> None:
    """Raises again what an earlier build found out about a broken compiler."""
    verdict = _verdicts.get(toolchain)
    if verdict is not None:
        raise BrokenCompilerError(str(verdict), source=verdict.source, log=verdict.log)


def _check_compiler(toolchain: Toolchain, cache: Cache) -> None:
    """Raises BrokenCompilerError where an empty program does not compile either."""
    if toolchain not in _verdicts:
        _verdicts[toolchain] = _judge(toolchain, cache)
    _require_sound(toolchain)


def _judge(toolchain: Toolchain, cache: Cache) -> BrokenCompilerError | None:
    order = _Order(toolchain, cache, "", flags_for(toolchain), kernel_link_flags(toolchain))
    text = 'extern "C" int td_probe() { return 1; }\n'
    outcome = _run(order, [Unit(text, order.flags, order.link)])[0]
    if outcome.library:
        return None
    key = digest("probe", text, *_identity(order))
    why = _failure(order, key, "an empty program", text, outcome.log)
    remedy = "set TREADLE_CXX to a working compiler, or unset it"
    return BrokenCompilerError(f"{why}\n{remedy}", source=why.source, log=why.log)
