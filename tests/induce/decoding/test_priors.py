"""Priors against their definitions, by hand and by enumeration of spans."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from induce.data.punctuation import JOINED, SEPARATED, SegmentEdgesConfig
from induce.decoding import priors
from induce.decoding.heads import branching, heads_in_tree
from induce.decoding.priors import Evidence
from induce.decoding.specification import parse_priors
from induce.registry import PRIORS, load
from induce.structures import Distances, HeadDistribution, Structure
from treebank.base.errors import SynparseError

OPEN, CLOSE = SEPARATED + 1, SEPARATED + 4
RIGHT, LEFT = 1.0, 0.0  # probability of right branching
NO_GAPS = [0, 0, 0, 0, 0]


def zeros(count: int) -> np.ndarray:
    return np.zeros((count, count + 1), dtype=np.float32)


def spans_below_zero(scores: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(span) for span in np.argwhere(scores < 0).tolist()]


def test_bracketed_phrase_gains_and_crossing_spans_lose() -> None:
    """In a ( b c ) d the span b c gains, and the spans a b, c d, and b c d lose."""
    scores = priors.brackets(zeros(4), Evidence([0, OPEN, 0, CLOSE]), 1.0)
    assert scores[1, 3] == 1
    assert spans_below_zero(scores) == [(0, 2), (1, 4), (2, 4)]
    assert scores.min() == -priors.CONFLICT_COST


def test_joined_words_gain_and_may_be_followed_by_others() -> None:
    scores = priors.joining_marks(zeros(3), Evidence([0, JOINED, 0]), 1.0)
    assert scores.tolist() == [[0, 0, 1, 0], [0, 0, 0, -priors.CONFLICT_COST], [0] * 4]


def test_each_marking_prior_reads_only_its_own_marks() -> None:
    bracketed, joined = Evidence([0, OPEN, 0, CLOSE]), Evidence([0, JOINED, 0, 0])
    assert not priors.joining_marks(zeros(4), bracketed, 1.0).any()
    assert not priors.brackets(zeros(4), joined, 1.0).any()


def test_branching_and_punctuation_prefer_ends_of_sentence_and_segment() -> None:
    evidence = Evidence([0, 0, SEPARATED, 0, 0], RIGHT)
    branching_spans = priors.branching_spans(zeros(5), evidence, 1.0)
    segments = priors.punctuation(zeros(5), evidence, 1.0)
    assert [branching_spans[span] for span in ((2, 5), (0, 2), (1, 4))] == [1, 0, 0]
    assert [segments[span] for span in ((2, 5), (0, 2), (1, 4))] == pytest.approx([1, 1, -priors.CROSSING_COST])


@pytest.mark.parametrize("prior", [priors.branching_spans, priors.punctuation, priors.segment_edges])
def test_left_branching_is_the_mirror_image(prior: Any) -> None:
    draw = np.random.default_rng(0)
    scores = draw.random((5, 6)).astype(np.float32)
    edges = draw.random((2, 5)).astype(np.float32)
    right = prior(scores, Evidence([0, 0, SEPARATED, 0, 0], RIGHT, word_edges=edges), 0.5)
    mirrored = np.zeros_like(scores)
    mirrored[:, 1:] = scores[::-1, :0:-1].T
    left = prior(mirrored, Evidence([0, 0, 0, SEPARATED, 0], LEFT, word_edges=edges[::-1, ::-1]), 0.5)
    for start in range(5):
        for end in range(start + 2, 6):
            assert left[5 - end, 5 - start] == pytest.approx(right[start, end])


def test_segment_edges_adds_the_log_weights_of_the_model() -> None:
    edges = np.array([[1.0] * 3, [1.0, 0.2, 1.0]], dtype=np.float32)
    scores = priors.segment_edges(zeros(3), Evidence([0, 0, 0], RIGHT, word_edges=edges), 0.5)
    config = SegmentEdgesConfig()
    fixed = config.pair - config.length * math.log(2)
    first = config.end * math.log(0.2) + config.begin * config.limit
    assert scores[0, 2] == pytest.approx(0.5 * (first + fixed))
    assert scores[1, 3] == pytest.approx(0.5 * (config.end * config.limit + fixed))


def test_segment_edges_prefers_spans_that_end_with_segments() -> None:
    evidence = Evidence([0, 0, SEPARATED, 0], RIGHT, word_edges=np.ones((2, 4), dtype=np.float32))
    scores = priors.segment_edges(zeros(4), evidence, 1.0)
    assert scores[0, 2] > scores[1, 3]
    assert not priors.segment_edges(zeros(4), Evidence([0, 0, SEPARATED, 0], RIGHT), 1.0).any()  # without counts


def test_symbol_that_rarely_ends_a_segment_counts_less() -> None:
    symbols = np.zeros((2, 3, 2), dtype=np.float32)
    symbols[0, 2] = [0.75, 0.25]
    edges = np.array([[4.0, 4.0], [1.0, 8.0]], dtype=np.float32)
    evidence = Evidence([0, 0], RIGHT, symbols=symbols, symbol_edges=edges)
    weighted = priors.prefix_symbols(symbols.sum(-1), evidence, 1.0)
    assert weighted[0, 2] == pytest.approx(0.75 / 4 + 0.25)
    uncounted = Evidence([0, 0], RIGHT, symbols=symbols, symbol_edges=np.zeros((2, 2), dtype=np.float32))
    assert priors.prefix_symbols(symbols.sum(-1), uncounted, 1.0)[0, 2] == 1
    left = Evidence([0, 0], LEFT, symbols=symbols, symbol_edges=edges[::-1])
    assert priors.prefix_symbols(symbols.sum(-1), left, 1.0)[0, 2] == weighted[0, 2]


def test_first_words_are_a_phrase_only_if_they_are_few() -> None:
    scores = np.ones((5, 6), dtype=np.float32)
    right = priors.initial_spans(scores, Evidence([0] * 5, RIGHT), 2.0)
    assert right[0].tolist() == pytest.approx([1, 1, 1, 4 / 9, 1 / 4, 1])  # the sentence itself keeps its score
    assert (right[1:] == 1).all()
    mean = priors.initial_spans(scores, Evidence([0] * 5, 0.5), 2.0)
    assert mean[0, 4] == pytest.approx(1 / 2)
    assert (priors.initial_spans(scores, Evidence([0] * 5, LEFT), 2.0) == 1).all()


def evidence_of(right_probability: float) -> Evidence:
    draw = np.random.default_rng(1)
    symbols = draw.random((5, 6, 2)).astype(np.float32) / 4
    return Evidence([0, OPEN, JOINED, CLOSE, 0], right_probability, draw.random((2, 5)), symbols, draw.random((2, 2)))


@pytest.mark.parametrize("name", ["branching", "punctuation", "segment-edges"])
def test_additive_prior_is_the_mean_of_both_directions(name: str) -> None:
    scores = np.random.default_rng(2).random((5, 6)).astype(np.float32)
    right, left, mean = (load(PRIORS.get(name).location)(scores, evidence_of(p), 0.5) for p in (RIGHT, LEFT, 0.7))
    assert not np.allclose(right, left)
    np.testing.assert_allclose(mean, 0.7 * right + 0.3 * left, rtol=1e-5)


def test_factors_of_symbols_are_averaged_geometrically() -> None:
    symbols = np.zeros((2, 3, 1), dtype=np.float32)
    symbols[0, 2] = 1.0
    edges = np.array([[4.0], [1.0]], dtype=np.float32)  # begins four segments and ends one
    values = [
        priors.prefix_symbols(symbols[..., 0], Evidence([0, 0], p, symbols=symbols, symbol_edges=edges), 1.0)[0, 2]
        for p in (RIGHT, LEFT, 0.7)
    ]
    assert values == pytest.approx([1 / 4, 1.0, (1 / 4) ** 0.7])


@pytest.mark.parametrize("name", list(PRIORS))
def test_prior_does_not_change_its_input(name: str) -> None:
    """The reported scores are those before the priors."""
    shapes: dict[type[Structure], tuple[int, ...]] = {HeadDistribution: (5, 5), Distances: (5,)}
    scores = np.random.default_rng(3).random(shapes.get(PRIORS.get(name).reads, (5, 6)))
    before = scores.copy()
    adjusted = load(PRIORS.get(name).location)(scores, evidence_of(RIGHT), 0.3)
    assert np.array_equal(scores, before)
    assert np.shape(adjusted) == scores.shape
    assert not np.array_equal(adjusted, before)


def test_mixtures_of_heads_stay_distributions() -> None:
    heads = np.random.default_rng(4).dirichlet(np.ones(5), size=5)
    near = priors.near_heads(heads, Evidence(NO_GAPS), 0.25)
    np.testing.assert_allclose(near, 0.75 * heads + 0.25 * priors.near_distribution(5))
    np.testing.assert_allclose(near.sum(1), 1)
    tree = priors.branching_heads(heads, Evidence(NO_GAPS, RIGHT), 0.25)
    np.testing.assert_allclose(tree, 0.75 * heads + 0.25 * heads_in_tree(heads, branching(5, right=True)))
    assert tree.sum() == pytest.approx(5)


def test_near_distribution_falls_with_the_distance() -> None:
    near = priors.near_distribution(3)
    np.testing.assert_allclose(near[0], np.array([0, 1, np.exp(-1)]) / (1 + np.exp(-1)))
    assert priors.near_distribution(1).tolist() == [[1.0]]
    assert priors.near_distribution(0).shape == (0, 0)


def test_branching_heads_need_a_clear_direction() -> None:
    heads = np.eye(3)
    assert priors.branching_heads(heads, Evidence([0, 0, 0], 0.7), 0.5) is heads
    clear, certain = (priors.branching_heads(heads, Evidence([0, 0, 0], p), 0.5) for p in (0.2, LEFT))
    assert np.array_equal(clear, certain)


def test_early_gaps_are_widened_in_the_branching_direction() -> None:
    distances = [9.0, 2.0, 4.0, 6.0]
    for right, widened in ((RIGHT, [8.0, 7.0, 6.0]), (LEFT, [2.0, 7.0, 12.0]), (0.5, [5.0, 7.0, 9.0])):
        adjusted = priors.branching_gaps(distances, Evidence((), right), 1.5)
        np.testing.assert_allclose(adjusted, [9.0, *widened])
    assert priors.branching_gaps([9.0, 2.0], Evidence((), RIGHT), 1.5) == [9.0, 2.0]


def test_priors_are_parsed_with_a_strength() -> None:
    assert [str(prior) for prior in parse_priors(["branching:0.10", "brackets:1"])] == ["branching:0.1", "brackets:1"]
    assert parse_priors(["none"]) == ()
    with pytest.raises(SynparseError, match="prior 'branching' is named twice"):
        parse_priors(["branching:2", "branching:1"])
    for text, problem in (
        ("brnching:1", "did you mean 'branching'"),
        ("branching", "write branching:STRENGTH, with a strength from 0 to 100"),
        ("near-heads:2", "from 0 to 1"),
        ("branching:nan", "a strength from 0"),
        ("branching:-1", "a strength from 0"),
    ):
        with pytest.raises(SynparseError, match=problem):
            parse_priors([text])
