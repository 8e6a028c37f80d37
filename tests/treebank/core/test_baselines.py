"""Baseline trees: shapes by hand, and the random ones against their exact probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from math import ceil, comb, log2
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treebank.core.baselines import BASELINES, SEEDED
from treebank.core.tree import Tree


def words(n: int) -> Tree:
    return Tree.from_spans([f"w{i}" for i in range(n)], [])


def spans(name: str, gold: Tree, seed: int = 1) -> set[tuple[int, int]]:
    brackets = list(BASELINES[name](gold, Random(seed)))
    assert len(brackets) == len(set(brackets))
    return {(start, end) for start, end in brackets}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("left", {(0, 5), (0, 4), (0, 3), (0, 2)}),
        ("right", {(0, 5), (1, 5), (2, 5), (3, 5)}),
        ("balanced", {(0, 5), (0, 2), (2, 5), (3, 5)}),
        ("balanced-williams", {(0, 5), (1, 5), (1, 3), (3, 5)}),
        ("oracle", {(0, 5), (1, 5), (2, 5), (3, 5)}),
    ],
)
def test_five_words(name: str, expected: set[tuple[int, int]]) -> None:
    assert spans(name, words(5)) == expected


@pytest.mark.parametrize("name", sorted(BASELINES.keys() - {"gold"}))
@given(n=st.integers(0, 40), seed=st.integers(0, 5))
def test_every_baseline_is_a_binary_tree(name: str, n: int, seed: int) -> None:
    brackets = spans(name, words(n), seed)
    assert len(brackets) == max(n - 1, 0)
    tree = Tree.from_spans(["w"] * n, brackets)  # raises if two of them cross
    assert set(tree.spans) - brackets <= {(0, n)}


@given(st.integers(2, 300))
def test_williams_by_the_formula(n: int) -> None:
    def split(start: int, end: int) -> set[tuple[int, int]]:
        size = end - start
        if size < 2:
            return set()
        middle = end - 2 ** ceil(log2(size)) // 2
        return {(start, end)} | split(start, middle) | split(middle, end)

    assert spans("balanced-williams", words(n)) == split(0, n)


def test_oracle_keeps_all_gold_brackets_and_drops_unary_ones() -> None:
    gold = Tree(
        tuple("abcd"),
        ("W",) * 4,
        ((0, 4), (0, 4), (0, 1), (1, 3)),  # type: ignore[arg-type]
        ("S", "VP", "NP", "NP"),
    )
    assert spans("oracle", gold) == {(0, 4), (1, 3), (1, 4)}


@pytest.mark.parametrize("name", sorted(SEEDED))
def test_the_same_seed_gives_the_same_trees(name: str) -> None:
    assert spans(name, words(30), 3) == spans(name, words(30), 3) != spans(name, words(30), 4)


def merge_probability(start: int, end: int, n: int) -> float:
    """Probability of a bracket in a randomly merged tree: 1/L at an edge of the sentence, else 2/L(L+1)."""
    size = end - start
    if size == n:
        return 1.0
    return 1 / size if start == 0 or end == n else 2 / (size * (size + 1))


def uniform_probability(start: int, end: int, n: int) -> float:
    def catalan(k: int) -> int:
        return comb(2 * k, k) // (k + 1)

    size = end - start
    return catalan(size - 1) * catalan(n - size) / catalan(n - 1)


@pytest.mark.parametrize(("name", "exact"), [("random", merge_probability), ("random-uniform", uniform_probability)])
def test_random_brackets_have_their_exact_probability(name: str, exact: Callable[[int, int, int], float]) -> None:
    n, draws = 6, 20_000
    chance, gold = Random(5), words(n)
    counts = Counter(tuple(span) for _ in range(draws) for span in BASELINES[name](gold, chance))
    for start in range(n):
        for end in range(start + 2, n + 1):
            share, expected = counts[start, end] / draws, exact(start, end, n)
            assert abs(share - expected) < 4.5 * (expected * (1 - expected) / draws) ** 0.5 + 1e-9, (start, end)


def test_uniform_trees_are_equally_likely() -> None:
    chance, gold, draws = Random(2), words(5), 14_000
    shapes = Counter(frozenset(BASELINES["random-uniform"](gold, chance)) for _ in range(draws))
    assert len(shapes) == 14
    assert all(abs(count - 1000) < 150 for count in shapes.values())


@pytest.mark.parametrize("name", sorted(BASELINES.keys() - {"gold"}))
def test_10_000_words(name: str) -> None:
    assert len(BASELINES[name](words(10_000), Random(1))) == 9_999


def test_merging_children_come_before_their_parent() -> None:
    brackets = BASELINES["random"](words(50), Random(1))
    assert all(not (a[0] <= b[0] and b[1] <= a[1]) for a, b in combinations(brackets, 2))
