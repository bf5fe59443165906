"""The scalar verbs in C++: `cpp_prelude` returns the text a kernel that uses some of them needs.

The texts are the `.h` files beside this one: plain scalar, branch-free functions that compilers vectorise inside
`#pragma omp simd` loops, with no header and no library. Definitions are separated by blank lines; one
is taken if its name occurs in what was asked for or in another that was taken. A function named
`td_<verb>_f` or `td_<verb>_d` is the verb for float or double; its overload `td_<verb>` is added here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# in the order of the text: a definition uses only what stands before it
FILES = "base convert arithmetic division pair exp log hyperbolic trig arc erf pow gamma random".split()
ALWAYS = frozenset(["base", "convert", "arithmetic"])
SUFFIX = {"float64": "d", "float32": "f", "float16": "f", "bfloat16": "f"}
C_TYPE = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int",
    "int64": "long", "float16": "td_f16", "bfloat16": "td_bf16", "float32": "float", "float64": "double",
}  # fmt: skip

_DEFINED = re.compile(
    r"^(?:template <[^>]*> )?(?:TD [\w ]+? (td_\w+)\(|struct (td_\w+)|static const \w+ (td_\w+)\[)", re.M)
_SIGNATURE = re.compile(r"^TD (float|double) td_(\w+)_([fd])\(((?:float|double) \w+(?:, (?:float|double) \w+)*)\) \{",
                        re.M)
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


def _closure(names: set[str]) -> list[Piece]:
    """The pieces always included and those that define `names`, with all that they use, in order."""
    every, where = pieces(), _where()
    taken = {i for i, p in enumerate(every) if p.file in ALWAYS or not p.defines and p.text.startswith("#")}
    todo = [i for name in names for i in where.get(name, ())]
    todo += [j for i in taken for name in every[i].uses for j in where.get(name, ())]
    while todo:
        i = todo.pop()
        if i not in taken:
            taken.add(i)
            todo += [j for name in every[i].uses for j in where.get(name, ())]
    return [every[i] for i in sorted(taken)]


def _overload(match: re.Match) -> str:
    """`td_exp(float)` that calls `td_exp_f`."""
    result, verb, suffix, parameters = match.groups()
    names = ", ".join(p.split()[1] for p in parameters.split(", "))
    return f"TD {result} td_{verb}({parameters}) {{ return td_{verb}_{suffix}({names}); }}"


def _is_public(verb: str) -> bool:
    return verb in _verbs_by_suffix()


@cache
def _verbs_by_suffix() -> frozenset[str]:
    """Verbs written as td_<verb>_f and td_<verb>_d."""
    from ...ir.scalar import VERBS

    return frozenset(v for v in VERBS if f"td_{v}_f" in _where() and f"td_{v}" not in _where())


def cpp_prelude(verbs: set[tuple[str, str]] | None = None) -> str:
    """The C++ text that defines `td_<verb>` for the (verb, dtype name) pairs asked for, or all of it.

    Loads, stores, conversions, arithmetic, comparisons and `select` are always in it. float16 and bfloat16
    verbs compute in float. KeyError for a verb that does not exist for a dtype.

    >>> "td_tanh" in cpp_prelude({("exp", "float32")}), "td_exp(double" in cpp_prelude({("exp", "float32")})
    (False, False)
    """
    if verbs is None:
        names = set(_where())
    else:
        names = {_name_of(verb, dtype) for verb, dtype in verbs}
    chosen = _closure(names)
    text = "\n\n".join(p.text for p in chosen)
    overloads = [_overload(m) for m in _SIGNATURE.finditer(text)
                 if _is_public(m[2]) and f"td_{m[2]}_{m[3]}" in names]
    return text + "\n\n" + "\n".join(overloads) + "\n"


def _name_of(verb: str, dtype: str) -> str:
    """The defined name behind a verb of a dtype."""
    where = _where()
    special = f"td_{verb}_{SUFFIX.get(dtype, '')}"
    if f"td_{verb}" in where:
        return f"td_{verb}"
    if special in where:
        return special
    raise KeyError(f"no C++ text for the verb {verb!r} of {dtype}; there is one for {sorted(SUFFIX)}")
