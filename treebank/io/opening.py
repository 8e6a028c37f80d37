"""Files and standard input as streams of UTF-8 bytes: compression told by the content, other encodings on request."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from treebank.base.errors import TreebankError
from treebank.io.members import DamagedError, open_zstandard, zstandard

STDIN = "-"
#: how a compressed file begins -> the suffix that such files have
MAGIC = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\0": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PK\x03\x04": ".zip",
}
COMPRESSED = frozenset(MAGIC.values())
DAMAGED = (EOFError, DamagedError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
_HEAD = 1 << 15  # bytes that are looked at
_replaced: dict[str, Any] = {}  # what stands in the place of standard input, and its reader
_waiting: dict[str, io.BufferedReader] = {}  # pipes by name whose beginning was looked at: they cannot be opened again


class InputPath(str):
    """The path of a file that is in another encoding than UTF-8."""

    encoding: str

    def __new__(cls, path: str, encoding: str) -> InputPath:
        made = super().__new__(cls, path)
        made.encoding = encoding
        return made


class PathSlice(str):
    """The path of a file of which the bytes ``start`` to ``end`` are read, whole lines of UTF-8.

    ``line`` is the number of the first of them, and ``characters`` is how many of the file stand before. Bytes of a
    compressed file are those that it holds: it is unpacked from its byte ``member`` on, and ``skip`` bytes are dropped.
    """

    start: int
    end: int
    line: int
    characters: int
    member: int | None
    skip: int

    def __new__(
        cls, path: str, start: int, end: int, line: int, characters: int, member: int | None = None, skip: int = 0
    ) -> PathSlice:
        made = super().__new__(cls, path)
        made.start, made.end, made.line, made.characters = start, end, line, characters
        made.member, made.skip = member, skip
        return made


@contextmanager
def open_bytes(path: str) -> Iterator[io.BufferedReader]:
    """The file as a buffered stream of UTF-8 bytes, unpacked and decoded; stdin is not closed at the end.

    Raises TreebankError for a folder, a zip archive of several files, and a package that is missing.
    """
    if os.path.isdir(path):
        raise TreebankError(path, 0, "this is a folder where a file was expected")
    raw = _stdin() if path == STDIN else _waiting.pop(path) if path in _waiting else _open(path)
    try:
        if isinstance(path, PathSlice):
            handle, first = _buffered(_stretch(path, raw)), not path.start
        else:
            handle, first = _unpacked(path, raw), True
        if encoding := getattr(path, "encoding", None):
            handle = _buffered(_Recoded(path, handle, encoding))
        old = first and ends_as_on_old_macs(handle.peek(_HEAD)[:_HEAD])
        yield _buffered(_OldLines(handle)) if old else handle
    finally:
        if path != STDIN:
            raw.close()


@contextmanager
def open_part(part: PathSlice) -> Iterator[io.BufferedReader]:
    """The bytes of a part of a file, unpacked, and otherwise as they are."""
    with _open(part) as raw:
        yield _buffered(_stretch(part, raw))


def beginning(path: str) -> bytes:
    """The first bytes of a file, or what has come on standard input, unpacked and decoded; nothing is used up."""
    if path != STDIN and not _is_pipe(path):
        with open_bytes(path) as handle:
            return handle.read1(_HEAD)
    if path != STDIN and path not in _waiting:
        _waiting[path] = _open(path)
    head = (_stdin() if path == STDIN else _waiting[path]).peek(_HEAD)[:_HEAD]
    kind = compression(head)
    if kind is not None:
        head = _partial(kind, head)
    encoding = getattr(path, "encoding", None)
    head = head if encoding is None else head.decode(encoding, "replace").encode()
    return head.replace(b"\r", b"\n") if ends_as_on_old_macs(head) else head


def compression(head: bytes) -> str | None:
    """The suffix of files that begin like this; None for one that is not compressed."""
    return next((suffix for magic, suffix in MAGIC.items() if head.startswith(magic)), None)


def ends_as_on_old_macs(head: bytes) -> bool:
    r"""Whether the lines of what begins like this end with ``\r`` alone, as on Macs before 2001."""
    return b"\r" in head[:-1] and b"\n" not in head and b"\0" not in head


def _open(path: str) -> io.BufferedReader:
    return cast("io.BufferedReader", open(path, "rb", buffering=_HEAD))


def _buffered(raw: Any) -> io.BufferedReader:
    return io.BufferedReader(raw)


def _is_pipe(path: str) -> bool:
    """Whether what is read from ``path`` is gone then: a named pipe, a shell's ``<(...)``, /dev/stdin, a terminal."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _stdin() -> io.BufferedReader:
    if sys.stdin is None:
        raise TreebankError(STDIN, 0, "it is closed; name a file to read")
    stream: Any = sys.stdin.buffer
    if hasattr(stream, "peek"):
        return cast("io.BufferedReader", stream)
    if _replaced.get("stream") is not stream:  # one that was put in its place, as tests and notebooks do
        _replaced.update(stream=stream, reader=io.BufferedReader(stream))
    return cast("io.BufferedReader", _replaced["reader"])


