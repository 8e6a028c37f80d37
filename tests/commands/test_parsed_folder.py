"""A folder of parsed text instead of a file of trees: its files in the order of their texts, or none of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.main import run
from tests.support.calls import Caller, set_options, toy_text

NOTE = Path("out/synparse-batch.json")


@pytest.fixture(scope="module")
def parsed(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two texts in ``in``, parsed into ``out`` in another order than that of their names, and into one file."""
    folder = tmp_path_factory.mktemp("parsed")
    lines = toy_text(60).splitlines(keepends=True)
    (folder / "in/deep").mkdir(parents=True)
    (folder / "in/a.txt").write_text("".join(lines[:20]), encoding="utf-8")
    (folder / "in/deep/b.txt").write_text("".join(lines[20:]), encoding="utf-8")
    arguments = ["parse", "-m", str(trained / "run"), "in/deep/b.txt", "in/a.txt"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run([*arguments, "--output-dir", "out", "--workers", "2"]) == run([*arguments, "-o", "one.trees"]) == 0
    return folder


@pytest.fixture(autouse=True)
def texts(parsed: Path, working_folder: Path) -> None:
    """A copy of the folder as working directory."""
    shutil.copytree(parsed, working_folder, dirs_exist_ok=True)


def test_it_is_converted(call: Caller, model: Path) -> None:
    first = call.result("convert", "one.trees", "--format", "spans")
    assert call.result("convert", "out", "--format", "spans") == first
    call.result("parse", "-m", model, "in/deep/b.txt", "in/a.txt", "--output-dir", "json", "--format", "jsonl")
    assert call.result("convert", "json", "--format", "spans") == first


def test_it_is_scored(call: Caller) -> None:
    (score,) = call.json("eval", "out", "--gold", "one.trees")["scores"]
    assert (score["system"], round(score["value"], 3), score["sentences"]) == ("out", 100.0, 60)
    lines = Path("one.trees").read_text("utf-8").splitlines(keepends=True)
    Path("other.trees").write_text("".join(reversed(lines)), encoding="utf-8")
    assert "out/deep/b.txt.trees:" in call.refusal("eval", "out", "--gold", "other.trees")


@pytest.mark.parametrize("vote", ["vote", "vote.safetensors"])
def test_it_votes(call: Caller, vote: str) -> None:
    call.result("combine", "out", "baseline:right@weight=0.5", "-o", vote)
    assert call.result("parse", "-m", vote, "in/deep/b.txt", "in/a.txt") == Path("one.trees").read_text("utf-8")
    Path("out/a.txt.trees").write_text("(X (W a) (W b))\n", encoding="utf-8")
    code, _, err = call("parse", "-m", vote, "in/a.txt")
    assert (code, "this member has changed" in err) == ((1, True) if vote == "vote" else (0, False))


def test_it_is_focused_on(call: Caller) -> None:
    tiny = ["model.embedding_size=8", "model.hidden_size=8", "model.span_size=6", "train.epochs=1"]
    text = Path("text.txt")
    text.write_text(Path("in/deep/b.txt").read_text("utf-8") + Path("in/a.txt").read_text("utf-8"), encoding="utf-8")
    call.result("train", text, "-o", "pupil", "--model", "chart", "--teacher", "out", *set_options(*tiny))
    assert "parsed trees" in call.result("info", "-m", "pupil")


def test_incomplete_folder_is_refused(call: Caller, model: Path) -> None:
    Path("out/deep/b.txt.trees").rename("out/deep/b.txt.trees.part")
    for command in (("convert",), ("eval", "--gold", "one.trees"), ("combine", "-o", "vote"), ("draw",)):
        message = call.refusal(*command, "out")
        assert message == (
            "out: 1 of 2 files are incomplete, such as out/deep/b.txt.trees; continue with synparse parse --resume"
        )
    call.result("parse", "-m", model, "in/deep/b.txt", "in/a.txt", "--output-dir", "out", "--resume")
    assert call.result("convert", "out") == call.result("convert", "one.trees")


def test_texts_that_come_later(call: Caller, model: Path) -> None:
    """A batch that grows has the order of the call that named all texts. Files that no call names are left out."""
    Path("in/aa.txt").write_text("A dog .\n")
    arguments = ("--output-dir", "out", "--resume")
    call.result("parse", "-m", model, "in", *arguments)
    assert json.loads(NOTE.read_bytes())["files"] == ["a.txt.trees", "aa.txt.trees", "deep/b.txt.trees"]
    call.result("parse", "-m", model, "in/deep/b.txt", "in/a.txt", *arguments)
    assert len(json.loads(NOTE.read_bytes())["files"]) == 3
    Path("out/aa.txt.trees").unlink()
    call.result("parse", "-m", model, "in/deep/b.txt", "in/a.txt", *arguments)
    assert json.loads(NOTE.read_bytes())["files"] == ["a.txt.trees", "deep/b.txt.trees"]
