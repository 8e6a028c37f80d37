"""Confidence in phrases and arcs, and the k best trees, on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import synparse
from tests.support.calls import Caller
from treebank.core.tree import Tree
from treebank.io.read import read_sentences

TEXT = "The teacher saw the old man , they think .\n\nYes\nThey think that ( the teacher ) will come .\n"


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    """A folder with a text, to work in."""
    Path("in.txt").write_text(TEXT, encoding="utf-8")


def lines(call: Caller, *options: str) -> list[dict[str, Any]]:
    """JSON lines of the built-in model."""
    out = call.result("parse", "in.txt", "-m", "english-grammar", "--format", "jsonl", *options)
    return [json.loads(line) for line in out.splitlines()]


def test_each_phrase_has_a_confidence_and_unsure_phrases_are_flattened(call: Caller) -> None:
    sure = lines(call)
    limit = sorted(value for line in sure for value in line.get("confidences", ()) if value is not None)[3]
    marked = call.result("parse", "in.txt", "-m", "english-grammar", "--mark-confidence").splitlines()
    plain = call.result("parse", "in.txt", "-m", "english-grammar").splitlines()
    flat = call.result("parse", "in.txt", "-m", "english-grammar", "--min-confidence", str(limit)).splitlines()
    for line, labelled, tree, flattened in zip(sure, marked, plain, flat, strict=True):
        values = line.get("confidences", [None] * len(line["spans"]))
        assert len(values) == len(line["spans"])
        assert [value is None for value in values] == [index == 0 for index in range(len(values))]
        if not tree:
            continue
        labels = ["X" if value is None else f"X={value:.2f}" for value in values]
        assert list(Tree.from_text(labelled).labels) == labels
        remaining = [
            tuple(span) for span, value in zip(line["spans"], values, strict=True) if value is None or value >= limit
        ]
        assert Tree.from_text(flattened).spans == tuple(remaining)
    assert sum(line.count("(X") for line in plain) - sum(line.count("(X") for line in flat) == 3
    Path("marked.ptb").write_text("\n".join(marked), encoding="utf-8")
    stripped = call.result("convert", "marked.ptb", "--strip", "functions").splitlines()
    assert stripped == [line for line in plain if line]


def test_confidences_are_read_again(call: Caller) -> None:
    Path("trees.jsonl").write_text(
        call.result("parse", "in.txt", "-m", "english-grammar", "--format", "jsonl"), "utf-8"
    )
    for sentence, line in zip(read_sentences(["trees.jsonl"]), lines(call), strict=True):
        assert list(sentence.confidences) == line.get("confidences", [])


def test_k_best_trees_have_falling_scores(call: Caller) -> None:
    for decoder in ("mbr", "ranked"):
        first, empty, short, _ = lines(call, "--k", "3", "--decoder", decoder)
        scores = [tree["score"] for tree in first["trees"]]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)
        assert first["trees"][0]["spans"] == first["spans"]
        assert ("labels" in first) == (decoder == "ranked")
        assert [len(line["trees"]) for line in (empty, short)] == [1, 1]
    single = call.result("parse", "in.txt", "-m", "english-grammar", "--decoder", "brackets")
    assert call.result("parse", "in.txt", "-m", "english-grammar", "--decoder", "ranked") == single
    ranked = next(synparse.load("english-grammar").parse_k_best(["The teacher saw the old man , they think ."], 3))
    assert [list(map(list, tree.spans)) for _, tree in ranked] == [
        tree["spans"] for tree in lines(call, "--k", "3")[0]["trees"]
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--decoder", "brackets", "--min-confidence", "0.5"),
            r"brackets have no confidence in phrases \(try --decoder mbr\)",
        ),
        (("--decoder", "brackets", "--k", "2"), "finds one tree for a sentence; try --decoder mbr or ranked"),
        (("--k", "2", "--format", "brackets"), "--k writes JSON lines, not brackets; add --format jsonl"),
        (("--mark-confidence", "--format", "jsonl"), "JSON lines have all confidences; leave out --mark-confidence"),
        (("--k", "2", "--min-confidence", "0.5"), "leave out --min-confidence"),
        (("--min-confidence", "70"), "--min-confidence 70: .*; give a number from 0 to 1"),
        (("--min-confidence", "-1"), "--min-confidence -1: .*; give a number from 0 to 1"),
        (("--min-confidence", "0.5", "-m", "english-heads"), "no phrases, .*; --mark-confidence writes the confidence"),
        (("--min-confidence", "nan"), "Invalid value for --min-confidence: nan is not a number"),
    ],
)
def test_options_that_do_not_fit(call: Caller, options: tuple[str, ...], message: str) -> None:
    model = () if "-m" in options else ("-m", "english-grammar")
    code, out, err = call("parse", "in.txt", *model, *options)
    assert (code != 0, out) == (True, "")
    assert re.search(message, " ".join(err.split()))
