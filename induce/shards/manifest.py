"""Manifest of an output folder: one record for each shard, so that an interrupted call can be resumed.

``synparse-shards.jsonl`` is only appended to, by one process, after the output of the shard has its final name. Neither
is synced: after a power failure, a shard whose output or record is missing or damaged is parsed again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from induce.parsing.output_batch import SHARDS_SUFFIX
from induce.shards.shard import Shard
from treebank.base.errors import SynparseError, placed
from treebank.base.files import copy_with_digest, digest_file
from treebank.base.metadata import append_records, read_records

NAME = "synparse-shards.jsonl"


@dataclass(frozen=True)
class Result:
    """Size and digest of the output of one shard."""

    sentences: int
    bytes: int
    digest: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A record of the manifest: the output of a shard for the output ``file``."""

    file: str
    shard: str
    result: Result


class Manifest:
    """The results in ``folder``. Raises SynparseError if the manifest is damaged."""

    def __init__(self, folder: str) -> None:
        self.folder, self.path = folder, Path(folder) / NAME
        entries = read_records(self.path, Entry, remedy="remove the file to parse everything again")
        self._shards = {(entry.file, entry.shard): entry.result for entry in entries}

    def result(self, file: str, shard: Shard) -> Result | None:
        """The output of a shard for the file ``file``, if it was written and is unchanged."""
        result = self._shards.get((file, shard.key))
        path = shard_path(self.folder, file, shard)
        if result is None or not os.path.exists(path) or os.path.getsize(path) != result.bytes:
            return None
        return result if digest_file(path) == result.digest else None

    def add(self, file: str, shard: Shard, result: Result) -> None:
        """Record that the output of a shard is complete."""
        append_records(self.path, [Entry(file=file, shard=shard.key, result=result)], synced=False)


def shard_path(folder: str, file: str, shard: Shard) -> str:
    """The path of the output of a shard until the output ``file`` is complete."""
    return os.path.join(folder, file + SHARDS_SUFFIX, shard.key)


def join(folder: str, file: str, shards: Sequence[Shard], results: Sequence[Result], part: str) -> None:
    """Write the output ``file`` from those of its shards, under the temporary name ``part``.

    Raises SynparseError if the output of a shard has changed.
    """
    with placed(os.path.join(folder, file)), open(part, "wb") as stream:
        for shard, result in zip(shards, results, strict=True):
            path = shard_path(folder, file, shard)
            with open(path, "rb") as source:
                digest = copy_with_digest(source, stream)
            if digest != result.digest:
                raise SynparseError(f"{path}: has changed since it was written; write it again with --resume")
