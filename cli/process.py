"""Signals and standard streams of the command.

Ctrl-C, SIGTERM, and SIGHUP of a closed terminal end a command without losing work. Standard streams may be closed or
set to non-blocking mode.
"""

from __future__ import annotations

import errno
import io
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from treebank.base.files import handled
from treebank.base.tables import printable_lines

SCORING_SECONDS = 4.0  # after SIGTERM, before the scoring of a saved model is stopped
STEP_SECONDS = 8.0  # after SIGTERM, before the current training step is interrupted
_ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class TerminatedError(KeyboardInterrupt):
    """SIGTERM or SIGHUP as an exception, with the exit code ``code``."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise `TerminatedError`, as Ctrl-C raises KeyboardInterrupt."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TerminatedError(number)

    with handled(dict.fromkeys(_ENDING_SIGNALS, end)):
        yield


class Ending:
    """State of a training run that a signal may have told to end."""

    def __init__(self) -> None:
        self.number = 0  # first signal, 0 for none
        self.since = 0.0
        self._announced = False

    @property
    def code(self) -> int:
        """Exit code."""
        return 128 + (self.number or signal.SIGINT)

    def requested(self) -> bool:
        """Whether training should end. A saved model is still scored."""
        if self.number and not self._announced:  # not in the handler, which may interrupt other output
            self._announced = True
            print("stopping, saving and scoring the model … (Ctrl-C again ends at once)", file=sys.stderr, flush=True)
        return bool(self.number)

    def hurried(self) -> bool:
        """Whether scoring should end, too, because SIGTERM came some seconds ago."""
        return self.number not in (0, signal.SIGINT) and time.monotonic() - self.since > SCORING_SECONDS

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal. Only a second Ctrl-C, or SIGTERM after some seconds, interrupts the current step."""
        if number == getattr(signal, "SIGALRM", None):
            raise TerminatedError(self.number)
        if self.number and number == signal.SIGINT:
            raise KeyboardInterrupt
        if not self.number:
            self.number, self.since = number, time.monotonic()
            if number != signal.SIGINT and hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, STEP_SECONDS)


@contextmanager
def ending_after_the_step() -> Iterator[Ending]:
    """Yield an `Ending` that records signals, so that training can end after the current step."""
    ending = Ending()
    numbers = [signal.SIGINT, *_ENDING_SIGNALS, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else [])]
    try:
        with handled(dict.fromkeys(numbers, ending.note)):
            yield ending
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


class BlockingStream(io.FileIO):
    """A file descriptor that blocks even in non-blocking mode, in which ssh and node leave their streams.

    In that mode, Python takes an empty pipe for the end of the input and drops output that cannot be written at once.
    """

    def readinto(self, buffer: Any) -> int:
        """Number of bytes read, which is 0 only at the end of the input."""
        while (count := super().readinto(buffer)) is None:
            select.select([self], [], [])
        return count

    def write(self, data: Any) -> int:
        """Number of bytes written, at least one unless ``data`` is empty."""
        while (count := super().write(data)) is None:
            select.select([], [self], [])
        return count


class TerminalOutput(io.TextIOWrapper):
    """Standard output on a terminal. Control characters, which words of files may contain, are shown and not sent."""

    def write(self, text: str) -> int:
        super().write(printable_lines(text))
        return len(text)


class ColoredOutput:
    """The standard output for text with colors of the program itself, in which words have been made printable."""

    def write(self, text: str) -> int:
        stream = sys.stdout
        return io.TextIOWrapper.write(stream, text) if isinstance(stream, TerminalOutput) else stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stdout, name)


class ClosedOutput(io.TextIOBase):
    """Standard output that was closed before the program began. Writing to it raises OSError."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "it is closed; name a file to write with -o", "standard output")


def prepare() -> None:
    """Make the standard streams block, and keep the descriptors of closed ones from being reused for other files."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            try:
                os.fstat(descriptor)
            except OSError:  # the null device takes the number, so that no other file gets it
                null = os.open(os.devnull, os.O_RDWR)
                if null != descriptor:
                    os.dup2(null, descriptor)
                    os.close(null)
        else:
            _wait(descriptor, name)


def replace_closed_streams() -> None:
    """Replace closed standard output and standard error."""
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _wait(descriptor: int, name: str) -> None:
    """Replace the text stream ``sys.NAME`` of ``descriptor`` by one that blocks."""
    stream: Any = getattr(sys, name)
    if not isinstance(stream, io.TextIOWrapper):
        return
    raw = BlockingStream(descriptor, "rb" if name == "stdin" else "wb", closefd=False)
    buffer: Any = io.BufferedReader(raw) if name == "stdin" else io.BufferedWriter(raw)
    kind = TerminalOutput if name == "stdout" and stream.isatty() else io.TextIOWrapper
    replacement = kind(
        buffer, encoding=stream.encoding, errors=stream.errors, line_buffering=stream.line_buffering or name == "stderr"
    )
    setattr(sys, name, replacement)
