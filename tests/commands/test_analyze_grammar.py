"""``synparse classes`` and ``synparse analyze grammar`` from the outside, and a DMV by every command that reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import Caller, toy_text


@pytest.fixture
def dmv(tiny_model: Callable[..., Path]) -> Path:
    return tiny_model("dmv")


def test_classes_of_a_text(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(toy_text(200), encoding="utf-8")
    lines = call.result("analyze", "classes", tmp_path / "text.txt", "--classes", "4").splitlines()
    table = {word: (int(number), int(count)) for number, word, count in (line.split("\t") for line in lines)}
    assert {number for number, _ in table.values()} == {0, 1, 2, 3}
    assert len({table[word][0] for word in ("saw", "met", "heard")}) == 1
    assert table["the"][1] > table["saw"][1]
    assert "." not in table
    assert call.result("analyze", "classes", tmp_path / "text.txt", "--classes", "4").splitlines() == lines
    call.result("analyze", "classes", tmp_path / "text.txt", "--classes", "4", "-o", tmp_path / "classes.tsv")
    assert (tmp_path / "classes.tsv").read_text(encoding="utf-8").splitlines() == lines


def test_a_text_has_no_more_classes_than_words(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the dog saw the cat\n" * 5, encoding="utf-8")
    code, out, err = call("analyze", "classes", tmp_path / "text.txt", "--classes", "10000")
    assert (code, err) == (0, "note: this text has 4 different words, so there are no more classes than that\n")
    assert {int(line.split("\t")[0]) for line in out.splitlines()} <= set(range(4))
    assert call("analyze", "classes", tmp_path / "text.txt", "--classes", "4")[1:] == (out, "")


def test_a_text_in_another_encoding_is_read(call: Caller, dmv: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes("the d\u00f6g saw the cat\n".encode("latin-1") * 5)
    for command in (("classes",), ("grammar", "-m", dmv)):
        arguments = ("analyze", *command, tmp_path / "text.txt")
        assert "give --encoding NAME" in call.refusal(*arguments)
        call.result(*arguments, "--encoding", "latin-1")
    assert "d\u00f6g\t5" in call.result("analyze", "classes", tmp_path / "text.txt", "--encoding", "latin-1")


def test_a_text_without_words_has_no_classes(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("! ?\n", encoding="utf-8")
    assert call.refusal("analyze", "classes", tmp_path / "text.txt") == "there is no word in this text"


def test_grammar_of_a_model(call: Caller, dmv: Path) -> None:
    grammar = call.json("analyze", "grammar", "-m", dmv, "--member", "2", "--arcs", "7")
    assert (grammar["member"], grammar["members"]) == (2, 2)
    assert sum(entry["share"] for entry in grammar["classes"]) == pytest.approx(1)
    assert {"dog", "the"} <= {word for entry in grammar["classes"] for word in entry["words"]}
    assert len(grammar["arcs"]) == 7
    rates = [arc["rate"] for arc in grammar["arcs"]]
    assert rates == sorted(rates, reverse=True)
    table = call.result("analyze", "grammar", "-m", dmv)
    assert "Dependent is" in table


def test_grammar_counted_in_a_text(call: Caller, dmv: Path, tmp_path: Path) -> None:
    """Rates are arcs per word. If all pairs of classes are listed, they cover all words except roots."""
    text = tmp_path / "new.txt"
    text.write_text("The dog saw a cat .\nThe old man met the girl !\n", encoding="utf-8")
    grammar = call.json("analyze", "grammar", text, "-m", dmv, "--arcs", "1000")
    assert sum(arc["rate"] for arc in grammar["arcs"]) == pytest.approx(9 / 11)
    for arc in grammar["arcs"]:
        assert arc["examples"]
        assert all(len(example.split()) == 2 for example in arc["examples"])


def test_sentences_drawn_from_a_dmv(call: Caller, dmv: Path) -> None:
    options = ("generate", "-m", dmv, "--limit", "4", "--max-length", "30")
    rows = [line.split("\t") for line in call.result(*options).splitlines() if line[:1].isdigit()]
    assert [row[6] for row in rows].count("0") == 4
    lines = call.result(*options, "--format", "text").splitlines()
    assert [word for line in lines for word in line.split()] == [row[1] for row in rows]


def test_grammar_of_a_neural_dmv(call: Caller, tmp_path: Path, tiny_model: Callable[..., Path]) -> None:
    run = tiny_model("ndmv", "train.epochs=1")
    grammar = call.json("analyze", "grammar", "-m", run, "--arcs", "1000")
    assert sum(entry["share"] for entry in grammar["classes"]) == pytest.approx(1)
    assert sum(entry["root"] for entry in grammar["classes"]) == pytest.approx(1)
    assert {"dog", "the"} <= {word for entry in grammar["classes"] for word in entry["words"]}
    lines = call.result("generate", "-m", run, "--limit", "1000", "--format", "text").splitlines()
    words = sum(len(line.split()) for line in lines)
    assert sum(arc["rate"] for arc in grammar["arcs"]) == pytest.approx((words - 1000) / words)
    (tmp_path / "new.txt").write_text("The dog saw a cat .\n", encoding="utf-8")
    parsed = call.result("parse", tmp_path / "new.txt", "-m", run, "--decoder", "ranked-arcs", "--k", "3")
    line = json.loads(parsed)
    scores = [tree["score"] for tree in line["trees"]]
    assert scores == sorted(scores, reverse=True)
    assert line["trees"][0]["arcs"] == line["arcs"]
    assert len({tuple(tree["arcs"]) for tree in line["trees"]}) == 3
    best = call.result("parse", tmp_path / "new.txt", "-m", run, "--decoder", "arcs", "--format", "jsonl")
    assert json.loads(best)["arcs"] == line["arcs"]
    expected = call.result("parse", tmp_path / "new.txt", "-m", run, "--decoder", "mbr-heads", "--k", "2")
    assert len(json.loads(expected)["trees"]) == 2


def test_model_without_grammar_is_refused(call: Caller, dmv: Path) -> None:
    assert "no grammar 3; this model has 2" in call.refusal("analyze", "grammar", "-m", dmv, "--member", "3")


def test_rules_of_a_pcfg(call: Caller, tiny_model: Callable[..., Path]) -> None:
    """Shares of preterminals and of the rules of one parent sum to 1, and each tree has one rule less than words."""
    run = tiny_model("npcfg")
    report = call.json("analyze", "grammar", "-m", run, "--arcs", "1000", "--words", "3")
    assert sum(entry["share"] for entry in report["preterminals"]) == pytest.approx(1)
    assert all(1 <= len(entry["words"]) <= 3 for entry in report["preterminals"])
    shares: dict[str, float] = {}
    for rule in report["rules"]:
        shares[rule["parent"]] = shares.get(rule["parent"], 0) + rule["share"]
        assert all(" " in example for example in rule["examples"])
    assert list(shares.values()) == pytest.approx([1.0] * len(shares))
    rates = [rule["rate"] for rule in report["rules"]]
    assert rates == sorted(rates, reverse=True)
    lines = call.result("generate", "-m", run, "--limit", "1000", "--format", "text").splitlines()
    assert sum(rates) == pytest.approx(sum(len(line.split()) - 1 for line in lines) / 1000)
    assert "Per sentence" in call.result("analyze", "grammar", "-m", run)
    code, _, message = call("analyze", "grammar", "-m", run, "--member", "2")
    assert (code, "rules are counted in drawn sentences" in message) == (2, True)
