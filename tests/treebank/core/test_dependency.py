"""Heads against plain definitions: every choice for short sentences, random ones for longer."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tests.support.dependency_trees import is_projective
from treebank.core.dependency import delete, is_tree
from treebank.core.sentence import ROOT


def ancestors(heads: tuple[int, ...], i: int) -> set[int]:
    """Word i and all words above it, with ROOT if the path ends there."""
    path = {i}
    while i != ROOT and heads[i] not in path:
        i = heads[i]
        path.add(i)
    return path


def brute_is_tree(heads: tuple[int, ...]) -> bool:
    return heads.count(ROOT) == 1 and all(ROOT in ancestors(heads, i) for i in range(len(heads)))


def brute_is_projective(heads: tuple[int, ...]) -> bool:
    arcs = [(min(i, head), max(i, head)) for i, head in enumerate(heads)]
    return not any(a < c < b < d for (a, b), (c, d) in product(arcs, arcs))


def test_every_choice_of_heads_of_up_to_five_words() -> None:
    for n in range(6):
        for heads in product(range(-1, n), repeat=n):
            assert is_tree(heads) == brute_is_tree(heads), heads
            assert is_projective(heads) == brute_is_projective(heads), heads


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(*[st.integers(ROOT, n - 1)] * n)))
def test_longer_ones(heads: tuple[int, ...]) -> None:
    assert is_tree(heads) == brute_is_tree(heads)
    assert is_projective(heads) == brute_is_projective(heads)


def test_heads_outside_of_the_sentence() -> None:
    assert not is_tree((ROOT, 2))
    assert not is_tree((ROOT, -2))
    assert not is_tree(())


def test_ten_thousand_words() -> None:
    n = 10_000
    previous = tuple(range(-1, n - 1))
    circle = (ROOT, n - 1, *range(1, n - 1))
    assert is_tree(previous)
    assert is_projective(previous)
    assert not is_tree(circle)


def test_delete() -> None:
    assert delete((1, 2, ROOT, 2), [True, False, False, True]) == (ROOT, ROOT)
    assert delete((1, 3, 3, ROOT), [True, False, True, True]) == (2, 2, ROOT)
    assert delete((1, 2, 1), [True, False, False]) == (ROOT,)  # the deleted words lead round in circles
    assert delete((1, 0), [True, False]) == (ROOT,)  # and back to the word itself
    n = 10_000
    assert delete(range(-1, n - 1), [i in (0, n - 1) for i in range(n)]) == (ROOT, 0)
