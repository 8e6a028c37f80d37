"""Lock and provenance of an output folder: one job at a time, with one model, on unchanged texts.

``synparse-batch.json`` names the model, its options and the output files in the order of their texts.
``synparse-texts.jsonl`` has the digest of each text, recorded before the first line of its output is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from induce.storage.run_folder import LOCK, RunLock
from treebank.base.errors import SynparseError
from treebank.base.files import PART, digest_file
from treebank.base.metadata import append_records, read_records, write_metadata
from treebank.io.parsed_folder import FORMAT, NOTE, BatchNote, read_note

TEXTS = "synparse-texts.jsonl"


@dataclass(frozen=True)
class TextRecord:
    """The digest of the text from which an output file is written."""

    file: str
    text: str


class OutputFolder:
    """A folder that only this job writes to."""

    def __init__(self, folder: str) -> None:
        """Raises SynparseError if the records of the texts are damaged."""
        self.folder = folder
        self._path = Path(folder, TEXTS)
        remedy = "remove the file if the texts are the same as when the job was begun"
        self._digests = {record.file: record.text for record in read_records(self._path, TextRecord, remedy=remedy)}

    def check(self, names: Mapping[str, str], is_begun: Callable[[str], bool]) -> None:
        """Record the texts from which files are written, except for example pipes. ``names`` maps texts to files.

        Raises SynparseError if a file is begun or complete, and its recorded text has changed since.
        """
        records = []
        for text, file in names.items():
            recorded, begun = self._digests.get(file), is_begun(file)
            if not os.path.isfile(text) or (begun and recorded is None):
                continue
            digest = digest_file(text)
            if begun and digest != recorded:
                target = os.path.join(self.folder, file)
                problem = f"has changed since {target} was begun; remove that, and its .part, to parse it again"
                raise SynparseError(f"{text}: {problem}")
            if digest != recorded:
                records.append(TextRecord(file, digest))
        append_records(self._path, records)
        self._digests.update((record.file, record.text) for record in records)


@contextmanager
def locked_output(folder: str, facts: dict[str, Any], files: Sequence[str], resume: bool) -> Iterator[OutputFolder]:
    """Hold the lock of an output folder, which is created, with a note of ``facts`` and of the ``files`` to write.

    ``files`` are names in the folder, in the order of their texts; existing files stay in the note. Raises
    SynparseError if another job writes to the folder, or has written the files in it.
    """
    lock = RunLock(Path(folder), "batch")
    try:
        _write_note(folder, facts, files, resume)
        yield OutputFolder(folder)
    finally:
        lock.release()


def _write_note(folder: str, facts: dict[str, Any], files: Sequence[str], resume: bool) -> None:
    if all(name == LOCK or (name.startswith(NOTE) and PART.search(name)) for name in os.listdir(folder)):
        _write(folder, BatchNote(files=tuple(files), job=facts))
        return
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
        _write(folder, replace(note, files=tuple(names)))


def _write(folder: str, note: BatchNote) -> None:
    write_metadata(os.path.join(folder, NOTE), note, FORMAT)
