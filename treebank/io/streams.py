"""Files, pipes and standard input as streams of bytes.

Standard input and named pipes can be read only once. If their first bytes have been read to detect the format, the
stream stays open here until it is read in full.
"""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from dataclasses import dataclass
from typing import Any, cast

from treebank.base.errors import TreebankError

STDIN = "-"
BUFFER_BYTES = 1 << 15
_open_streams: dict[str, io.BufferedReader] = {}  # by path: pipes, and the reader of a replaced ``sys.stdin``


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
    """The first bytes of a pipe or of standard input that have arrived. A later `take_stream` still returns them."""
    if path == STDIN:
        stream = _standard_input()
    else:
        if path not in _open_streams:
            _open_streams[path] = _open_file(path)
        stream = _open_streams[path]
    return stream.peek(BUFFER_BYTES)[:BUFFER_BYTES]


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
    return sys.stdin is not None and stream is sys.stdin.buffer


def _open_file(path: str) -> io.BufferedReader:
    return cast("io.BufferedReader", open(path, "rb", buffering=BUFFER_BYTES))


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise TreebankError(STDIN, 0, "it is closed; name a file to read")
    stream: Any = sys.stdin.buffer
    if hasattr(stream, "peek"):
        return cast("io.BufferedReader", stream)
    reader = _open_streams.get(STDIN)
    if reader is None or reader.raw is not stream:  # standard input was replaced, as in tests and notebooks
        reader = _open_streams[STDIN] = io.BufferedReader(stream)
    return reader
