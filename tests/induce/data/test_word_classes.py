"""Word classes: counts of neighbors, recovery of known classes, and invariants of the search."""

from __future__ import annotations

import numpy as np
import pytest

from induce.data.word_classes import Neighbours, _Exchange, _xlogx, pair_counts, word_classes

WORDS = ["the", "a", "cat", "dog", "cow", "sees", "bites", "old", "small"]
GOLD_CLASSES = [0, 0, 1, 1, 1, 2, 2, 3, 3]


def log_likelihood(neighbours: Neighbours, classes: np.ndarray, count: int) -> float:
    """Log likelihood of class bigrams, up to a constant, for the class (V,), 0 … count - 1, of each word."""
    table = pair_counts(neighbours, np.concatenate([classes, [count, count + 1]]), count + 2)
    return float(_xlogx(table).sum() - _xlogx(table.sum(0)).sum() - _xlogx(table.sum(1)).sum())


def generated_text(sentences: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sentences such as "the old cat sees a dog": ids, offsets, and breaks without punctuation."""
    draw = np.random.default_rng(seed)

    def phrase() -> list[int]:
        return [draw.integers(0, 2), *draw.integers(7, 9, size=draw.integers(0, 3)), draw.integers(2, 5)]

    drawn = [[*phrase(), draw.integers(5, 7), *phrase()] for _ in range(sentences)]
    ids = np.array([word for sentence in drawn for word in sentence])
    return ids, np.cumsum([0, *map(len, drawn)]), np.zeros(len(ids), dtype=bool)


def dense(rows: tuple[np.ndarray, np.ndarray, np.ndarray], size: int) -> np.ndarray:
    table = np.zeros((size, size))
    for row in range(size):
        for entry in range(rows[0][row], rows[0][row + 1]):
            table[row, rows[1][entry]] += rows[2][entry]
    return table


def test_neighbors_are_counted() -> None:
    """Counts of 0 1 , 2 | 1 with boundary 3 and punctuation 4, which is ignored before a first word."""
    neighbours = Neighbours.of(
        np.array([0, 1, 2, 1]), np.array([0, 3, 4]), np.array([False, False, True, True]), size=3
    )
    expected = np.zeros((5, 5))
    for first, second in ((3, 0), (0, 1), (1, 4), (4, 2), (2, 3), (3, 1), (1, 3)):
        expected[first, second] += 1
    np.testing.assert_array_equal(dense(neighbours.after, 5), expected)
    np.testing.assert_array_equal(dense(neighbours.before, 5), expected.T)


def test_known_classes_are_recovered() -> None:
    neighbours = Neighbours.of(*generated_text(300), size=len(WORDS))
    for seed in range(3):
        classes = word_classes(neighbours, WORDS, classes=4, endings=0.0, seed=seed)
        assert len({*zip(classes.tolist(), GOLD_CLASSES, strict=True)}) == 4


def test_gain_is_the_difference_of_likelihoods() -> None:
    """Moving one word to another class changes the likelihood by the difference of the gains."""
    neighbours = Neighbours.of(*generated_text(50), size=len(WORDS))
    start = np.array([0, 0, 1, 2, 2, 2, 1, 0, 1])
    for word in range(len(WORDS)):
        search = _Exchange(neighbours, WORDS, 3, 0.0)
        search._put(np.arange(len(WORDS)), start)
        block = np.array([word])
        search.take_out(block)
        gains = search._gains(block)[0]
        likelihoods = []
        for label in range(3):
            classes = start.copy()
            classes[word] = label
            likelihoods.append(log_likelihood(neighbours, classes, 3))
        np.testing.assert_allclose(np.diff(gains), np.diff(likelihoods), atol=1e-8)


def test_tables_equal_counts_from_scratch() -> None:
    """After moves of blocks, the counts are equal to those of a new search with the same classes."""
    ids, offsets, breaks = generated_text(200)
    breaks[::7] = True
    neighbours = Neighbours.of(ids, offsets, breaks, size=len(WORDS))
    search = _Exchange(neighbours, WORDS, 3, 1.0)
    for block in (search.order(0)[:3], search.order(1)[3:], np.arange(9)):
        search.assign(block) if (search.classes[block] < 3).all() else search.take_out(block)
    search.classes[:9] = np.where(search.classes[:9] < 3, search.classes[:9], 5)
    fresh = _Exchange(neighbours, WORDS, 3, 1.0)
    placed = np.flatnonzero(search.classes[:9] < 3)
    fresh._put(placed, search.classes[placed])
    np.testing.assert_allclose(search.table, fresh.table)


def test_words_without_context_are_classified_by_ending() -> None:
    """Words that never occur are in the class of words with the same last letters."""
    words = [*WORDS, "unseen-og", "unheard-es"]
    classes = word_classes(Neighbours.of(*generated_text(300), size=len(words)), words, classes=4, endings=1.0)
    assert classes[-2] == classes[3]
    assert classes[-1] == classes[6]


def test_same_seed_returns_the_same_classes() -> None:
    neighbours = Neighbours.of(*generated_text(100), size=len(WORDS))
    first, second = (word_classes(neighbours, WORDS, classes=3, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("classes", [1, 3, 50])
def test_small_vocabularies(classes: int) -> None:
    """A single word is classified even if there are more classes than words."""
    neighbours = Neighbours.of(np.array([0]), np.array([0, 1]), np.array([False]), size=1)
    assert word_classes(neighbours, ["a"], classes=classes).max() < classes
