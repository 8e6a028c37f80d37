"""The k best trees from span scores against all trees."""

from __future__ import annotations

import numpy as np
import pytest

from induce.decoding.chart import mbr
from induce.decoding.k_best import mbr_k_best
from induce.decoding.specification import k_best_decoder
from tests.induce.models.grammars.test_rules import bracketings
from treebank.base.errors import SynparseError


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("k", [1, 2, 5, 60])
@pytest.mark.parametrize("ties", [False, True])
def test_k_best_trees_equal_enumeration(count: int, k: int, ties: bool) -> None:
    rng = np.random.default_rng(count)
    score = rng.integers(-1, 3, (count, count + 1)).astype(float) if ties else rng.random((count, count + 1))
    ranked = mbr_k_best(score, k)
    totals = sorted((sum(score[span] for span in tree) for tree in bracketings(0, count)), reverse=True)
    assert [total for total, _ in ranked] == pytest.approx(totals[:k])
    assert len({tuple(sorted(spans)) for _, spans in ranked}) == min(k, len(totals))
    for total, spans in ranked:
        assert sum(score[span] for span in spans) == pytest.approx(total)
    assert sorted(ranked[0][1]) == sorted(mbr(score))


def test_short_sentences_have_one_tree() -> None:
    assert mbr_k_best([], 3) == mbr_k_best([[0.0, 1.0]], 3) == [(0.0, [])]


def test_decoder_of_one_tree_is_refused() -> None:
    with pytest.raises(SynparseError, match=r"decoder 'unbiased' finds one tree for a sentence; .* mbr or ranked"):
        k_best_decoder("unbiased")
