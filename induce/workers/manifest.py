"""What a batch of shards has written so far: a line of JSON for each result, so that a call that is broken off goes on.

``synparse-shards.jsonl`` in the folder of results is only ever appended to, by one process, after what it vouches for
is on the disk. A last line without an end was being written when the process was killed, and is dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from induce.workers.shards import Shard
from treebank.base.atomic_write import finish
from treebank.base.errors import SynparseError, placed
from treebank.base.json_text import parse_json

NAME = "synparse-shards.jsonl"


@dataclass(frozen=True)
class Result:
    """What was written of one shard, or of a whole file: its digest, and how many sentences it holds."""

    sentences: int
    bytes: int
    sha256: str

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Result:
        """From a line of the manifest."""
        return cls(int(entry["sentences"]), int(entry["bytes"]), str(entry["sha256"]))


class Manifest:
    """The results in ``folder``. Raises SynparseError for a manifest that is damaged."""

    def __init__(self, folder: str) -> None:
        self.folder, self.path = folder, Path(folder) / NAME
        self._shards: dict[tuple[str, str], Result] = {}
        self._files: dict[str, tuple[str, Result]] = {}  # name -> digest of its text, result
        if self.path.exists():
            self._read()

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = parse_json(line)
                if "shard" in entry:
                    self._shards[entry["file"], entry["shard"]] = Result.of(entry)
                else:
                    self._files[entry["file"]] = (str(entry["text"]), Result.of(entry))
            except (ValueError, KeyError, TypeError) as error:
                problem = f"this line is none of a manifest ({error}); remove the file to parse everything anew"
                raise SynparseError(f"{self.path}:{number}: {problem}") from None
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))

    def shard(self, file: str, shard: Shard) -> Result | None:
        """What was written of a shard for the result ``file``, if that is so and still as it was written."""
        result = self._shards.get((file, shard.key))
        path = shard_path(self.folder, file, shard)
        if result is None or not os.path.exists(path) or os.path.getsize(path) != result.bytes:
            return None
        with open(path, "rb") as stream:
            return result if hashlib.file_digest(stream, "sha256").hexdigest() == result.sha256 else None

    def text_of(self, file: str) -> str | None:
        """The digest of the text of which the result ``file`` was written; None if nothing is known of it."""
        return self._files[file][0] if file in self._files else None

    def add_shard(self, file: str, shard: Shard, result: Result) -> None:
        """Note that a shard is on the disk."""
        self._shards[file, shard.key] = result
        self._append({"file": file, "shard": shard.key, **asdict(result)})

    def add_file(self, file: str, text: str, result: Result) -> None:
        """Note that the result ``file`` is on the disk, written of a text with the digest ``text``."""
        self._files[file] = (text, result)
        self._append({"file": file, "text": text, **asdict(result)})

    def _append(self, entry: dict[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=True).encode("ascii") + b"\n"
        with placed(self.path), self.path.open("ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())


def shard_path(folder: str, file: str, shard: Shard) -> str:
    """Where what is written of a shard for the result ``file`` lies until that is whole."""
    return os.path.join(folder, f"{file}.shards", shard.key)


def join(folder: str, file: str, shards: Sequence[Shard], results: Sequence[Result]) -> Result:
    """Write the result ``file`` of its shards, one after the other, and rename it when all of it is on the disk.

    Raises SynparseError for a shard that is not what was written.
    """
    target = os.path.join(folder, file)
    whole = hashlib.sha256()
    size = 0
    with placed(target), open(f"{target}.part", "wb") as stream:
        for shard, result in zip(shards, results, strict=True):
            digest = hashlib.sha256()
            path = shard_path(folder, file, shard)
            with open(path, "rb") as source:
                while data := source.read(1 << 20):
                    digest.update(data)
                    whole.update(data)
                    stream.write(data)
                    size += len(data)
            if digest.hexdigest() != result.sha256:
                raise SynparseError(f"{path}: this is not what was written; go on with --resume to write it anew")
    finish(f"{target}.part", target)
    return Result(sum(result.sentences for result in results), size, whole.hexdigest())
