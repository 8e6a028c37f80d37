"""Trees from the edges of segments: counts, weights of spans, and probabilities against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from induce.data.batches import FragmentBatch
from induce.data.corpus import read_corpora
from induce.data.punctuation import BEGIN, END, SegmentEdgesConfig
from induce.models.base import Context, Query
from induce.models.em.segment_edges import SegmentEdges
from induce.structures import SpanScores
from tests.support.binary_trees import bracket_sums
from treebank.core.sentence import Sentence

COMMA = 1  # the gap of a word after a comma


def fitted(lines: list[str], **settings: float) -> tuple[SegmentEdges, dict[str, int]]:
    corpus, _ = read_corpora([Sentence(tuple(line.split())) for line in lines], "words")
    vocabulary = corpus.vocabulary(100, 1)
    model = SegmentEdges(SegmentEdgesConfig(**settings), len(vocabulary))
    list(model.fit(corpus.encode(vocabulary), 0, Context()))
    return model, {word: index for index, word in enumerate(vocabulary.words)}


def batch_of(gaps: list[list[int]], tokens: list[list[int]]) -> FragmentBatch:
    lengths = torch.tensor([len(row) for row in tokens])
    padded = [torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True) for rows in (tokens, gaps)]
    return FragmentBatch(padded[0], lengths, padded[1])


def test_shares_count_the_words_at_edges_of_segments() -> None:
    model, ids = fitted(["the dog ran , a cat ran .", "the cat ."], smoothing=1.0)
    begin_mean, end_mean = 3 / 8, 3 / 8
    assert model.means.tolist() == pytest.approx([begin_mean, end_mean])
    assert model.shares[BEGIN, ids["the"]].item() == pytest.approx((2 + begin_mean) / (2 + 1))
    assert model.shares[END, ids["the"]].item() == pytest.approx(end_mean / (2 + 1))
    assert model.shares[END, ids["cat"]].item() == pytest.approx((1 + end_mean) / (2 + 1))
    assert model.shares[END, ids["ran"]].item() == pytest.approx((2 + end_mean) / (2 + 1))


def test_cohesion_of_neighbors_in_segments() -> None:
    model, ids = fitted(["the dog ran , the dog", "the dog , the cat ran", "ran the"], pairs=5)
    # 6 pairs in segments: the dog (3), dog ran, the cat, cat ran and ran the; the comma separates "dog" and "the"
    expected = {"the dog": (3 + 1) / (4 * 3 / 7 + 1), "dog ran": 2 / (1 * 2 / 7 + 1), "cat ran": 2 / (1 * 2 / 7 + 1)}
    expected |= {"the cat": 2 / (4 * 1 / 7 + 1), "ran the": 2 / (1 * 1 / 7 + 1)}
    values = {
        divmod(key, model.shares.shape[1]): value
        for key, value in zip(model.pairs.tolist(), model.cohesion.tolist(), strict=True)
    }
    assert len(values) == len(expected)
    for pair, ratio in expected.items():
        first, second = (ids[word] for word in pair.split())
        assert values[first, second] == pytest.approx(math.log(ratio))


def test_only_the_most_cohesive_pairs_are_stored() -> None:
    lines = ["the dog ran , the dog", "the dog , the cat ran", "ran the"]
    model, full = (fitted(lines, pairs=count)[0] for count in (2, 100))
    assert model.pairs.tolist() == sorted(model.pairs.tolist())
    largest = sorted(full.cohesion.tolist())[-2:]
    assert sorted(model.cohesion.tolist()) == pytest.approx(largest)


@pytest.mark.parametrize("right", [1.0, 0.3])
def test_weights_of_spans(right: float) -> None:
    lines = ["the dog ran , a cat ran .", "the cat .", "cat the dog"]
    model, ids = fitted(lines, length=0.7, pair=0.4, limit=0.9, cohesion=0.6)
    words = [ids[word] for word in ("the", "cat", "ran", "dog")]
    weights = model.log_weights(batch_of([[0, 0, 0, COMMA], [0, 0]], [words, words[:2]]), right)[0]
    relative = np.minimum((model.shares[:, words] / model.means[:, None]).log().numpy(), 0.9)
    ends = [0.9, relative[END, 0], relative[END, 1], 0.9, 0.9]  # of the gaps: a comma before the last word
    begins = [0.9, relative[BEGIN, 1], relative[BEGIN, 2], 0.9, 0.9]
    cohesion = [0, math.log(2 / (3 * 2 / 7 + 1)), math.log(2 / (2 * 2 / 7 + 1)), 0, 0]  # the cat, cat ran
    for start in range(4):
        for end in range(start + 1, 5):
            to_right = 1.1 * ends[end] + 0.3 * begins[start]
            to_left = 1.1 * begins[start] + 0.3 * ends[end]
            fixed = 0.4 * (end - start == 2) - 0.7 * math.log(end - start) - 0.6 * (cohesion[start] + cohesion[end])
            expected = right * to_right + (1 - right) * to_left + fixed
            assert weights[start, end].item() == pytest.approx(expected)


def test_probabilities_equal_enumeration() -> None:
    model, ids = fitted(["the dog ran , a cat ran .", "the cat .", "cat the dog"])
    tokens = [[ids[word] for word in line.split()] for line in ("the cat ran the dog", "a dog", "the dog ran a")]
    batch = batch_of([[0, 0, 0, COMMA, 0], [0, 0], [0, 0, 0, 0]], tokens)
    weights, scores = model.log_weights(batch, 0.8), model.structure(batch, Query(SpanScores, right_probability=0.8))
    for row, probabilities, words in zip(weights, scores.score.numpy(), tokens, strict=True):
        total, expected = bracket_sums(row, len(words))
        np.testing.assert_allclose(probabilities, expected / total, atol=1e-12)
