"""Confidence in a tree, compared with hand-computed values and with the definition."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from induce.decoding.distances import biased, unbiased
from induce.parsing.reading import Reading, confidence_of, fit_confidence, mean_confidence
from induce.sharpness_measures import margins
from induce.structures import Distances, HeadDistribution, Heights, SpanScores, Structure
from treebank.core.sentence import ROOT


def confidence(structure: type[Structure], row: Any, spans: list[tuple[int, int]]) -> float | None:
    """Mean confidence in the tree of ``spans``."""
    count = len(row)
    reading = Reading([f"w{i}" for i in range(count)], range(count), structure, row)
    return mean_confidence(reading.confident_tree(spans).confidences)


def plain_margin(distances: list[float], start: int, end: int) -> float:
    """The definition, gap by gap."""
    edges = [distances[edge] for edge in (start, end) if 0 < edge < len(distances)]
    return min(edges) - max(distances[start + 1 : end])


@pytest.mark.parametrize("decoder", [unbiased, biased])
def test_margins_are_those_of_the_definition(decoder: object) -> None:
    rng = random.Random(1)
    for length in [3, 4, 5, 9, 30, 3, 4, 7]:
        row = [rng.choice([0.0, 1.0, 2.5, rng.random()]) for _ in range(length)]
        phrases = [(start, end) for start, end in decoder(row) if 1 < end - start < length]
        rng.shuffle(phrases)
        assert margins(row, phrases) == [plain_margin(row, *span) for span in phrases]


def test_margins_of_trees_of_any_arity() -> None:
    row = [9.0, 1.0, 5.0, 2.0, 3.0, 6.0]
    assert margins(row, [(0, 2), (2, 5)]) == [5.0 - 1.0, 5.0 - 3.0]
    assert confidence(Distances, row, [(0, 6), (0, 2), (2, 5)]) == 3.0
    assert confidence(Heights, [[gap, 0.0] for gap in row], [(0, 6), (0, 2)]) == 4.0


def test_confidence_of_span_scores_is_a_mean_probability() -> None:
    score = np.zeros((3, 4))
    score[0, 3], score[1, 3], score[0, 2] = 1.0, 0.7, 0.3
    assert confidence(SpanScores, score, [(0, 3), (1, 3)]) == pytest.approx(0.7)


def test_trees_without_inner_phrases_or_finite_gaps_have_no_confidence() -> None:
    assert confidence(Distances, [0.0, 1.0], [(0, 2)]) is None
    assert confidence(Distances, [0.0, float("inf"), float("inf")], [(0, 3), (1, 3)]) is None


def test_long_right_branching_tree_takes_linear_time() -> None:
    length = 20_000
    row = [float(length - i) for i in range(length)]
    phrases = [(start, length) for start in range(1, length - 1)]
    assert set(margins(row, phrases)) == {1.0}
    assert json.dumps(confidence(Distances, row, [(0, length), *phrases])) == "1.0"


def test_confidences_are_those_of_brackets_over_the_words_of_the_model() -> None:
    score = np.zeros((3, 4))
    score[0, 3], score[1, 3] = 1.0, 0.7
    reading = Reading(["a", ",", "b", "c", "."], [0, 2, 3], SpanScores, score)
    tree, confidences = reading.confident_tree([(0, 3), (1, 3)])
    assert (tree.spans, confidences) == (((0, 5), (2, 4)), (None, 0.7))
    flat, _ = reading.confident_tree([(0, 3), (1, 3)], 0.71)
    assert flat.spans == ((0, 5),)
    assert reading.confident_tree([(0, 3), (1, 3)], 0.7).tree == tree


def test_space_at_the_edge_of_a_phrase_of_characters_counts_once() -> None:
    score = np.zeros((4, 5))
    score[0, 2], score[0, 3], score[0, 4] = 0.4, 0.6, 1.0
    reading = Reading(["a", "b", "␣", "c"], range(4), SpanScores, score, token="character")
    tree, confidences = reading.confident_tree([(0, 4), (0, 3), (0, 2)])
    assert (tree.words, tree.spans, confidences) == (("a", "b", "c"), ((0, 3), (0, 2)), (None, 0.6))


@pytest.mark.parametrize(("root", "expected"), [([0.2, 0.5], 0.5), ([0.0, 0.0], None)])
def test_confidence_in_heads_is_their_probability(root: list[float], expected: float | None) -> None:
    row = np.array([[root[0], 0.8], [0.5, root[1]]])
    reading = Reading(["a", ",", "b"], [0, 2], HeadDistribution, row)
    assert reading.head_confidences((1, ROOT)) == (0.8, None, expected)


def test_order_of_phrases_with_equal_scores_has_no_effect_on_their_confidence() -> None:
    rng = np.random.RandomState(0)
    scores = np.where(rng.random(600) < 0.6, 1.0, rng.random(600))
    agreements = (rng.random(600) < np.where(scores == 1, 0.7, 0.2)).astype(float)
    order = rng.permutation(600)
    points = fit_confidence(scores.tolist(), agreements.tolist())
    assert fit_confidence(scores[order].tolist(), agreements[order].tolist()) == points
    assert confidence_of(points, [1.0]) == pytest.approx([agreements[scores == 1].mean()], abs=1e-4)
