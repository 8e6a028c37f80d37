"""What is said of several models' trees and heads without gold: agreement, frequent constituents, sharpness."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from induce.parsing.reading import Reading
from induce.reporting.parsed import (
    MEANINGS,
    Compared,
    Parsed,
    Sharpness,
    frequent_constituents,
    frequent_heads,
    in_context,
)
from induce.reporting.sections import distinct
from induce.structures import Distances, HeadDistribution, SpanScores
from treebank.core.sentence import Place, Sentence
from treebank.core.tree import Tree
from treebank.draw.picture import Analysis

WORDS = ("the", "cat", "saw", "a", "dog", ".")


def model(run: str, *spans: tuple[int, int], heads: tuple[int, ...] = ()) -> Parsed:
    """A model that gives these brackets, or these heads, to the one sentence."""
    parser: Any = SimpleNamespace(output="heads" if heads else "trees")
    tree = None if heads else Tree.from_spans(WORDS, list(spans))
    return Parsed(run, run, parser, [Analysis(run, WORDS, tree=tree, heads=heads)])


def sentence(gold: str = "") -> Sentence:
    return Sentence(WORDS, tree=Tree.from_text(gold) if gold else None, place=Place("x", 1))


def test_agreement_is_the_f1_of_the_brackets_that_count() -> None:
    first = model("a", (0, 6), (0, 2), (2, 5), (3, 5))
    second = model("b", (0, 5), (0, 2), (3, 5))  # (0, 5) is the whole sentence without its full stop
    compared = Compared([sentence()], [first, second])
    assert compared.agreement(first, second) == pytest.approx(100 * 2 * 2 / (3 + 2))
    assert compared.by_sentence() == [pytest.approx(80.0)]


def test_trees_are_not_compared_with_heads() -> None:
    tree, heads = model("a", (0, 2)), model("b", heads=(1, 2, -1, 4, 2, 2))
    other = model("c", heads=(1, 2, -1, 4, 3, 2))
    compared = Compared([sentence()], [tree, heads, other])
    assert compared.pairs() == [(heads, other)]
    assert compared.agreement(heads, other) == pytest.approx(80.0)  # four of five words, the full stop left out


def test_frequent_constituents_beside_the_text_and_gold() -> None:
    one = model("a", (0, 2), (2, 4))
    gold = "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT a) (NN dog))) (. .))"
    rows = list(frequent_constituents(Compared([sentence(gold)], [one]), one))
    assert rows == [("the cat", 1, 1, 1, "[the cat] saw a dog"), ("saw a", 1, 1, 0, "the cat [saw a] dog")]
    assert next(frequent_constituents(Compared([sentence()], [one]), one))[3] is None


def test_frequent_heads() -> None:
    one = model("a", heads=(1, 2, -1, 4, 2, 2))
    rows = list(frequent_heads(Compared([sentence()], [one]), one))
    assert ("the ← cat", 1, None, "[the cat] saw a dog .") in rows
    assert ("saw ← (root)", 1, None, "the cat [saw] a dog .") in rows
    assert len(rows) == 5


def test_long_sentences_are_cut_around_the_example() -> None:
    assert in_context([*"abcdefghijkl"], 5, 7) == "… b c d e [f g] h i j k …"


def test_sharpness() -> None:
    flat, sharp = Sharpness(), Sharpness()
    for sharpness, row in ((flat, [[1 / 3] * 3] * 3), (sharp, [[0, 1, 0]] * 3)):
        sharpness.add(Reading("abc", range(3), HeadDistribution, row))
        sharpness.add(Reading("ab", range(2), HeadDistribution, [[0, 1], [0, 1]]))  # too short to count
    assert [value for _, value in flat.told()] == ["1.58", "0.33"]
    assert [value for _, value in sharp.told()] == ["0.00", "1.00"]
    gaps = Sharpness()
    gaps.add(Reading("abcd", range(4), Distances, [9.0, 1.0, 3.0, 2.0]))  # the first is before the sentence
    assert gaps.told()[0] == (MEANINGS["margin"], "1.22")  # 1 / sqrt(2 / 3)
    assert Sharpness().told()[0][1] == "–"


def test_sharpness_of_spans_is_of_probabilities_only() -> None:
    row = np.full((3, 4), 0.5)
    spans = Sharpness()
    spans.add(Reading("abc", range(3), SpanScores, row))
    assert [value for _, value in spans.told()] == ["1.00", "0.50"]
    votes = Sharpness()
    votes.add(Reading("abc", range(3), SpanScores, row - 0.6))
    assert votes.told()[0][1] == "–"


def test_a_sentence_that_comes_twice_is_drawn_once() -> None:
    twice = [Sentence(words, place=Place("x", line)) for line, words in enumerate((WORDS, WORDS, WORDS[1:]))]
    assert distinct(Compared(twice, []), [1, 0, 2]) == [1, 2]
