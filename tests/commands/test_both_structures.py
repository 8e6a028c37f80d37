"""A model that gives distances and heads, through every command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import Caller
from treebank.core.dependency import is_tree
from treebank.core.sentence import ROOT
from treebank.io.conllu import read_conllu

TEXT = "The dog saw a cat .\n\n.\nman\nThe old girl , met the 12 .\n"


@pytest.fixture
def both(tiny_model: Callable[..., Path]) -> Path:
    """A model of distances and heads."""
    return tiny_model("structformer")


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    """A folder with a text, to work in."""
    Path("in.txt").write_text(TEXT, encoding="utf-8")


@pytest.mark.parametrize("decoder", [None, "nary", "unbiased", "biased"])
def test_trees_from_distances(call: Caller, both: Path, decoder: str | None) -> None:
    options = ["--decoder", decoder] if decoder else []
    out = call.result("parse", "-m", both, "in.txt", *options)
    assert out.splitlines()[1] == ""
    assert out.splitlines()[3] == "(X (W man))"
    Path("d.jsonl").write_text(call.result("extract", "-m", both, "in.txt"), encoding="utf-8")
    rows = [json.loads(line) for line in Path("d.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [len(row["distances"]) for row in rows] == [5, 0, 0, 1, 6]
    assert {row["decoder"] for row in rows} == {"nary"}
    assert call.result("decode", "d.jsonl", *options) == out
    if decoder is None:
        assert call.result("extract", "-m", both, "in.txt", "--what", "distances") == Path("d.jsonl").read_text("utf-8")


@pytest.mark.parametrize("decoder", ["chu-liu-edmonds", "eisner", "argmax", "heads-to-tree"])
def test_heads_and_their_trees(call: Caller, both: Path, decoder: str) -> None:
    out = call.result("parse", "-m", both, "in.txt", "--decoder", decoder)
    Path("h.jsonl").write_text(call.result("extract", "-m", both, "in.txt", "--what", "heads"), encoding="utf-8")
    assert call.result("decode", "h.jsonl", "--decoder", decoder) == out
    if decoder == "heads-to-tree":
        assert out.splitlines()[1::2] == ["", "(X (W man))"]
        return
    Path("out.conllu").write_text(out, encoding="utf-8")
    predicted = [sentence.heads for sentence in read_conllu("out.conllu")]
    assert len(predicted) == 4
    assert decoder == "argmax" or all(map(is_tree, predicted))


def test_heads_from_heights(call: Caller, both: Path) -> None:
    out = call.result("parse", "-m", both, "in.txt", "--decoder", "heights")
    Path("h.jsonl").write_text(call.result("extract", "-m", both, "in.txt", "--what", "heights"), encoding="utf-8")
    rows = [json.loads(line)["heights"] for line in Path("h.jsonl").read_text(encoding="utf-8").splitlines()]
    assert call.result("decode", "h.jsonl") == out
    Path("out.conllu").write_text(out, encoding="utf-8")
    predicted = [sentence.heads for sentence in read_conllu("out.conllu")]
    assert len(predicted) == 4
    assert all(map(is_tree, predicted))
    highest = max(range(5), key=[height for _, height in rows[0]].__getitem__)
    assert predicted[0][highest] == ROOT


def test_eval_both_ways(call: Caller, both: Path) -> None:
    parse = ("parse", "-m", both, "in.txt")
    for decoder, gold in (("nary", "gold.ptb"), ("heads-to-tree", "other.ptb")):
        trees = [line for line in call.result(*parse, "--decoder", decoder).splitlines() if line]
        Path(gold).write_text("\n".join(trees) + "\n", encoding="utf-8")
        arguments = ("eval", "--gold", gold, "-m", both, "--decoder", decoder, "--format", "json")
        scores = json.loads(call.result(*arguments))["scores"]
        assert [score["metric"] for score in scores] == ["UF1"]
        assert scores[0]["value"] == pytest.approx(100, abs=1e-4)
    Path("gold.conllu").write_text(call.result(*parse, "--decoder", "eisner"), encoding="utf-8")
    arguments = ("eval", "--gold", "gold.conllu", "-m", both, "--decoder", "eisner", "--convention", "all-tokens")
    scores = call.json(*arguments)["scores"]
    assert [(score["metric"], score["value"]) for score in scores] == [("UAS", 100), ("UUAS", 100)]


def test_the_decoder_decides_what_is_written(call: Caller, both: Path) -> None:
    problem = call.refusal("parse", "-m", both, "in.txt", "--format", "conllu")
    gives = "model 'structformer': the decoder 'nary' gives trees, not heads"
    assert problem == f"{gives} (try another --format or decoder 'chu-liu-edmonds')"
    problem = call.refusal("parse", "-m", both, "in.txt", "--decoder", "eisner", "--format", "brackets")
    gives = "model 'structformer': the decoder 'eisner' gives heads, not trees"
    assert problem == f"{gives} (try --format conllu or decoder 'unbiased')"


def test_decoder_of_another_structure_than_the_extracted_one_is_refused(call: Caller, both: Path) -> None:
    problem = "the decoder 'biased' reads distances, not heads; leave out the decoder or --what"
    assert problem in call.usage("extract", "-m", both, "in.txt", "--what", "heads", "--decoder", "biased")
    assert problem in call.usage("extract", "-m", f"{both}@decoder=biased", "in.txt", "--what", "heads")
    call.result("extract", "-m", both, "in.txt", "--what", "distances", "--decoder", "biased")
