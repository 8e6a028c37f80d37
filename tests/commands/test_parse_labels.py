"""Induced labels of predicted phrases: ``synparse parse --labels induced``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.calls import Caller, toy_text
from treebank.core.tree import Tree

LABELS = ("--labels", "induced", "--label-count", "4")


@pytest.fixture(autouse=True)
def text(working_folder: Path) -> None:
    """A text of 60 sentences in one file and in two."""
    lines = toy_text(60).splitlines(keepends=True)
    Path("all.txt").write_text("".join(lines), encoding="utf-8")
    Path("in").mkdir()
    Path("in/a.txt").write_text("".join(lines[:25]), encoding="utf-8")
    Path("in/b.txt").write_text("".join(lines[25:]), encoding="utf-8")


def test_labels_are_those_that_convert_induces_from_the_output(call: Caller) -> None:
    plain = call.result("parse", "-m", "english", "all.txt")
    Path("plain.trees").write_text(plain, encoding="utf-8")
    labeled = call.result("parse", "-m", "english", "all.txt", *LABELS)
    assert labeled == call.result("convert", "plain.trees", *LABELS)
    trees = [Tree.from_text(line) for line in labeled.splitlines()]
    assert [tree.spans for tree in trees] == [Tree.from_text(line).spans for line in plain.splitlines()]
    assert len({label for tree in trees for label in tree.labels}) > 1
    rows = [
        json.loads(line)
        for line in call.result("parse", "-m", "english", "all.txt", *LABELS, "--k", "2").split("\n")[:-1]
    ]
    assert [tuple(row["trees"][0]["labels"]) for row in rows] == [tree.labels for tree in trees]


def test_labels_of_another_corpus_label_a_stream(call: Caller) -> None:
    Path("plain.trees").write_text(call.result("parse", "-m", "english", "in/a.txt"), encoding="utf-8")
    by_trees = call.result("parse", "-m", "english", "in/b.txt", *LABELS, "--labels-of", "plain.trees")
    assert by_trees == call.result("parse", "-m", "english", "in/b.txt", *LABELS, "--labels-of", "in/a.txt")
    named = call.result("parse", "-m", "english", "in/b.txt", *LABELS, "--labels-of", "sample")
    assert named.count("\n") == 35
    assert "read twice" in call.refusal("parse", "-m", "english", "-", *LABELS)


def test_labels_are_learned_from_the_phrases_that_are_written(call: Caller) -> None:
    sure = ("parse", "-m", "english", "all.txt", "--min-confidence", "0.8")
    Path("sure.trees").write_text(call.result(*sure), encoding="utf-8")
    assert call.result(*sure, *LABELS) == call.result("convert", "sure.trees", *LABELS)
    marked = call.result(*sure, *LABELS, "--mark-confidence")
    assert "=0.9" in marked
    assert "X=" not in marked


def test_files_of_a_folder_have_the_same_labels_also_after_an_interruption(call: Caller) -> None:
    job = ("parse", "-m", "english", "in", *LABELS, "--output-dir", "out")
    call.result(*job)
    target = Path("out/b.txt.trees")
    expected = target.read_text("utf-8")
    lines = expected.splitlines(keepends=True)
    Path("out/b.txt.trees.part").write_text("".join(lines[:7]), encoding="utf-8")
    target.unlink()
    call.result(*job, "--resume")
    assert target.read_text("utf-8") == expected
    call.result(*job[:-1], "shards", "--workers", "2")
    assert Path("shards/b.txt.trees").read_text("utf-8") == expected
    assert "was begun with labels" in call.refusal(*job, "--resume", "--seed", "9")
    assert "was begun with labels" in call.refusal("parse", "-m", "english", "in", "--output-dir", "out", "--resume")


def test_options_that_do_not_fit(call: Caller) -> None:
    assert "require --labels" in call.usage("parse", "-m", "english", "all.txt", "--label-count", "4")
    assert "--seed requires --labels" in call.usage("parse", "-m", "english", "all.txt", "--seed", "2")
    labeled = ("--labels", "induced", "--decoder", "ranked")
    assert "its phrases have labels, such as NT" in call.refusal("parse", "-m", "english-grammar", "all.txt", *labeled)
