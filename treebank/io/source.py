"""One input as a stream of bytes: a file, a pipe or standard input, with its encoding, byte range and compression.

Compression is recognized by the first bytes. Standard input and named pipes can be read only once. If their first bytes
have been read to detect the format, the stream stays open here until it is read in full.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import select
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from treebank.base.errors import TreebankError


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or standard input for the path ``-``, and how its bytes are read.

    ``encoding`` is "" for UTF-8. The bytes from ``start`` to ``end`` (None for the end of the file) consist of complete
    lines of an uncompressed file. ``line`` is the number of the first of these lines and ``characters`` the number of
    characters before it, so that lines and offsets count from the start of the file.
    """

    path: str
    encoding: str = ""
    start: int = 0
    end: int | None = None
    line: int = 1
    characters: int = 0

    @classmethod
    def of(cls, path: AnyPath) -> Source:
        """The source of a path. A `Source` is returned unchanged."""
        return path if isinstance(path, Source) else cls(os.fspath(path))

    @contextmanager
    def open(self) -> Iterator[io.BufferedReader]:
        """A stream of the decompressed bytes in UTF-8. Standard input is not closed at the end.

        Raises TreebankError for a folder, an archive with several files, a missing package, and bytes that are not
        valid in the encoding.
        """
        if os.path.isdir(self.path):
            raise TreebankError(self.path, 0, "this is a folder; name a file")
        raw = take_stream(self.path)
        try:
            if self.end is not None:
                raw.seek(self.start)
                yield stream_of(_first_bytes(raw, self.end - self.start))
            else:
                stream = decompress(self.path, raw)
                yield stream_of(self._recoded(stream)) if self.encoding else stream
        finally:
            if self.path != STDIN:
                raw.close()

    def head(self) -> bytes:
        """The first bytes in UTF-8, decompressed. They are still there when the source is opened afterwards."""
        if not reads_once(self.path):
            with self.open() as stream:
                return stream.read1(BUFFER_BYTES)
        head = b""
        with suppress(*DAMAGED):  # an archive cannot be read from its beginning
            head = decompress(self.path, io.BufferedReader(cast(Any, io.BytesIO(peek(self.path))))).read1(BUFFER_BYTES)
        return head.decode(self.encoding, "replace").encode() if self.encoding else head

    def _recoded(self, stream: io.BufferedReader) -> Iterator[bytes]:
        """The bytes of ``stream`` in UTF-8. Raises TreebankError at the first byte that is invalid in the encoding."""
        decoder, size = codecs.getincrementaldecoder(self.encoding)(), 0
        while True:
            data = stream.read1(BUFFER_BYTES)
            try:
                yield decoder.decode(data, final=not data).encode()
            except UnicodeError as error:
                problem = str(error)  # no byte order mark, or an escape sequence for half a character
                if isinstance(error, UnicodeDecodeError):
                    problem = f"0x{error.object[error.start]:02x} near byte {size + error.start + 1}"
                raise TreebankError(self.path, 0, f"this is not {self.encoding} ({problem}); see --encoding") from None
            size += len(data)
            if not data:
                return


AnyPath = str | os.PathLike[str] | Source


def _first_bytes(raw: io.BufferedReader, size: int) -> Iterator[bytes]:
    """The next ``size`` bytes of a stream, in chunks."""
    while size and (data := raw.read(min(size, BUFFER_BYTES))):
        size -= len(data)
        yield data


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


#: first bytes of a compressed file -> suffix of such files
MAGIC_BYTES = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\0": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PK\x03\x04": ".zip",
}
COMPRESSED = frozenset(MAGIC_BYTES.values())


class DamagedError(Exception):
    """A compressed file whose content is not what was written."""


