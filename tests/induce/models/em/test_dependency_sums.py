"""Sums over dependency trees: against enumeration, autograd, finite differences, outside the range of float64."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch

from induce.models.em.dependency_sums import Workspace, _counts, tree_counts
from induce.models.em.dependency_tables import (
    Fragments,
    TreeCounts,
    TreeWeights,
    by_head,
    by_reading,
    plain_tree_counts,
)
from tests.support.dependency_trees import children, projective_trees
from treebank.core.sentence import ROOT

NAMES = ("first", "later", "stop", "root")


def random_weights(count: int, batch: int, seed: int = 0, spread: float = 1.0) -> TreeWeights:
    draw = np.random.default_rng(seed)
    shapes = [(2, count, count, batch), (2, count, count, batch), (2, count, 2, batch), (count, batch)]
    return TreeWeights(*(np.exp(spread * draw.normal(size=shape)) for shape in shapes))


def reach(heads: tuple[int, ...], word: int, side: int, before: int | None = None) -> int:
    """Last word of the half span of ``word``, built only as far as the dependent ``before``."""
    last = word
    for child in children(heads, word, side):
        if child == before:
            break
        last = reach(heads, child, side)
    return last


def uses(
    heads: tuple[int, ...], numbers: np.ndarray | None, penalty: float, constraint: str = "sprawl"
) -> tuple[list[np.ndarray], float]:
    """Number of uses of each weight in a tree by definition, and the product of its penalties."""
    count = len(heads)
    first, later = np.zeros((count, count)), np.zeros((count, count))
    stop, root, factor = np.zeros((2, count, 2)), np.zeros(count), 1.0
    for word, head in enumerate(heads):
        if head == ROOT:
            root[word] = 1
        for side in (0, 1):
            dependents = children(heads, word, side)
            position = word if side == 0 else count - 1 - word
            stop[side, position, int(bool(dependents))] += 1
            for child in dependents:
                (first if child == dependents[0] else later)[word, child] += 1
                if numbers is not None and numbers[word] != numbers[child]:
                    ends = [(word, reach(heads, word, side, child), side)]
                    ends += [(child, reach(heads, child, towards), towards) for towards in (0, 1)]
                    for start, last, towards in ends:
                        beyond = last + (1 if towards == 0 else -1)
                        whole = not 0 <= beyond < count or numbers[beyond] != numbers[start]
                        factor *= 1.0 if whole or numbers[last] != numbers[start] else penalty
                if numbers is not None and constraint != "sprawl":
                    crosses = numbers[word] != numbers[child]
                    strict = constraint == "strict"
                    for towards in ((0, 1) if strict else ()) if crosses else (side,):
                        if numbers[reach(heads, child, towards)] != numbers[child]:
                            factor *= penalty
    return [by_reading(first), by_reading(later), stop, root], factor


def by_all_trees(
    weights: TreeWeights, numbers: np.ndarray | None, penalty: float, constraint: str = "sprawl"
) -> TreeCounts:
    """Result of `tree_counts` by enumeration, for fragment indices ``numbers`` (N, B)."""
    count, batch = weights.root.shape
    counts = TreeCounts(*(np.zeros_like(getattr(weights, name)) for name in NAMES), np.zeros(batch))
    for sentence in range(batch):
        for heads in projective_trees(count):
            used, value = uses(heads, None if numbers is None else numbers[:, sentence], penalty, constraint)
            for name, times in zip(NAMES, used, strict=True):
                value *= np.prod(getattr(weights, name)[..., sentence] ** times)
            for name, times in zip(NAMES, used, strict=True):
                getattr(counts, name)[..., sentence] += value * times
            counts.log_total[sentence] += value
    for name in NAMES:
        getattr(counts, name)[:] /= counts.log_total
    return TreeCounts(*(getattr(counts, name) for name in NAMES), np.log(counts.log_total))


def assert_same(actual: TreeCounts, expected: TreeCounts, tolerance: float = 1e-10) -> None:
    for name in (*NAMES, "log_total"):
        np.testing.assert_allclose(
            getattr(actual, name), getattr(expected, name), rtol=tolerance, atol=tolerance, err_msg=name
        )


def some_fragments(count: int, batch: int, seed: int = 1) -> np.ndarray:
    breaks = np.random.default_rng(seed).random((count, batch)) < 0.4
    breaks[0] = False
    return breaks.cumsum(0)


@pytest.mark.parametrize("penalty", [1.0, 0.1])
@pytest.mark.parametrize("count", range(1, 7))
def test_tree_counts_equal_enumeration(count: int, penalty: float) -> None:
    weights = random_weights(count, 3 if count < 5 else 1)
    numbers = some_fragments(*weights.root.shape)
    fragments = Fragments.of(numbers, penalty)
    assert_same(tree_counts(weights, fragments), by_all_trees(weights, numbers, penalty))
    assert_same(tree_counts(weights), by_all_trees(weights, None, 1.0))


@pytest.mark.parametrize("constraint", ["loose", "strict"])
def test_constraints_equal_enumeration(constraint: str) -> None:
    for count in (3, 5):
        weights = random_weights(count, 2, seed=7)
        numbers = some_fragments(count, 2, seed=3)
        fragments = Fragments.of(numbers, 0.05, constraint)
        expected = by_all_trees(weights, numbers, 0.05, constraint)
        assert_same(tree_counts(weights, fragments), expected)
        assert_same(plain_tree_counts(weights, fragments), expected)


@pytest.mark.parametrize("constraint", ["sprawl", "loose", "strict"])
def test_small_penalty_is_a_constraint(constraint: str) -> None:
    """The best tree has one head in each fragment, and dependents outside a fragment as the constraint allows."""
    for seed in range(6):
        numbers = np.array([0, 0, 1, 1, 1, 2, 2])[:, None]
        weights = random_weights(7, 1, seed=seed, spread=2.0)
        best = plain_tree_counts(weights, Fragments.of(numbers, 1e-9, constraint), best=True)
        arcs, fragment = by_head(best.first + best.later)[..., 0], numbers[:, 0]
        heads = [int(arcs[:, word].argmax()) if best.root[word, 0] < 0.5 else ROOT for word in range(7)]
        outer = [child for child, head in enumerate(heads) if head == ROOT or fragment[head] != fragment[child]]
        assert sorted(fragment[outer].tolist()) == [0, 1, 2]
        parents = {heads[child] for child in outer} - {ROOT}
        assert constraint == "sprawl" or parents <= set(outer)
        assert constraint != "strict" or parents <= {heads.index(ROOT)}


def test_best_tree_equals_enumeration() -> None:
    for count in (1, 4, 6):
        weights = random_weights(count, 1, seed=count)
        best = plain_tree_counts(weights, best=True)
        values = []
        for heads in projective_trees(count):
            used, _ = uses(heads, None, 1.0)
            parts = (getattr(weights, name)[..., 0] ** times for name, times in zip(NAMES, used, strict=True))
            values.append((np.prod([np.prod(part) for part in parts]), used))
        value, used = max(values, key=lambda item: item[0])
        assert best.log_total[0] == pytest.approx(np.log(value))
        for name, times in zip(NAMES, used, strict=True):
            np.testing.assert_array_equal(getattr(best, name)[..., 0], times)


def test_four_hundred_words() -> None:
    counts = tree_counts(random_weights(400, 1))
    assert np.isfinite(counts.log_total).all()
    np.testing.assert_allclose(by_head(counts.first + counts.later).sum(0) + counts.root, 1.0, rtol=1e-6)


def test_sums_out_of_range_are_computed_in_logarithms() -> None:
    """Weights that no common scale brings into range, because half of them are 10 ** 300 times smaller."""
    weights = random_weights(8, 2)
    weights.first[:, 4:, :, 1] *= 1e-300
    weights.later[:, 4:, :, 1] *= 1e-300
    weights.stop[:, :4, :, 1] *= 1e-200
    with torch.inference_mode():  # as in parsing
        counts = tree_counts(weights)
    assert_same(counts, plain_tree_counts(weights))
    assert np.isfinite(counts.log_total).all()


def test_sentence_without_tree_has_counts_of_zero() -> None:
    weights = random_weights(3, 2)
    weights.root[:, 1] = 0
    counts = tree_counts(weights)
    assert counts.log_total[1] == -np.inf
    assert not counts.first[..., 1].any()
    assert counts.first[..., 0].any()


@pytest.mark.parametrize("fragmented", [False, True])
def test_sentences_of_different_lengths_equal_single_sentences(fragmented: bool) -> None:
    """Padding after a sentence does not change its counts, nor those of `plain_tree_counts`."""
    count, lengths = 9, np.array([9, 4, 1, 7])
    weights = random_weights(count, 4)
    batched = TreeWeights(*(getattr(weights, name) for name in NAMES), lengths)
    numbers = some_fragments(count, 4)
    numbers[np.arange(count)[:, None] >= lengths] = 99
    counts = tree_counts(batched, Fragments.of(numbers, 0.1) if fragmented else None)
    assert_same(counts, plain_tree_counts(batched, Fragments.of(numbers, 0.1) if fragmented else None))
    for sentence, length in enumerate(lengths.tolist()):
        word_slices = slice(0, length), slice(count - length, count)  # words in the direction of each side
        first, later, stop = (
            np.stack([getattr(weights, name)[side, word_slices[side]][..., [sentence]] for side in (0, 1)])
            for name in ("first", "later", "stop")
        )
        alone = TreeWeights(first[:, :, :length], later[:, :, :length], stop, weights.root[:length, [sentence]])
        fragments = Fragments.of(numbers[:length, [sentence]], 0.1) if fragmented else None
        expected = tree_counts(alone, fragments)
        assert counts.log_total[sentence] == pytest.approx(expected.log_total[0], abs=1e-10)
        np.testing.assert_allclose(counts.root[:length, sentence], expected.root[:, 0], atol=1e-10)
        for side in (0, 1):
            actual = counts.first[side, word_slices[side], :length, sentence]
            np.testing.assert_allclose(actual, expected.first[side, ..., 0], atol=1e-10)
        assert counts.first[..., sentence].sum() == pytest.approx(expected.first.sum())


def test_reused_workspace_gives_equal_counts() -> None:
    """The workspace was used for batches of other shapes and for weights out of range."""
    workspace = Workspace()
    for seed, (count, batch) in enumerate([(9, 4), (5, 7), (12, 2), (9, 4)]):
        weights = random_weights(count, batch, seed=seed)
        fragments = Fragments.of(some_fragments(count, batch, seed), 0.1) if seed % 2 else None
        used, _ = _counts(
            weights,
            fragments,
            np.full(batch, 0.2),
            workspace,
            # without the check for sentences out of range
        )
        new, _ = _counts(weights, fragments, np.full(batch, 0.2), Workspace())
        assert_same(used, new, 1e-12)
        weights.first[:] = 1e200
        tree_counts(weights, fragments, workspace=workspace)


def test_tables_are_released_without_a_search_for_cycles() -> None:
    workspace = Workspace()
    released = weakref.ref(workspace)
    gc.disable()
    try:
        counts = tree_counts(random_weights(6, 2), workspace=workspace)
        del workspace
        assert released() is None
        assert np.isfinite(counts.log_total).all()
    finally:
        gc.enable()


def test_infinite_numbers_of_an_earlier_batch_have_no_effect() -> None:
    """Numbers out of range stay in the workspace, and 0 times infinity is not a number."""
    workspace = Workspace()
    weights = random_weights(16, 3)
    fitting = TreeWeights(*(getattr(weights, name) for name in NAMES), np.array([16, 12, 5]))
    fragments = Fragments.of(some_fragments(16, 3), 0.1)
    expected = tree_counts(fitting, fragments)
    tree_counts(fitting, fragments, workspace=workspace)
    workspace.empty("same_end", fitting.first.shape)[:, :, -1] = np.inf  # affects expected stops only
    assert_same(tree_counts(fitting, fragments, workspace=workspace), expected, 1e-5)
