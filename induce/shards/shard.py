"""A file of text cut at line ends into shards, each of which is parsed separately with the same result.

A shard stores the number of its first line and the number of characters before it, so that the output for a sentence
does not depend on the cuts. If each line is a sentence, the file is cut only where a single process would begin a new
block of sentences: each worker then reads the same blocks and computes the same numbers to the last bit.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from induce.parsing.parser import block_of
from treebank.base.errors import SynparseError, TreebankError
from treebank.base.files import digest_bytes, digest_file
from treebank.io.lines import report_damage
from treebank.io.read import InputOptions, is_plain_text
from treebank.io.source import AnyPath, Source, compression
from treebank.tokenize import NONE

SHARD_BYTES = 1 << 21  # about ten seconds of work for a small model
CHUNK = 1 << 20  # bytes that are read at once


@dataclass(frozen=True)
class Shard:
    """A part of a text file that one worker parses: complete lines, from byte ``start`` to before byte ``end``.

    If ``whole`` is true, the shard is an undivided file, such as a treebank, a compressed file or a pipe.
    """

    path: str
    number: int  # in its file, from 0
    start: int
    end: int
    line: int  # number of its first line, from 1
    characters: int  # of the file before it
    sha256: str  # of these bytes
    whole: bool = False

    @property
    def key(self) -> str:
        """Name that differs whenever the output for the shard may differ."""
        content = f"{self.line} {self.characters} {self.whole} {self.sha256}"
        return f"{self.number:06d}-{digest_bytes(content.encode())[:16]}"

    @property
    def source(self) -> AnyPath:
        """The input of a reader. Raises SynparseError if the file has changed."""
        if self.whole:
            return self.path
        source = Source(self.path, start=self.start, end=self.end, line=self.line, characters=self.characters)
        try:
            with source.open() as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except (FileNotFoundError, TreebankError):
            digest = ""
        if digest != self.sha256:
            raise changed(self.path)
        return source


def changed(path: str) -> SynparseError:
    """Error for a file that was changed during parsing."""
    return SynparseError(f"{path}: this file was changed while it was being parsed; continue with --resume")


def shards_of(path: str, options: InputOptions, *, size: int, cut: bool = True) -> Iterator[Shard]:
    """Shards of a file of about ``size`` bytes each, in order, or a single one if the file cannot be cut.

    Files that cannot be cut are pipes, compressed files, files that are not plain text in UTF-8, files that are read in
    paragraphs, and all files if ``cut`` is false. Raises TreebankError if the file cannot be read.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe or device, which can be read only once
        yield Shard(path, 0, 0, 0, 1, 0, "", whole=True)
        return
    with report_damage(path):
        with open(path, "rb") as stream:
            is_compressed = compression(stream.read(8)) is not None
        whole = not cut or options.paragraphs or options.encoding or is_compressed
        if whole or not is_plain_text(path, options):
            yield Shard(path, 0, 0, os.path.getsize(path), 1, 0, digest_file(path), whole=True)
        else:
            yield from _cut(path, size, options.tokenize in ("", NONE))


def _cut(path: str, size: int, by_blocks: bool) -> Iterator[Shard]:
    """Shards of a plain text, in one pass over its bytes."""
    current = _OpenShard(path)
    for data in chunks_of(path):
        ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")) + 1
        lines = range(current.lines + 1, current.lines + 1 + len(ends))  # lines of the file up to each end
        begun, used = current.end, 0
        for number in block_ends(lines) if by_blocks else lines:
            cut = int(ends[number - lines.start])
            if begun + cut - current.start >= size:
                current.take(data[used:cut])
                used = cut
                yield current.finish(number)
        current.take(data[used:])
        current.lines += len(ends)
    if current.end > current.start or not current.number:
        yield current.finish(current.lines)


def chunks_of(path: str) -> Iterator[bytes]:
    """Bytes of a file in chunks."""
    with open(path, "rb") as stream:
        while data := stream.read(CHUNK):
            yield data


def block_ends(lines: range) -> list[int]:
    """The numbers among ``lines`` after which a single process begins a new block of sentences."""
    before, size = block_of(lines.start - 1)
    numbers = []
    while (before := before + size) < lines.stop:
        numbers.append(before)
        size = block_of(before)[1]
    return numbers


class _OpenShard:
    """The shard that is being cut: its lines, bytes and digest since the end of the previous shard."""

    def __init__(self, path: str) -> None:
        self.path, self.number, self.lines = path, 0, 0
        self.start = self.end = 0
        self.line, self.characters, self.before = 1, 0, 0
        self.digest = hashlib.sha256()

    def take(self, data: bytes) -> None:
        """Append ``data`` to the shard, and count its characters."""
        self.digest.update(data)
        self.end += len(data)
        self.characters += int(np.count_nonzero((np.frombuffer(data, dtype=np.uint8) & 0xC0) != 0x80))

    def finish(self, lines: int) -> Shard:
        """Close the shard after this number of ``lines`` of the file, and return it."""
        shard = Shard(self.path, self.number, self.start, self.end, self.line, self.before, self.digest.hexdigest())
        self.number, self.start, self.line, self.before = self.number + 1, self.end, lines + 1, self.characters
        self.digest = hashlib.sha256()
        return shard
