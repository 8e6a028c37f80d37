"""What dropped marks tell: which words they join, what brackets enclose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from induce.data.batches import FragmentBatch, SpanSupervisedBatch
from induce.data.corpus import EncodedCorpus, read_corpora
from induce.data.fragments import FragmentLoader, conflicting_spans
from induce.data.normalization import RECIPES
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
from induce.settings.presets import resolve
from treebank.core.sentence import Sentence

OPEN, CLOSE = SEPARATED + 1, SEPARATED + 4


def seen(text: str, joining: str = "") -> tuple[str, list[int]]:
    """The words of a sentence and the gaps before them."""
    words = text.split()
    kept = RECIPES["words"](words).kept
    return " ".join(words[index] for index in kept), gaps(words, kept, frozenset(joining.split()))


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
        ("„", SEPARATED),  # Unicode calls this an opening mark, but it closes elsewhere
    ],
)
def test_gaps(marks: str, expected: int) -> None:
    assert gap(marks.split(), {"-"}) == expected
    if expected != JOINED:
        assert Singles().final([])[Singles().gap(marks.split())] == expected


def test_the_gaps_of_a_sentence() -> None:
    assert seen('" the ( wild - type ) mice , he said', "-") == (
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
def test_what_brackets_enclose(text: str, expected: list[str]) -> None:
    words, row = seen(text, "-")
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
def test_which_words_are_joined(text: str, expected: list[str]) -> None:
    words, row = seen(text, "- /")
    assert [" ".join(words.split()[i:j]) for i, j in joined(row)] == expected


def test_spans_conflict_in_sentences_of_any_length_of_a_batch() -> None:
    """In a ( b c ) d: a b, c d, and b c d, which continues after the aside."""
    _, row = seen("a ( b c ) d")
    conflicts = conflicting_spans(torch.tensor([[*row, 0, 0], [0] * 6]), torch.tensor([4, 6]))
    assert conflicts.shape == (2, 6, 7)
    assert conflicts.nonzero().tolist() == [[0, 0, 2], [0, 1, 4], [0, 2, 4]]


def test_a_grammar_learns_under_a_penalty_for_crossing_and_is_checked_without() -> None:
    corpus, _ = read_corpora([Sentence(["a", "(", "b", "c", ")", "d"]), Sentence(["a", "b", "c", "d"])], "words")
    encoded = corpus.encode(corpus.vocabulary(20, 1))
    train = replace(resolve(preset="npcfg-small").loader, crossing_penalty=2.0, batch_words=4)
    loader = FragmentLoader(encoded, train, device="cpu")
    batches = [step.batch for step in loader.steps(np.random.RandomState(0), 0)]
    (weighed,) = (one for one in batches if isinstance(one, SpanSupervisedBatch))
    less = {(int(i), int(j)) for i, j in (weighed.weights[0] < 1).nonzero().tolist()}
    assert less == {(0, 2), (1, 4), (2, 4)}
    assert weighed.weights[0, 0, 2] == pytest.approx(np.exp(-2.0))
    assert len(batches) == 2
    assert {type(one) for one in loader.check()} == {FragmentBatch}


def drawn(count: int = MIN_OCCURRENCES) -> list[int]:
    """Numbers below 30, in no order."""
    found: list[int] = np.random.RandomState(0).randint(0, 30, count).tolist()
    return found


def text_with_hyphens() -> list[Sentence]:
    """A hyphen stands in words that come again and again, a comma between words that do not."""
    return [
        Sentence(f"{letters(place)} , x {letters(k)}a - {letters(k)}b y ( z v )".split())
        for place, k in enumerate(drawn(), 100)
    ]


def letters(number: int) -> str:
    """A word of its own for each number."""
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


def test_the_text_tells_which_marks_join() -> None:
    training, _ = read_corpora(text_with_hyphens(), "words")
    assert training.joining == ["-"]
    few, _ = read_corpora(text_with_hyphens()[1:], "words")
    assert few.joining == []


def test_quotation_marks_and_edges_of_sentences_join_nothing() -> None:
    first = 1 + np.array(drawn())
    ids, numbers = np.stack([first, 50 + first, 0 * first], 1).ravel(), np.tile([0, JOINED, 0], MIN_OCCURRENCES)
    assert joining_marks(ids, numbers, {"-": JOINED}) == ["-"]
    assert joining_marks(ids, numbers, {'"': JOINED}) == []
    assert joining_marks(ids, np.roll(numbers, -1), {"-": JOINED}) == []  # before the first words


def test_frequent_words_beside_a_mark_are_no_sign() -> None:
    """`0 % of`, `0 % more`: these pairs come again, but every word before the mark goes with every word behind it."""
    behind = np.random.RandomState(0).randint(2, 5, MIN_OCCURRENCES)
    ids = np.stack([np.ones(MIN_OCCURRENCES, dtype=int), behind, np.zeros(MIN_OCCURRENCES, dtype=int)], 1).ravel()
    assert joining_marks(ids, np.tile([0, JOINED, 0], MIN_OCCURRENCES), {"%": JOINED}) == []


def test_a_corpus_on_disk_tells_the_same(tmp_path: Path) -> None:
    prepare(text_with_hyphens(), str(tmp_path / "corpus"))
    prepared, _ = PreparedCorpus.read(tmp_path / "corpus").split(0)
    memory, _ = read_corpora(text_with_hyphens(), "words")
    assert prepared.joining == memory.joining == ["-"]
    vocabulary = memory.vocabulary(100, 1)
    found: list[EncodedCorpus] = [prepared.encode(vocabulary, ["-"]), memory.encode(vocabulary, ["-"])]
    assert np.array_equal(found[0].gaps, found[1].gaps)
    assert found[0].gaps[:9].tolist() == [NOTHING, SEPARATED, NOTHING, JOINED, NOTHING, OPEN, NOTHING, NOTHING, NOTHING]
    assert found[0].breaks.sum() == 2 * MIN_OCCURRENCES


def test_more_marks_than_numbers() -> None:
    singles = Singles()
    numbers = [singles.gap([chr(0x2190 + k)]) for k in range(300)]
    assert len(set(numbers[: 256 - JOINED])) == 256 - JOINED
    assert set(numbers[256 - JOINED :]) == {SEPARATED}
