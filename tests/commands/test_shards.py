"""Parsing in shards by several workers writes the files of one process, despite kills, full disks and bad input."""

from __future__ import annotations

import errno
import gzip
import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from induce.parsing.load import load_parser
from induce.parsing.writer import Job
from induce.shards.batch import MakeEngine, engine_called, parse_into
from induce.shards.output_folder import SHARDS, SHARDS_FOLDER, OutputFolder
from induce.workers.pool import Pool
from tests.support.calls import Caller, toy_text
from tests.support.shards import Deadly, Dying, results, written_by_one_process
from treebank.base.errors import SynparseError
from treebank.io.read import InputOptions

FORK = multiprocessing.get_context("fork")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder ``in`` with a file of four shards, one in a folder of its own that is compressed, and an empty one."""
    folder = tmp_path_factory.mktemp("corpus") / "in"
    (folder / "deep").mkdir(parents=True)
    text = toy_text(100)
    (folder / "a.txt").write_text(text * 12, encoding="utf-8")
    (folder / "deep/b.txt.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "c.txt").touch()
    return folder


@pytest.fixture(scope="module")
def job(trained: Path) -> Job:
    return Job(load_parser(trained / "run", device="cpu"), "brackets", InputOptions())


@pytest.fixture(scope="module")
def expected(source: Path, job: Job, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return written_by_one_process(source, job, tmp_path_factory.mktemp("one"))


def parse(out: Path, source: Path, job: Job, **options: Any) -> int:
    """The sentences that two workers write in small shards."""
    make = options.pop("make", engine_called("processes", 2))
    return parse_into(str(out), [str(source)], job, make, shard_bytes=4_000, **options)


@pytest.mark.parametrize("form", ["brackets", "jsonl"])
def test_the_same_bytes_as_one_process(source: Path, model: Path, tmp_path: Path, form: str) -> None:
    job = Job(load_parser(model, device="cpu"), form, InputOptions())
    parse_into(str(tmp_path / "one"), [str(source)], job)
    assert parse(tmp_path / "out", source, job) == 1300
    assert results(tmp_path / "out") == results(tmp_path / "one")
    assert parse(tmp_path / "out", source, job, resume=True) == 0


def test_the_command(source: Path, model: Path, tmp_path: Path, call: Caller) -> None:
    arguments = ("parse", "-m", model, source / "deep", "--output-dir", tmp_path / "out", "--workers", 2)
    code, out, err = call(*arguments)
    assert (code, out) == (0, "")
    assert "1 of 1 file: " in err
    assert Path(tmp_path / "out/b.txt.gz.trees").read_text("utf-8") == call.result(*arguments[:4])
    assert "not empty; continue with --resume" in call.refusal(*arguments)
    assert "require --output-dir" in call.usage(*arguments[:4], "--workers", 2)


def test_a_text_that_was_parsed_under_another_name_is_refused(job: Job, tmp_path: Path) -> None:
    notes: list[str] = []
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / "in/deep/a.txt").write_text("the cat sat\n")
    (tmp_path / "in/b.txt").write_text("a dog ran\n")
    out, job = tmp_path / "out", replace(job, input_options=InputOptions(notify=notes.append))
    parse_into(str(out), [str(tmp_path / "in/deep")], job)
    with pytest.raises(SynparseError, match=r"would occur twice in .*out; remove .*a\.txt\.trees to continue"):
        parse_into(str(out), [str(tmp_path / "in")], job, resume=True)
    assert notes == [f"{out}: keeps 1 file of earlier calls, such as a.txt.trees"]
    (out / "a.txt.trees").unlink()
    assert parse_into(str(out), [str(tmp_path / "in")], job, resume=True) == 2


def dying(job: Job, deaths: Path) -> MakeEngine:
    return lambda job, folder: Pool(Dying(job, folder, deaths), 2, attempts=100)


def test_workers_die(source: Path, job: Job, expected: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "deaths").mkdir()
    while len(list((tmp_path / "deaths").iterdir())) < 10:
        out = tmp_path / str(time.monotonic_ns())
        assert parse(out, source, job, make=dying(job, tmp_path / "deaths")) == 1300
        assert results(out) == expected


def test_task_that_kills_all_workers_is_named(source: Path, job: Job, tmp_path: Path) -> None:
    def deadly(job: Job, folder: str) -> Pool:
        return Pool(Deadly(job, folder), 1, attempts=3)

    with pytest.raises(SynparseError, match=r"a\.txt:1: 3 worker processes ended with code -9; is the memory"):
        parse(tmp_path / "out", source, job, make=deadly)


def test_the_call_is_killed_and_started_again(
    source: Path, job: Job, expected: dict[str, bytes], tmp_path: Path
) -> None:
    rng, killed, manifest = random.Random(1), 0, tmp_path / "out" / SHARDS
    while True:
        before = manifest.stat().st_size if manifest.exists() else 0
        process = FORK.Process(target=parse, args=(tmp_path / "out", source, job), kwargs={"resume": True})
        process.start()
        while process.exitcode is None and (not manifest.exists() or manifest.stat().st_size == before):
            time.sleep(0.001)  # until a shard is complete
        process.join(0.05 * rng.random() if killed > 1 else 0)  # the first two kills come before the end
        if process.exitcode is not None:
            break
        process.kill()
        process.join()
        killed += 1
    assert killed > 1
    assert process.exitcode == 0
    assert results(tmp_path / "out") == expected
    entries = [json.loads(line) for line in manifest.read_text("utf-8").splitlines()]
    noted = Counter((entry["file"], entry.get("shard")) for entry in entries)
    assert set(noted.values()) == {1}  # no noted shard was parsed twice


def test_killed_call_that_has_joined_a_file_is_resumed(
    source: Path, job: Job, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OutputFolder, "remove_shards", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    process = FORK.Process(target=parse, args=(tmp_path / "out", source, job))
    process.start()
    process.join()
    monkeypatch.undo()
    assert any(tmp_path.glob("out/**/*.trees"))
    manifest = tmp_path / "out" / SHARDS
    manifest.write_bytes(manifest.read_bytes() + b'{"file": "a.t')  # with an incomplete last line
    parse(tmp_path / "out", source, job, resume=True)
    assert results(tmp_path / "out") == expected
    manifest.write_bytes(b"{}\n" + manifest.read_bytes())
    with pytest.raises(SynparseError, match=r"shards\.jsonl:1: this line is damaged"):
        parse(tmp_path / "out", source, job, resume=True)


def test_a_poison_line(job: Job, tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "out"
    text = toy_text(100).encode() * 36
    lines = text.splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3000], b"\xff\n", *lines[3001:]]))
    with pytest.raises(SynparseError, match=r"a\.txt:3001: invalid UTF-8"):
        parse(out, path, job)
    path.write_bytes(text)
    assert 0 < parse(out, path, job, resume=True) < 3600  # the other shards are kept
    parse_into(str(tmp_path / "one"), [str(path)], job)
    assert results(out) == results(tmp_path / "one")
    path.write_bytes(text * 2)
    with pytest.raises(SynparseError, match=r"a\.txt: has changed since .* was written"):
        parse(out, path, job, resume=True)


def test_job_of_two_workers_is_continued_by_this_process(job: Job, tmp_path: Path) -> None:
    """The outputs of shards are removed, also those of an earlier version of the text."""
    path, out = tmp_path / "a.txt", tmp_path / "out"
    path.write_bytes(toy_text(100).encode() * 12 + b"\xff\n")
    with pytest.raises(SynparseError, match="invalid UTF-8"):
        parse(out, path, job)
    assert list((out / SHARDS_FOLDER).iterdir())
    path.write_text(toy_text(20), encoding="utf-8")
    assert parse_into(str(out), [str(path)], job, resume=True) == 20
    assert list(results(out)) == ["a.txt.trees"]
    assert not (out / SHARDS_FOLDER).exists()


def test_malformed_lines_are_left_empty_and_reported(job: Job, tmp_path: Path) -> None:
    path, messages = tmp_path / "a.txt", []
    path.write_bytes(b"a b\n" * 600 + b"\xff\n" + b"a b\n" * 600)
    job = Job(job.parser, "brackets", InputOptions(), on_bad=messages.append)
    assert parse(tmp_path / "out", path, job) == 1201
    assert [str(error)[: len(f"{path}:601")] for error in messages] == [f"{path}:601"]
    assert (tmp_path / "out/a.txt.trees").read_text("utf-8").splitlines()[599:602] == [
        *("(X (W a) (W b))", "", "(X (W a) (W b))")
    ]


def test_a_full_disk(
    source: Path, job: Job, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []

    def full(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device: '"):
        parse(tmp_path / "out", source, job)
    monkeypatch.undo()
    parse(tmp_path / "out", source, job, resume=True)
    assert results(tmp_path / "out") == expected
