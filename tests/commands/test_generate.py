"""``synparse generate``: sentences and trees drawn from a grammar."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import Caller
from treebank.core.tree import Tree


@pytest.fixture
def grammar(tiny_model: Callable[..., Path]) -> Path:
    """A lexicalized grammar."""
    return tiny_model("nbl-pcfg", "train.epochs=1")


def test_formats_agree_and_the_seed_determines_the_sentences(call: Caller, grammar: Path, tmp_path: Path) -> None:
    options = ("-m", grammar, "--limit", "5", "--max-length", "9")
    brackets = call.result("generate", *options)
    trees = [Tree.from_text(line) for line in brackets.splitlines()]
    assert len(trees) == 5
    assert all(2 <= len(tree) <= 9 for tree in trees)
    assert all(len(tree.spans) == len(tree) - 1 for tree in trees)
    assert {label[:2] for tree in trees for label in tree.labels} == {"NT"}
    call.result("generate", *options, "--format", "text", "-o", tmp_path / "drawn.txt")
    lines = (tmp_path / "drawn.txt").read_text(encoding="utf-8").splitlines()
    assert lines == [" ".join(tree.words) for tree in trees]
    conllu = call.result("generate", *options, "--format", "conllu").splitlines()
    rows = [line.split("\t") for line in conllu if line[:1].isdigit()]
    assert [row[1] for row in rows] == [word for tree in trees for word in tree.words]
    assert [row[6] for row in rows].count("0") == 5
    assert call.result("generate", *options, "--seed", "2") != brackets


def test_model_that_cannot_be_drawn_from_is_refused(call: Caller, tiny_model: Callable[..., Path]) -> None:
    refusal = call.refusal("generate", "-m", tiny_model("npcfg"), "--format", "conllu")
    assert refusal.endswith("model 'npcfg' is not a grammar with head words; use one of nl-pcfg, nbl-pcfg, dmv, ndmv")
    refusal = call.refusal("generate", "-m", tiny_model("ndmv"), "--format", "brackets")
    assert refusal.endswith("run: this model draws heads, not trees; choose --format conllu or text")
    refusal = call.refusal("generate", "-m", tiny_model("lstm", "train.epochs=1"))
    assert "model 'lstm' is not a grammar to draw from; use one of npcfg, " in refusal
