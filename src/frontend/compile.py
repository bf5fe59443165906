"""treadle.compile: look up -> record -> capture -> build -> replay."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .callkey import mode_key, sharing_key, tensor_key
from .capture import Captured, Known, capture
from .errors import Refused
from .engine import Report, check_backend, make_executable, warn_once
from .fastcall import MISS, fast_call
from .interpreter import current
from .recorder import Recorder
from .memory import overlapping
from .replay import Replay, Stale
from .safety import Committing, WouldFail
from .stretches import Stretches
from .tensor import Tensor
from .tree import atomless, atoms_of, containers_of, flatten
from .watching import Watched, watch

BOUND = 64  # entries a compiled function keeps, the least recently used goes first
GRAPHS = 8  # graphs kept for one key
VALUES = 16  # values of plain arguments that get graphs of their own
PATIENCE = 4  # calls that change their own guards before a function is lazy for that key


class Entry:
    """A replay with the guards under which it stands."""

    __slots__ = ("_fast", "guards", "replay", "report")

    def __init__(self, guards, replay: Replay, report: Report):
        self.guards, self.replay, self.report = guards, replay, report
        self._fast: Callable | None = MISS  # not asked for yet

    def fast_for(self, args: tuple) -> Callable | None:
        """The entry's shortest way for arguments like these, if it has one."""
        if self._fast is MISS:
            self._fast = fast_call(self.replay, self.guards, args)
        return self._fast


class State:
    """What a compiled function knows for one key."""

    __slots__ = ("built", "entries", "grads", "lazy", "records", "unstable", "varied")

    def __init__(self, varied: bool = False):
        self.entries: list[Entry] = []
        self.built = 0  # graphs compiled, those no longer kept too
        self.grads: object = None  # states of the `.grad`s that the last unstable call met
        self.unstable = 0
        self.records = 0
        self.varied = varied  # one of very many calls that differ in a plain value
        self.lazy: list[str] = []


