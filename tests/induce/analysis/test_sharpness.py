"""Mean sharpness over sentences, the scores that it is correlated with, and correlations against known values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from induce.analysis.correlation import pearson, probability_larger, ranks, spearman
from induce.analysis.sharpness import mean_sharpness, scores_of, sentence_sharpness
from induce.parsing.reading import Reading
from induce.structures import Distances, HeadDistribution, StackDecisions


def test_short_sentences_and_structures_without_a_measure_have_no_sharpness() -> None:
    assert sentence_sharpness(Reading("ab", range(2), HeadDistribution, [[0, 1], [0, 1]])) == {}
    assert sentence_sharpness(Reading("abc", range(3), StackDecisions, [0, 0, 0])) == {}


def test_mean_is_over_sentences_with_measures() -> None:
    uniform = Reading("abc", range(3), HeadDistribution, [[1 / 3] * 3] * 3)
    certain = Reading("abc", range(3), HeadDistribution, [[0, 1, 0]] * 3)
    values, sentences = mean_sharpness([{}, sentence_sharpness(uniform), sentence_sharpness(certain)])
    assert sentences == 2
    assert values == pytest.approx({"head entropy": 1.585 / 2, "largest": 2 / 3}, abs=1e-3)
    gaps = sentence_sharpness(Reading("abcd", range(4), Distances, [9.0, 1.0, 3.0, 2.0]))
    assert gaps["margin"] == pytest.approx((2 / 3) ** -0.5)


def test_scores_of_one_metric_are_selected() -> None:
    entries = [{"model": "a", "metric": "UAS", "value": 1}, {"model": "a", "metric": "UUAS", "value": 2}]
    assert scores_of({"scores": entries}) == ("UAS", {"a": 1.0})
    assert scores_of({"scores": entries}, "UUAS") == ("UUAS", {"a": 2.0})
    with pytest.raises(ValueError, match="there is no score F1 of a model"):
        scores_of({"scores": entries}, "F1")
    with pytest.raises(ValueError, match='expected an object with "scores"'):
        scores_of({"scores": [{"model": "a"}]})


def test_correlations_equal_known_values() -> None:
    """Compare with values computed by hand and by numpy."""
    assert ranks([3, 1, 3, 2]).tolist() == [3.5, 1, 3.5, 2]
    chance = np.random.default_rng(1)
    first, second = chance.normal(size=200), chance.normal(size=200)
    mixed = first + second
    correlation = pearson(mixed, first)
    assert correlation.value == pytest.approx(np.corrcoef(mixed, first)[0, 1])
    assert correlation.low < correlation.value < correlation.high
    assert spearman(np.exp(mixed), first**3).value == pytest.approx(spearman(mixed, first).value)
    assert spearman([1, 2, 3, 4, 5], [1, 2, 3, 5, 4]).value == pytest.approx(0.9)  # 1 - 6 * 2 / (5 * 24)
    assert math.isnan(pearson([1, 1, 1], [1, 2, 3]).value)
    half = 1.959964 * math.sqrt((1 + 0.9**2 / 2) / (5 - 3))
    assert spearman([1, 2, 3, 4, 5], [1, 2, 3, 5, 4]).low == pytest.approx(math.tanh(math.atanh(0.9) - half))


def test_probability_larger_counts_ties_half() -> None:
    values, is_positive = np.array([1.0, 2, 2, 3]), np.array([False, True, False, True])
    assert probability_larger(values, is_positive) == pytest.approx((1 + 0.5 + 1 + 1) / 4)


def test_three_values_do_not_limit_the_interval() -> None:
    assert pearson([1, 2, 3], [1, 2, 4])[1:] == (-1, 1)
    assert spearman([1, 2, 3], [1, 2, 4]) == (pytest.approx(1), -1, 1)
    value, low, high = pearson([1, 2, 3, 4], [1, 3, 2, 4])
    assert value == pytest.approx(0.8)
    assert (low, high) == pytest.approx((-0.697, 0.996), abs=1e-3)  # tanh(atanh(0.8) -+ 1.96)
