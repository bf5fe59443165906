"""Watch: follow one recording call instruction by instruction, in the user's frames only."""

import gc
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache
from threading import get_ident
from types import CellType, CodeType, FrameType, FunctionType, GeneratorType
from typing import cast

from .attribute import guard_class
from .calls import call
from .declare import active
from .layout import FrameLayout, Stack, frame_layout, running_function
from .opcodes import Place, Result, decode
from .operate import content
from .places import class_attribute, is_primitive
from .record import MOST_REASONS, Record, home_file, is_helper_file
from .records import Guard, Hooks, Kind, LazyReason

_OWN = __file__.removesuffix("watch.py")  # this package
_VARARGS, _VARKEYWORDS = 0x04, 0x08
_SUSPENDING = 0x20 | 0x80 | 0x200  # generator, coroutine, asynchronous generator


# An abstract class asks these once per class and then knows; its registry's counter is guarded.
_CACHED_HOOKS = ("_check_methods", "__subclasshook__")
_ABC_FILE = Iterable.__subclasshook__.__func__.__code__.co_filename


class Watch:
    """Record what the user's Python reads and does between `__enter__` and `__exit__`.

    After the call, `guards` holds what was read and `lazy` what a replay could not do again; the
    call may be replayed without Python only when `lazy` is empty. `owned` are the containers of
    the arguments, whose content the caller compares itself. Another tracing tool stays in place:
    then nothing is watched and `lazy` says so.

    >>> from treadle.frontend.watch import Hooks, Watch
    >>> scale = {"factor": 2}
    >>> def fn(x):
    ...     return x * scale["factor"]
    >>> with Watch(fn, Hooks(is_framework_file=lambda name: False)) as watch:
    ...     result = fn(3)
    >>> [str(guard.key) for guard in watch.guards if guard.holder is scale]
    ['factor']
    """

    def __init__(self, fn: Callable, hooks: Hooks, owned: Iterable[object] = ()):
        self.fn, self.hooks = fn, hooks
        self.guards: list[Guard] = []
        self.lazy: list[LazyReason] = []
        self.pauses = 0
        self.record = Record(hooks, owned)
        self._outer: Watch | None = None
        self._tracing: object = None  # the trace function found, to be put back
        self._layout: FrameLayout | None = None
        self.trace = self._make_trace()

    def __enter__(self) -> "Watch":
        # a collection may run anybody's callbacks and finalizers in the middle of the user's code
        self._collects = gc.isenabled()
        gc.disable()
        self._outer = active.get(get_ident())
        self._tracing = tracing = sys.gettrace()
        if tracing is not None and (self._outer is None or tracing is not self._outer.trace):
            self._give_up("runs under a tracing tool (debugger or coverage)")
            return self
        sys.settrace(None)
        self._layout = frame_layout()
        if self._layout is None:
            _warn_unknown()
            self._give_up("runs on a Python whose frames are not known")
            sys.settrace(tracing)
            return self
        active[get_ident()] = self
        if not isinstance(self.fn, FunctionType):
            self._judge_function()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_exc: object) -> None:
        try:
            self._leave()
        finally:
            if self._collects:
                gc.enable()

    def _leave(self) -> None:
        if self._layout is None:
            return
        if sys.gettrace() is self.trace:
            sys.settrace(self._tracing)
        elif len(self.record.reasons) < MOST_REASONS:
            self._give_up("changes the trace function")
        if self._outer is not None:
            active[get_ident()] = self._outer
            self._report_to(self._outer)
        else:
            active.pop(get_ident(), None)
        self._layout = None
        self.guards = list(self.record.guards.values())
        self.lazy += self.record.reasons.values()
        _leave_generators(self.record)
        self.record.close()

    def _judge_function(self) -> None:
        """Note what calling the watched object itself reads: a method, a partial, `__call__`."""
        try:
            call(self.record, self.fn, [], {})
        except Exception as error:  # a watch must never break the call it watches
            self.record.lazy(f"could not be followed ({type(error).__name__}: {error})")

    def _give_up(self, text: str) -> None:
        code = getattr(self.fn, "__code__", None)
        file, line = (code.co_filename, code.co_firstlineno) if code else ("<unknown>", 0)
        self.lazy.append(LazyReason(file, line, text))

    def _report_to(self, outer: "Watch") -> None:
        """What an inner call read, the outer one read too, but for what the outer call made."""
        for name, guard in self.record.guards.items():
            if outer.record.needs_guard(guard.holder):
                outer.record.guards.setdefault(name, guard)
        for key, reason in self.record.reasons.items():
            outer.record.reasons.setdefault(key, reason)
        for value in self.record.fresh.values():
            outer.record.made(value)

    # Tracing --------------------------------------------------------------------------------------

    def _make_trace(self) -> Callable:
        """Return the global trace function; it sees every frame, so framework code leaves first."""
        ours: set[int] = set()
        helpers: set[int] = set()

        def enter(frame: FrameType, event: str, _arg: object) -> Callable | None:
            code = frame.f_code
            if id(code) in ours or event != "call":
                return None
            if id(code) in helpers:
                caller = frame.f_back
                if caller is None or id(caller.f_code) in ours or self._is_frameworks(caller):
                    return None
                return self._enter_frame(frame)
            return self._enter_new(frame, ours, helpers)

        return enter

    def _enter_new(self, frame: FrameType, ours: set[int], helpers: set[int]) -> Callable | None:
        """Enter a frame of unknown kind, and note the kind of its code."""
        file = home_file(frame)
        if file.startswith(_OWN) or self.hooks.is_framework_file(file):
            ours.add(id(frame.f_code))
        elif is_helper_file(file):
            helpers.add(id(frame.f_code))
        else:
            return self._enter_frame(frame)
        self.record.alive.append(frame.f_code)  # so that its id stays its own
        return None if self._is_frameworks(frame) else self._enter_frame(frame)

    def _enter_frame(self, frame: FrameType) -> Callable | None:
        layout, code = self._layout, frame.f_code
        if layout is None or self.pauses or self.record.muted:
            return None
        if code.co_filename == _ABC_FILE and code.co_name in _CACHED_HOOKS:
            return None
        try:
            return self._watch_frame(frame, code, layout)
        except Exception as error:  # a watch must never break the call it watches
            self.record.lazy(f"could not be followed ({type(error).__name__}: {error})")
            return None

    def _is_frameworks(self, frame: FrameType) -> bool:
        """Tell whether the frame runs the framework's code, or a helper that the framework called."""
        asked: FrameType | None = frame
        while asked is not None:
            file = home_file(asked)
            if file.startswith(_OWN) or self.hooks.is_framework_file(file):
                return True
            if not is_helper_file(file):
                return False
            asked = asked.f_back
        return False

    def _watch_frame(self, frame: FrameType, code: CodeType, layout: FrameLayout) -> Callable | None:
        if code.co_flags & _SUSPENDING:
            return self._watch_suspending(frame, code, layout)
        frame.f_trace_lines = False
        return self._watch_new(frame, code, layout)[1]

    def _watch_new(self, frame: FrameType, code: CodeType, layout: FrameLayout) -> tuple[Place, Callable]:
        record = self.record
        at = Place(frame, Stack(frame, layout), record, record.frame)
        record.frame = frame
        function = running_function(frame, layout)
        if isinstance(function, FunctionType):
            _guard_function(record, function)
            _guard_selection(at, function, code)
        _note_made(at, code, function)
        frame.f_trace_opcodes = True
        return at, self._follow(at, decode(code), bool(code.co_freevars or code.co_cellvars))

    def _watch_suspending(self, frame: FrameType, code: CodeType, layout: FrameLayout) -> Callable | None:
        """Follow a generator that this call made; any other one goes on from a state not seen."""
        record = self.record
        known = record.generators.get(id(frame))
        if known is None or known[0].gi_frame is not frame:
            waiting, record.frame = record.frame, frame
            record.lazy(f"runs {code.co_qualname}, which can be suspended and began outside the call")
            record.frame = waiting
            return None
        generator, followed = known
        if followed is None:
            followed = self._watch_new(frame, code, layout)
            record.generators[id(frame)] = (generator, followed)
        else:
            followed[0].caller, record.frame = record.frame, frame
        return followed[1]

    def _follow(self, at: Place, table: dict, cells: bool) -> Callable:
        """Return the local trace function of one frame."""
        record, pending = self.record, cast(Result, None)

        def local(frame: FrameType, event: str, _arg: object) -> Callable:
            nonlocal pending
            if event == "opcode":
                entry = table.get(frame.f_lasti)
                if (entry is not None or pending is not None) and self._layout is not None:
                    pending = self._step(at, entry, pending)
            elif event == "return":
                record.frame = at.caller
            elif event == "exception":
                pending, record.muted = None, False
            if cells:
                # CPython writes its snapshot of cells back after this: make it a new one, or a
                # change made by another thread meanwhile would be undone.
                _ = frame.f_locals
            return local

        return local

    def _step(self, at: Place, entry: tuple | None, pending: Result) -> Result:
        if self.pauses:
            return None
        try:
            if pending is not None:
                _settle(at, pending)
            if entry is None:
                return None
            self.record.frame = at.frame
            handler, arg = entry
            return handler(at, arg)
        except Exception as error:  # a watch must never break the call it watches
            self.record.lazy(f"could not be followed ({type(error).__name__}: {error})")
            return None
        finally:
            if len(self.record.reasons) >= MOST_REASONS and sys.gettrace() is self.trace:
                sys.settrace(None)


