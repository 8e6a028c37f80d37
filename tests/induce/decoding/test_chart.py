"""The CKY decoder against all binary trees."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from induce.decoding.chart import mbr, mbr_together
from tests.support.binary_trees import all_brackets


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_mbr_returns_the_best_of_all_trees(count: int, seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(count, count + 1))
    totals = [sum(scores[span] for span in tree) for tree in all_brackets(0, count)]
    assert sorted(mbr(scores)) == sorted(all_brackets(0, count)[int(np.argmax(totals))])


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_ties_go_to_the_leftmost_split(count: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 3, size=(count, count + 1))
    totals = [sum(scores[span] for span in tree) for tree in all_brackets(0, count)]
    assert sorted(mbr(scores)) == sorted(all_brackets(0, count)[int(np.argmax(totals))])


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=20), st.integers(0, 2**32 - 1))
def test_sentences_together_have_the_brackets_of_each_alone(lengths: list[int], seed: int) -> None:
    draw = np.random.default_rng(seed)
    scores = [draw.integers(0, 3, size=(count, count + 1)) for count in lengths]
    assert mbr_together(scores) == list(map(mbr, scores))


def test_long_sentence_needs_neither_recursion_nor_much_time() -> None:
    scores = np.zeros((400, 401))
    scores[np.arange(399), 400] = 1  # right branching
    began = time.process_time()
    spans = mbr(scores)
    assert sorted(spans) == [(start, 400) for start in range(399)]
    assert time.process_time() - began < 5
