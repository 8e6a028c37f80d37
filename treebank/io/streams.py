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
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from treebank.base.errors import TreebankError
from treebank.io.compression import stream_of

STDIN = "-"
BUFFER_BYTES = 1 << 15
#: only comments of CoNLL-U, and the beginning of another line
_UNDECIDED = re.compile(rb"(?:#[ \t]*[\w.:-]+[ \t]*=[^\n]*\n)*[^\n]*")
_peeked: dict[object, io.BufferedReader] = {}  # pipes by path, and standard input, see `_key`


@dataclass
class StandardInput:
    """Progress in standard input: whether it is being read, and the lines that were read but not yielded yet."""

    is_read: bool = False
    pending_lines: int = 0

    def is_idle(self) -> bool:
        """Whether standard input is being read line by line and the next line has not arrived yet.

        A caller that collects lines should then process the lines that it has. False for files, which never wait.
        """
        if not self.is_read or self.pending_lines:
            return False
        try:
            return not select.select([sys.stdin.buffer], [], [], 0)[0]
        except (OSError, ValueError):  # not a stream of the operating system, as in tests
            return False


STANDARD_INPUT = StandardInput()


def take_stream(path: str) -> io.BufferedReader:
    """The stream of a file or pipe, or of standard input, to be read from its start. The caller closes it."""
    if path != STDIN:
        return cast("io.BufferedReader", _peeked.pop(path, None) or open(path, "rb", buffering=BUFFER_BYTES))
    return cast("io.BufferedReader", _peeked.get(key := _key(path), key))


def peek(path: str) -> bytes:
    """The first bytes of a pipe or of standard input. A later `take_stream` still returns them.

    Unless it is a terminal, this waits for a line that decides about the format, or for ``BUFFER_BYTES``.
    """
    key = _key(path)
    if key not in _peeked:
        stream, head = take_stream(path), b""
        while data := stream.read1(BUFFER_BYTES):
            head += data
            if len(head) >= BUFFER_BYTES or stream.isatty() or not _UNDECIDED.fullmatch(head):
                break
        _peeked[key] = stream_of(_from_start(head, stream, is_owner=path != STDIN), BUFFER_BYTES)
    return _peeked[key].peek(BUFFER_BYTES)


def _key(path: str) -> object:
    """The key of a stream in ``_peeked``. Standard input may be replaced, as in tests and notebooks."""
    if path == STDIN and sys.stdin is None:
        raise TreebankError(STDIN, 0, "it is closed; name a file to read")
    return sys.stdin.buffer if path == STDIN else path


def _from_start(head: bytes, stream: io.BufferedReader, *, is_owner: bool) -> Iterator[bytes]:
    """The bytes ``head``, and those that follow it in ``stream``, which ``is_owner`` closes."""
    try:
        while head:
            yield head
            head = stream.read1(BUFFER_BYTES)
    finally:
        if is_owner:
            stream.close()


def reads_once(path: str) -> bool:
    """Whether ``path`` can be read only once: standard input, a named pipe, a shell's ``<(...)``, a terminal."""
    if path == STDIN:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)
