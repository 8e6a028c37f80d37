"""How far a long call has come: one line that is overwritten on a terminal, a line a minute in a log."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from treebank.io.read import InputOptions

LOG_SECONDS = 60.0  # between two lines in a log
FIRST_SECONDS = 1.0  # a call that is over by then shows nothing
DRAWN_SECONDS = 0.1  # between two drawings of the line
BAR = 20  # columns
GAP = "  "

One = TypeVar("One")


def clock(seconds: float) -> str:
    """``0:01:05``."""
    return str(timedelta(seconds=round(seconds)))


def left(seconds: float) -> str:
    """``1:05 left``; "" where nobody knows."""
    return f"{clock(seconds).removeprefix('0:')} left" if 0 <= seconds < 1e8 else ""


def on_terminal() -> bool:
    """Whether standard error is a terminal on which a line can be overwritten."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


class StatusLine:
    """The last line of a terminal: drawn anew in the width that there is, so that no resizing leaves copies of it."""

    def __init__(self) -> None:
        self._drawn = False

    def show(self, parts: Sequence[str], share: float | None = None) -> None:
        """``parts``, the most important first; those at the end go where the terminal is too narrow, then the bar."""
        columns = shutil.get_terminal_size().columns - len("^C") - 1  # what a terminal shows when the user stops
        kept = [part for part in parts if part]
        while len(kept) > 1 and len(GAP.join(kept)) > columns:
            kept.pop()
        if share is not None and len(GAP.join(kept)) + len(GAP) + BAR <= columns:
            filled = round(BAR * min(1.0, max(0.0, share)))
            kept.insert(1, "━" * filled + "─" * (BAR - filled))
        sys.stderr.write("\r\x1b[K" + GAP.join(kept)[: max(1, columns)])
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False

    def say(self, line: str) -> None:
        """A line that stays, above this one."""
        self.clear()
        click.echo(line, err=True)


class Meter:
    """Tells how many of something are done, and when all will be; nothing where results go to the same terminal."""

    def __init__(self, doing: str, unit: str = "sentences", *, results_shown: bool = False) -> None:
        self.doing, self.unit, self.count = doing, unit, 0
        self.line = StatusLine() if on_terminal() else None
        self._silent = bool(self.line) and results_shown
        self._next = time.monotonic() + FIRST_SECONDS
        self._base: tuple[float, float] | None = None  # a moment, and what was done by then

    def step(self, share: Callable[[], float | None], *, by: int = 1) -> None:
        """One more is done, or ``by``, which makes ``share()`` of all; None where nobody knows."""
        self.count += by
        if not self._silent and (now := time.monotonic()) >= self._next:
            self._tell(now, share())

    def _tell(self, now: float, share: float | None) -> None:
        first, self._next = self._base is None, now + (DRAWN_SECONDS if self.line else LOG_SECONDS)
        since, before = self._base = self._base or (now, share or 0.0)
        parts = [f"{self.count:,} {self.unit}"]
        if share is not None:
            rest = (now - since) / (share - before) * (1 - share) if share > before else math.inf
            parts = [f"{share:.0%}", left(rest), *parts]
        if self.line:
            self.line.show([self.doing, *parts], share)
        elif not first:  # which was only to know where counting began
            click.echo(f"{self.doing}: " + ", ".join(filter(None, parts)), err=True)

    def say(self, line: str) -> None:
        """A line that stays."""
        self.end()
        click.echo(line, err=True)

    def end(self) -> None:
        """Take the line away."""
        if self.line:
            self.line.clear()

    def over(self, things: Iterable[One], total: int | None = None) -> Iterator[One]:
        """``things``, each counted as it passes."""
        try:
            for one in things:
                yield one
                self.step(lambda: self.count / total if total else None)
        finally:
            self.end()


@contextmanager
def reading(
    doing: str, files: Sequence[str], input_options: InputOptions, *, results_shown: bool = False
) -> Iterator[InputOptions]:
    """``input_options`` by which sentences of ``files`` are counted as they are read: how many, and the time left."""
    lines, meter = Lines(files), Meter(doing, results_shown=results_shown)
    try:
        yield replace(input_options, on_sentence=lambda place: meter.step(lambda: lines.share(*place)))
    finally:
        meter.end()


class Lines:
    """How much of some files comes before a line of one of them. They are counted when this is first asked."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self._before: dict[str, int] | None = None
        self._total = 0

    def share(self, path: str, line: int) -> float | None:
        """Of all files, up to a line (from 1); None where nobody knows: of standard input, of compressed files."""
        if self._before is None:
            self._count()
        if not self._before or path not in self._before:
            return None
        return min(1.0, (self._before[path] + line) / self._total)

    def _count(self) -> None:
        from treebank.io.lines import count_lines

        self._before = {}
        for path in self.paths:
            count = count_lines(path)
            if count is None:
                self._before = {}
                return
            self._before[path] = self._total
            self._total += count
