"""Labels of predicted trees against gold ones: by hand, at the bounds, and through the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.calls import Caller
from treebank.evaluate.align import Bracketing
from treebank.evaluate.score import LabelCounts, LabelScores

GOLD = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (JJ big) (NN cat))) (. .))"


def brackets(*pairs: tuple[tuple[int, int], str]) -> Bracketing:
    """The brackets of one sentence of eight words."""
    spans, labels = zip(*pairs, strict=True)
    return Bracketing(8, spans, labels)


def sentence(labels: str) -> Bracketing:
    """Brackets that follow one another, one for each label."""
    return brackets(*(((2 * i, 2 * i + 2), label) for i, label in enumerate(labels.split())))


def label_scores(gold: Bracketing, predicted: Bracketing) -> LabelScores | None:
    """The scores of the labels of one sentence."""
    counts = LabelCounts()
    counts.add_brackets(list(zip(gold.spans, gold.labels, strict=True)), predicted)
    return counts.scores()


def scores(gold: str, predicted: str) -> LabelScores:
    result = label_scores(sentence(gold), sentence(predicted))
    assert result is not None
    return result


def test_by_hand() -> None:
    result = scores("NP NP VP S", "A A B B")
    # H(gold) = 1.5 bits, H(gold | label) = 0.5, H(label | gold) = 0
    assert result.homogeneity == pytest.approx(100 * 2 / 3)
    assert result.completeness == pytest.approx(100)
    assert result.v_measure == pytest.approx(80)
    assert result.many_to_one == 75
    assert result.meanings == {"A": "NP", "B": "S"}  # of VP and S, as frequent, the first by the alphabet
    assert result.recall == {"NP": (2, 2), "VP": (0, 1), "S": (1, 1)}


def test_other_names_and_nothing_in_common() -> None:
    same = scores("NP VP NP", "x y x")
    assert (same.v_measure, same.many_to_one) == (pytest.approx(100), 100)
    crossed = scores("NP NP VP VP", "x y x y")
    assert (crossed.v_measure, crossed.many_to_one) == (pytest.approx(0), 50)


def test_constituents_that_were_not_found_count_for_recall_alone() -> None:
    result = label_scores(sentence("NP VP VP"), sentence("x y"))
    assert result is not None
    assert (result.matched, result.many_to_one) == (2, 100)
    assert result.recall == {"NP": (1, 1), "VP": (1, 2)}


def test_the_outermost_bracket_of_a_span_gives_its_label_and_words_have_none() -> None:
    gold = brackets(((0, 3), "S"), ((0, 3), "VP"), ((1, 3), "NP"), ((2, 3), "QP"))
    result = label_scores(gold, brackets(((0, 3), "a"), ((1, 3), "b"), ((2, 3), "c")))
    assert result is not None
    assert result.meanings == {"a": "S", "b": "NP"}
    assert set(result.recall) == {"S", "NP"}


def test_one_label_says_nothing() -> None:
    assert label_scores(sentence("NP VP"), sentence("X X")) is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = Caller(capsys)
    gold, labelled, bare = tmp_path / "gold.ptb", tmp_path / "labelled.txt", tmp_path / "bare.txt"
    gold.write_text(GOLD + "\n", encoding="utf-8")
    words = ("(NT1 (W the) (W dog))", "(NT2 (W saw) (NT1 (W a) (NT1 (W big) (W cat))))", "(W .)")
    labelled.write_text(f"(NT0 {' '.join(words)})\n", encoding="utf-8")
    bare.write_text("((the dog) (saw (a (big cat))) .)\n", encoding="utf-8")
    (entry,) = call.json("eval", "--gold", gold, labelled)["scores"]
    assert entry["labels"]["meanings"] == {"NT1": "NP", "NT0": "S", "NT2": "VP"}
    assert entry["labels"]["recall"] == {"NP": [2, 2], "VP": [1, 1], "S": [1, 1]}
    (entry,) = call.json("eval", "--gold", gold, bare)["scores"]
    assert "labels" not in entry
    table = call.result("eval", "--gold", gold, labelled, bare)
    row = [line.split() for line in table.splitlines() if line.startswith(str(labelled))][-1]
    assert row[1:] == ["100.0", "100.0", "100.0", "100.0", "100.0", "100.0", "100.0"]
