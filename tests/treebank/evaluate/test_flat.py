"""Flat brackets against sets of tuples."""

from __future__ import annotations

import numpy as np
import pytest

from treebank.evaluate.flat import Brackets, Constituents, EachSentence

LENGTHS = [6, 1, 0, 4]


def drawn(seed: int, *, ordered: bool) -> tuple[list[list[tuple[int, int]]], list[list[str]]]:
    """Spans and labels of some sentences, many of them more than once, in the order of trees or in none."""
    chance = np.random.default_rng(seed)
    spans: list[list[tuple[int, int]]] = []
    for length in LENGTHS:
        bounds = chance.integers(0, length, (12, 2)).tolist() if length else []
        found = [(min(pair), max(pair) + 1) for pair in bounds]
        spans.append(sorted(found, key=lambda span: (span[0], -span[1])) if ordered else found)
    return spans, [chance.choice(["NP", "VP", ""], len(found)).tolist() for found in spans]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_phrases_are_each_there_once(seed: int, ordered: bool) -> None:
    """Of one sentence, span and label the first, in the order in which they came."""
    spans, labels = drawn(seed, ordered=ordered)
    found = Constituents.of(spans, labels, [[True] * length for length in LENGTHS]).phrases()
    brackets = found.brackets
    ours = zip(brackets.sentence, brackets.start, brackets.end, (found.names[i] for i in found.label), strict=True)
    every = [
        (i, start, end, label)
        for i, pairs in enumerate(zip(spans, labels, strict=True))
        for (start, end), label in zip(*pairs, strict=True)
        if end - start > 1 and label
    ]
    assert list(ours) == list(dict.fromkeys(every))


@pytest.mark.parametrize("seed", range(20))
def test_brackets_over_the_words_that_survive(seed: int) -> None:
    spans, labels = drawn(seed, ordered=True)
    chance = np.random.default_rng(100 + seed)
    masks = [(chance.random(length) < 0.6).tolist() for length in LENGTHS]
    found = Constituents.of(spans, labels, masks)
    wanted = []
    for own, mask in zip(spans, masks, strict=True):
        moved = [(sum(mask[:start]), sum(mask[:end])) for start, end in own]
        wanted.append([span for span in moved if span[0] < span[1]])
    assert list(EachSentence(found.brackets, np.arange(len(LENGTHS)))) == wanted
    assert found.brackets.lengths.tolist() == list(map(sum, masks))


def test_keys_are_in_the_order_of_trees_and_can_be_turned_back() -> None:
    spans, _ = drawn(1, ordered=True)
    brackets = Brackets.of(spans, LENGTHS)
    assert (np.diff(brackets.keys) >= 0).all()
    again = Brackets.of_keys(brackets.keys, brackets.lengths)
    for one, other in zip(
        (again.sentence, again.start, again.end), (brackets.sentence, brackets.start, brackets.end), strict=True
    ):
        assert np.array_equal(one, other)
    assert EachSentence(brackets, np.array([3, 0]))[:] == [spans[3], spans[0]]
    assert EachSentence(brackets, np.array([1]))[-1] == spans[1]
