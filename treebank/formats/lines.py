"""Numbered lines of text files, streamed: UTF-8, ``.gz``, stdin, and errors that say where."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from treebank.errors import TreebankError

STDIN = "-"
OnBad = Callable[[TreebankError], None]  # told of each broken sentence by a reader that leaves it out and goes on
_BLOCK = 1 << 18


def report(error: TreebankError, on_bad: OnBad | None) -> None:
    """Tell ``on_bad`` of a broken sentence; without it, raise the error."""
    if on_bad is None:
        raise error
    on_bad(error)


def open_lines(path: str, *, keep_returns: bool = False) -> Iterator[tuple[int, str]]:
    r"""Each line of a file with its number (from 1), without its end; ``-`` reads stdin, ``.gz`` is unpacked.

    A line ends at ``\n`` and nowhere else; one ``\r`` before it is dropped. So U+2028, U+0085, form feed and a
    lone ``\r`` stay inside their line; with ``keep_returns`` so does the one before ``\n``, as who counts characters
    wants it. A byte-order mark at the start is dropped. Raises TreebankError for a file
    that cannot be read, is not UTF-8, holds NUL bytes, or is a damaged gzip file.
    """
    for first, text in open_blocks(path, keep_returns=keep_returns):
        yield from enumerate(text.removesuffix("\n").split("\n"), first)


def open_blocks(path: str, *, keep_returns: bool = False) -> Iterator[tuple[int, str]]:
    r"""The text of ``open_lines`` in blocks of whole lines, each with the number of its first line.

    What a pipe holds is given at once. Every line ends with ``\n``, but the last of the file may not.
    """
    line = 1
    offset = 0
    try:
        with _open_bytes(path) as handle:
            while data := handle.read1(_BLOCK):
                if not data.endswith(b"\n"):
                    data += handle.readline()
                good, problem = _decode(path, line, offset, data, keep_returns)
                if good:
                    yield line, good
                if problem:
                    raise problem
                line += good.count("\n")
                offset += len(data)
    except EOFError:
        raise TreebankError(path, 0, "this gzip file ends too early; copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        found = (
            "not a gzip file, in spite of its name" if "Not a gzip" in str(error) else f"a damaged gzip file ({error})"
        )
        raise TreebankError(path, 0, f"this is {found}") from None
    except OSError as error:
        raise TreebankError(path, 0, f"cannot be read: {(error.strerror or str(error)).lower()}") from None


def _decode(path: str, line: int, offset: int, data: bytes, keep_returns: bool) -> tuple[str, TreebankError | None]:
    """The text of ``data``, which begins at byte ``offset``; with an error, the lines before the one at fault."""
    problem = None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        text = data[:start].decode()
        end = data.find(b"\n", start)
        raw = data[start : end if end >= 0 else len(data)]
        at = f"byte {error.start - start + 1} of the line, byte {offset + error.start + 1} of the file"
        found = f"invalid UTF-8 (0x{data[error.start]:02x} at {at})"
        problem = TreebankError(path, line + text.count("\n"), _not_utf8(found, raw))
    if "\0" in text:
        text = text[: text.rfind("\n", 0, text.index("\0")) + 1]
        problem = TreebankError(path, line + text.count("\n"), "this is a binary file (it holds a NUL byte), not text")
    if not offset:
        text = text.removeprefix("\ufeff")
    if "\r" in text and not keep_returns:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    return text, problem


def _not_utf8(found: str, raw: bytes) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"{found}: this looks like UTF-16; convert it to UTF-8"
    if b"\0" in raw:
        return f"this is a binary file, not text: {found}"
    return f"{found}; convert the file to UTF-8 (iconv -f latin1 -t utf-8)"


def _open_bytes(path: str) -> AbstractContextManager[Any]:
    """The file as a buffered stream of bytes; stdin is not closed at the end."""
    if path == STDIN:
        if sys.stdin is None:
            raise TreebankError(path, 0, "it is closed; name a file to read")
        return nullcontext(sys.stdin.buffer)
    if os.path.isdir(path):
        raise TreebankError(path, 0, "this is a folder where a file was expected")
    if path.lower().endswith(".gz"):
        return gzip.open(path, "rb")
    return open(path, "rb")
