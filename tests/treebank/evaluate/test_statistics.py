"""Intervals and differences against textbooks and all permutations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.support.scoring import SAFE, treebank_of, without_intervals
from treebank.base.errors import SynparseError
from treebank.evaluate import statistics as significance
from treebank.evaluate.conventions import CONVENTIONS
from treebank.evaluate.score import Score
from treebank.evaluate.score_tables import (
    Published,
    compare,
    compare_all,
    compare_published,
    comparison_table,
    corrected_by_convention,
)
from treebank.evaluate.statistics import (
    MIN_SENTENCES,
    Sample,
    bootstrap_interval,
    holm,
    paired_interval,
    paired_permutation,
    resampled_sums,
    seed_permutation,
    student_p,
    welch_test,
)
from treebank.evaluate.systems import SystemInfo, baseline, given_trees
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
    bounds = bootstrap_interval(values[:, None], lambda sums: sums[:, 0] / 400)
    error = 1.96 * values.std() / 20
    assert bounds == pytest.approx((values.mean() - error, values.mean() + error), abs=0.02)


def test_equal_sentences_have_no_spread() -> None:
    for report in score_trees(treebank_of([SAFE] * MIN_SENTENCES), [baseline("right")], CONVENTIONS.values()):
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


def test_paired_interval_is_the_textbook_one_for_a_mean(many_draws: None) -> None:
    chance = np.random.default_rng(0)
    first = chance.normal(size=(400, 1))
    second = first + chance.normal(0.05, 0.5, size=(400, 1))
    difference = (second - first).ravel()
    bounds = paired_interval([first], [second], lambda sums: sums[:, 0] / 400)
    error = 1.96 * difference.std() / 20
    assert bounds == pytest.approx((difference.mean() - error, difference.mean() + error), abs=0.005)


def test_interval_of_families_contains_both_sentences_and_seeds(many_draws: None) -> None:
    """The variance of a difference of means of independent seeds and sentences is the sum of both parts."""
    chance = np.random.default_rng(0)
    sentences = chance.normal(size=(400, 1))
    families = [[sentences * (1 + side) + chance.normal(0, 0.2) for _ in range(40)] for side in (0, 1)]
    bounds = paired_interval(*families, lambda sums: sums[:, 0] / 400)
    seeds = [np.array([rows.mean() for rows in family]) for family in families]
    error = 1.96 * math.sqrt(sentences.var() / 400 + sum(values.var() / 40 for values in seeds))
    difference = seeds[1].mean() - seeds[0].mean()
    assert bounds == pytest.approx((difference - error, difference + error), abs=0.01)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        ([1, 2, 3], [4, 5, 6], 2 / 20),
        ([1, 2], [1, 2], 1),
        ([1, 5], [2, 9], 4 / 6),
        ([1], [2, 3], None),
        ([*range(10)], [*range(100, 110)], pytest.approx(0, abs=1e-3)),
    ],
)
def test_permutation_of_seeds(first: list[float], second: list[float], p: float | None) -> None:
    assert seed_permutation(first, second) == p


@pytest.mark.parametrize(
    ("t", "freedom", "p"),
    [(2.776445, 4, 0.05), (12.7062, 1, 0.05), (1.959964, 1e6, 0.05), (0, 3, 1), (3.355387, 8, 0.01)],
)
def test_p_values_are_those_of_the_tables_of_student(t: float, freedom: float, p: float) -> None:
    assert student_p(t, freedom) == pytest.approx(p, abs=1e-5)


def test_welch_is_the_textbook_example() -> None:
    """Means 20.82 and 22.98 of samples of 15 with variances 7.9 and 3.8: t = 2.446, 24.9 degrees of freedom."""
    (low, high), p = welch_test(Sample(20.82, math.sqrt(7.9), 15), Sample(22.98, math.sqrt(3.8), 15))
    assert p == pytest.approx(student_p(2.4457, 24.89), abs=1e-4)
    assert (low + high) / 2 == pytest.approx(2.16)
    assert student_p((high - low) / 2 / math.sqrt(11.7 / 15), 24.89) == pytest.approx(0.05, abs=1e-4)
    _, p_one = welch_test(Sample(50, 2, 5), Sample(54, 0, 1))  # one more value, of which the deviation is not known
    assert p_one == pytest.approx(student_p(4 / (2 * math.sqrt(1 + 1 / 5)), 4))
    with pytest.raises(SynparseError, match="give several seeds"):
        welch_test(Sample(50, 0, 1), Sample(54, 0, 1))


def test_holm_corrects_for_the_number_of_tests() -> None:
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])


@pytest.mark.parametrize("count", [1, 9, 10])
def test_fewer_than_ten_sentences_give_neither_interval_nor_p_value(count: int) -> None:
    left, right = score_trees(treebank_of([SAFE] * count), [baseline("left"), baseline("right")], [CONVENTIONS["km"]])
    item = compare([left], [right])
    has_any = count >= MIN_SENTENCES
    assert [value is not None for value in (left.interval, item.interval, item.by_sentences)] == [has_any] * 3


def test_comparison_needs_the_same_sentences() -> None:
    gold = treebank_of([SAFE] * 3)
    systems = [baseline("left"), baseline("right")]
    with without_intervals():
        left, right = score_trees(gold, systems, [CONVENTIONS["km"]])
        other = score_trees(treebank_of([SAFE] * 2), systems, [CONVENTIONS["km"]])[0]
    assert compare([left], [right]).difference == pytest.approx(right.value - left.value)
    with pytest.raises(SynparseError, match="not scored on the same sentences"):
        compare([left], [other])


def test_families_are_compared_as_families() -> None:
    chance = np.random.default_rng(3)
    gold = treebank_of([["S", ["A", ("NN", "a"), ("NN", "b")], ["B", ("NN", "c"), ("NN", "d")]]] * 40)

    def member(model: str, share: float) -> Score:
        trees = ["(X (X a b) (X c d))" if right else "(X a (X b (X c d)))" for right in chance.random(40) < share]
        system = given_trees(model, trees)
        return score_trees(gold, [replace(system, info=SystemInfo(model, model=model))], [CONVENTIONS["on-lstm"]])[0]

    scores = [member(f"{name}-{seed}", share) for name, share in (("a", 0.3), ("b", 0.9)) for seed in range(4)]
    families = {name: [score.info.model for score in scores if score.system.startswith(name)] for name in "ab"}
    (item,) = compare_all(scores, families)
    means = [np.mean([score.value for score in scores if score.system.startswith(name)]) for name in "ab"]
    assert (item.first, item.second, item.sentences) == ("a", "b", 40)
    assert item.difference == pytest.approx(means[1] - means[0])
    assert item.by_seeds == pytest.approx(2 / 70)
    assert item.by_sentences is not None
    assert item.by_sentences < 0.01
    assert item.corrected is None
    assert item.interval is not None
    assert item.interval[0] > 0
    (item,) = compare_all(scores[:2], {"a": families["a"]})  # a family that is alone: its members
    assert (item.first, item.second) == ("a-0", "a-1")
    published = list(compare_published(scores, families, [Published.parse("C-PCFG=55.2+-2.1:4")]))
    assert [(item.first, item.second) for item in published] == [("C-PCFG (published)", name) for name in "ab"]
    alone, *others = corrected_by_convention([*compare_all(scores, families), *published])
    assert alone.by_seeds is not None
    assert alone.corrected == pytest.approx(alone.by_seeds)  # the greatest of three p-values
    assert [other.corrected for other in others] == pytest.approx([3 * other.by_seeds for other in others], abs=0.01)
    legend = " ".join(comparison_table(published).footnotes)
    assert "Welch" in legend
    assert "permutations" not in legend
    with pytest.raises(SynparseError, match=r"write a published score as NAME=MEAN\+-SD:SEEDS"):
        Published.parse("C-PCFG=55")
