"""The shortest way through a call that only reads tensors: one generated function per entry.

It serves functions of positional tensors whose results are fresh and that leave nothing else behind;
everything else takes the general way (`Compiled.__call__`, `Replay`).
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.arith import defaults
from ..runtime.storage import Storage
from . import autocast
from .callkey import sharing_key
from .interpreter import current
from .replay import Replay
from .tape import modes
from .tensor import Tensor
from .tree import rebuild

MISS = object()


def fast_call(replay: Replay, guards, args: tuple) -> Callable | None:
    """fast(args) -> the result or MISS; None where this call needs the general way."""
    captured = replay.captured
    plain = (
        not captured.prologue and captured.joint is None and not captured.writes and not captured.grads
        and not captured.grad_guards
        and all(s.kind in ("arg", "held") for s in captured.sources)
        and all(o.kind == "fresh" and not o.chain and o.cls is Tensor and not o.requires_grad
                for o in captured.outs)
        and not captured.pins and not autocast.state.any
        and all(type(a) is Tensor and a._root is None and a._fn is None and a.is_contiguous()
                and not a.__dict__ for a in args)
        and not sharing_key(args)
        and all(s.strides is None for s in captured.sources)
    )
    if not plain or len(captured.outs) > captured.fresh:
        return None
    scope = {
        "auto": autocast.state, "defaults": defaults, "dtype": defaults.dtype,
        "MISS": MISS, "Tensor": Tensor, "Storage": Storage, "current": current, "modes": modes,
        "check": guards.check, "valid": replay.valid, "replay": replay, "rebuild": rebuild,
        "lease": replay.executable.lease, "run": replay.executable.run, "result": captured.result,
        **{f"T{k}": a.type for k, a in enumerate(args)},
        **{f"O{k}": o.type for k, o in enumerate(captured.outs)},
    }
    exec(_text(replay, args), scope)
    return scope["fast"]


def _text(replay: Replay, args: tuple) -> str:
    captured = replay.captured
    lines = ["def fast(args):", f"    if len(args) != {len(args)}: return MISS"]
    if args:
        lines.append(f"    {', '.join(f'a{k}' for k in range(len(args)))}, = args")
    for k, a in enumerate(args):
        lines += [
            f"    if type(a{k}) is not Tensor or a{k}.type is not T{k} or a{k}._root is not None: return MISS",
            f"    if a{k}._requires_grad is not {a._requires_grad} or a{k}._fn or a{k}.__dict__: return MISS",
            f"    if a{k}._nd is not None and not a{k}._nd.flags.c_contiguous: return MISS",
            f"    if a{k}.storage.pending is not None: return MISS",
        ]
    apart = _differ(len(args))
    lines += [f"    if {apart}: return MISS"] if apart else []
    lines += [
        f"    if modes.grad is not {modes.grad} or modes.inference is not {modes.inference}: return MISS",
        "    if auto.any or defaults.dtype is not dtype: return MISS",
        "    if current.recorder is not None or not check() or not valid(args): return MISS",
        "    replay.calls += 1",
        "    room = lease()",
        "    view = room.view",
        "    if room.stamp is not replay._stamp:",
        "        for k, address in replay._addresses: view[k] = address",
        "        room.stamp = replay._stamp",
    ]
    lines += [f"    view[{k}] = a{s.key}.storage._address or a{s.key}.storage.address"
              for k, s in enumerate(captured.sources) if s.kind == "arg"]
    lines.append("    arrays = run(room)")
    for k, out in enumerate(captured.outs):
        lines.append(f"    o{k} = Tensor._from_storage(Storage(arrays[{out.key}]), O{k})")
    outs = ", ".join(f"o{k}" for k in range(len(captured.outs)))
    single = captured.result[0] == "tensor"
    lines.append("    return o0" if single else f"    return rebuild(result, ({outs}{',' if outs else ''}))")
    return "\n".join(lines)


def _differ(count: int) -> str:
    """A test that is true if two arguments share their storage."""
    names = [f"a{k}.storage" for k in range(count)]
    if count > 4:
        return f"len({{{', '.join(f'id({n})' for n in names)}}}) < {count}"
    return " or ".join(f"{a} is {b}" for k, a in enumerate(names) for b in names[k + 1:])
