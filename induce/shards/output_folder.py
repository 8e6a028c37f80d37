"""Output folder of a parsing job: its lock, the texts and shards that it has records of, and its complete files.

``synparse-batch.json`` names the model, its options and the output files in the order of their texts.
``synparse-texts.jsonl`` has the digest of each text, recorded before the first line of its output is written.
``synparse-shards.jsonl`` has a record of each shard whose output is complete; one process appends to it.
Outputs and records of shards are not synced: after a power failure, a shard whose output or record is missing or
damaged is parsed again. Complete files are synced together, because waiting for the disk takes longer than parsing a
short text.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from induce.shards.shard import Shard
from induce.storage.outputs import LOCK, RunLock
from treebank.base.errors import SynparseError, placed
from treebank.base.files import PART, copy_with_digest, digest_bytes, digest_file, finish_all
from treebank.base.metadata import append_records, read_records, write_metadata
from treebank.io.read import BATCH_NOTE, NOTE_FORMAT, BatchNote, read_note

TEXTS, SHARDS = "synparse-texts.jsonl", "synparse-shards.jsonl"
SHARDS_FOLDER = "synparse-shards"  # outputs of shards of incomplete files; one folder, because many files are short

# limits of a group of files that are recorded or synced together, so that a kill or a power failure costs little work
MAX_FILES = 256
MAX_BYTES = 1 << 20  # of input for records, of output for files


@dataclass(frozen=True)
class TextRecord:
    """The digest of the text from which an output file is written."""

    file: str
    text: str


@dataclass(frozen=True)
class ShardResult:
    """Size and digest of the output of one shard."""

    sentences: int
    bytes: int
    digest: str


@dataclass(frozen=True, kw_only=True)
class ShardRecord:
    """The result of a shard for the output ``file``."""

    file: str
    shard: str
    result: ShardResult


class OutputFolder:
    """A folder that only this job writes to, locked until the end of its context."""

    def __init__(self, folder: str, facts: Mapping[str, Any], names: Mapping[str, str], *, resume: bool) -> None:
        """Lock the folder, which is created, and note the ``facts`` of the job and its files.

        ``names`` maps the path of each text to the name of its output in the folder. Raises SynparseError if another
        job writes to the folder or has written the files in it, and if the records are damaged.
        """
        self.folder, self.names = folder, names
        self._lock = RunLock(Path(folder), "batch")
        try:
            self.earlier_files = self._write_note(dict(facts), resume)
            remedy = "remove the file if the texts are the same as when the job was begun"
            texts = read_records(Path(folder, TEXTS), TextRecord, remedy=remedy)
            self._texts = {record.file: record.text for record in texts}
            self._earlier_texts = {self._texts[name]: name for name in self.earlier_files if name in self._texts}
            shards = read_records(Path(folder, SHARDS), ShardRecord, remedy="remove the file to parse everything again")
            self._shards = {(record.file, record.shard): record.result for record in shards}
        except BaseException:
            self._lock.release()
            raise
        self._complete: dict[str, str] = {}  # complete file under a temporary name -> its path
        self._callbacks: list[Callable[[], None]] = []
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            self._finish()
            if error is None:  # everything is complete
                shutil.rmtree(os.path.join(self.folder, SHARDS_FOLDER), ignore_errors=True)
                for path in Path(self.folder).glob(f"{BATCH_NOTE}.*.part"):  # which a kill left behind
                    path.unlink(missing_ok=True)
        finally:
            self._lock.release()

    def _write_note(self, facts: dict[str, Any], resume: bool) -> list[str]:
        """Write the note, and return the names of the files of earlier calls that do not belong to this one."""
        folder, files, path = self.folder, list(self.names.values()), os.path.join(self.folder, BATCH_NOTE)
        if all(name == LOCK or (name.startswith(BATCH_NOTE) and PART.search(name)) for name in os.listdir(folder)):
            write_metadata(path, BatchNote(files=tuple(files), job=facts), NOTE_FORMAT)
            return []
        if not resume:
            raise SynparseError(f"{folder}: this folder is not empty; continue with --resume, or name another one")
        note = read_note(folder, "nothing can be resumed; name another folder")
        for name in facts:
            if note.job.get(name, facts[name]) != facts[name]:
                raise SynparseError(f"{folder}: was begun with {name} {note.job.get(name)!r}, not {facts[name]!r}")
        current = set(files)
        names = [name for name in note.files if name in current or os.path.exists(os.path.join(folder, name))]
        if not current <= set(names):
            names = [*(name for name in names if name not in current), *files]
        if names != list(note.files):
            write_metadata(path, replace(note, files=tuple(names)), NOTE_FORMAT)
        return [name for name in names if name not in current]

    def texts(self) -> Iterator[tuple[str, str]]:
        """The path of each text and the name of its output, after the digest of the text is recorded.

        A pipe or device ends its group. Raises SynparseError if a text has changed since its output was written, and if
        an earlier call has parsed it under another name.
        """
        group: dict[str, str] = {}
        size = 0
        for path, name in self.names.items():
            group[path] = name
            size += os.path.getsize(path) if os.path.isfile(path) else MAX_BYTES
            if len(group) == MAX_FILES or size >= MAX_BYTES:
                self._record_texts(group)
                yield from group.items()
                group, size = {}, 0
        self._record_texts(group)
        yield from group.items()

    def _record_texts(self, group: Mapping[str, str]) -> None:
        records = []
        for path, name in group.items():
            recorded, is_written = self._texts.get(name), self.is_written(name)
            if not os.path.isfile(path) or (is_written and recorded is None):
                continue
            digest = digest_file(path)
            if is_written and digest != recorded:
                problem = f"has changed since {os.path.join(self.folder, name)} was written"
                raise SynparseError(f"{path}: {problem}; remove that to parse it again")
            if (earlier := self._earlier_texts.get(digest)) and os.path.getsize(path):
                problem = f"was parsed under another name in an earlier call, and would occur twice in {self.folder}"
                raise SynparseError(f"{path}: {problem}; remove {os.path.join(self.folder, earlier)} to continue")
            if digest != recorded:
                records.append(TextRecord(name, digest))
        append_records(Path(self.folder, TEXTS), records)
        self._texts.update((record.file, record.text) for record in records)

    def is_written(self, name: str) -> bool:
        """Whether an output file is complete."""
        return os.path.exists(os.path.join(self.folder, name))

    def result(self, name: str, shard: Shard) -> ShardResult | None:
        """The output of a shard for the file ``name``, if it was written and is unchanged."""
        result = self._shards.get((name, shard.key))
        path = shard_path(self.folder, name, shard)
        if result is None or not os.path.exists(path) or os.path.getsize(path) != result.bytes:
            return None
        return result if digest_file(path) == result.digest else None

    def add_result(self, name: str, shard: Shard, result: ShardResult) -> None:
        """Record that the output of a shard is complete."""
        record = ShardRecord(file=name, shard=shard.key, result=result)
        append_records(Path(self.folder, SHARDS), [record], synced=False)

    def complete(self, name: str, results: Mapping[Shard, ShardResult], then: Callable[[], None]) -> None:
        """Join the outputs of all shards of the file ``name``, which is renamed with others of its group.

        ``then`` is called when it is on the disk. Raises SynparseError if the output of a shard has changed.
        """
        target = os.path.join(self.folder, name)
        paths = {shard_path(self.folder, name, shard): result for shard, result in results.items()}
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if len(paths) == 1:
            part = next(iter(paths))
        else:
            part = f"{next(iter(paths))}.joined"
            with placed(target), open(part, "wb") as stream:
                for path, result in paths.items():
                    with open(path, "rb") as source:
                        digest = copy_with_digest(source, stream)
                    if digest != result.digest:
                        raise SynparseError(f"{path}: has changed since it was written; write it again with --resume")

        self._complete[part] = target
        self._callbacks += [partial(self.remove_shards, [path for path in paths if path != part]), then]
        self._bytes += os.path.getsize(part)
        if len(self._complete) == MAX_FILES or self._bytes >= MAX_BYTES:
            self._finish()

    def _finish(self) -> None:
        """Give the complete files their names when they are on the disk."""
        files, callbacks = self._complete, self._callbacks
        self._complete, self._callbacks, self._bytes = {}, [], 0
        finish_all(files)
        for then in callbacks:
            then()

    def remove_shards(self, paths: Sequence[str]) -> None:
        """Remove the outputs of the shards of a complete file."""
        for path in paths:
            with suppress(FileNotFoundError):
                os.unlink(path)


def shard_path(folder: str, name: str, shard: Shard) -> str:
    """The path of the output of a shard until the output file ``name`` is complete."""
    return os.path.join(folder, SHARDS_FOLDER, f"{digest_bytes(os.fsencode(name))[:16]}-{shard.key}")
