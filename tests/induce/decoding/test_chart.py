"""The CKY decoder against all binary trees."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from induce.decoding.chart import mbr, mbr_k_best, mbr_together
from induce.decoding.heads import EPSILON
from induce.decoding.specification import decoder, k_best_decoder
from induce.structures import Distances, SpanScores
from tests.support.binary_trees import all_brackets
from tests.support.dependency_trees import projective_trees
from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT


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


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("k", [1, 2, 5, 60])
@pytest.mark.parametrize("ties", [False, True])
def test_k_best_trees_equal_enumeration(count: int, k: int, ties: bool) -> None:
    rng = np.random.default_rng(count)
    score = rng.integers(-1, 3, (count, count + 1)).astype(float) if ties else rng.random((count, count + 1))
    ranked = mbr_k_best(score, k)
    totals = sorted((sum(score[span] for span in tree) for tree in all_brackets(0, count)), reverse=True)
    assert [total for total, _ in ranked] == pytest.approx(totals[:k])
    assert len({tuple(sorted(spans)) for _, spans in ranked}) == min(k, len(totals))
    for total, spans in ranked:
        assert sum(score[span] for span in spans) == pytest.approx(total)
    assert sorted(ranked[0][1]) == sorted(mbr(score))


@pytest.mark.parametrize("name", ["eisner", "eisner:counted", "mbr-heads", "mbr-arcs"])
@pytest.mark.parametrize("count", [2, 6])
def test_k_best_heads_equal_enumeration(name: str, count: int) -> None:
    matrix = np.random.default_rng(count).dirichlet(np.ones(count), count)
    gains = {"eisner": np.log(matrix + EPSILON), "mbr-arcs": matrix + matrix.T / 2}.get(name.split(":")[0], matrix)

    def total(heads: tuple[int, ...]) -> float:
        arcs = [(word, head) for word, head in enumerate(heads) if head != ROOT]
        root = 0.0 if name == "eisner" else gains[heads.index(ROOT), heads.index(ROOT)]
        return float(sum(gains[arc] for arc in arcs) + root)

    for k in (1, 40):
        ranked = k_best_decoder(name)(matrix, k)
        expected = sorted(map(total, projective_trees(count)), reverse=True)[:k]
        assert [score for score, _ in ranked] == pytest.approx(expected)
        assert [total(heads) for _, heads in ranked] == pytest.approx(expected)
        assert len({heads for _, heads in ranked}) == len(expected)
        assert ranked[0][1] == decoder(name)(matrix)


def test_short_sentences_have_one_tree() -> None:
    assert mbr_k_best([], 3) == mbr_k_best([[0.0, 1.0]], 3) == [(0.0, [])]
    assert k_best_decoder("mbr-heads")([], 3) == [(0.0, ())]
    assert k_best_decoder("mbr-heads")([[0.5]], 3) == [(0.5, (-1,))]


def test_decoder_of_one_tree_is_refused() -> None:
    with pytest.raises(SynparseError, match=r"decoder 'unbiased' finds one tree for a sentence; use a grammar"):
        k_best_decoder("unbiased", (Distances,))
    with pytest.raises(SynparseError, match=r"decoder .mbr-nary. finds one tree for a sentence; try --decoder mbr$"):
        k_best_decoder("mbr-nary", (SpanScores,))
