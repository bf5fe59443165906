"""The scalar verbs in Triton: the text a kernel needs for the verbs it uses.

Most mathematical functions are translated from the C prelude (triton_math.py); `prelude/triton.tl` has
what is written for Triton by itself. float16 and bfloat16 compute in float32, as in C.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from .prelude import SUFFIX, pieces
from .triton_c import ConstantArray, Function, Unread, read_pieces
from .triton_math import Library, translate, translate_column

_TRANSLATED = frozenset("base pair exp log hyperbolic trig arc erf pow gamma".split())
_NAME = re.compile(r"\b(?:td_\w+|f64)")
_DEFINES = re.compile(r"^def (\w+)\(", re.M)
_COLUMN = re.compile(r"^(\w+)_(\d+)_of_(\d+)$")
_INTEGER = {"uint8": "_u", "int8": "_i", "int16": "_i", "int32": "_i", "int64": "_i"}


@cache
def _own() -> dict[str, str]:
    """The functions written for Triton, by name."""
    text = (Path(__file__).parent / "prelude" / "triton.tl").read_text(encoding="utf-8")
    found = {}
    for piece in text.split("\n\n"):
        for name in _DEFINES.findall(piece):
            found[name] = piece.strip("\n")
    return found


@cache
def _library() -> Library:
    """The functions to translate; what is not of the readable forms has a text of its own."""
    library = Library()
    for piece in pieces():
        if piece.file in _TRANSLATED:
            try:
                definitions = read_pieces(piece.text)
            except Unread:
                continue
            for d in definitions:
                library.add(d)
    return library


@cache
def _text_of(name: str) -> str:
    own = _own().get(name)
    if own is not None:
        return own
    library = _library()
    column = _COLUMN.match(name)
    if column is not None:
        array: ConstantArray = library.arrays[column[1]]
        return translate_column(array, int(column[3]), int(column[2]))
    function: Function = library.functions[name]
    return translate(function, library)




def function_of(verb: str, dtype: str) -> str:
    """The name of the function behind a verb of a dtype, or '' if operators say it all."""
    suffix = SUFFIX.get(dtype) or _INTEGER.get(dtype, "")
    for name in (f"td_{verb}", f"td_{verb}{suffix}"):
        if name in _own() or name in _library().functions:
            return name
    return ""


def triton_prelude(names: frozenset[str]) -> str:
    """The Triton text that defines these functions and all they use, each before its first use.

    >>> text = triton_prelude(frozenset(["td_tanh_f"]))
    >>> "def td_tanh_f(x):" in text, "def td_expm1_poly_f(r):" in text, "td_tanh_d" in text
    (True, True, False)
    """
    done: dict[str, str] = {}
    for name in sorted(names):
        _collect(name, done)
    return "\n\n\n".join(done.values()) + ("\n\n\n" if done else "")


def _collect(name: str, done: dict[str, str]) -> None:
    if name in done:
        return
    text = _text_of(name)
    code = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for used in dict.fromkeys(_NAME.findall(code)):
        if used != name:
            _collect(used, done)
    done[name] = text
