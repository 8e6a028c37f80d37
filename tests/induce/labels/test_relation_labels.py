"""Induced relations: they separate dependents by class, side and valence, and depend on words and heads only."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from induce.labels.relation_labels import learn_relations, merge_types
from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT, Sentence

HEADS = (1, 2, ROOT, 4, 2, 2)  # the cat saw a dog .
GOLD = ("det", "nsubj", "root", "det", "obj", "punct")


@pytest.fixture(scope="module")
def corpus() -> list[Sentence]:
    random = Random(1)
    nouns, verbs = ["cat", "dog", "cow", "pig"], ["saw", "met"]
    words = [("the", random.choice(nouns), random.choice(verbs), "a", random.choice(nouns), ".") for _ in range(150)]
    return [Sentence(text, heads=HEADS, relations=GOLD) for text in words]


def test_relations_separate_subjects_objects_and_determiners(corpus: list[Sentence]) -> None:
    names = {out.relations for out in learn_relations(corpus, labels=3)(corpus)}
    assert len(names) == 1
    ((det, subject, root, same_det, target, mark),) = names
    assert (root, mark, det) == ("root", "punct", same_det)
    assert len({det, subject, target}) == 3
    assert subject.partition("_")[2] in ("saw", "met")


def test_gold_relations_and_tags_have_no_effect(corpus: list[Sentence]) -> None:
    tagged = [replace(sentence, tags=("X",) * 6, relations=()) for sentence in corpus]
    first, second = ([out.relations for out in learn_relations(text)(text)] for text in (corpus, tagged))
    assert first == second


def test_fewer_labels_than_types_and_types_that_were_not_seen(corpus: list[Sentence]) -> None:
    labeler = learn_relations(corpus, labels=2)
    assert len(labeler.names) == 2
    assert len(learn_relations(corpus, labels=50).names) == 10  # two articles, four nouns on two sides
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
