"""Scores of single sentences, for error analysis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import Tree
from treebank.evaluate.align import TreeView
from treebank.evaluate.averaging import Counts, pooled_score, sentence_score
from treebank.evaluate.score import Score, TreeScore


class SentenceScore(NamedTuple):
    """One scored gold sentence: its index within the score, its counts, and its value in percent."""

    number: int
    sentence: Sentence
    counts: Counts
    value: float


def sentence_scores(score: Score, gold: Treebank) -> Iterator[SentenceScore]:
    """All scored sentences in the order of ``gold``, the treebank that the score was computed on."""
    f1 = sentence_score if score.convention.average == "sent" else pooled_score
    for number, (index, counts) in enumerate(zip(score.indices, score.counts, strict=True)):
        yield SentenceScore(number, gold.sentences[index], counts, 100 * f1(counts).f1)


def worst(score: Score, gold: Treebank, count: int) -> list[SentenceScore]:
    """The ``count`` sentences with the lowest values. Among equal ones, those with most missed brackets come first."""
    sentences = [sentence for sentence in sentence_scores(score, gold) if sentence.counts.gold]
    return sorted(sentences, key=lambda item: (item.value, item.counts.matched - item.counts.gold, item.number))[:count]


def both_trees(score: TreeScore, scored: SentenceScore) -> tuple[Tree, Tree]:
    """The gold tree and the predicted one over the words that count."""
    gold = scored.sentence.tree
    assert gold is not None
    tree = TreeView.of(scored.sentence, gold, score.convention.tokens).tree
    return tree, Tree.from_spans(tree.words, score.predicted[scored.number], label="\u00b7")
