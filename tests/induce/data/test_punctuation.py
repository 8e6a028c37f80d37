"""Gaps of dropped punctuation: brackets and joining marks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from induce.data.batches import FragmentBatch, SpanSupervisedBatch
from induce.data.corpus import EncodedCorpus, read_corpora
from induce.data.loaders import FragmentLoader, conflicting_spans
from induce.data.prepared import PreparedCorpus, prepare
from induce.data.punctuation import (
    JOINED,
    MIN_OCCURRENCES,
    NOTHING,
    SEPARATED,
    Singles,
    bracketed,
    gap,
    gaps,
    joined,
    joining_marks,
)
from induce.data.vocabulary import RECIPES
from induce.settings.presets import resolve
from treebank.core.sentence import Sentence

OPEN, CLOSE = SEPARATED + 1, SEPARATED + 4


def words_and_gaps(text: str, joining: str = "") -> tuple[str, list[int]]:
    """Words of a sentence and the gaps before them."""
    words = text.split()
    indices = RECIPES["words"](words).indices
    return " ".join(words[index] for index in indices), gaps(words, indices, frozenset(joining.split()))


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ("", NOTHING),
        (",", SEPARATED),
        ("-", JOINED),
        ("- -", SEPARATED),
        ("(", OPEN),
        ("-LRB-", OPEN),
        (") ,", CLOSE),
        (") (", OPEN + CLOSE - SEPARATED),
        ("( )", SEPARATED),
        ("[ { (", OPEN + 2),
        (") ) ) ) )", SEPARATED + 12),
        ("「", OPEN),
        ("„", SEPARATED),  # an opening mark in Unicode, but a closing mark in some languages
    ],
)
def test_gap_of_marks(marks: str, expected: int) -> None:
    assert gap(marks.split(), {"-"}) == expected
    if expected != JOINED:
        assert Singles().final([])[Singles().gap(marks.split())] == expected


def test_gaps_of_a_sentence() -> None:
    assert words_and_gaps('" the ( wild - type ) mice , he said', "-") == (
        "the wild type mice he said",
        [SEPARATED, OPEN, JOINED, CLOSE, SEPARATED, NOTHING],
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b c", []),
        ("a ( b c ) d", ["b c"]),
        ("a ( b ) c", ["b"]),
        ("( a b )", ["a b"]),
        ("a ( b c ( d e ) ) f", ["b c d e", "d e"]),
        ("a ( b c", ["b c"]),
        ("a b ) c d", []),
        ("a ( b c ) ( d e ) f", ["b c", "d e"]),
        ("a ( b - c d ) e", ["b c d"]),
    ],
)
def test_bracketed_spans(text: str, expected: list[str]) -> None:
    words, row = words_and_gaps(text, "-")
    assert sorted(" ".join(words.split()[i:j]) for i, j in bracketed(row)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b c", []),
        ("the wild - type mice", ["wild type"]),
        ("a - b / c d - e f", ["a b c", "d e"]),
        ("a ( b - c d ) e", ["b c"]),
        ("a - b", ["a b"]),
        ("- a b -", []),
    ],
)
def test_joined_spans(text: str, expected: list[str]) -> None:
    words, row = words_and_gaps(text, "- /")
    assert [" ".join(words.split()[i:j]) for i, j in joined(row)] == expected


def test_conflicting_spans_of_a_batch() -> None:
    """In a ( b c ) d, the spans a b, c d, and b c d, which continues after the brackets, are in conflict."""
    _, row = words_and_gaps("a ( b c ) d")
    conflicts = conflicting_spans(torch.tensor([[*row, 0, 0], [0] * 6]), torch.tensor([4, 6]))
    assert conflicts.shape == (2, 6, 7)
    assert conflicts.nonzero().tolist() == [[0, 0, 2], [0, 1, 4], [0, 2, 4]]


def test_crossing_penalty_applies_in_training_and_not_in_scoring() -> None:
    corpus, _ = read_corpora([Sentence(["a", "(", "b", "c", ")", "d"]), Sentence(["a", "b", "c", "d"])], "words")
    encoded = corpus.encode(corpus.vocabulary(20, 1))
    train = replace(resolve(preset="npcfg-small").loader, crossing_penalty=2.0, batch_words=4)
    loader = FragmentLoader(encoded, train, device="cpu")
    batches = [step.batch for step in loader.steps(np.random.RandomState(0), 0)]
    (weighted,) = (batch for batch in batches if isinstance(batch, SpanSupervisedBatch))
    penalized = {(int(i), int(j)) for i, j in (weighted.weights[0] < 1).nonzero().tolist()}
    assert penalized == {(0, 2), (1, 4), (2, 4)}
    assert weighted.weights[0, 0, 2] == pytest.approx(np.exp(-2.0))
    assert len(batches) == 2
    assert {type(batch) for batch in loader.check()} == {FragmentBatch}


def random_numbers(count: int = MIN_OCCURRENCES) -> list[int]:
    """Random numbers below 30."""
    return np.random.RandomState(0).randint(0, 30, count).tolist()


def text_with_hyphens() -> list[Sentence]:
    """Sentences with hyphens in recurring words and commas between words that do not recur."""
    return [
        Sentence(f"{letters(index)} , x {letters(k)}a - {letters(k)}b y ( z v )".split())
        for index, k in enumerate(random_numbers(), 100)
    ]


def letters(number: int) -> str:
    """A unique word for each number."""
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


def test_joining_marks_are_detected_in_the_text() -> None:
    training, _ = read_corpora(text_with_hyphens(), "words")
    assert training.joining == ["-"]
    few, _ = read_corpora(text_with_hyphens()[1:], "words")
    assert few.joining == []


def test_quotation_marks_and_sentence_edges_do_not_join() -> None:
    first = 1 + np.array(random_numbers())
    ids, numbers = np.stack([first, 50 + first, 0 * first], 1).ravel(), np.tile([0, JOINED, 0], MIN_OCCURRENCES)
    assert joining_marks(ids, numbers, {"-": JOINED}) == ["-"]
    assert joining_marks(ids, numbers, {'"': JOINED}) == []
    assert joining_marks(ids, np.roll(numbers, -1), {"-": JOINED}) == []  # before the first words


def test_mark_next_to_a_frequent_word_does_not_join() -> None:
    """The pairs of `0 % of` and `0 % more` recur, but so do those of all words before and after the mark."""
    after = np.random.RandomState(0).randint(2, 5, MIN_OCCURRENCES)
    ids = np.stack([np.ones(MIN_OCCURRENCES, dtype=int), after, np.zeros(MIN_OCCURRENCES, dtype=int)], 1).ravel()
    assert joining_marks(ids, np.tile([0, JOINED, 0], MIN_OCCURRENCES), {"%": JOINED}) == []


def test_corpus_on_disk_has_the_same_gaps(tmp_path: Path) -> None:
    prepare(text_with_hyphens(), str(tmp_path / "corpus"))
    prepared, _ = PreparedCorpus.read(tmp_path / "corpus").split(0)
    memory, _ = read_corpora(text_with_hyphens(), "words")
    assert prepared.joining == memory.joining == ["-"]
    vocabulary = memory.vocabulary(100, 1)
    encoded: list[EncodedCorpus] = [prepared.encode(vocabulary, ["-"]), memory.encode(vocabulary, ["-"])]
    assert np.array_equal(encoded[0].gaps, encoded[1].gaps)
    assert encoded[0].gaps[:9].tolist() == [
        NOTHING,
        SEPARATED,
        NOTHING,
        JOINED,
        NOTHING,
        OPEN,
        NOTHING,
        NOTHING,
        NOTHING,
    ]
    assert encoded[0].breaks.sum() == 2 * MIN_OCCURRENCES


def test_marks_beyond_the_last_number_separate() -> None:
    singles = Singles()
    numbers = [singles.gap([chr(0x2190 + k)]) for k in range(300)]
    assert len(set(numbers[: 256 - JOINED])) == 256 - JOINED
    assert set(numbers[256 - JOINED :]) == {SEPARATED}