DAMAGED = (EOFError, DamagedError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
_ZIP_END_BYTES = 22  # of the record at the end of a zip archive, without its comment
_MANY_ENTRIES = 0xFFFF  # stored in this record for this number of files or more
_FRAME_BYTES = 1 << 10  # of a frame that are decompressed at a time, so that a hostile file does not fill the memory


class ChunkStream(io.RawIOBase):
    """Chunks of bytes from an iterator as a stream."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Copy the next bytes to ``buffer`` and return their number, 0 at the end."""
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def stream_of(chunks: Iterator[bytes], buffer_bytes: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
    """The chunks of an iterator as a buffered stream."""
    return io.BufferedReader(ChunkStream(chunks), buffer_bytes)


def compression(head: bytes) -> str | None:
    """The suffix of the compression that starts with these bytes, or None."""
    return next((suffix for magic, suffix in MAGIC_BYTES.items() if head.startswith(magic)), None)


def decompress(path: str, raw: io.BufferedReader) -> io.BufferedReader:
    """The decompressed stream of a file, or ``raw`` itself if it is not compressed.

    Raises EOFError for an empty file with the suffix of a compression, and TreebankError for any other file whose
    suffix is wrong, for an archive with several files and for a missing package.
    """
    kind = compression(raw.peek(8))
    suffix = os.path.splitext(path.lower())[1]
    if kind is None and suffix in COMPRESSED:
        if not raw.peek(1):
            raise EOFError
        raise TreebankError(path, 0, f"this is not a {suffix} file, in spite of its name")
    if kind is None:
        return raw
    if kind == ".zip":
        return _only_member(path, raw)
    if kind == ".zst":
        try:
            import zstandard as package
        except ImportError:
            raise TreebankError("a .zst file", 0, "reading it takes a package: pip install 'synparse[zstd]'") from None
        return stream_of(_frames(raw, lambda: package.ZstdDecompressor().decompressobj(), package.ZstdError))
    if kind == ".xz":
        return stream_of(_frames(raw, lzma.LZMADecompressor, lzma.LZMAError))
    if kind == ".bz2":
        return stream_of(_frames(raw, bz2.BZ2Decompressor, OSError))
    return cast("io.BufferedReader", gzip.open(raw, "rb"))


def open_zip(file: Any) -> zipfile.ZipFile:
    """The zip archive in a path or a stream, whose list of files is complete.

    Raises BadZipFile if damage renames or hides a file, or if a file cannot be opened.
    """
    archive = zipfile.ZipFile(file)
    entries, stream = archive.infolist(), cast(Any, archive.fp)
    try:
        for entry in entries:  # opening compares the two copies of its name
            archive.open(entry).close()
    except (RuntimeError, NotImplementedError) as error:  # a password, or an unknown compression
        raise zipfile.BadZipFile(str(error)) from None
    stream.seek(-_ZIP_END_BYTES - len(archive.comment), os.SEEK_END)
    count = int.from_bytes(stream.read(_ZIP_END_BYTES)[10:12], "little")
    if count != min(len(entries), _MANY_ENTRIES):
        raise zipfile.BadZipFile(f"{len(entries)} of {count} files are listed")
    return archive


def _only_member(path: str, raw: io.BufferedReader) -> io.BufferedReader:
    """The single file in a zip archive."""
    seekable: Any = raw if raw.seekable() else io.BytesIO(raw.read())
    archive = open_zip(seekable)
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if "[Content_Types].xml" in names or "mimetype" in names:
        raise TreebankError(path, 0, "this is a document of an office program or a book; save it as plain text first")
    if len(names) != 1:
        raise TreebankError(path, 0, f"this archive holds {len(names)} files; unpack it and name those to read")
    return io.BufferedReader(cast(Any, archive.open(names[0])))


def _frames(raw: io.BufferedReader, new: Callable[[], Any], failure: type[Exception]) -> Iterator[bytes]:
    """The decompressed bytes of all frames, each with a ``new`` decompressor, which raises ``failure``.

    Raises EOFError for an incomplete frame, DamagedError for a damaged one and for other content after a frame, which
    the modules of the standard library ignore.
    """
    data = raw.read(_FRAME_BYTES)
    while data:
        frame = new()
        while not frame.eof:
            if not data:
                raise EOFError
            try:
                chunk = frame.decompress(data)
            except failure as error:
                raise DamagedError(str(error)) from None
            yield chunk
            data = b"" if frame.eof else raw.read(_FRAME_BYTES)
        data = frame.unused_data or raw.read(_FRAME_BYTES)
        while data and not data.strip(b"\0"):  # padding of xz
            data = raw.read(_FRAME_BYTES)


_BINARY = {
    b"%PDF": "a PDF file; save it as plain text (UTF-8) first",
    b"{\\rtf": "a rich text file; save it as plain text (UTF-8) first",
    b"\xd0\xcf\x11\xe0": "a document of an office program; save it as plain text (UTF-8) first",
    b"\x89PNG": "a picture; save it as plain text (UTF-8) first",
    b"version https://git-lfs": "a pointer of Git LFS; get the file with git lfs pull",
}
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")


def document_problem(head: bytes) -> str:
    """The error message for a document or picture, by its first bytes, or ""."""
    return next((f"this is {text}" for magic, text in _BINARY.items() if head.startswith(magic)), "")


def is_binary(head: bytes) -> bool:
    """Whether a file is not text in any encoding, by its first bytes."""
    is_text = b"\0" not in head or head.startswith(_BYTE_ORDER_MARKS) or utf16_name(head)
    return bool(document_problem(head)) or not is_text


def utf16_name(data: bytes) -> str:
    """The name of UTF-16 without a byte-order mark if about every other byte is NUL, or ""."""
    pairs = len(data) // 2
    for name, zeros in (("utf-16-le", data[1::2]), ("utf-16-be", data[::2])):
        if pairs > 1 and zeros.count(0) > 0.4 * pairs and data.count(0) < 1.1 * zeros.count(0):
            return name
    return ""
