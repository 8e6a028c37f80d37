"""Sums over trees with weights of arcs and brackets: against enumeration and against the grammar alone."""

from __future__ import annotations

import numpy as np
import pytest

from induce.models.em.dmv_ccm import joint_counts
from tests.induce.models.em.test_dependency_sums import children, projective_trees, random_weights, uses
from treebank.core.sentence import ROOT


def brackets_of(heads: tuple[int, ...]) -> set[tuple[int, int]]:
    """Spans of each head after each of its dependents, right ones first, by definition."""
    brackets = set()

    def cover(word: int) -> tuple[int, int]:
        start, end = word, word + 1
        for side in (0, 1):
            for child in children(heads, word, side):
                first, last = cover(child)
                start, end = min(start, first), max(end, last)
                brackets.add((start, end))
        return start, end

    cover(heads.index(ROOT))
    return brackets


@pytest.mark.parametrize("count", range(2, 6))
def test_joint_counts_equal_enumeration(count: int) -> None:
    weights = random_weights(count, 2)
    brackets = np.random.default_rng(count).normal(size=(count, count + 1, 2))
    counts = joint_counts(weights, brackets)
    tables = weights.first, weights.later, weights.stop, weights.root
    total, expected, chances = np.zeros(2), [np.zeros_like(table) for table in tables], np.zeros_like(brackets)
    for heads in projective_trees(count):
        tree_brackets = brackets_of(heads)
        assert len(tree_brackets) == count - 1
        used, _ = uses(heads, None, 1.0)
        logs = [(use[..., None] * np.log(table)).reshape(-1, 2).sum(0) for use, table in zip(used, tables, strict=True)]
        weight = np.exp(sum(logs) + sum(brackets[span] for span in tree_brackets))
        total += weight
        for sums, use in zip(expected, used, strict=True):
            sums += use[..., None] * weight
        for span in tree_brackets:
            chances[span] += weight
    np.testing.assert_allclose(counts.trees.log_total, np.log(total))
    np.testing.assert_allclose(counts.probability, chances / total, atol=1e-12)
    for name, sums in zip(("first", "later", "stop", "root"), expected, strict=True):
        np.testing.assert_allclose(getattr(counts.trees, name), sums / total, atol=1e-12, err_msg=name)
