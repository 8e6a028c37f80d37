"""Confidence in a tree, compared with hand-computed values and with the definition."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from induce.decoding.distances import biased, unbiased
from induce.decoding.sharpness import margins
from induce.structures import Brackets, Distances, Heights, SpanScores


def plain_margin(distances: list[float], start: int, end: int) -> float:
    """The definition, gap by gap."""
    edges = [distances[edge] for edge in (start, end) if 0 < edge < len(distances)]
    return min(edges) - max(distances[start + 1 : end])


@pytest.mark.parametrize("decoder", [unbiased, biased])
def test_margins_are_those_of_the_definition(decoder: object) -> None:
    assert callable(decoder)
    rng = random.Random(1)
    for length in [3, 4, 5, 9, 30, 3, 4, 7]:
        row = [rng.choice([0.0, 1.0, 2.5, rng.random()]) for _ in range(length)]
        phrases = [(start, end) for start, end in decoder(row) if 1 < end - start < length]
        rng.shuffle(phrases)
        by_start = sorted(phrases, key=lambda span: (-span[0], span[1]))
        assert margins(row, phrases) == [plain_margin(row, *span) for span in by_start]


def test_margins_of_trees_of_any_arity() -> None:
    row = [9.0, 1.0, 5.0, 2.0, 3.0, 6.0]
    assert margins(row, [(0, 2), (2, 5)]) == [5.0 - 3.0, 5.0 - 1.0]
    assert Distances.confidence(row, [(0, 6), (0, 2), (2, 5)]) == 3.0
    assert Heights.confidence([[gap, 0.0] for gap in row], [(0, 6), (0, 2)]) == 4.0


def test_wider_gap_raises_confidence() -> None:
    spans = [(0, 3), (1, 3)]
    sure, unsure = (Distances.confidence([0.0, gap, 1.0], spans) for gap in (5.0, 1.5))
    assert sure is not None
    assert unsure is not None
    assert sure > unsure > 0


def test_confidence_of_span_scores_is_a_mean_probability() -> None:
    score = np.zeros((3, 4))
    score[0, 3], score[1, 3], score[0, 2] = 1.0, 0.7, 0.3
    assert SpanScores.confidence(score, [(0, 3), (1, 3)]) == pytest.approx(0.7)


def test_trees_without_inner_phrases_or_finite_gaps_have_no_confidence() -> None:
    assert Distances.confidence([0.0, 1.0], [(0, 2)]) is None
    assert Brackets.confidence([(0, 3), (1, 3)], [(0, 3), (1, 3)]) is None
    assert Distances.confidence([0.0, float("inf"), float("inf")], [(0, 3), (1, 3)]) is None


def test_long_right_branching_tree_takes_linear_time() -> None:
    length = 20_000
    row = [float(length - i) for i in range(length)]
    phrases = [(start, length) for start in range(1, length - 1)]
    assert set(margins(row, phrases)) == {1.0}
    assert json.dumps(Distances.confidence(row, [(0, length), *phrases])) == "1.0"
