"""Intervals and differences against textbooks and all permutations."""

from __future__ import annotations

import math
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from tests.support.scoring import SAFE, treebank_of, without_intervals
from treebank.base.errors import SynparseError
from treebank.evaluate import statistics as significance
from treebank.evaluate.compare import compare
from treebank.evaluate.conventions import CONVENTIONS
from treebank.evaluate.statistics import bootstrap_interval, paired_bootstrap, paired_permutation, resampled_sums
from treebank.evaluate.systems import baseline
from treebank.evaluate.uf1 import score_trees


def test_resampling_is_seeded_and_pairs_systems() -> None:
    columns = np.arange(20.0).reshape(10, 2)
    first, again = (resampled_sums(columns, resamples=50, seed=3) for _ in range(2))
    assert (first == again).all()
    assert not (first == resampled_sums(columns, resamples=50, seed=4)).all()
    alone = resampled_sums(columns[:, 1:], resamples=50, seed=3)
    assert (first[:, 1:] == alone).all()
    assert np.allclose(first[:, 1], first[:, 0] + 10)  # every resample draws as many sentences as there are
    counted = resampled_sums(np.column_stack([columns, np.ones(10)]), resamples=50, seed=3)
    assert (counted[:, :2] == first).all()
    assert (counted[:, 2] == 10).all()


def test_many_sentences_are_drawn_like_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the counts of all draws would take too much memory, the sums are taken one resample at a time."""
    columns = np.column_stack([np.random.default_rng(1).normal(size=(30, 2)), np.ones(30)])
    few = resampled_sums(columns, resamples=50, seed=3)
    monkeypatch.setattr(significance, "BLOCK", 30 * 50 - 1)
    np.testing.assert_allclose(resampled_sums(columns, resamples=50, seed=3), few, rtol=0, atol=1e-12)


def test_the_interval_of_a_mean_is_the_textbook_one() -> None:
    values = np.random.default_rng(0).normal(size=400)
    low, high = bootstrap_interval(values[:, None], lambda sums: sums[:, 0] / 400, resamples=4000)
    error = 1.96 * values.std() / 20
    assert math.isclose(low, values.mean() - error, abs_tol=0.02)
    assert math.isclose(high, values.mean() + error, abs_tol=0.02)


def test_equal_sentences_have_no_spread() -> None:
    for report in score_trees(treebank_of([SAFE] * 5), [baseline("right")], CONVENTIONS.values()):
        assert report.interval == pytest.approx((report.value, report.value))


def test_permutation_equals_all_permutations() -> None:
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
        p = paired_permutation(first, second, value, permutations=20_000)
        assert p == pytest.approx(extreme / 1024, abs=0.015)


def test_paired_bootstrap_is_the_textbook_one_for_a_mean() -> None:
    chance = np.random.default_rng(0)
    first = chance.normal(size=(400, 1))
    second = first + chance.normal(0.05, 0.5, size=(400, 1))
    difference = (second - first).ravel()
    low, high, p = paired_bootstrap(first, second, lambda sums: sums[:, 0] / 400, resamples=4000)
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
