"""The score of each sentence: to find out where a system goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from treebank.core.sentence import Sentence, Treebank
from treebank.core.tags import word_mask
from treebank.core.tree import Tree
from treebank.evaluate.align import without_top
from treebank.evaluate.averaging import each_score, pooled_score
from treebank.evaluate.conventions import ScoringConvention
from treebank.evaluate.score import Counts, ScoreReport


class SentenceScore(NamedTuple):
    """One gold sentence under one report; ``value`` in percent."""

    number: int  # of the scored sentence within the report
    sentence: Sentence
    counts: Counts
    value: float


def sentence_scores(report: ScoreReport, gold: Treebank) -> Iterator[SentenceScore]:
    """All scored sentences, in the order of ``gold``, the treebank that the report was made with."""
    if report.convention.average == "sent":
        values = each_score(report.counts)[:, 2].tolist()
    else:
        values = [pooled_score(counts).f1 for counts in report.counts]
    for number, (place, counts, value) in enumerate(zip(report.places, report.counts, values, strict=True)):
        yield SentenceScore(number, gold.sentences[place], counts, 100 * value)


def worst(report: ScoreReport, gold: Treebank, count: int) -> list[SentenceScore]:
    """The ``count`` sentences with the lowest values; of equal ones those that miss the most brackets."""
    scores = [one for one in sentence_scores(report, gold) if one.counts.gold]
    return sorted(scores, key=lambda one: (one.value, one.counts.matched - one.counts.gold, one.number))[:count]


def both_trees(report: ScoreReport, one: SentenceScore) -> tuple[Tree, Tree]:
    """The gold tree and the predicted one over the tokens that count."""
    assert isinstance(report.convention, ScoringConvention)
    assert one.sentence.tree is not None
    gold = one.sentence.tree
    tree = without_top(gold.keep(word_mask(report.convention.tokens, gold.words, gold.tags)))
    return tree, Tree.from_spans(tree.words, report.predicted[one.number], label="\u00b7")
