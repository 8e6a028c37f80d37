"""Standard streams that work as a person expects: never read as empty or cut because they are set not to wait."""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import Any


class Waiting(io.FileIO):
    """A descriptor that waits for its other end even if it is set not to, as ssh and node leave theirs.

    Python takes "nothing yet" for the end of the input, and drops what could not be written at once.
    """

    def readinto(self, buffer: Any) -> int:
        """How many bytes came; 0 at the end of the input only."""
        while (count := super().readinto(buffer)) is None:
            select.select([self], [], [])
        return count

    def write(self, data: Any) -> int:
        """How many bytes were written, at least one of several."""
        while (count := super().write(data)) is None:
            select.select([], [self], [])
        return count


class Closed(io.TextIOBase):
    """Standard output that was closed before the program began: whoever writes to it is told."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "it is closed; name a file to write with -o", "standard output")


def prepare() -> None:
    """Make the standard streams of this process wait, and keep closed descriptors from being given to other files."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            _occupy(descriptor)
        else:
            _wait(descriptor, name)


def stand_in() -> None:
    """Put something in the place of standard output and standard error where they are closed."""
    if sys.stdout is None:
        sys.stdout = Closed()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _occupy(descriptor: int) -> None:
    """Open nothing under the number of a closed standard stream, or the next file that is opened would get it."""
    try:
        os.fstat(descriptor)
    except OSError:
        nothing = os.open(os.devnull, os.O_RDWR)
        if nothing != descriptor:
            os.dup2(nothing, descriptor)
            os.close(nothing)


def _wait(descriptor: int, name: str) -> None:
    """Put a `Waiting` stream in the place of ``sys.NAME``, if that is what Python made of ``descriptor``."""
    stream: Any = getattr(sys, name)
    if not isinstance(stream, io.TextIOWrapper):
        return
    raw = Waiting(descriptor, "rb" if name == "stdin" else "wb", closefd=False)
    buffer: Any = io.BufferedReader(raw) if name == "stdin" else io.BufferedWriter(raw)
    fresh = io.TextIOWrapper(
        buffer,
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or name == "stderr",
    )
    setattr(sys, name, fresh)
