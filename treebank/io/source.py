"""One input: a file or standard input, with its encoding and the byte range that is read."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from treebank.base.errors import TreebankError
from treebank.io.compression import DAMAGED, decompress, stream_of
from treebank.io.streams import BUFFER_BYTES, STDIN, peek, reads_once, take_stream


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
