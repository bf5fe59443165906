"""The command `treadle`: doctor, cache info, cache clear, --version."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Sequence

DOCTOR = """\
Looks at what treadle needs of this machine (compiler, processor, threads, cache, BLAS, GPU), builds one
small kernel, and says what to do where something is missing. Exit code 1 if something is bad."""
CACHE = """\
Compiled kernels are kept on disk, so that the next process starts warm. The place is TREADLE_CACHE_DIR,
else the user's cache directory; it never grows over its limit."""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code of `treadle argv...`."""
    parser = _parser()
    said = parser.parse_args(argv)
    if said.act is None:
        parser.print_help()
        return 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they would say stands in the answer
        try:
            return said.act(said)
        except BrokenPipeError:  # `treadle doctor | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except KeyboardInterrupt:
            return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="treadle", description="PyTorch's API in a light package whose compile fuses whole training steps."
    )
    parser.add_argument("--version", action="version", version=f"treadle {_version()}")
    parser.set_defaults(act=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    doctor = commands.add_parser("doctor", help="check compiler, processor, threads, cache and GPU",
                                 description=DOCTOR)
    doctor.set_defaults(act=_doctor)
    cache = commands.add_parser("cache", help="show or empty the cache of compiled kernels", description=CACHE)
    actions = cache.add_subparsers(title="actions", metavar="ACTION", required=True)
    info = actions.add_parser("info", help="where it is, how full it is", description=CACHE)
    info.set_defaults(act=_cache_info)
    clear = actions.add_parser("clear", help="remove every entry",
                               description="Removes every entry; processes that run now are not disturbed.")
    clear.set_defaults(act=_cache_clear)
    return parser


def _version() -> str:
    from . import __version__

    return __version__


# commands -----------------------------------------------------------------------------------------
def _doctor(_said: argparse.Namespace) -> int:
    from .runtime.doctor import BAD, examine

    findings = examine()
    wide = max(len(f.part) for f in findings)
    for f in findings:
        head = f"{_coloured(f.status)}  {f.part:<{wide}}  "
        indent = " " * (6 + wide + 2)
        print(head + _wrapped(f.found, indent))
        if f.remedy:
            print(indent + _wrapped(f"→ {f.remedy}" if _is_utf8() else f"-> {f.remedy}", indent + "  "))
    bad = [f.part for f in findings if f.status == BAD]
    print(f"\nto mend: {', '.join(bad)}" if bad else "\nall that is needed is there")
    return 1 if bad else 0


def _cache_info(_said: argparse.Namespace) -> int:
    from .runtime.cache import open_cache

    facts = open_cache().info()
    rows = [("place", facts.path), ("entries", f"{facts.entries:,}"), ("size", _size(facts.bytes)),
            ("limit", _size(facts.limit))]
    if not facts.on_disk:
        rows[0] = ("place", "none: kernels are kept for one process only")
        rows += [("because", facts.reason),
                 ("remedy", "set TREADLE_CACHE_DIR to a directory of your own with mode 0700")]
    for name, value in rows:
        print(f"{name:<8} {value}")
    return 0


def _cache_clear(_said: argparse.Namespace) -> int:
    from .runtime.cache import open_cache

    cache = open_cache()
    facts = cache.info()
    if not facts.on_disk:
        print(f"no cache on disk: {facts.reason}", file=sys.stderr)
        return 1
    removed = cache.clear()
    print(f"removed {removed:,} entries ({_size(facts.bytes)}) from {facts.path}")
    return 0


# text ---------------------------------------------------------------------------------------------
_COLOURS = {"ok": "32", "warn": "33", "bad": "31;1"}


def _coloured(status: str) -> str:
    """The word, four wide, in its colour where a terminal shows it."""
    text = f"{status:<4}"
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_COLOURS[status]}m{text}\x1b[0m"


def _wrapped(text: str, indent: str) -> str:
    """The text, its later lines indented; paths and commands are not broken."""
    width = max(40, min(shutil.get_terminal_size().columns, 110) - len(indent))
    lines = [part for line in text.splitlines()
             for part in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]]
    return f"\n{indent}".join(lines)


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _size(count: float) -> str:
    """Bytes in kB or MB.

    >>> _size(1_250_000), _size(900)
    ('1.2 MB', '0.9 kB')
    """
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"
