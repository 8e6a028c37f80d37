"""Batches of similar length."""

import random
from itertools import pairwise

from induce.data.by_length import (
    batches_by_cost,
    batches_by_words,
    batches_of_equal_length,
    batches_of_similar_length,
    map_by_length,
)

LENGTHS = [random.Random(1).randrange(0, 30) for _ in range(500)]


def test_results_are_in_input_order_and_batches_are_within_the_budget() -> None:
    sizes = []

    def double(batch: list[int]) -> list[int]:
        sizes.append((max(batch) + 2) * len(batch))
        return [2 * item for item in batch]

    assert map_by_length(double, LENGTHS, length=int, budget=100) == [2 * item for item in LENGTHS]
    assert max(sizes) <= 100
    assert len(sizes) < 150


def test_short_items_are_not_passed_to_the_function() -> None:
    results = map_by_length(lambda batch: batch, LENGTHS, length=int, min_length=3, short=lambda item: -item)
    assert results == [item if item >= 3 else -item for item in LENGTHS]
    assert map_by_length(lambda batch: batch, [0], length=int, min_length=1) == [None]


def test_every_sentence_is_in_one_batch() -> None:
    for batches in (
        list(batches_by_cost(LENGTHS, budget=64)),
        batches_by_words(LENGTHS, 64),
        [rows for rows, _ in batches_of_equal_length(LENGTHS, lambda length: 3)],
    ):
        assert sorted(index for batch in batches for index in batch) == list(range(len(LENGTHS)))


def test_sentence_over_the_budget_is_a_batch() -> None:
    assert list(batches_by_cost([3, 300, 2], budget=20)) == [[2, 0], [1]]
    assert [batch.tolist() for batch in batches_by_words([3, 30, 2, 10], 10)] == [[1], [3], [0, 2]]
    assert [rows.tolist() for rows, _ in batches_of_equal_length([4, 4], lambda length: 0)] == [[0], [1]]


def test_batches_of_no_sentences() -> None:
    assert list(batches_by_cost([])) == batches_by_words([], 10) == []
    assert list(batches_of_equal_length([1], lambda length: 1, min_length=2)) == []
    assert list(batches_of_similar_length([0, 0], lambda length: 1, min_ratio=0.5)) == []


def test_similar_lengths_are_within_the_ratio() -> None:
    batches = list(batches_of_similar_length(LENGTHS, lambda length: 7, min_ratio=0.8))
    for rows, length in batches:
        lengths = [LENGTHS[index] for index in rows]
        assert len(rows) <= 7
        assert max(lengths) == length
        assert min(lengths) >= 0.8 * length
    assert all(first >= second for (_, first), (_, second) in pairwise(batches))
