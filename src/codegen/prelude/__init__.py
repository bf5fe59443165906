"""The scalar verbs in C++: `cpp_prelude` returns the text a kernel that uses some of them needs.

The texts are the `.h` files beside this one: plain scalar functions without branches, header or
library, which compilers vectorise inside `#pragma omp simd` loops. Polynomials come from
`tools/fit_polynomials.py`. Definitions are separated by blank lines; one is taken if its name occurs in
what was asked for or in another that was taken. A function named `td_<verb>_f` or `td_<verb>_d` is
the verb for float or double; its overload `td_<verb>` is added here.

In kernels a bool is `bool`, an integer the C type of its width, and float16 and bfloat16 are the structs
`td_f16` and `td_bf16`, loaded by `td_to_float`, stored by `td_to_f16` and `td_to_bf16`, and computed
with in float, rounded after each verb by `td_round_f16` and `td_round_bf16`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...ir.scalar import VERBS

# in the order of the text: a definition uses only what stands before it
FILES = "base convert arithmetic division pair exp log hyperbolic trig arc erf pow gamma random".split()
ALWAYS = frozenset(["base", "convert", "arithmetic"])
SUFFIX = {"float64": "_d", "float32": "_f", "float16": "_f", "bfloat16": "_f"}
C_TYPE = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int",
    "int64": "long", "float16": "td_f16", "bfloat16": "td_bf16", "float32": "float", "float64": "double",
}  # fmt: skip

_DEFINED = re.compile(
    r"^(?:template <[^>]*> )?(?:TD [\w ]+? (td_\w+)\(|struct (td_\w+)|static const \w+ (td_\w+)\[)", re.M)
_PARAMETER = r"(?:float|double) \w+"
_SIGNATURE = re.compile(rf"^TD (float|double) (td_(\w+)_[fd])\(({_PARAMETER}(?:, {_PARAMETER})*)\) \{{", re.M)
_NAME = re.compile(r"\btd_\w+")


@dataclass(frozen=True, slots=True)
class Piece:
    """One definition: its file, its text, the names it defines and those it uses."""

    file: str
    text: str
    defines: frozenset[str]
    uses: frozenset[str]


@cache
def pieces() -> tuple[Piece, ...]:
    """Every definition of the prelude, in order."""
    here = Path(__file__).parent
    found = []
    for file in FILES:
        for text in (here / f"{file}.h").read_text(encoding="utf-8").split("\n\n"):
            defines = frozenset("".join(m) for m in _DEFINED.findall(text))
            found.append(Piece(file, text.strip("\n"), defines, frozenset(_NAME.findall(text)) - defines))
    return tuple(found)


@cache
def _where() -> dict[str, tuple[int, ...]]:
    """The pieces that define each name."""
    at: dict[str, tuple[int, ...]] = {}
    for i, piece in enumerate(pieces()):
        for name in piece.defines:
            at[name] = (*at.get(name, ()), i)
    return at


@cache
def _overloads() -> dict[str, str]:
    """`TD float td_exp(float x) { return td_exp_f(x); }` for the name td_exp_f, and so on."""
    found = {}
    for piece in pieces():
        for result, name, verb, parameters in _SIGNATURE.findall(piece.text):
            if verb in VERBS and f"td_{verb}" not in _where():
                names = ", ".join(p.split()[1] for p in parameters.split(", "))
                found[name] = f"TD {result} td_{verb}({parameters}) {{ return {name}({names}); }}"
    return found


def _closure(names: set[str]) -> list[Piece]:
    """The pieces always included and those that define `names`, with all that they use, in order."""
    every, where = pieces(), _where()
    todo = [i for i, p in enumerate(every) if p.file in ALWAYS]
    todo += [i for name in names for i in where[name]]
    taken: set[int] = set()
    while todo:
        i = todo.pop()
        if i not in taken:
            taken.add(i)
            todo += [j for name in every[i].uses for j in where.get(name, ())]
    return [every[i] for i in sorted(taken)]


def _name_of(verb: str, dtype: str) -> str:
    """The defined name behind a verb of a dtype."""
    for name in (f"td_{verb}", f"td_{verb}{SUFFIX.get(dtype, '')}"):
        if name in _where():
            return name
    raise KeyError(f"no C++ text for the verb {verb!r} of {dtype}")


def cpp_prelude(verbs: set[tuple[str, str]] | None = None) -> str:
    """The C++ text that defines `td_<verb>` for the (verb, dtype name) pairs asked for, or all of it.

    Loads, stores, conversions, arithmetic, comparisons and `select` are always in it. float16 and bfloat16
    verbs compute in float. KeyError for a verb that does not exist for a dtype.

    >>> text = cpp_prelude({("exp", "float32")})
    >>> "TD float td_exp(float x)" in text, "td_exp(double" in text, "td_tanh" in text
    (True, False, False)
    """
    if verbs is None:
        names = set(_where())
    else:
        names = {_name_of(verb, dtype) for verb, dtype in verbs}
    text = "\n\n".join(p.text for p in _closure(names))
    return text + "\n\n" + "\n".join(line for name, line in _overloads().items() if name in names) + "\n"
