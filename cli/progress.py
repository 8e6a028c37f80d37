"""Progress of long calls on standard error: one updating line on a terminal, one line per minute in a log."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import click

from cli.output import wrapped

if TYPE_CHECKING:
    from rich.progress import Progress

    from treebank.io.read import InputOptions

LOG_SECONDS = 60.0  # between two lines in a log
FIRST_SECONDS = 1.0  # a shorter call shows no progress
REFRESH_SECONDS = 0.1  # between two updates of the line
BAR_WIDTH = 20  # columns

Item = TypeVar("Item")


def clock(seconds: float) -> str:
    """Duration as ``0:01:05``."""
    return str(timedelta(seconds=round(seconds)))


def remaining(seconds: float) -> str:
    """Remaining time as ``1:05 left``, or "" if it is unknown."""
    return f"{clock(seconds).removeprefix('0:')} left" if 0 <= seconds < 1e8 else ""


def has_terminal() -> bool:
    """Whether standard error is a terminal whose last line can be updated."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


class Display:
    """One updating line below the lines that stay, or lines of a log.

    ``hidden``: show nothing on a terminal, because the results appear there. Nothing is shown in the first
    `FIRST_SECONDS` on a terminal and `LOG_SECONDS` in a log.
    """

    def __init__(self, *, hidden: bool = False) -> None:
        self.logging = not has_terminal()
        self._hidden = hidden and not self.logging
        self._due = time.monotonic() + (LOG_SECONDS if self.logging else FIRST_SECONDS)
        self._bar: Progress | None = None  # made when it is first shown, because short calls need not load rich

    def show(self, description: str, parts: Sequence[str], fraction: float | None) -> None:
        """Show ``description``, ``parts`` and the completed ``fraction`` of the work (None if unknown)."""
        now = time.monotonic()
        if self._hidden or now < self._due:
            return
        detail = ", ".join(filter(None, parts))
        if self.logging:
            self._due = now + LOG_SECONDS
            click.echo(f"{description}: {detail}", err=True)
            return
        self._due = now + REFRESH_SECONDS
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn
            from rich.table import Column

            detail_column = TextColumn("{task.fields[detail]}", table_column=Column())  # wraps in a narrow terminal
            columns = (TextColumn("{task.description}"), BarColumn(BAR_WIDTH), detail_column)
            console = Console(stderr=True, highlight=False)
            self._bar = Progress(*columns, console=console, transient=True, auto_refresh=False, redirect_stdout=False)
            self._bar.add_task("", detail="", total=1.0)
        self._bar.start()
        (task,) = self._bar.task_ids
        self._bar.update(task, description=description, detail=detail, completed=fraction or 0.0)
        self._bar.refresh()

    def print(self, line: str) -> None:
        """Print a line that stays, on standard error."""
        self.close()
        click.echo(wrapped(line, sys.stderr), err=True)
        if self.logging:
            self._due = time.monotonic() + LOG_SECONDS

    def close(self) -> None:
        """Remove the updating line."""
        if self._bar is not None:
            self._bar.stop()


class Counter:
    """Counter of processed items, which shows their number and the remaining time."""

    def __init__(self, activity: str, unit: str = "sentences", *, hidden: bool = False) -> None:
        self.activity, self.unit, self.count = activity, unit, 0
        self.display = Display(hidden=hidden)
        self._start: tuple[float, float] | None = None  # time and fraction at the first item

    def step(self, fraction: float | None, *, by: int = 1) -> None:
        """Count ``by`` more items, after which ``fraction`` of the work is complete (None if unknown)."""
        self.count += by
        now = time.monotonic()
        since, before = self._start = self._start or (now, fraction or 0.0)
        parts = [f"{self.count:,} {self.unit}"]
        if fraction is not None:
            left = (now - since) / (fraction - before) * (1 - fraction) if fraction > before else math.inf
            parts = [f"{fraction:.0%}", remaining(left), *parts]
        self.display.show(self.activity, parts, fraction)

    def print(self, line: str) -> None:
        """Print a line that stays."""
        self.display.print(line)

    def close(self) -> None:
        """Remove the updating line."""
        self.display.close()

    def track(self, items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
        """Yield ``items``, counting each after it was processed."""
        try:
            for item in items:
                yield item
                self.step((self.count + 1) / total if total else None)
        finally:
            self.close()


@contextmanager
def reading(activity: str, files: Sequence[str], input_options: InputOptions) -> Iterator[InputOptions]:
    """Yield ``input_options`` that count the sentences of ``files`` on a progress display as they are read."""
    positions, counter = FilePositions(files), Counter(activity)
    try:
        yield replace(input_options, on_sentence=lambda position: counter.step(positions.fraction(*position)))
    finally:
        counter.close()


class FilePositions:
    """Progress of reading several files: the fraction of all lines up to a given line.

    The lines are counted when a fraction is first requested.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths

    def fraction(self, path: str, line: int) -> float | None:
        """Fraction of all lines up to ``line`` (from 1) of ``path``, or None for compressed files and pipes."""
        before, total = self._lines
        return min(1.0, (before[path] + line) / total) if path in before else None

    @cached_property
    def _lines(self) -> tuple[dict[str, int], int]:
        """Lines before each file and of all files, or nothing if those of a file cannot be counted."""
        from treebank.io.lines import count_lines

        before, total = dict[str, int](), 0
        for path in self.paths:
            count = count_lines(path)
            if count is None:
                return {}, 0
            before[path], total = total, total + count
        return before, total
