"""Whose a folder of parsed files is: one batch at a time, made with one model, of texts that stay the same.

``synparse-batch.json`` says what the files are made with, and names them in the order of their texts.
``synparse-texts.jsonl`` has the digest of each text, noted before the first line of its file is written, and is only
ever appended to; a last line without an end was being written when the process was killed, and is dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from induce.storage.lock import NAME as LOCK
from induce.storage.lock import RunLock
from treebank.base.atomic_write import PART, write_whole
from treebank.base.errors import SynparseError, placed
from treebank.base.json_text import parse_json
from treebank.io.parsed_folder import FILES, NOTE

JOB = NOTE
TEXTS = "synparse-texts.jsonl"


class Claim:
    """A folder that this batch alone writes to, until ``lock`` is released."""

    def __init__(self, folder: str, lock: RunLock) -> None:
        """Raises SynparseError if what is noted of the texts is damaged."""
        self.folder, self.lock = folder, lock
        self._path = Path(folder, TEXTS)
        self._digests: dict[str, str] = {}  # name of a file below the folder -> digest of its text
        if self._path.exists():
            self._read()

    def _read(self) -> None:
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = parse_json(line)
                self._digests[entry["file"]] = str(entry["sha256"])
            except (ValueError, KeyError, TypeError):
                problem = "this line is damaged; remove the file if the texts are the same as when the batch was begun"
                raise SynparseError(f"{self._path}:{number}: {problem}") from None
        if len(whole) < len(content):
            os.truncate(self._path, len(whole))

    def check(self, text: str, file: str, *, begun: bool) -> None:
        """Note of which text ``file`` is written. What is no file but a pipe, say, has no digest.

        Raises SynparseError if the file is ``begun`` or whole, and its text has changed since.
        """
        known = self._digests.get(file)
        if not os.path.isfile(text) or (begun and known is None):  # begun by a version that noted nothing
            return
        with placed(text), open(text, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if begun and digest != known:
            target = os.path.join(self.folder, file)
            problem = f"has changed since {target} was begun; remove that, and its .part, to parse it anew"
            raise SynparseError(f"{text}: {problem}")
        if digest != known:
            self._note(file, digest)

    def _note(self, file: str, digest: str) -> None:
        line = json.dumps({"file": file, "sha256": digest}).encode("ascii") + b"\n"
        with placed(self._path), open(self._path, "ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
        self._digests[file] = digest


@contextmanager
def claimed(folder: str, facts: dict[str, Any], files: Sequence[str], resume: bool) -> Iterator[Claim]:
    """Within, no other batch writes to the folder, which is made, and holds a note of what its files are made with.

    ``files`` are the paths of those that are to be there, in the order of their texts; what is there stays noted.
    Raises SynparseError if another batch writes to it, or has written what is there.
    """
    lock = RunLock(Path(folder), "batch")
    try:
        _claim(folder, facts, [os.path.relpath(path, folder) for path in files], resume)
        yield Claim(folder, lock)
    finally:
        lock.release()


def _claim(folder: str, facts: dict[str, Any], files: list[str], resume: bool) -> None:
    note = os.path.join(folder, JOB)
    if all(name == LOCK or (name.startswith(JOB) and PART.search(name)) for name in os.listdir(folder)):
        _write(note, facts, files)
        return
    if not resume:
        raise SynparseError(f"{folder}: this folder is not empty; go on with --resume, or name another one")
    try:
        before = dict(parse_json(Path(note).read_bytes()))
        known = [str(name) for name in before.pop(FILES, [])]
    except (OSError, ValueError, TypeError):
        raise SynparseError(
            f"{folder}: no batch was begun here that could be gone on with ({JOB} is missing or damaged)"
        ) from None
    differing = [name for name in facts if before.get(name, facts[name]) != facts[name]]
    if differing:
        name = differing[0]
        raise SynparseError(f"{folder}: was begun with {name} {before.get(name)!r}, not {facts[name]!r}")
    wanted = set(files)
    kept = [name for name in known if name in wanted or os.path.exists(os.path.join(folder, name))]
    named = kept if wanted <= set(kept) else [*(name for name in kept if name not in wanted), *files]
    if named != known:
        _write(note, before, named)


def _write(note: str, facts: dict[str, Any], files: list[str]) -> None:
    write_whole(note, json.dumps({**facts, FILES: files}, indent=2).encode())
