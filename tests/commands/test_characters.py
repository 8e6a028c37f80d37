"""A model of characters on the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import TINY, Caller, set_options, toy_text

CHANGES = ("data.token=character", "data.normalization=raw", "train.epochs=1")
LETTERS = set_options(*CHANGES)


@pytest.fixture
def spelling(tiny_model: Callable[..., Path]) -> Path:
    """A folder with ``text.txt`` and a model of its characters in ``run``."""
    return tiny_model("onlstm", *CHANGES).parent


def test_training_reports_bits_per_character(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(toy_text(40), encoding="utf-8")
    code, out, err = call("train", tmp_path / "text.txt", "-o", tmp_path / "run", *TINY, *LETTERS)
    assert (code, out) == (0, "")
    health, note, start, _, check, *rest = err.splitlines()
    assert "; Latin 100%" in health
    assert "are too few for useful trees of most models; give more text" in note
    assert "sentences, " in start
    assert " characters (0.0% unknown)" in start
    (logged,) = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").open() if '"check"' in line]
    assert f"{logged['development_perplexity']:.2f} ({logged['development_bits']:.3f} bits per character)" in check
    assert f"{logged['development_bits']:.3f} bits per character (epoch 1)" in rest[0]


def test_tree_has_one_leaf_per_character_except_spaces(call: Caller, spelling: Path, tmp_path: Path) -> None:
    (tmp_path / "input.txt").write_text("A (b\n\n\u00e9\n", encoding="utf-8")
    tree, empty, letter = call.result("parse", tmp_path / "input.txt", "-m", spelling / "run").split("\n")[:3]
    assert tree.count("(W ") == 3
    assert "\u2423" not in tree
    assert "(W -LRB-)" in tree
    assert (empty, letter) == ("", "(X (W \u00e9))")
    spans = call.result("parse", tmp_path / "input.txt", "-m", spelling / "run", "--format", "jsonl")
    assert json.loads(spans.splitlines()[0])["words"] == ["A", "(", "b"]


def test_picture_has_a_bar_in_each_gap_between_characters(call: Caller, spelling: Path, tmp_path: Path) -> None:
    """Spaces included, as in figure 4 of PRPN."""
    (tmp_path / "input.txt").write_text("a cat\n", encoding="utf-8")
    call.result("draw", tmp_path / "input.txt", "-m", spelling / "run", "-o", tmp_path / "a.svg")
    picture = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert picture.count('class="bar"') == 4 + 1, "and that of the legend"
    assert picture.count("\u2423") >= 1
    (tmp_path / "numbers.jsonl").write_text(
        call.result("extract", tmp_path / "input.txt", "-m", spelling / "run"), encoding="utf-8"
    )
    drawn = call.result("draw", tmp_path / "numbers.jsonl")
    assert "█" in drawn
    assert "a \u2423 c a t" in drawn


def test_extract_and_decode_equal_parse(call: Caller, spelling: Path, tmp_path: Path) -> None:
    parsed = call.result("parse", spelling / "text.txt", "-m", spelling / "run")
    call.result("extract", spelling / "text.txt", "-m", spelling / "run", "-o", tmp_path / "numbers.jsonl")
    assert call.result("decode", tmp_path / "numbers.jsonl") == parsed
    first = json.loads((tmp_path / "numbers.jsonl").open(encoding="utf-8").readline())
    assert "".join(first["words"]).replace("\u2423", " ") + "\n" == (spelling / "text.txt").open().readline()
    assert len(first["distances"]) == len(first["words"])


def test_heads_are_of_characters(call: Caller, tmp_path: Path, tiny_model: Callable[..., Path]) -> None:
    run = tiny_model("udgn", *CHANGES)
    (tmp_path / "input.txt").write_text("a dog\n", encoding="utf-8")
    out = call.result("parse", tmp_path / "input.txt", "-m", run)
    assert [line.split("\t")[1] for line in out.splitlines() if "\t" in line] == ["a", *"dog"]
    refusal = call.refusal("eval", "--gold", "sample", "-m", run, "--convention", "udgn")
    assert "are over characters" in refusal


def test_info_names_the_unit(call: Caller, spelling: Path) -> None:
    out = call.result("info", "-m", spelling / "run")
    assert "data.token=character" in out
    assert " characters)\n" in out
    assert re.search(r"^vocabulary: \d+ characters;", out, re.MULTILINE)
    assert " bits per character (best so far)\n" in out


GOLD = "(S (NP (N \u72ac)) (VP (V \u898b\u308b) (NP (N 1996) (N \u732b)) (P \u3002)))\n(S (N \u72ac\u732b))\n"


def test_trees_over_characters_are_scored_against_words(call: Caller, spelling: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.ptb").write_text(GOLD, encoding="utf-8")
    arguments = ("eval", "--gold", tmp_path / "gold.ptb", "-m", spelling / "run", "--baseline", "oracle")
    report = call.json(*arguments)
    assert report["gold"]["note"] == "over characters"
    (words,) = report["words"]
    assert words["recall"] == pytest.approx(100 * 3 / 6)  # of six words three have one character
    assert words["precision"] == pytest.approx(100 * 3 / 11)
    assert {score["system"]: score["sentences"] for score in report["scores"]} == {
        str(spelling / "run"): 2,
        "oracle": 2,
    }
    assert "data:gold.ptb (over characters)" in report["scores"][0]["signature"]
    assert "Word F1" in call.result(*arguments)


def test_escaped_brackets_of_gold_are_one_character(call: Caller, spelling: Path, tmp_path: Path) -> None:
    gold = "(S (NP (DT a) (NN dog)) (PRN (-LRB- -LRB-) (NN 1\\/2) (-RRB- -RRB-)))\n"
    (tmp_path / "gold.ptb").write_text(gold, encoding="utf-8")
    (words,) = call.json("eval", "--gold", tmp_path / "gold.ptb", "-m", spelling / "run")["words"]
    assert words["precision"] == pytest.approx(100 * 3 / len("adog(1/2)"))


def test_heads_are_not_scored_over_characters(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "gold.conllu").write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    problem = call.refusal("eval", "--gold", tmp_path / "gold.conllu", "--characters", "--baseline", "next")
    assert problem.endswith("over characters only trees are scored, not heads")


def test_files_of_words_found_by_a_segmenter(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "gold.ptb").write_text(GOLD, encoding="utf-8")
    (tmp_path / "same.txt").write_text(GOLD, encoding="utf-8")
    (tmp_path / "other.txt").write_text(GOLD.replace("(V \u898b\u308b)", "(V \u898b) (V \u308b)"), encoding="utf-8")
    arguments = ("eval", "--gold", tmp_path / "gold.ptb", "--characters", "--format", "json")
    report = json.loads(call.result(*arguments, tmp_path / "same.txt", tmp_path / "other.txt"))
    same, other = report["words"]
    assert (same["value"], same["in_brackets"]) == (100, 100)
    assert other["precision"] == pytest.approx(100 * 5 / 7)
    first, second = (score["value"] for score in report["scores"])
    assert first == pytest.approx(100)
    assert second < 99
    assert "labels" in report["scores"][0]
    (tmp_path / "other.txt").write_text(re.sub(r"\((S|NP|VP) ", "(X ", GOLD), encoding="utf-8")
    (unlabeled,) = json.loads(call.result(*arguments, tmp_path / "other.txt"))["scores"]
    assert "labels" not in unlabeled
    short = (*arguments, tmp_path / "same.txt", "--max-length", "1")  # all trees, and only that of the short sentence
    (tmp_path / "short.txt").write_text(GOLD.splitlines()[1] + "\n", encoding="utf-8")
    limited = json.loads(call.result(*short, tmp_path / "short.txt"))
    assert [words["value"] for words in limited["words"]] == [100, 100]
    assert [score["sentences"] for score in limited["scores"]] == [1, 1]
    (tmp_path / "short.txt").write_text(GOLD + GOLD, encoding="utf-8")
    assert "gold.ptb (within the length limit: 1); give" in call.refusal(*short, tmp_path / "short.txt")
    (tmp_path / "other.txt").write_text(GOLD.replace("\u732b", "\u72d7"), encoding="utf-8")
    assert "the characters differ from" in call.refusal(*arguments, tmp_path / "other.txt")


def test_gold_with_an_empty_sentence_agrees_with_itself(call: Caller, tmp_path: Path) -> None:
    gold = tmp_path / "gold.ptb"
    gold.write_text("(S (NP (DT the) (NN dog)) (VP (V ran)))\n(X (-NONE- *))\n", encoding="utf-8")
    (score,) = call.json("eval", "--gold", gold, gold, "--characters")["scores"]
    assert score["value"] == pytest.approx(100)
