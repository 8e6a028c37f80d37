"""Mean sharpness over sentences, and the scores that it is correlated with."""

from __future__ import annotations

import pytest

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
