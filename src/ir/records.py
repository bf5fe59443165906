"""Programs as JSON text, for the disk cache: no pickle, known record classes only."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from . import dtype as dt
from .device import device
from .program import (
    Buffer,
    Check,
    CopyStep,
    DotStep,
    Fusion,
    HostStep,
    Kernel,
    KernelStep,
    Program,
    Ref,
    TritonMeta,
)
from .type import TensorType, tensor_type

_CLASSES = {c.__name__: c for c in (Buffer, Check, CopyStep, DotStep, Fusion, HostStep, Kernel, KernelStep,
                                    Program, Ref, TritonMeta)}


class Unreadable(ValueError):
    """Text that is not a record this version writes."""


def dump(record: Any) -> str:
    """JSON text from which `load` makes an equal record."""
    return json.dumps(_plain(record), separators=(",", ":"))


def load(text: str) -> Any:
    """The record that `dump` wrote; Unreadable for anything else."""
    try:
        return _record(json.loads(text))
    except (KeyError, TypeError, IndexError, AttributeError, json.JSONDecodeError) as error:
        raise Unreadable(f"not a program of this version: {error}") from error


def _plain(v: Any) -> Any:
    if v is None or isinstance(v, (bool, int, str)):
        return v
    if isinstance(v, float):
        return ["f", v.hex()]
    if isinstance(v, complex):
        return ["c", v.real.hex(), v.imag.hex()]
    if isinstance(v, tuple):
        return ["t", *map(_plain, v)]
    if isinstance(v, frozenset):
        return ["s", *map(_plain, sorted(v))]
    if isinstance(v, TensorType):
        return ["T", list(v.shape), v.dtype.name, str(v.device)]
    if isinstance(v, dt.DType):
        return ["D", v.name]
    if isinstance(v, device):
        return ["V", str(v)]
    if type(v).__name__ in _CLASSES:
        return ["R", type(v).__name__, *[_plain(getattr(v, f.name)) for f in dataclasses.fields(v)]]
    raise TypeError(f"cannot write {type(v).__name__} into a program record")


def _float(text: str) -> float:
    return float.fromhex(text)


def _record(v: Any) -> Any:
    if not isinstance(v, list):
        return v
    tag, rest = v[0], v[1:]
    if tag == "t":
        return tuple(map(_record, rest))
    if tag == "R":
        return _CLASSES[rest[0]](*map(_record, rest[1:]))
    if tag == "f":
        return _float(rest[0])
    if tag == "c":
        return complex(_float(rest[0]), _float(rest[1]))
    if tag == "s":
        return frozenset(map(_record, rest))
    if tag == "T":
        return tensor_type(tuple(rest[0]), dt.by_name(rest[1]), device(rest[2]))
    if tag == "D":
        return dt.by_name(rest[0])
    if tag == "V":
        return device(rest[0])
    raise KeyError(f"unknown tag {tag!r}")
