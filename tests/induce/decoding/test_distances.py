"""Linear-time decoders compared with plain recursion and with the published programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from induce.decoding.distances import TIE, biased, biased_inner, heights, nary, unbiased
from induce.decoding.specification import decoder
from tests.support.dependency_trees import is_projective
from tests.support.reference import fixtures, load
from treebank.base.errors import SynparseError
from treebank.core.dependency import is_tree
from treebank.core.sentence import ROOT

RULES = {"biased": biased, "biased-inner": biased_inner, "unbiased": unbiased, "nary": nary}
Spans = set[tuple[int, int]]


def first_maximum(values: Sequence[float], start: int, end: int) -> int:
    return max(range(start, end), key=lambda k: (values[k], -k))


def plain_unbiased(values: Sequence[float], start: int, end: int) -> Spans:
    if end - start < 2:
        return set()
    k = first_maximum(values, start + 1, end)
    return {(start, end)} | plain_unbiased(values, start, k) | plain_unbiased(values, k, end)


def plain_biased(values: Sequence[float], start: int, end: int) -> Spans:
    if end - start < 2:
        return set()
    k = first_maximum(values, start, end)
    right = ({(k, end)} if end - k > 1 else set()) | plain_biased(values, k + 1, end)
    return {(start, end)} | plain_biased(values, start, k) | right


def plain_inner(values: Sequence[float], start: int, end: int) -> Spans:
    if end - start < 2:
        return set()
    k = first_maximum(values, start + 1, end)
    right = ({(k, end)} if end - k > 1 else set()) | plain_inner(values, k + 1, end)
    return {(start, end)} | plain_inner(values, start, k) | right


def plain_nary(values: Sequence[float], start: int, end: int, tolerance: float = TIE) -> Spans:
    if end - start < 2:
        return set()
    widest = max(values[start + 1 : end])
    cuts = [start, *(k for k in range(start + 1, end) if values[k] >= widest - tolerance), end]
    parts = [plain_nary(values, left, right, tolerance) for left, right in pairwise(cuts)]
    return {(start, end)}.union(*parts)


PLAIN = {"biased": plain_biased, "biased-inner": plain_inner, "unbiased": plain_unbiased, "nary": plain_nary}
with_ties = st.lists(st.integers(0, 3).map(float), max_size=14)
any_numbers = st.lists(st.floats(allow_nan=False), max_size=14)


@pytest.mark.parametrize("rule", RULES)
@given(distances=with_ties | any_numbers)
@example(distances=[math.inf, -math.inf, math.inf, 0.0, -math.inf])
def test_brackets_equal_those_of_plain_recursion(rule: str, distances: list[float]) -> None:
    spans = RULES[rule](distances)
    assert len(spans) == len(set(spans))
    assert set(spans) == PLAIN[rule](distances, 0, len(distances))


@given(with_ties | any_numbers, st.sampled_from([0.5, 1.0, 2.0]))
def test_gaps_within_the_tolerance_are_split_together(distances: list[float], tolerance: float) -> None:
    spans = decoder(f"nary:{tolerance}")(distances)
    assert len(spans) == len(set(spans)) <= len(nary(distances))
    assert set(spans) == plain_nary(distances, 0, len(distances), tolerance)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nary:", "tolerance is a number from 0 on, not ''"),
        ("nary:-1", "from 0 on"),
        ("biased:1", "biased has no option '1'"),
        ("nary:width=1", "nary has no option 'width=1'; it has tolerance"),
        ("eisner:root=none", "root is free or counted, not 'none'"),
    ],
)
def test_invalid_decoder_option_raises_an_error(name: str, message: str) -> None:
    with pytest.raises(SynparseError, match=message):
        decoder(name)


def test_distances_that_differ_by_rounding_are_equal() -> None:
    """In float32 the distances of one sentence differ slightly with the other sentences of its batch."""
    exact, rounded = [9.0, 1.0, 3.0, 3.0, 2.0, 3.0], [9.0, 1.0, 3.0, 3.0 + 2e-7, 2.0, 3.0 - 2e-7]
    assert set(nary(rounded)) == set(nary(exact))


def test_numpy_arrays_are_accepted() -> None:
    assert unbiased(np.array([0.0, 1.0, 2.0], dtype=np.float32)) == unbiased([0.0, 1.0, 2.0])


@pytest.mark.parametrize("name", fixtures("const_decode"))
def test_brackets_equal_those_of_the_published_programs(name: str) -> None:
    fixture = load(name)
    rows, lengths = fixture.arrays["distance"], fixture.arrays["length"]
    expected = fixture.doc["expected"]["rows"]
    assert len(rows) == len(lengths) == fixture.sizes["cases"] == len(expected) > 0
    for row, length, target in zip(rows, lengths, expected, strict=True):
        n = int(length)
        for rule, brackets in target["brackets"].items():
            below_root = sorted(set(RULES[rule](row[:n])) - {(0, n)})
            assert [list(span) for span in below_root] == brackets, (rule, row[:n])


def plain(pairs: list[tuple[float, float]]) -> tuple[int, ...]:
    """Heads by the definition: the head of the smallest phrase in which the word is not the first highest word."""
    spans = sorted(nary([gap for gap, _ in pairs]), key=lambda span: span[1] - span[0])
    heads = []
    for word in range(len(pairs)):
        tops = [max(range(*span), key=lambda i: pairs[i][1]) for span in spans if span[0] <= word < span[1]]
        heads.append(next((top for top in tops if top != word), ROOT))
    return tuple(heads)


@pytest.mark.parametrize("count", range(6))
def test_small_sentences_follow_the_definition(count: int) -> None:
    for gaps, tall in product(product(range(2), repeat=max(count - 1, 0)), permutations(range(count))):
        pairs = [(float(gap), float(height)) for gap, height in zip((9, *gaps), tall, strict=False)]
        heads = heights(pairs)
        assert heads == plain(pairs)
        assert len(heads) == count
        assert is_tree(heads) == bool(count)
        assert is_projective(heads)


@pytest.mark.parametrize("seed", range(20))
def test_long_sentences_with_ties_follow_the_definition(seed: int) -> None:
    draw = np.random.default_rng(seed)
    pairs = draw.integers(0, 6, (30, 2)).tolist()
    heads = heights(pairs)
    assert heads == plain(pairs)
    assert is_tree(heads)
    assert is_projective(heads)