class Compiled:
    """A function whose calls are recorded once and then replayed, or run lazily."""

    def __init__(self, fn: Callable, fullgraph: bool = False, name: str | None = None, backend: str = "auto"):
        self.fn, self.fullgraph, self.backend = fn, fullgraph, backend
        self.states: OrderedDict[Any, State] = OrderedDict()
        self.lock = threading.RLock()
        self.events: list[str] = []
        self.kinds: dict[Any, list] = {}  # keys without their plain values -> the values met
        self.stretches = Stretches(backend)
        self.programs: OrderedDict[tuple, tuple] = OrderedDict()  # what is built, by structure
        self._fast: Callable | None = None  # the shortest way through the entry that served last
        functools.update_wrapper(self, fn, updated=())

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        if self._fast is not None and not kwargs:
            out = self._fast(args)
            if out is not MISS:
                return out
        if current.recorder is not None or disabled[0]:
            return self.fn(*args, **kwargs)
        leaves: list[Tensor] = []
        spec = (flatten(args, leaves), flatten(kwargs, leaves) if kwargs else None)
        key = (spec, mode_key(), sharing_key(leaves), *map(tensor_key, leaves))
        state = self.states.get(key)
        if state is not None:
            for entry in tuple(state.entries):
                if entry.guards.check() and entry.replay.valid(leaves):
                    self._fast = None if kwargs else entry.fast_for(args)
                    try:
                        return entry.replay(leaves)
                    except (WouldFail, Stale):
                        break  # recorded op by op, it does as eager does
        return self._record(key, leaves, args, kwargs)

    def _record(self, key, leaves, args, kwargs):
        with self.lock:
            state = self.states.get(key)
            if state is None and self._varies(key):
                key = ("any value", atomless(key[0]), *key[1:])
                state = self.states.get(key) or State(varied=True)
                self.states[key] = state
            if state is None:
                state = self.states[key] = State()
                while len(self.states) > BOUND:
                    self.states.popitem(last=False)
            self.states.move_to_end(key)
        state.records += 1
        _prepare()
        recorder = Recorder(self.stretches.run)
        recorder.entangled |= overlapping(t.storage for t in leaves)
        containers = containers_of((args, kwargs))
        with watch(self.fn, (*containers, *leaves)) as watched:
            result = self._run(recorder, args, kwargs)
        known = Known(leaves, watched.found(), containers)
        captured = self._capture(state, recorder, watched, result, known)
        recorder.closing = True
        recorder.flush()
        if captured is not None:
            self._consider(state, watched.compile_guards(), captured)
        return result

    def _varies(self, key) -> bool:
        """Whether calls like this one came with so many plain values that a graph for each is no use."""
        values = atoms_of(key[0])
        if not values:
            return False
        if len(self.kinds) > 4 * BOUND:
            self.kinds.clear()
        seen = self.kinds.setdefault((atomless(key[0]), *key[1:]), [])
        if values in seen:
            return False
        if len(seen) > VALUES:
            return True
        seen.append(values)
        if len(seen) > VALUES:
            changing = [f"{a!r} and {b!r}" for a, b in zip(seen[0], values, strict=True) if a != b]
            warn_once(f"{self.__name__}: more than {VALUES} values of an argument ({changing[0]}, ...) met so "
                      "far; calls with other ones run their Python. Give a tensor instead of the number.")
        return len(seen) > VALUES

    def _thrashes(self, state: State) -> bool:
        """Whether graphs are built and hardly ever used."""
        return state.built >= GRAPHS and sum(e.replay.calls for e in state.entries) < 2 * state.built

    def _consider(self, state: State, guards, captured: Captured) -> None:
        """Builds the graph unless the call itself changed what it read: then the next call is recorded too."""
        changed = None if guards.check() else guards.first_failure()
        grads = captured.grad_states()
        if changed is None and state.grads != grads:  # met twice, it will come again
            changed = captured.changed_grads()
        state.grads = grads
        if changed is None:
            self._add(state, guards, captured)
        else:
            state.unstable += 1
            self.events.append(f"not compiled: the call changed what it had read: {changed}")

    def _run(self, recorder, args, kwargs):
        current.recorder = recorder
        try:
            return self.fn(*args, **kwargs)
        except BaseException:
            recorder.closing = True
            current.recorder = None
            recorder.flush()  # effects before the error are as in eager
            raise
        finally:
            current.recorder = None

    def _capture(self, state: State, recorder: Recorder, watched: Watched, result, known: Known):
        reasons = [f"{text} ({line})" for text, line in recorder.lazy]
        reasons += [str(r) for r in watched.lazy]
        if not reasons and (state.varied or self._thrashes(state)):
            reasons = ["what it reads is different at each call" if not state.varied else
                       f"more than {VALUES} values of an argument"]
        if not reasons and state.unstable < PATIENCE:
            try:
                return capture(recorder, result, known)
            except Refused as refused:
                state.unstable += 1
                reasons = [str(refused)]
                self.events.append(f"not compiled: {refused}")
        state.lazy = reasons or [f"{PATIENCE} calls led to no graph, the last one: {self.events[-1]}"]
        if self.fullgraph:
            from ..ir.errors import CompileError

            raise CompileError("fullgraph=True: this call cannot be one graph: " + "; ".join(state.lazy))
        return None

    def _add(self, state: State, guards, captured: Captured) -> None:
        executable, report, again = self._program(captured)
        if isinstance(executable, Committing) and captured.moves:
            state.unstable = PATIENCE
            self.events.append("not compiled: an op may fail by data that the call computes, after a random draw")
            return
        joint = captured.joint
        if joint is not None:
            back = Report(joint.backward)
            plain = [None] * len(joint.backward.placeholders)
            backend = self.backend
            joint.build = lambda graph: make_executable(graph, plain, (), Report(graph), backend)
            joint.executable = make_executable(joint.backward, plain, (), back, backend)
            report.backward = back
        state.entries.insert(0, Entry(guards, Replay(captured, executable), report))
        del state.entries[GRAPHS:]
        state.built += 1
        compiles[0] += not again
        self.events.append("the same graph as before, on other tensors" if again else "compiled")

    def _program(self, captured: Captured) -> tuple[Any, Report, bool]:
        """What runs the graph: built now, or what runs its equal already (optimizer state was replaced)."""
        from ..ir.text import structure_key

        layouts = tuple(s.strides for s in captured.sources)
        key = (structure_key(captured.graph), layouts, captured.writes)
        known = self.programs.get(key)
        if known is not None and captured.joint is None:
            return *known, True
        report = Report(captured.graph)
        executable = make_executable(captured.graph, layouts, captured.writes, report, self.backend)
        self.programs[key] = executable, report
        while len(self.programs) > BOUND:
            self.programs.popitem(last=False)
        return executable, report, False

    def explain(self):
        """Returns what was compiled, what was not, and why."""
        from .explain import explain

        return explain(self)


@functools.cache
def _prepare() -> None:
    """Builds the runtime's own library beside the first recording; what fails shows at the first use."""
    from ..runtime.errors import BuildError
    from ..runtime.support import prepare

    def run():
        with contextlib.suppress(BuildError):
            prepare()

    threading.Thread(target=run, name="treadle-prepare", daemon=True).start()


disabled = [False]
compiles = [0]  # graphs compiled in this process, for tests


def compile(model=None, *, fullgraph=False, dynamic=None, backend="auto", mode=None, options=None,
            disable=False):
    """Returns `model` (a function or Module) compiled: same calls, same answers, fused kernels.

    Usable as a decorator. Unknown backends, modes and options are refused, as torch.compile does.
    """
    _check_options(backend, mode, options)
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
                                 options=options, disable=disable)
    if disable:
        return model
    from ..nn import Module

    if isinstance(model, Module):
        from .compiled_module import compile_module

        return compile_module(model, fullgraph, backend)
    if isinstance(model, Compiled):
        return model
    return Compiled(model, fullgraph, backend=backend)


def _check_options(backend, mode, options) -> None:
    check_backend(backend)
    if mode not in (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"):
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: default, reduce-overhead, "
                           "max-autotune")
    if options:
        raise RuntimeError(f"Unexpected optimization option {next(iter(options))}: treadle has none")
