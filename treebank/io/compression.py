"""Decompression of gzip, bzip2, xz, Zstandard and zip files, recognized by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, cast

from treebank.base.errors import TreebankError

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
        package = _zstandard()
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


def _zstandard() -> Any:
    """The package. Raises TreebankError if it is missing."""
    try:
        import zstandard
    except ImportError:
        raise TreebankError("a .zst file", 0, "reading it takes a package: pip install 'synparse[zstd]'") from None
    return zstandard
