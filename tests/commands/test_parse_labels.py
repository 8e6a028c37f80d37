"""Induced labels of predicted phrases, and relations of predicted heads: ``synparse parse --labels induced``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.calls import Caller, toy_text
from treebank.core.tree import Tree
from treebank.io.read import read_sentences

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
    sure = ("parse", "-m", "english", "all.txt", "--min-confidence", "0.5")
    Path("sure.trees").write_text(call.result(*sure), encoding="utf-8")
    assert call.result(*sure, *LABELS) == call.result("convert", "sure.trees", *LABELS)
    marked = call.result(*sure, *LABELS, "--mark-confidence")
    assert "=0.6" in marked
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


def test_heads_have_relations_that_convert_induces_from_the_output(call: Caller) -> None:
    Path("plain.conllu").write_text(call.result("parse", "-m", "english-heads", "all.txt"), encoding="utf-8")
    parsed = call.result("parse", "-m", "english-heads", "all.txt", *LABELS)
    assert parsed == call.result("convert", "plain.conllu", "--format", "conllu", *LABELS)
    Path("labeled.conllu").write_text(parsed, encoding="utf-8")
    first, again = (list(read_sentences([name])) for name in ("plain.conllu", "labeled.conllu"))
    assert [sentence.heads for sentence in first] == [sentence.heads for sentence in again]
    relations = {relation for sentence in again for relation in sentence.relations}
    assert len(relations - {"root", "punct"}) == 4
    options = ("parse", "-m", "english-heads", "all.txt", *LABELS, "--format", "jsonl")
    for rows in (call.result(*options), call.result(*options, "--k", "2")):
        lines = [json.loads(line) for line in rows.splitlines()]
        assert [tuple(row["relations"]) for row in lines] == [sentence.relations for sentence in again]
    assert parsed == call.result("parse", "-m", "english-heads", "all.txt", *LABELS, "--labels-of", "plain.conllu")
    drawing = call.result("parse", "-m", "english-heads", "all.txt", *LABELS, "--format", "drawing")
    assert again[0].relations[0] in drawing


def test_relations_of_a_treebank_replace_its_own_and_keep_the_rest(call: Caller) -> None:
    row = "{0}\t{1}\t{1}\tX\tX\tA=b\t{2}\t{3}\t_\tC=d\n"
    words = [("the", 2, "det"), ("cat", 3, "nsubj"), ("sleeps", 0, "root"), (".", 3, "punct")]
    text = "# newdoc id = 1\n" + "".join(row.format(i, *word) for i, word in enumerate(words, 1)) + "\n"
    Path("gold.conllu").write_text(text, encoding="utf-8")
    assert call.result("convert", "gold.conllu", "--format", "conllu").endswith(text.partition("\n")[2])
    result = call.result("convert", "gold.conllu", "--format", "conllu", *LABELS)
    names = ("R1", "R2", "root", "punct")
    expected = [row.format(i, *word[:2], name) for i, (word, name) in enumerate(zip(words, names, strict=True), 1)]
    assert result.endswith("".join(expected) + "\n")
    Path("gold.mrg").write_text("(S (NP (D the) (N cat)) (VP (V sleeps)) (. .))\n", encoding="utf-8")
    heads = [call.result("convert", "gold.mrg", "--format", "conllu", *end) for end in ((), LABELS)]
    assert [line.split("\t")[6] for line in heads[0].splitlines()[2:6]] == ["2", "3", "0", "3"]
    assert [line.split("\t")[7] for line in heads[1].splitlines()[2:6]] == list(names)
