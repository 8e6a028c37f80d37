"""Trees to distances and back, against plain recursion over nested lists."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.nested_trees import Node, flat, is_leaf
from tests.support.reference import REFERENCE
from treebank.core.distances import distances_from_tree, nearest_larger, path_lengths, spans_from_distances
from treebank.core.tree import Tree

LISTS = st.recursive(
    st.just(("W", "w")), lambda parts: st.tuples(st.just("X"), st.lists(parts, min_size=1, max_size=4)), max_leaves=12
)


def plain_distances(node: Node) -> tuple[list[int], int]:
    """Values of the gaps inside ``node``, and its height, by recursion over nested lists."""
    if is_leaf(node):
        return [], 1
    label, (first, *rest) = node
    left, left_height = plain_distances(first)
    if not rest:
        return left, left_height
    right, right_height = plain_distances((label, rest))
    height = max(left_height, right_height) + 1
    return [*left, height, *right], height


@given(LISTS)
def test_like_plain_recursion(node: Node) -> None:
    gaps, height = plain_distances(node)
    assert distances_from_tree(flat(node)) == [height + 1, *gaps]


def routes(node: Node, route: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Route from the root to each word, as the number of the child at each bracket."""
    if is_leaf(node):
        return [route]
    return [leaf for i, child in enumerate(node[1]) for leaf in routes(child, (*route, i))]


@given(LISTS.filter(lambda node: not is_leaf(node)))
def test_path_lengths_count_the_edges_between_neighbors(node: Node) -> None:
    expected = []
    leaves = routes(node)
    for left, right in itertools.pairwise(leaves):
        shared = next(i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b)
        expected.append(len(left) + len(right) - 2 * shared)
    assert path_lengths(flat(node)) == [max(expected, default=1) + 1, *expected]


@given(LISTS)
def test_splitting_again_gives_the_binarised_tree(node: Node) -> None:
    tree = flat(node)
    n = len(tree)
    spans = spans_from_distances(distances_from_tree(tree))
    assert len(spans) == n - 1
    assert {span for span in tree.spans if span[1] - span[0] > 1} <= set(spans)
    binary = Tree.from_spans(tree.words, spans)
    assert distances_from_tree(binary) == distances_from_tree(tree)


@given(st.lists(st.integers(0, 4)))
def test_nearest_larger(values: list[int]) -> None:
    before, after = nearest_larger(values)
    for i, value in enumerate(values):
        assert before[i] == max((j for j in range(i) if values[j] >= value), default=-1)
        assert after[i] == min((j for j in range(i + 1, len(values)) if values[j] > value), default=len(values))


def test_no_word_and_one_word() -> None:
    assert distances_from_tree(Tree((), (), (), ())) == []
    assert distances_from_tree(Tree.from_spans(["a"], [])) == [2]
    assert spans_from_distances([]) == spans_from_distances([7]) == []


def test_a_branching_tree_of_10_000_words() -> None:
    words = [f"w{i}" for i in range(10_000)]
    right = Tree.from_spans(words, [(i, 10_000) for i in range(9_999)])
    assert distances_from_tree(right) == [10_001, *range(10_000, 1, -1)]
    assert set(spans_from_distances(distances_from_tree(right))) == set(right.spans)


@pytest.mark.parity
@pytest.mark.parametrize("path", sorted(REFERENCE.glob("sdlm_gold_distance*.json")), ids=lambda path: path.stem)
def test_like_the_published_program(path: Path) -> None:
    pytest.importorskip("treebank.io.bracketed")
    expected = json.loads(path.read_text(encoding="utf-8"))["expected"]
    for text, distances in zip(expected["trees"], expected["distances"], strict=True):
        computed = distances_from_tree(Tree.from_text(text))[1:]
        assert [value - 1 for value in computed] == distances  # the program's values are lower by one
