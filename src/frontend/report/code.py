"""Source text as HTML with its words marked by class: k keyword, t type, n number, s string, c comment, f call."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from html import escape

_CPP = re.compile(r"""
    (?P<c>//[^\n]*|/\*.*?\*/)
  | (?P<s>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])')
  | (?P<p>\#\s*\w+[^\n]*)
  | (?P<n>\b(?:0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?|\d+\.?\d*(?:[eE][+-]?\d+)?)[uUlLfF]*\b|\b\d+\.(?:\d*f)?)
  | (?P<w>[A-Za-z_]\w*)(?P<call>(?=\s*\())?
""", re.X | re.S)
_PYTHON = re.compile(r"""
    (?P<c>\#[^\n]*)
  | (?P<s>(?:\b[rbfuRBFU]{1,2})?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
  | (?P<p>@[\w.]+)
  | (?P<n>\b(?:0[xXbBoO][0-9a-fA-F_]+|\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?j?)\b)
  | (?P<w>[A-Za-z_]\w*)(?P<call>(?=\s*\())?
""", re.X | re.S)
_CPP_WORDS = frozenset("""alignas auto break case const constexpr continue default do else extern for goto if
    inline namespace return sizeof static static_assert struct switch template typedef typename union using
    volatile while restrict __restrict __restrict__ noexcept nullptr true false""".split())
_CPP_TYPES = frozenset("""bool char double float int long short signed unsigned void int8_t int16_t int32_t
    int64_t uint8_t uint16_t uint32_t uint64_t size_t""".split())
_PYTHON_WORDS = frozenset(keyword.kwlist) | {"self"}


def coloured(text: str, language: str) -> str:
    """Returns `text` as HTML; a language that is neither C++ nor Python (Triton is Python) stays plain.

    >>> coloured("return x * 2", "python")
    '<b class=k>return</b> x * <b class=n>2</b>'
    """
    if language == "c++":
        return _marked(text, _CPP, _CPP_WORDS, _CPP_TYPES)
    if language in ("python", "triton"):
        return _marked(text, _PYTHON, _PYTHON_WORDS, frozenset())
    return escape(text)


def coloured_lines(lines: Iterable[str], language: str) -> list[str]:
    """Returns each line as HTML; a string or comment over several lines is coloured on each of them."""
    out, open_class = [], ""
    for line in coloured("\n".join(lines), language).split("\n"):
        start = f"<b class={open_class}>" if open_class else ""
        tags = re.findall(r"<b class=(\w)>|(</b>)", line)
        if tags:
            open_class = tags[-1][0]
        out.append(start + line + ("</b>" if open_class else ""))
    return out


def _marked(text: str, pattern: re.Pattern[str], words: frozenset[str], types: frozenset[str]) -> str:
    out, end = [], 0
    for match in pattern.finditer(text):
        out.append(escape(text[end:match.start()], quote=False))
        end = match.end()
        kind = match.lastgroup or ""
        word = match.group()
        if kind in ("w", "call"):
            kind = "k" if word in words else "t" if word in types else "f" if kind == "call" else ""
        shown = escape(word, quote=False)
        out.append(f"<b class={kind}>{shown}</b>" if kind else shown)
    out.append(escape(text[end:], quote=False))
    return "".join(out)
