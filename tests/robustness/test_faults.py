"""Each file operation fails once: every result is complete, or the failure is reported."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli import output
from induce.shards import batch, output_folder
from induce.shards.batch import parse_into
from tests.support.file_faults import Faults, Killed
from treebank.base.errors import SynparseError
from treebank.base.files import PART
from treebank.io import source
from treebank.io.read import BATCH_NOTE, DEFAULT_INPUT, InputOptions, read_sentences
from treebank.io.source import Source

LINES = [f"(X (W line) (W {number}))" for number in range(40)]


class FaultyFile(io.FileIO):
    """A file whose reads and writes are counted and limited to a few bytes each."""

    faults: Faults

    def write(self, data: Any) -> int:
        self.faults.next()
        return super().write(bytes(data[:64]))

    def readinto(self, buffer: Any) -> int:
        self.faults.next()
        return super().readinto(memoryview(buffer)[:256]) or 0


def faulty(faults: Faults, file: Any, mode: str) -> Any:
    raw = FaultyFile(file, mode)
    raw.faults = faults
    return io.BufferedWriter(raw, 64) if mode in ("wb", "ab") else io.BufferedReader(raw, 256)


def written(target: Path, at: int) -> tuple[int, bool]:
    """Number of operations of one output, where operation ``at`` fails, and whether the output succeeded."""
    faults = Faults(at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fdopen", lambda descriptor, mode: faulty(faults, descriptor, mode))
        faults.watch(patch, os, "open", "fchmod", "fsync", "replace")
        try:
            with output.open_output(str(target)) as write:
                for line in LINES:
                    write(line)
        except OSError:
            return faults.count, False
    return faults.count, True


@pytest.mark.parametrize("name", ["trees.txt", "trees.txt.gz"])
@pytest.mark.parametrize("old", [b"older", None], ids=["replaced", "new"])
def test_every_operation_of_an_output_fails_once(tmp_path: Path, name: str, old: bytes | None) -> None:
    def start(number: int) -> Path:
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "mine.part").write_bytes(b"mine")
        if old:
            (tmp_path / str(number) / name).write_bytes(old)
        return tmp_path / str(number) / name

    target = start(0)
    points, done = written(target, 0)
    assert (done, points > 5) == (True, True)
    text = gzip.decompress(target.read_bytes()) if name.endswith(".gz") else target.read_bytes()
    assert text.decode().splitlines() == LINES
    for at in range(1, points + 1):
        target = start(at)
        assert not written(target, at)[1], "the failure is not reported"
        left = {path.name: path.read_bytes() for path in target.parent.iterdir()}
        assert left.pop("mine.part") == b"mine"
        named = left.pop(name, None)
        assert named == old or (at > points - 2 and named)  # the file is complete if only its folder fails
        assert len(left) <= 1
        if not name.endswith(".gz"):
            assert all(text.startswith(part) for part in left.values())


@dataclass(frozen=True)
class Job:
    """A job with the methods that `parse_into` calls, whose output is the text in brackets."""

    input_options: InputOptions = DEFAULT_INPUT
    form, on_bad, parser = "brackets", None, SimpleNamespace(processes=1)

    def facts(self) -> dict[str, Any]:
        return {"model": "none"}

    def lines(self, sources: list[Source], **_: Any) -> Iterator[str]:
        with sources[0].open() as stream:
            yield from (f"(X {line.decode().rstrip()})" for line in stream)


def batched(folder: Path, faults: Faults) -> None:
    """Parse a batch of two files, one of which has two shards, in which an operation fails, and resume it."""

    def opened(path: str, mode: str, **_: Any) -> Any:
        return faulty(faults, path, mode)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fdopen", lambda descriptor, mode: faulty(faults, descriptor, mode))
        for module in (batch, output_folder):
            patch.setattr(module, "open", opened, raising=False)
        faults.watch(patch, os, "open", "fsync", "replace", "makedirs")
        texts = [str(folder / "a.txt"), str(folder / "b.txt")]
        parse_into(str(folder / "out"), texts, Job(), resume=True, shard_bytes=1)


@pytest.mark.parametrize("kind", [OSError, Killed])
def test_every_operation_of_a_batch_fails_once(tmp_path: Path, kind: type[BaseException]) -> None:
    """No tree is lost or written twice if an operation fails, also in a resumed batch."""
    whole = {}
    for name, count in (("a", 30), ("b", 5)):
        lines = [f"{name} {number}" for number in range(count)]
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
        whole[f"{name}.txt.trees"] = "".join(f"(X {line})\n" for line in lines)
    faults = Faults(0)
    batched(tmp_path, faults)
    assert faults.count > 30
    for at in range(1, faults.count + 1):
        shutil.rmtree(tmp_path / "out")
        for number in (at, 1 + at // 2, 0):
            with suppress(OSError, Killed):
                batched(tmp_path, Faults(number, kind))
        left = {path.name: path.read_text() for path in (tmp_path / "out").iterdir() if not PART.search(path.name)}
        note = json.loads(left.pop(BATCH_NOTE))
        assert (note["job"], note["files"]) == ({"model": "none"}, list(whole))
        assert len(left.pop(output_folder.TEXTS).splitlines()) == 2
        assert len(left.pop(output_folder.SHARDS).splitlines()) >= 3
        left.pop(".synparse-lock", None)  # of a process that has ended
        assert left == whole


TREE = "( (S (NP-SBJ (DT The) (NN dog)) (VP (VBD ran))) )\n"
ROWS = "1\tThe\t_\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
CORPORA = {
    "a.txt": "The dog ran .\n",
    "a.mrg": TREE,
    "a.conllu": ROWS,
    "a.jsonl": '{"words": ["The", "dog"], "spans": [[0, 2]]}\n',
}


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("name", CORPORA)
def test_every_operation_of_a_reading_fails_once(tmp_path: Path, name: str, packed: str) -> None:
    """Sentences before the failure are correct, and the error names the file instead of ending it early."""
    data = "".join(CORPORA[name] for _ in range(200)).encode()
    path = tmp_path / (name + packed)
    path.write_bytes(gzip.compress(data, 0) if packed else data)

    def read(at: int) -> tuple[int, list[tuple[str, ...]], str]:
        faults, sentences = Faults(at), []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(source, "open", lambda path, mode, **_: faulty(faults, path, mode), raising=False)
            try:
                for sentence in read_sentences([str(path)]):
                    sentences.append(sentence.words)
            except SynparseError as error:
                return faults.count, sentences, str(error)
        return faults.count, sentences, ""

    points, whole, message = read(0)
    assert (len(whole), message) == (200, "")
    assert points > 10
    for at in range(1, points + 1, max(1, points // 20)):
        _, sentences, message = read(at)
        assert sentences == whole[: len(sentences)]
        assert message == f"{path}: cannot be read: input/output error" or sentences == whole  # the read was repeated
