"""Predictions that do not fit gold sentences, and those that do although they are written otherwise."""

from __future__ import annotations

import pytest

from tests.support.scoring import SAFE, predicted_system, predictions_of, treebank_of
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import Tree
from treebank.corpora.catalog import up_to
from treebank.evaluate.conventions import CONVENTIONS, find_convention
from treebank.evaluate.score import SentenceCounts
from treebank.evaluate.uf1 import score_trees
from treebank.io.predictions import PredictedTree


@pytest.mark.parametrize(
    ("words", "problem"),
    [("a b", "word 3 is the end after 2 words, in gold 'c'"), ("a b c d", "word 4 is 'd', in gold the end after 3")],
)
def test_missing_and_superfluous_words(words: str, problem: str) -> None:
    predicted = ["X", *(("W", word) for word in words.split())]
    with pytest.raises(SynparseError, match=problem):
        score_trees(treebank_of([SAFE]), [predicted_system(predictions_of([predicted]))], [CONVENTIONS["km"]])


def test_predictions_for_the_short_sentences_only() -> None:
    long = ["S", *(("NN", f"w{i}") for i in range(12))]
    gold = treebank_of([long, SAFE, ["S", (".", ".")]])
    report = score_trees(gold, [predicted_system(predictions_of([SAFE]))], [CONVENTIONS["on-lstm"]], max_length=10)[0]
    assert (len(report.counts), round(report.value, 4)) == (1, 100)
    assert len(up_to(gold, 10)) == 1
    limited = [CONVENTIONS["km-wsj10"], find_convention("len:1-3")]  # the limits of conventions hold as well
    reports = score_trees(gold, [predicted_system(predictions_of([SAFE]))], limited)
    assert [report.totals for report in reports] == [SentenceCounts(2, 2, 2), SentenceCounts(1, 1, 1)]
    for other in (CONVENTIONS["km"], CONVENTIONS["evalb"], find_convention("tokens:letters,len:1-10")):
        with pytest.raises(SynparseError, match=r"1 tree for the 3 sentences of toy\.mrg"):
            score_trees(gold, [predicted_system(predictions_of([SAFE]))], [*limited, other])


def test_bracket_escapes_and_bare_brackets_are_understood() -> None:
    gold = Tree.from_text("(S (NP (-LRB- -LRB-) (NN a\\/b)) (VP (VB (c)) (NN d)))".replace("(c)", "-LRB-c-RRB-"))
    bare = PredictedTree("p.txt", 1, "(a/b (-LRB-c-RRB- d))", Tree.from_text("(a/b (-LRB-c-RRB- d))"))
    report = score_trees(
        Treebank("toy", [Sentence(gold.words, gold.tags, gold)]), [predicted_system([bare])], [CONVENTIONS["km"]]
    )[0]
    assert report.totals == SentenceCounts(2, 2, 2)


def test_empty_prediction_counts_as_sentence_without_brackets() -> None:
    gold = treebank_of([["S", (".", ".")], SAFE])
    trees = [PredictedTree("p.txt", 1, "", Tree((), (), (), ())), *predictions_of([SAFE])]
    assert score_trees(gold, [predicted_system(trees)], [CONVENTIONS["km"]])[0].value == 100
    (score,) = score_trees(treebank_of([SAFE, SAFE]), [predicted_system(trees)], [CONVENTIONS["km"]])
    assert score.totals.predicted < score.totals.gold
