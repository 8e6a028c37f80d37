"""Induced labels separate types of phrases and of arcs, and depend on words, brackets and heads only."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from induce.labels.induced_labels import learn_labels, learn_relations, merge_types
from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT, Sentence
from treebank.core.tree import Tree

HEADS = (1, 2, ROOT, 4, 2, 2)  # the cat saw a dog .
GOLD = ("det", "nsubj", "root", "det", "obj", "punct")


def sentence(random: Random) -> Sentence:
    """A sentence with noun phrases, a verb phrase and perhaps a prepositional phrase, and a comma."""

    def noun_phrase() -> str:
        return f"(NP (D {random.choice(['the', 'a'])}) (N {random.choice(['cat', 'dog', 'cow', 'pig'])}))"

    prepositional = f"(PP (P {random.choice(['in', 'on'])}) {noun_phrase()})" if random.random() < 0.5 else ""
    text = f"(S {noun_phrase()} (VP (V {random.choice(['saw', 'met'])}) {noun_phrase()} {prepositional}) (, ,))"
    tree = Tree.from_text(text)
    return Sentence(tree.words, tree.tags, tree)


@pytest.fixture(scope="module")
def treebank() -> list[Sentence]:
    random = Random(1)
    return [sentence(random) for _ in range(150)]


def test_labels_separate_types_of_phrases(treebank: list[Sentence]) -> None:
    labels: dict[str, set[str]] = {}
    labeler = learn_labels(treebank, labels=6)
    for before, after in zip(treebank, labeler(treebank), strict=True):
        for gold, induced in zip(before.tree.labels, after.tree.labels, strict=True):
            labels.setdefault(gold, set()).add(induced)
    assert labels["NP"].isdisjoint(labels["VP"] | labels["PP"])
    legend = dict(line.split(" (", 1) for line in labeler.legend)
    assert set().union(*labels.values()) <= {f"P{rank}" for rank in range(1, 7)}
    first_words = {name: line.split("): ")[1].split()[0] for name, line in legend.items()}
    assert {first_words[name] for name in labels["VP"]} <= {"saw", "met"}
    assert {first_words[name] for name in labels["NP"]} <= {"the", "a"}


def test_gold_labels_and_tags_have_no_effect(treebank: list[Sentence]) -> None:
    bare = [replace(sentence, tags=(), tree=sentence.tree.without_labels()) for sentence in treebank]
    labels = [[out.tree.labels for out in learn_labels(trees)(trees)] for trees in (treebank, bare)]
    assert labels[0] == labels[1]


def test_empty_elements_and_sentences_without_phrases(treebank: list[Sentence]) -> None:
    labeler = learn_labels(treebank)
    tree = Tree.from_text("(S (NP (-NONE- *)) (VP (V saw) (NP (D the) (N dog))))")
    plain = labeler.relabel(tree.without_traces())
    assert labeler.relabel(tree).labels == (plain.labels[0], "X", *plain.labels[1:])
    assert labeler.relabel(Tree((), (), (), ())) == Tree((), (), (), ())
    with pytest.raises(SynparseError, match="there is no phrase"):
        learn_labels([Sentence(("a",), (), Tree.from_text("(S (D a))"))])
    with pytest.raises(SynparseError, match="no sentence with a tree"):
        learn_labels([Sentence(("a", "b"))])


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    random = Random(1)
    nouns, verbs = ["cat", "dog", "cow", "pig"], ["saw", "met"]
    words = [("the", random.choice(nouns), random.choice(verbs), "a", random.choice(nouns), ".") for _ in range(150)]
    return [Sentence(text, heads=HEADS, relations=GOLD) for text in words]


def test_relations_separate_subjects_objects_and_determiners(sentences: list[Sentence]) -> None:
    labeler = learn_relations(sentences, labels=3)
    names = {out.relations for out in labeler(sentences)}
    assert len(names) == 1
    ((det, subject, root, same_det, target, mark),) = names
    assert (root, mark, det) == ("root", "punct", same_det)
    assert len({det, subject, target}) == 3
    legend = dict(line.split(" (", 1) for line in labeler.legend)
    assert list(legend) == ["R1", "R2", "R3"]
    assert legend[det].startswith("300 arcs): ")
    assert legend[subject].partition(" ← ")[2].split(",")[0] in ("saw", "met")


def test_gold_relations_and_tags_have_no_effect(sentences: list[Sentence]) -> None:
    tagged = [replace(sentence, tags=("X",) * 6, relations=()) for sentence in sentences]
    first, second = ([out.relations for out in learn_relations(text)(text)] for text in (sentences, tagged))
    assert first == second


def test_fewer_labels_than_types_and_types_that_were_not_seen(sentences: list[Sentence]) -> None:
    labeler = learn_relations(sentences, labels=2)
    assert len(labeler.names) == 2
    assert len(learn_relations(sentences, labels=50).names) == 10  # two articles, four nouns on two sides
    assert labeler.relations(("saw", "the", "."), (1, ROOT, 0)) == ("dep", "root", "punct")
    assert labeler.relations((), ()) == ()
    with pytest.raises(SynparseError, match="no word with another word as its head"):
        learn_relations([Sentence(("a",), heads=(ROOT,))])
    with pytest.raises(SynparseError, match="no sentence with heads"):
        learn_relations([Sentence(("a", "b"))])


def test_types_with_the_smallest_loss_of_information_are_merged() -> None:
    counts = np.array([[8.0, 0.0], [6.0, 2.0], [0.0, 8.0], [1.0, 7.0]])
    assert merge_types([counts, counts], 2).tolist() == [0, 0, 1, 1]
    assert merge_types([counts], 3).tolist() == [0, 1, 2, 2]
    assert merge_types([counts], 9).tolist() == [0, 1, 2, 3]
    frequent = np.array([[80.0, 0.0], [60.0, 20.0], [0.0, 2.0]])  # a rare type costs less
    assert merge_types([frequent], 2).tolist() == [0, 1, 1]