def _guard_function(record: Record, function: FunctionType) -> None:
    if not record.needs_guard(function):
        return
    record.read(Kind.CODE, function)
    if function.__closure__ is not None:
        record.read(Kind.CLOSURE, function)
    if function.__defaults__ is not None:
        record.read(Kind.DEFAULTS, function)
    if function.__kwdefaults__ is not None:
        record.read(Kind.KWDEFAULTS, function)
        content(record, function.__kwdefaults__)


def _guard_selection(at: Place, function: FunctionType, code: CodeType) -> None:
    """Guard that the class still has this special method, which C code may have chosen."""
    if code.co_argcount and code.co_name.startswith("__"):
        first = at.stack.slots[0]
        if class_attribute(type(first), code.co_name) is function:
            guard_class(at.record, type(first), code.co_name)


@lru_cache(maxsize=4096)
def _own_cells(code: CodeType) -> tuple[int, ...]:
    """Return the slots of the cells that a frame of `code` makes for itself."""
    alone = [name for name in code.co_cellvars if name not in code.co_varnames]
    where = {name: code.co_nlocals + index for index, name in enumerate(alone)}
    return tuple(
        where[name] if name in where else code.co_varnames.index(name) for name in code.co_cellvars
    )


def _note_made(at: Place, code: CodeType, function: object) -> None:
    """Note what exists only since this frame began: its cells, its **kwargs, a new self."""
    record, slots = at.record, at.stack.slots
    for index in _own_cells(code):
        record.made(slots[index])
    if code.co_flags & _VARKEYWORDS:
        index = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & _VARARGS)
        held = slots[index]
        record.made(held.cell_contents if isinstance(held, CellType) else held)
    if record.building is not None and class_attribute(record.building, "__init__") is function:
        first = slots[0].cell_contents if isinstance(slots[0], CellType) else slots[0]
        record.made(first)
    record.building = None


