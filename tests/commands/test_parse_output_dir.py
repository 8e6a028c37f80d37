"""Parsing many files: one output file per input file, empty lines for malformed sentences, interrupted calls."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from induce.shards.output_folder import TEXTS, shard_path
from induce.shards.shard import SHARD_BYTES, shards_of
from induce.storage import checkpoint
from induce.storage.outputs import RunLock
from tests.support.calls import Caller, Process, toy_text
from treebank.io.read import InputOptions


@pytest.fixture(autouse=True)
def corpus(working_folder: Path, tmp_path: Path) -> Path:
    """A folder ``in`` with two files, in the current folder."""
    Path("in/deep").mkdir(parents=True)
    lines = toy_text(120).splitlines(keepends=True)
    Path("in/a.txt").write_text("".join(lines[:50]), encoding="utf-8")
    Path("in/deep/b.txt").write_text("".join(lines[50:]), encoding="utf-8")
    return tmp_path


def test_a_file_for_each_file(call: Caller, model: Path) -> None:
    code, out, err = call("parse", "-m", model, "in", "--output-dir", "out")
    assert (code, out) == (0, "")
    assert "2 of 2 files: in/deep/b.txt: 70 sentences" in err
    for name in ("a.txt", "deep/b.txt"):
        assert Path(f"out/{name}.trees").read_text("utf-8") == call.result("parse", "-m", model, f"in/{name}")
    assert "not empty; continue with --resume" in call.refusal("parse", "-m", model, "in", "--output-dir", "out")
    other = ("parse", "-m", model, "in", "--output-dir", "out", "--resume", "--decoder", "nary")
    assert "was begun with decoder" in call.refusal(*other)


def test_job_is_not_resumed_with_other_priors_or_encoding(call: Caller) -> None:
    job = ("parse", "-m", "english", "in/a.txt", "--output-dir", "out")
    call.result(*job)
    assert "was begun with priors 'brackets" in call.refusal(*job, "--resume", "--priors", "none")
    assert "was begun with encoding '', not 'latin-1'" in call.refusal(*job, "--resume", "--encoding", "latin-1")
    assert "was begun with input_format '', not 'text'" in call.refusal(*job, "--resume", "--input-format", "text")
    assert "was begun with min_confidence" in call.refusal(*job, "--resume", "--min-confidence", "0.5")
    call.result(*job, "--resume")
    call.result("combine", "english", "baseline:right", "-o", "vote")
    job = ("parse", "-m", "vote", "in/a.txt", "--output-dir", "voted")
    call.result(*job)
    assert "was begun with priors '', not 'none'" in call.refusal(*job, "--resume", "--priors", "none")


@pytest.mark.parametrize("workers", [(), ("--workers", "1")])
def test_files_of_a_batch_are_synced_together(
    call: Caller, model: Path, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    """The files before one that cannot be read are complete, and the disk is waited for once."""
    counts = Counter[str]()
    for name in ("sync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *paths, name=name, real=real: (counts.update([name]), real(*paths)))
    Path("many").mkdir()
    for number in range(20):
        Path(f"many/{number:02}.txt").write_text("the dog saw a cat .\n", encoding="utf-8")
    Path("many/20.txt").write_bytes(b"\xff\n")
    arguments = ("parse", "-m", model, "many", "--output-dir", "out", *workers)
    code, _, err = call(*arguments)
    assert (code, "many/20.txt:1: invalid UTF-8" in err) == (1, True)
    assert len(list(Path("out").glob("*.txt.trees"))) == 20
    assert (counts["sync"], counts["replace"]) == (
        1,
        21 if workers else 41,
    )  # the note, shards here, and files
    Path("many/20.txt").write_text("a cat\n", encoding="utf-8")
    assert "21 of 21 files: many/20.txt: 1 sentence\n" in call(*arguments, "--resume")[2]


@pytest.mark.parametrize("form", ["brackets", "jsonl"])
def test_incomplete_outputs_of_shards_are_not_used(call: Caller, model: Path, form: str) -> None:
    job = ("parse", "-m", model, "in/a.txt", "--output-dir", "out", "--format", form)
    call.result(*job)
    (whole,) = Path("out").glob("a.txt.*")
    (shard,) = shards_of("in/a.txt", InputOptions(), size=SHARD_BYTES)
    part, text = Path(shard_path("out", whole.name, shard)), whole.read_bytes()
    for size in (*random.Random(1).sample(range(len(text)), 3), len(text)):
        part.parent.mkdir()
        part.write_bytes(text[:size])
        whole.unlink()
        assert ("50 sentences" in call(*job, "--resume")[2], whole.read_bytes()) == (True, text)
        assert not part.parent.exists()


def test_killed_job_is_resumed(call: Caller, model: Path, warm: str) -> None:
    arguments = ("parse", "-m", str(model), "in", "--output-dir", "killed", "--resume")
    process = Process(warm, *arguments)
    end = time.monotonic() + 60
    # os.walk skips a folder that the job removes meanwhile; glob raises an error.
    while not any(".trees" in file for _, _, files in os.walk("killed") for file in files):
        assert time.monotonic() < end, "nothing is written"
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    call.result(*arguments)
    for name in ("a.txt", "deep/b.txt"):
        assert Path(f"killed/{name}.trees").read_text("utf-8") == call.result("parse", "-m", model, f"in/{name}")


def test_batch_is_not_resumed_with_another_model(call: Caller, model: Path, tmp_path: Path) -> None:
    """A model of the same type, trained for as many steps on the same text, is refused as well."""
    call.result("parse", "-m", model, "in", "--output-dir", "out")
    stored = checkpoint.read(checkpoint.find(model))
    network = checkpoint.build_model(stored)
    for weights in network.parameters():
        weights.data += 0.01
    other = tmp_path / "other"
    checkpoint.save(
        other / "model.safetensors", checkpoint.pack(network, stored.config, stored.vocabulary, stored.facts)
    )
    assert "out: was begun with weights" in call.refusal("parse", "-m", other, "in", "--output-dir", "out", "--resume")


def test_changed_text_is_reported(call: Caller, model: Path) -> None:
    """Otherwise a file would begin with trees of one text and end with trees of another."""
    arguments = ("parse", "-m", model, "in", "--output-dir", "out", "--resume")
    call.result(*arguments)
    target, text = Path("out/a.txt.trees"), Path("in/a.txt")
    text.write_text("A new sentence .\n" + text.read_text("utf-8"), encoding="utf-8")
    for engine in ((), ("--engine", "processes", "--workers", "1")):
        assert "in/a.txt: has changed since out/a.txt.trees was written" in call.refusal(*arguments, *engine)
    target.unlink()
    call.result(*arguments)
    assert len(target.read_text("utf-8").splitlines()) == 51


def test_a_damaged_note(call: Caller, model: Path) -> None:
    arguments = ("parse", "-m", model, "in", "--output-dir", "out", "--resume")
    call.result(*arguments)
    notes = Path("out", TEXTS)
    whole = notes.read_bytes()
    notes.write_bytes(whole[:-5])  # an incomplete last line, as after a kill, is ignored
    call.result(*arguments)
    assert notes.read_bytes() == whole[: whole.index(b"\n") + 1]
    notes.write_bytes(b"{}\n")
    assert f"{notes}:1: this line is damaged" in call.refusal(*arguments)
    Path("out/synparse-batch.json").write_text("[1]")
    assert "not the note of a batch (not a JSON object); nothing can be resumed" in call.refusal(*arguments)


def test_one_batch_at_a_time(call: Caller, model: Path) -> None:
    """Two jobs that resume the same file would both append to it."""
    arguments = ("parse", "-m", str(model), "in", "--output-dir", "out")
    lock = RunLock(Path("out"))
    assert "another batch is writing to this folder" in call.refusal(*arguments)
    lock.release()
    call.result(*arguments)
    assert not Path("out/.synparse-lock").exists()


def test_broken_sentences_are_left_empty(call: Caller, model: Path) -> None:
    Path("bad.mrg").write_text("(S (NN a) (NN b))\n\n(S (NN c)\n\n(S (NN d) (NN e))\n", encoding="utf-8")
    code, out, err = call("parse", "-m", model, "bad.mrg", "--on-error", "blank")
    assert (code, out.splitlines()) == (0, ["(X (W a) (W b))", "", "(X (W d) (W e))"])
    assert "skipped: bad.mrg:3:" in err
    assert "1 of 3 sentences were malformed; their lines are empty" in err
    Path("bad.txt").write_bytes(b"a b\n\xff c\nd\0e\r\nf g\n")
    _, out, _ = call("parse", "-m", model, "bad.txt", "bad.txt", "--on-error", "blank")
    assert [bool(line) for line in out.splitlines()] == [True, False, False, True] * 2
    code, out, err = call("parse", "-m", model, "bad.txt", "--on-error", "blank", "--format", "jsonl")
    records = [json.loads(line) for line in out.splitlines()]
    assert [(record["line"], record["words"]) for record in records] == [
        (1, ["a", "b"]),
        (2, []),
        (3, []),
        (4, ["f", "g"]),
    ]
    assert err.count("skipped: bad.txt:") == 2
    assert "synparse: bad.txt:2: invalid UTF-8" in call("parse", "-m", model, "bad.txt")[2]


def test_resumed_job_counts_the_malformed_sentences_that_it_writes(call: Caller, model: Path) -> None:
    Path("bad.txt").write_bytes(b"a \xff c\n" * 20 + b"a b\n")
    job = ("parse", "-m", model, "bad.txt", "--on-error", "blank", "--output-dir", "out")
    assert "\n20 of 21 sentences were malformed" in call(*job)[2]
    path = Path("out/bad.txt.trees")
    complete = path.read_bytes()
    path.unlink()
    code, _, err = call(*job, "--resume")
    assert (code, path.read_bytes()) == (0, complete)
    assert "21 sentences\n20 of 21 sentences were malformed" in err


def test_wrong_usage(call: Caller, model: Path) -> None:
    assert "exclude each other" in call.usage("parse", "-m", model, "in", "--output-dir", "x", "-o", "y")
    assert "an empty value; give a value, or leave out the option" in call.usage(
        "parse", "-m", model, "in", "--output-dir", ""
    )
    assert "--resume, --engine and --workers require --output-dir" in call.usage("parse", "-m", model, "in", "--resume")
    parse = ("parse", "-m", model, "-", "--output-dir", "x")
    assert "trees of standard input have no file name" in call.refusal(*parse, code=2)
    assert "--output-dir writes brackets, jsonl, conllu" in call.refusal(*parse, "--format", "drawing", code=2)


def test_name_of_a_treebank_is_refused_with_the_command_that_writes_a_file(call: Caller, model: Path) -> None:
    problem = call.refusal("parse", "-m", model, "sample", "--output-dir", "out")
    assert problem.startswith("sample: --output-dir needs files")
    command = problem.partition(": synparse ")[2].split()
    assert call(*command)[0] == 0
    assert call("parse", "-m", model, "sample.txt", "--output-dir", "out")[0] == 0
