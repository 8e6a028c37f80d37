"""Files, pipes and standard input as streams of bytes.

Standard input and named pipes can be read only once. If their first bytes have been read to detect the format, the
stream stays open here until it is read in full.
"""

from __future__ import annotations

import io
import os
import re
import select
import stat
import sys
from dataclasses import dataclass
from typing import Any, cast

from treebank.base.errors import TreebankError

STDIN = "-"
BUFFER_BYTES = 1 << 15
#: only comments of CoNLL-U, and the beginning of another line
_UNDECIDED = re.compile(rb"(?:#[ \t]*[\w.:-]+[ \t]*=[^\n]*\n)*[^\n]*")
_open_streams: dict[str, io.BufferedReader] = {}  # by path: pipes and standard input


@dataclass
class StandardInput:
    """Progress in standard input: the number of active readers, and the lines that were read but not yielded yet."""

    readers: int = 0
    pending_lines: int = 0

    def is_idle(self) -> bool:
        """Whether standard input is being read line by line and the next line has not arrived yet.

        A caller that collects lines should then process the lines that it has. False for files, which never wait.
        """
        if not self.readers or self.pending_lines:
            return False
        try:
            return not select.select([sys.stdin.buffer], [], [], 0)[0]
        except (OSError, ValueError):  # not a stream of the operating system, as in tests
            return False


STANDARD_INPUT = StandardInput()


def take_stream(path: str) -> io.BufferedReader:
    """The stream of a file or pipe, or of standard input, to be read from its start. The caller closes it."""
    if path == STDIN:
        return _standard_input()
    return _open_streams.pop(path, None) or _open_file(path)


def peek(path: str) -> bytes:
    """The first bytes of a pipe or of standard input. A later `take_stream` still returns them.

    Unless it is a terminal, this waits for a line that decides about the format, or for ``BUFFER_BYTES``.
    """
    if path == STDIN:
        stream = _standard_input()
    else:
        if path not in _open_streams:
            _open_streams[path] = _reader(_open_file(path), is_owner=True)
        stream = _open_streams[path]
    raw = cast(_PipeStream, stream.raw)
    raw.waits = not raw.isatty()
    try:
        return stream.peek(BUFFER_BYTES)[:BUFFER_BYTES]
    finally:
        raw.waits = False


def reads_once(path: str) -> bool:
    """Whether ``path`` can be read only once: standard input, a named pipe, a shell's ``<(...)``, a terminal."""
    if path == STDIN:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def is_system_input(stream: io.BufferedReader) -> bool:
    """Whether ``stream`` is the standard input of the process."""
    is_pipe = stream is _open_streams.get(STDIN) and isinstance(stream.raw, _PipeStream)
    return is_pipe and sys.stdin is not None and cast(_PipeStream, stream.raw).stream is sys.stdin.buffer


class _PipeStream(io.RawIOBase):
    """A pipe or standard input. While ``waits`` is true, a read waits for a line that decides about the format."""

    def __init__(self, stream: io.BufferedIOBase, *, is_owner: bool) -> None:
        self.stream, self.is_owner, self.waits = stream, is_owner, False

    def readable(self) -> bool:
        """Always true."""
        return True

    def isatty(self) -> bool:
        """Whether this is a terminal."""
        return self.stream.isatty()

    def readinto(self, buffer: Any) -> int:
        """Copy the next bytes to ``buffer`` and return their number, 0 at the end."""
        view = memoryview(buffer)
        size = count = self.stream.readinto1(view)
        while self.waits and count and size < len(view) and _UNDECIDED.fullmatch(view[:size]):
            count = self.stream.readinto1(view[size:]) or 0  # None if the stream does not block
            size += count
        return size

    def close(self) -> None:
        """Close the pipe. Standard input stays open."""
        if self.is_owner:
            self.stream.close()
        super().close()


def _reader(stream: io.BufferedIOBase, *, is_owner: bool) -> io.BufferedReader:
    return io.BufferedReader(_PipeStream(stream, is_owner=is_owner), BUFFER_BYTES)


def _open_file(path: str) -> io.BufferedReader:
    return cast("io.BufferedReader", open(path, "rb", buffering=BUFFER_BYTES))


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise TreebankError(STDIN, 0, "it is closed; name a file to read")
    reader = _open_streams.get(STDIN)
    if reader is None or not is_system_input(reader):  # standard input was replaced, as in tests and notebooks
        reader = _open_streams[STDIN] = _reader(cast("io.BufferedIOBase", sys.stdin.buffer), is_owner=False)
    return reader
