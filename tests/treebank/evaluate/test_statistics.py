"""Intervals and differences against textbooks and all permutations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from tests.support.scoring import SAFE, treebank_of, without_intervals
from treebank.base.errors import SynparseError
from treebank.evaluate import statistics as significance
from treebank.evaluate.comparison import compare
from treebank.evaluate.conventions import CONVENTIONS
from treebank.evaluate.statistics import bootstrap_interval, paired_bootstrap, paired_permutation, resampled_sums
from treebank.evaluate.systems import baseline
from treebank.evaluate.uf1 import score_trees


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(significance, "RESAMPLES", 50)
    significance.times_drawn.cache_clear()
    yield
    significance.times_drawn.cache_clear()


@pytest.fixture
def many_draws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(significance, "RESAMPLES", 4000)
    monkeypatch.setattr(significance, "PERMUTATIONS", 20_000)
    significance.times_drawn.cache_clear()
    yield
    significance.times_drawn.cache_clear()


def test_resampling_is_seeded_and_pairs_systems(few_draws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.arange(20.0).reshape(10, 2)
    first = resampled_sums(columns)
    significance.times_drawn.cache_clear()
    assert (first == resampled_sums(columns)).all()
    alone = resampled_sums(columns[:, 1:])
    assert (first[:, 1:] == alone).all()
    assert np.allclose(first[:, 1], first[:, 0] + 10)  # every resample draws as many sentences as there are
    counted = resampled_sums(np.column_stack([columns, np.ones(10)]))
    assert (counted[:, :2] == first).all()
    assert (counted[:, 2] == 10).all()
    monkeypatch.setattr(significance, "SEED", 4)
    significance.times_drawn.cache_clear()
    assert not (first == resampled_sums(columns)).all()


def test_many_sentences_are_drawn_like_few(few_draws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the counts of all draws would take too much memory, the sums are taken one resample at a time."""
    columns = np.column_stack([np.random.default_rng(1).normal(size=(30, 2)), np.ones(30)])
    few = resampled_sums(columns)
    monkeypatch.setattr(significance, "BLOCK", 30 * 50 - 1)
    np.testing.assert_allclose(resampled_sums(columns), few, rtol=0, atol=1e-12)


def test_the_interval_of_a_mean_is_the_textbook_one(many_draws: None) -> None:
    values = np.random.default_rng(0).normal(size=400)
    low, high = bootstrap_interval(values[:, None], lambda sums: sums[:, 0] / 400)
    error = 1.96 * values.std() / 20
    assert math.isclose(low, values.mean() - error, abs_tol=0.02)
    assert math.isclose(high, values.mean() + error, abs_tol=0.02)


def test_equal_sentences_have_no_spread() -> None:
    for report in score_trees(treebank_of([SAFE] * 5), [baseline("right")], CONVENTIONS.values()):
        assert report.interval == pytest.approx((report.value, report.value))


def test_permutation_equals_all_permutations(many_draws: None) -> None:
    """Ten sentences have 1,024 permutations."""
    chance = np.random.default_rng(2)
    for pooled in (False, True):
        first, second = (chance.integers(1, 9, size=(10, 2)).astype(float) for _ in range(2))

        def value(sums: np.ndarray, pooled: bool = pooled) -> np.ndarray:
            return sums[:, 0] / sums[:, 1] if pooled else sums[:, 0] / 10

        observed = abs((value(second.sum(0)[None]) - value(first.sum(0)[None]))[0])
        extreme = 0
        for swapped in product([False, True], repeat=10):
            mask = np.array(swapped)[:, None]
            pair = np.where(mask, second, first).sum(0)[None], np.where(mask, first, second).sum(0)[None]
            extreme += abs((value(pair[1]) - value(pair[0]))[0]) >= observed - 1e-12
        p = paired_permutation(first, second, value)
        assert p == pytest.approx(extreme / 1024, abs=0.015)


def test_paired_bootstrap_is_the_textbook_one_for_a_mean(many_draws: None) -> None:
    chance = np.random.default_rng(0)
    first = chance.normal(size=(400, 1))
    second = first + chance.normal(0.05, 0.5, size=(400, 1))
    difference = (second - first).ravel()
    low, high, p = paired_bootstrap(first, second, lambda sums: sums[:, 0] / 400)
    error = difference.std() / 20
    assert low == pytest.approx(difference.mean() - 1.96 * error, abs=0.005)
    assert high == pytest.approx(difference.mean() + 1.96 * error, abs=0.005)
    assert p == pytest.approx(2 * (1 - NormalDist().cdf(abs(difference.mean()) / error)), abs=0.02)


def test_a_comparison_needs_the_same_sentences() -> None:
    gold = treebank_of([SAFE] * 3)
    systems = [baseline("left"), baseline("right")]
    with without_intervals():
        left, right = score_trees(gold, systems, [CONVENTIONS["km"]])
        other = score_trees(treebank_of([SAFE] * 2), systems, [CONVENTIONS["km"]])[0]
    assert compare(left, right).difference == pytest.approx(right.value - left.value)
    with pytest.raises(SynparseError, match="not scored on the same sentences"):
        compare(left, other)
