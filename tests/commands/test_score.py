"""``synparse score`` and ``synparse eval --pairs`` from the outside."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.support.calls import Caller, toy_text

TEXT = "The dog saw a zebra .\n\n.\nThe old cat heard the man .\n"
PAIRS = (
    "phenomenon\tgood\tbad\norder\tThe dog saw a cat .\tdog The a saw cat .\nend\tthe cat met a man\tthe cat met a\n"
)


@pytest.fixture(autouse=True)
def folder(working_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a text and pairs."""
    monkeypatch.delenv("SYNPARSE_PAIRS", raising=False)
    Path("in.txt").write_text(TEXT, encoding="utf-8")
    Path("pairs.tsv").write_text(PAIRS, encoding="utf-8")
    Path("text.txt").write_text(toy_text(), encoding="utf-8")


def test_one_line_per_sentence(call: Caller, model: Path) -> None:
    lines = [
        line.split("\t") for line in call.result("perplexity", "--per", "sentence", "in.txt", "-m", model).splitlines()
    ]
    assert [line[1:] for line in lines] == [["5", "1"], ["0", "0"], ["0", "0"], ["6", "0"]]
    assert [lines[1][0], lines[2][0]] == ["-", "-"]
    parsed = [
        json.loads(line)
        for line in call.result(
            "perplexity", "--per", "sentence", "in.txt", "-m", model, "--format", "json"
        ).splitlines()
    ]
    assert f"{parsed[0]['log_probability']:.4f}" == lines[0][0]
    bits = sum(parsed[0]["surprisals"])
    assert bits * math.log(2) == pytest.approx(-parsed[0]["log_probability"])


def test_one_line_per_word(call: Caller, model: Path) -> None:
    blocks = call.result("perplexity", "--per", "word", "in.txt", "-m", model).split("\n\n")
    words = [line.split("\t")[0] for line in blocks[0].splitlines()]
    assert words == ["the", "dog", "saw", "a", "zebra", "<eos>"]
    assert blocks[0].splitlines()[4].endswith("\t<unk>")
    assert all(float(line.split("\t")[1]) > 0 for line in blocks[0].splitlines())


def test_pairs(call: Caller, model: Path) -> None:
    out = call.result("pairs", "pairs.tsv", "-m", model, "--ngram-text", "text.txt")
    lines = out.splitlines()
    assert [name for name in ("unigram", "5-gram", "onlstm") if name in lines[0]] == ["unigram", "5-gram", "onlstm"]
    order = next(line for line in lines if line.startswith("order"))
    assert order.split()[1:3] == ["1", "50.0"]  # the same words in another order
    assert [cell for cell in order.split() if "." in cell][1:] == ["100.0", "100.0"]
    assert "|logp:words+eos|ties:half|mean:phenomena|pairs:2|" in lines[-1]
    Path("other").symlink_to(model)
    scores = call.json("pairs", "pairs.tsv", "-m", model, "-m", "other")["scores"]
    assert [score["system"] for score in scores] == [f"onlstm {model}", "onlstm other"]
    report = call.json("pairs", "pairs.tsv", "-m", model)
    assert report["chance"] == 50
    assert report["scores"][0]["phenomena"]["order"]["value"] == 100
    assert report["scores"][0]["own_tree"] == {"connected": None, "apart": None}


def test_own_trees(call: Caller, model: Path) -> None:
    rows = ["phenomenon\tgood\tbad", *["simple_agrmt\tthe dog saw a cat\tthe dog a a cat"] * 3]
    Path("agreement.tsv").write_text("\n".join(rows), encoding="utf-8")
    (score,) = call.json("pairs", "agreement.tsv", "-m", model)["scores"]
    pair_counts = [entry["pairs"] for entry in score["own_tree"].values() if entry]
    assert sum(pair_counts) == 3


def test_wrong_usage(call: Caller, model: Path) -> None:
    assert "no such option" in call.usage("pairs", "pairs.tsv", "--gold", "sample").lower()
    assert call.refusal("pairs", "blimp", "-m", model).startswith("blimp: the folder of its files is unknown")