def _unpacked(path: str, raw: io.BufferedReader) -> io.BufferedReader:
    kind = compression(raw.peek(8))
    named = os.path.splitext(path.lower())[1]
    if kind is None:
        if named in COMPRESSED and raw.peek(1):
            raise TreebankError(path, 0, f"this is not a {named} file, in spite of its name")
        return raw
    if kind == ".zip":
        return _only_member(path, raw)
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": open_zstandard}
    opened = openers[kind](raw, "rb")
    return opened if hasattr(opened, "peek") else io.BufferedReader(opened)


def _only_member(path: str, raw: io.BufferedReader) -> io.BufferedReader:
    """The one file in a zip archive."""
    source: Any = io.BytesIO(raw.read()) if path == STDIN else raw
    archive = zipfile.ZipFile(source)
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if "[Content_Types].xml" in names or "mimetype" in names:
        raise TreebankError(path, 0, "this is a document of an office program or a book; save it as plain text first")
    if len(names) != 1:
        raise TreebankError(path, 0, f"this archive holds {len(names)} files; unpack it and name those to read")
    return io.BufferedReader(cast(Any, archive.open(names[0])))


def _partial(kind: str, head: bytes) -> bytes:
    """What can be unpacked of the beginning of a compressed stream."""
    makers: dict[str, Callable[[], Any]] = {
        ".gz": lambda: zlib.decompressobj(31),
        ".bz2": bz2.BZ2Decompressor,
        ".xz": lzma.LZMADecompressor,
        ".zst": lambda: zstandard().ZstdDecompressor().decompressobj(),
    }
    if kind not in makers:
        return b""
    found: bytes = makers[kind]().decompress(head)
    return found[:_HEAD]


def _stretch(path: PathSlice, raw: io.BufferedReader) -> _Stretch:
    raw.seek(path.start if path.member is None else path.member)
    handle = raw if path.member is None else _unpacked(path, raw)
    left = path.skip
    while left and (data := handle.read(min(left, _HEAD))):
        left -= len(data)
    return _Stretch(handle, path.end - path.start)


class _Stretch(io.RawIOBase):
    """Some of the bytes of a file."""

    def __init__(self, handle: io.BufferedReader, size: int) -> None:
        self._handle, self._left = handle, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._handle.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


class _OldLines(io.RawIOBase):
    r"""The same bytes with ``\n`` in the place of ``\r``, so that every character keeps its place."""

    def __init__(self, handle: io.BufferedReader) -> None:
        self._handle = handle

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._handle.read1(len(buffer)).replace(b"\r", b"\n")
        buffer[: len(data)] = data
        return len(data)


class _Recoded(io.RawIOBase):
    """Another encoding as UTF-8. Raises TreebankError at the first byte that the encoding does not have."""

    def __init__(self, path: str, handle: io.BufferedReader, encoding: str) -> None:
        self._path, self._handle, self._name = path, handle, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready, self._done = b"", 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._handle.read1(_HEAD)
            try:
                self._ready = self._decoder.decode(data, final=not data).encode()
            except UnicodeDecodeError as error:
                at = f"0x{error.object[error.start]:02x} near byte {self._done + error.start + 1}"
                raise TreebankError(self._path, 0, f"this is not {self._name} ({at}); see --encoding") from None
            self._done += len(data)
            if not data:
                break
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size
