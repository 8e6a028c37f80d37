"""Induced labels of phrases: they separate phrases with different edges, and depend on words and brackets only."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from induce.labels.phrase_labels import learn_labels
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree


def sentence(random: Random) -> Sentence:
    """A sentence with noun phrases, a verb phrase and perhaps a prepositional phrase, and a comma."""

    def noun_phrase() -> str:
        return f"(NP (D {random.choice(['the', 'a'])}) (N {random.choice(['cat', 'dog', 'cow', 'pig'])}))"

    prepositional = f"(PP (P {random.choice(['in', 'on'])}) {noun_phrase()})" if random.random() < 0.5 else ""
    text = f"(S {noun_phrase()} (VP (V {random.choice(['saw', 'met'])}) {noun_phrase()} {prepositional}) (, ,))"
    tree = Tree.from_text(text)
    return Sentence(tree.words, tree.tags, tree)


@pytest.fixture(scope="module")
def corpus() -> list[Sentence]:
    random = Random(1)
    return [sentence(random) for _ in range(150)]


def test_labels_separate_types_of_phrases(corpus: list[Sentence]) -> None:
    labels: dict[str, set[str]] = {}
    labeler = learn_labels(corpus, labels=6)
    for before, after in zip(corpus, labeler(corpus), strict=True):
        for gold, induced in zip(before.tree.labels, after.tree.labels, strict=True):
            labels.setdefault(gold, set()).add(induced)
    assert labels["NP"].isdisjoint(labels["VP"] | labels["PP"])
    legend = dict(line.split(" (", 1) for line in labeler.legend)
    assert set().union(*labels.values()) <= {f"P{rank}" for rank in range(1, 7)}
    first_words = {name: line.split("): ")[1].split()[0] for name, line in legend.items()}
    assert {first_words[name] for name in labels["VP"]} <= {"saw", "met"}
    assert {first_words[name] for name in labels["NP"]} <= {"the", "a"}


def test_gold_labels_and_tags_have_no_effect(corpus: list[Sentence]) -> None:
    bare = [replace(sentence, tags=(), tree=sentence.tree.without_labels()) for sentence in corpus]
    labels = [[out.tree.labels for out in learn_labels(trees)(trees)] for trees in (corpus, bare)]
    assert labels[0] == labels[1]


def test_empty_elements_and_sentences_without_phrases(corpus: list[Sentence]) -> None:
    labeler = learn_labels(corpus)
    tree = Tree.from_text("(S (NP (-NONE- *)) (VP (V saw) (NP (D the) (N dog))))")
    plain = labeler.relabel(tree.without_traces())
    assert labeler.relabel(tree).labels == (plain.labels[0], "X", *plain.labels[1:])
    assert labeler.relabel(Tree((), (), (), ())) == Tree((), (), (), ())
    with pytest.raises(SynparseError, match="there is no phrase"):
        learn_labels([Sentence(("a",), (), Tree.from_text("(S (D a))"))])
    with pytest.raises(SynparseError, match="no sentence with a tree"):
        learn_labels([Sentence(("a", "b"))])
