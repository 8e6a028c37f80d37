"""Numbered lines of text files, streamed: UTF-8, ``.gz``, stdin, and errors that say where."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from treebank.errors import TreebankError

STDIN = "-"
_BLOCK = 1 << 18


def open_lines(path: str) -> Iterator[tuple[int, str]]:
    r"""Each line of a file with its number (from 1), without its end; ``-`` reads stdin, ``.gz`` is unpacked.

    A line ends at ``\n`` and nowhere else; one ``\r`` before it is dropped. So U+2028, U+0085, form feed and a
    lone ``\r`` stay inside their line. A byte-order mark at the start is dropped. Raises TreebankError for a file
    that cannot be read, is not UTF-8, holds NUL bytes, or is a damaged gzip file.
    """
    number = 0
    try:
        with _open_bytes(path) as handle:
            for offset, data in _line_blocks(handle):
                for text in _decode(path, number, offset, data):
                    number += 1
                    yield number, text
    except EOFError:
        raise TreebankError(path, number, "the gzip file ends too early; copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        message = f"damaged gzip file ({str(error).lower()}); copy or download it again"
        raise TreebankError(path, number, message) from None
    except OSError as error:
        raise TreebankError(path, 0, f"cannot be read: {_reason(error)}") from None


def _line_blocks(handle: BinaryIO | gzip.GzipFile) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each with its offset; what a pipe already holds is given at once."""
    offset = 0
    while data := handle.read1(_BLOCK):  # type: ignore[union-attr]
        if not data.endswith(b"\n"):
            data += handle.readline()
        yield offset, data
        offset += len(data)


def _decode(path: str, before: int, offset: int, data: bytes) -> Iterator[str]:
    """The lines of a block that begins at byte ``offset``, after ``before`` lines."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        yield from _decode_singly(path, before, offset, data)
        return
    if "\0" in text:
        yield from _decode_singly(path, before, offset, data)
        return
    if not offset:
        text = text.removeprefix("\ufeff")
    lines = text.removesuffix("\n").split("\n") if text else []
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    yield from lines


def _decode_singly(path: str, before: int, offset: int, data: bytes) -> Iterator[str]:
    """The lines of a block up to the first that is not text, which raises."""
    for number, raw in enumerate(data.split(b"\n"), before + 1):
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise _not_utf8(path, number, offset, raw, error) from None
        if "\0" in text:
            raise TreebankError(path, number, "this is a binary file (it holds a NUL byte), not text")
        offset += len(raw) + 1
        yield (text.removeprefix("\ufeff") if number == 1 else text).removesuffix("\r")


class _Unowned:
    """A stream that leaving the ``with`` does not close."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def __enter__(self) -> BinaryIO:
        return self.stream

    def __exit__(self, *details: object) -> None:
        return None


def _open_bytes(path: str) -> BinaryIO | gzip.GzipFile | _Unowned:
    if path == STDIN:
        return _Unowned(sys.stdin.buffer)
    if os.path.isdir(path):
        raise TreebankError(path, 0, "this is a folder where a file was expected")
    if path.endswith(".gz"):
        return gzip.open(path, "rb")
    return open(path, "rb")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _not_utf8(path: str, number: int, offset: int, line: bytes, error: UnicodeDecodeError) -> TreebankError:
    """The error for one line; bytes are counted from 1."""
    where = f"byte {error.start + 1} of the line, byte {offset + error.start + 1} of the file"
    found = f"invalid UTF-8 (0x{line[error.start]:02x} at {where})"
    if number == 1 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return TreebankError(path, number, f"{found}: this looks like UTF-16; convert it to UTF-8")
    if b"\0" in line:
        return TreebankError(path, number, f"this is a binary file, not text: {found}")
    return TreebankError(path, number, f"{found}; convert the file to UTF-8 (iconv -f latin1 -t utf-8)")
