"""``synparse pairs`` from the outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.calls import Caller, set_options, toy_text

PAIRS = (
    "phenomenon\tgood\tbad\norder\tThe dog saw a cat .\tdog The a saw cat .\nend\tthe cat met a man\tthe cat met a\n"
)


@pytest.fixture(autouse=True)
def folder(working_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with pairs and a text."""
    monkeypatch.delenv("SYNPARSE_PAIRS", raising=False)
    Path("pairs.tsv").write_text(PAIRS, encoding="utf-8")
    Path("text.txt").write_text(toy_text(), encoding="utf-8")


def test_pairs(call: Caller, model: Path) -> None:
    out = call.result("pairs", "pairs.tsv", "-m", model, "--ngram-text", "text.txt")
    lines = out.splitlines()
    assert all(name in lines[0] for name in ("unigram", "5-gram", str(model)))
    order = next(line for line in lines if line.startswith("order"))
    assert order.split()[1:3] == ["1", "50.0"]  # the same words in another order
    assert [cell for cell in order.split() if "." in cell][1:] == ["100.0", "100.0"]
    assert "|logp:words+eos|ties:half|mean:phenomena|pairs:2|" in lines[-1]
    Path("other").symlink_to(model)
    scores = call.json("pairs", "pairs.tsv", "-m", model, "-m", "other")["scores"]
    assert [score["system"] for score in scores] == [str(model), "other"]
    report = call.json("pairs", "pairs.tsv", "-m", model)
    assert report["chance"] == 50
    assert report["scores"][0]["phenomena"]["order"]["value"] == 100
    assert report["scores"][0]["own_tree"] == {"connected": None, "apart": None}


def test_ngrams_read_a_text_with_the_tokenizer_of_the_model(call: Caller) -> None:
    words = toy_text().replace(" .", "").splitlines()
    Path("raw.txt").write_text("".join(f"{line}.\n" for line in words), encoding="utf-8")
    Path("words.txt").write_text("".join(f"{line} .\n" for line in words), encoding="utf-8")
    settings = set_options("data.normalization=raw", "train.epochs=1", "model.hidden_size=8", "model.embedding_size=8")
    call.result("train", "raw.txt", "--tokenizer", "english", "--model", "lstm", *settings, "-o", "raw")
    Path("ends.tsv").write_text("the dog saw a cat .\tthe dog saw a cat met\n", encoding="utf-8")
    for text in ("raw.txt", "words.txt"):
        unigram, *_ = call.json("pairs", "ends.tsv", "-m", "raw", "--ngram-text", text)["scores"]
        assert unigram["overall"]["value"] == 100, text  # each sentence of the text has a full stop


def test_own_trees(call: Caller, model: Path) -> None:
    rows = ["phenomenon\tgood\tbad", *["simple_agrmt\tthe dog saw a cat\tthe dog a a cat"] * 3]
    Path("agreement.tsv").write_text("\n".join(rows), encoding="utf-8")
    (score,) = call.json("pairs", "agreement.tsv", "-m", model)["scores"]
    pair_counts = [entry["pairs"] for entry in score["own_tree"].values() if entry]
    assert sum(pair_counts) == 3


def test_wrong_usage(call: Caller, model: Path) -> None:
    assert "no such option" in call.usage("pairs", "pairs.tsv", "--gold", "sample").lower()
    assert call.refusal("pairs", "blimp", "-m", model).startswith("blimp: the folder of its files is unknown")
