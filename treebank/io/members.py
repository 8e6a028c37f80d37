"""Compressed files as their members: gzip and Zstandard files may be several, one behind the other.

`bgzip` and `pzstd` write such files, and so does `cat`. A member can be unpacked without those before it.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from treebank.base.errors import TreebankError


class DamagedError(Exception):
    """A compressed file that is not what was written."""


class _Kind(NamedTuple):
    at_a_time: int  # bytes that are unpacked in one go: those of a hostile file must not fill the memory
    decompressor: Callable[[], Any]
    problem: Callable[[], type[Exception]]


KINDS = {
    ".gz": _Kind(1 << 15, lambda: zlib.decompressobj(31), lambda: zlib.error),
    ".zst": _Kind(1 << 10, lambda: zstandard().ZstdDecompressor().decompressobj(), lambda: zstandard().ZstdError),
}


def unpacked(stream: io.BufferedReader, kind: str, place: int = 0) -> Iterator[tuple[int, bytes]]:
    """What ``stream`` holds from byte ``place`` of its file on, piece by piece, each with the place of its member.

    Raises EOFError for a file that ends within a member, DamagedError for one that is not what was written.
    """
    source = _Source(stream, KINDS[kind].at_a_time, place)
    problem = KINDS[kind].problem()
    while data := source.take():
        if kind == ".gz":
            data = data.lstrip(b"\0")  # which some programs write behind the last member
            if not data:
                continue
        begin, member = source.place - len(data), KINDS[kind].decompressor()
        while True:
            try:
                piece = member.decompress(data)
            except problem as error:
                raise DamagedError(str(error)) from None
            if piece:
                yield begin, piece
            if member.eof:
                break
            data = source.take()
            if not data:
                raise EOFError
        source.rest = member.unused_data


class _Source:
    """The bytes of a stream, some at a time; ``rest`` are those that were taken and not used."""

    def __init__(self, stream: io.BufferedReader, size: int, place: int) -> None:
        self.stream, self.size, self.place, self.rest = stream, size, place, b""

    def take(self) -> bytes:
        """The next bytes, up to ``place`` of the file; none at its end."""
        data, self.rest = self.rest, b""
        if not data:
            data = self.stream.read(self.size)
            self.place += len(data)
        return data


def open_zstandard(stream: io.BufferedReader, mode: str = "rb") -> io.BufferedReader:
    """The bytes of all frames. Raises EOFError in the end if the last one is not whole."""
    pieces: Any = _Pieces(data for _, data in unpacked(stream, ".zst"))
    return io.BufferedReader(pieces)


def zstandard() -> Any:
    """The package. Raises TreebankError if it is missing."""
    try:
        import zstandard
    except ImportError:
        raise TreebankError("a .zst file", 0, "reading it takes a package: pip install 'synparse[zstd]'") from None
    return zstandard


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._ready = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._ready = self._ready or next(self._pieces, b"")
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size