def _settle(at: Place, pending: int | type) -> None:
    """Note the result of the last instruction as made by the call, if nothing else refers to it."""
    at.record.building, at.record.muted = None, False
    value = at.stack.peek(pending if isinstance(pending, int) else 1)
    if is_primitive(value) or type(value) is tuple or at.record.hooks.is_value(value):
        return
    if sys.getrefcount(value) == _SOLE or type(value) is pending:
        at.record.made(value)
        if type(value) is GeneratorType and value.gi_frame is not None:
            at.record.generators[id(value.gi_frame)] = (value, None)


def _leave_generators(record: Record) -> None:
    """Take our trace from generators that outlive the call, for the sake of debuggers to come."""
    for generator, _ in record.generators.values():
        frame = generator.gi_frame
        if frame is not None:
            frame.f_trace_opcodes, frame.f_trace = False, None


_SOLE = 3  # the value stack, the local variable, the argument of getrefcount


@lru_cache(maxsize=1)
def _warn_unknown() -> None:
    version = ".".join(map(str, sys.version_info[:2]))
    warnings.warn(
        f"compile: the frames of {sys.implementation.name} {version} are not known here, so every "
        "compiled function runs its Python at each call (lazy mode)",
        RuntimeWarning,
        stacklevel=4,
    )
