"""Calibration of confidences: groups of similar size, and the parts of a report that are judged."""

from __future__ import annotations

import pytest

import synparse
from induce.reporting.parsed import Compared, Parsed
from induce.reporting.sections import Judged, calibration, calibration_bins, calibration_error, judged
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

GOLD = (
    "(S (NP (DT The) (NN teacher)) (VP (VBD saw) (NP (DT the) (JJ old) (NN man))) (. .))",
    "(S (NP (PRP They)) (VP (VBP think) (SBAR (IN that) (S (NP (DT the) (NN man)) (VP (VBZ sleeps))))) (. .))",
)


def test_groups_have_similar_sizes_and_do_not_divide_equal_confidences() -> None:
    parts = [Judged(value / 40, value >= 5) for value in range(40)] + [Judged(39 / 40, False)] * 10
    bins = calibration_bins(parts)
    assert [each.count for each in bins] == [*[5] * 7, 15]
    assert [each.lowest for each in bins] == [value / 40 for value in range(0, 40, 5)]
    alone = calibration_bins([Judged(0.25, True)] * 4)
    assert [(each.count, each.mean, each.correct) for each in alone] == [(4, 0.25, 1.0)]
    assert calibration_error(alone) == pytest.approx(0.75)


def test_judged_phrases_are_those_of_the_trees() -> None:
    sentences = [Sentence(()).with_tree(Tree.from_text(text)) for text in GOLD]
    parser = synparse.load("english")
    model = Parsed.of(parser, sentences, name="english", run="english")
    compared = Compared(sentences, [model])
    parts = judged(compared, model)
    assert len(parts) == sum(len(compared.parts(model, index)) for index in range(2)) > 5
    correct = sum(len(compared.parts(model, index) & compared.gold[index].spans) for index in range(2))
    assert sum(part.is_correct for part in parts) == correct > 0
    assert all(0 <= part.confidence <= 1 for part in parts)
    assert "Expected calibration error" in calibration(compared).blocks[-1].content.footnotes[0]
    without_gold = Compared([Sentence(sentence.words) for sentence in sentences], [model])
    assert calibration(without_gold).blocks == []


def test_small_distances_differ_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Parsed, "has_probabilities", False)
    sentences = [Sentence(()).with_tree(Tree.from_text(text)) for text in GOLD]
    parser = synparse.load("english")
    model = Parsed.of(parser, sentences, name="english", run="english")
    model.confidences = [[0.0002 + i / 10_000 for i in range(len(values))] for values in model.confidences]
    assert "0.0006" in {row[0] for row in calibration(Compared(sentences, [model])).blocks[-1].content.texts()}
