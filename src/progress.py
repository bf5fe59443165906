"""One line that shows how far a loop or a build is; silent where the stream is no terminal.

    for batch in track(loader, "training"):
        ...
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

REFRESH = 0.1  # seconds between two drawings


class Bar:
    """A progress line of `total` steps on `stream` (stderr); `keep` leaves it there at the end.

    >>> with Bar(3, "training") as bar:
    ...     for loss in (0.9, 0.5, 0.3):
    ...         bar.advance(note=f"loss {loss}")
    >>> bar.done
    3
    """

    def __init__(self, total: int, label: str = "", *, keep: bool = True, stream: TextIO | None = None):
        self.total, self.label, self.keep = total, label, keep
        self.stream = sys.stderr if stream is None else stream
        self.shown = is_terminal(self.stream)
        self.done, self.note, self.drawn = 0, "", False
        self.start = time.monotonic()
        self._last = 0.0

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def advance(self, count: int = 1, note: str = "") -> None:
        """Adds `count` steps; `note` stands at the line's end."""
        self.move(self.done + count, note)

    def move(self, done: int, note: str = "") -> None:
        """Sets how many steps are done."""
        self.done, self.note = done, note or self.note
        if not self.shown:
            return
        now = time.monotonic()
        if now - self._last >= REFRESH or not self.drawn:
            self._last = now
            self._draw()

    def close(self) -> None:
        """Ends the line, or wipes it where it is not to be kept."""
        if not self.drawn:
            return
        if self.keep:
            self._draw()
        self._write("\n" if self.keep else "\r\x1b[K")
        self.drawn = False

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._write("\r" + self.text(width) + "\x1b[K")
        self.drawn = True

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):  # the terminal is gone, the work goes on
            self.shown = self.drawn = False

    def text(self, width: int) -> str:
        """Returns the line as it is now, at most `width` characters."""
        share = min(1.0, self.done / self.total) if self.total else 1.0
        spent = time.monotonic() - self.start
        left = spent / share - spent if share else 0.0
        full, empty = ("━", "╌") if _can_write(self.stream, "━╌") else ("#", "-")
        room = max(8, min(30, width - 60))
        bar = full * round(room * share) + empty * (room - round(room * share))
        times = f"{_clock(spent)}<{_clock(left)}"
        words = [self.label, bar, f"{self.done}/{self.total}", times, self.note]
        return "  ".join(filter(None, words))[:width]


def is_terminal(stream: TextIO | None) -> bool:
    """Returns whether a moving line makes sense on `stream`."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # a closed stream
        return False


def track(items: Iterable[Any], label: str = "", total: int | None = None) -> Iterator[Any]:
    """Yields the items and shows how many went by; `total` is their number, len() by default.

    >>> sum(track([1, 2, 3], "adding"))
    6
    """
    count = len(items) if total is None else total  # pyright: ignore[reportArgumentType]
    with Bar(count, label) as bar:
        for item in items:
            yield item
            bar.advance()


@contextmanager
def building() -> Iterator[Callable[[int, int], None]]:
    """Gives what `runtime.build` may tell of its kernels: (done, of how many); wiped at the end."""
    bar = Bar(0, "building kernels", keep=False)

    def tell(done: int, total: int) -> None:
        bar.total = total
        bar.move(done)

    with bar:
        yield tell


def _can_write(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def _clock(seconds: float) -> str:
    """Returns 9 s as 0:09.

    >>> _clock(9), _clock(3723)
    ('0:09', '1:02:03')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
