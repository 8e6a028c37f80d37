"""Batches of sentences and of streams, batches of similar length, and vocabularies with pseudo-words."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch

from induce.data.batches import (
    SentenceBatch,
    batches_by_cost,
    batches_by_words,
    batches_of_equal_length,
    batches_of_similar_length,
    map_by_length,
)
from induce.data.corpus import CorpusBuilder, EncodedCorpus, read_corpora
from induce.data.loaders import (
    FragmentLoader,
    FragmentSettings,
    SentenceLoader,
    SentenceSettings,
    StreamLoader,
    StreamSettings,
    segments,
)
from induce.data.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from induce.models.base import next_words
from treebank.core.sentence import Sentence

NUMBERS = Vocabulary([BOUNDARY, UNKNOWN, *map(str, range(2, 200))])


def corpus(sentences: Sequence[Sequence[int]]) -> EncodedCorpus:
    """Sentences of words that are written as numbers."""
    text = CorpusBuilder()
    for sentence in sentences:
        text.add([str(word) for word in sentence])
    return text.build().encode(NUMBERS)


TEXT = [[5, 3], [4], [7, 7, 8], [9, 2]]


def rows(batch: SentenceBatch) -> list[tuple[list[int], list[int]]]:
    """Input and targets of each sentence, without padding."""
    words = next_words(batch)
    columns = range(words.tokens.shape[1])
    return [
        (words.tokens[words.target_mask[:, k], k].tolist(), words.targets[words.target_mask[:, k], k].tolist())
        for k in columns
    ]


def test_sentences_are_read_after_a_boundary_and_predict_the_next_one() -> None:
    first, last = SentenceLoader(corpus(TEXT), SentenceSettings(batch_size=3), device="cpu").check()
    assert rows(first) == [([0, 5, 3], [5, 3, 0]), ([0, 4], [4, 0]), ([0, 7, 7, 8], [7, 7, 8, 0])]
    assert next_words(first).tokens.shape == (5, 3)  # the boundary after a sentence is read, as in the released program
    assert first.token_count == 6
    assert rows(last) == [([0, 9, 2], [9, 2, 0])]


def test_training_omits_an_incomplete_last_batch_and_starts_at_any_batch() -> None:
    loaders = {
        size: SentenceLoader(corpus(TEXT), SentenceSettings(batch_size=size), device="cpu") for size in (2, 3, 9)
    }
    assert [step.after for step in loaders[2].steps(None, 0)] == [1, 2]
    assert [step.after for step in loaders[2].steps(None, 1)] == [2]
    assert [step.after for step in loaders[3].steps(None, 0)] == [1]
    assert [step.after for step in loaders[9].steps(None, 0)] == [1]
    assert [loaders[2].share(start) for start in (0, 1, 2)] == [0, 0.5, 1]


def random_sentences() -> list[list[int]]:
    rng = np.random.RandomState(0)
    return [rng.randint(2, 50, rng.randint(1, 9)).tolist() for _ in range(200)]


def test_batches_of_similar_length_have_all_sentences_and_little_padding() -> None:
    sentences, config = random_sentences(), SentenceSettings(bucketed=True, batch_size=7)
    batches = [step.batch for step in SentenceLoader(corpus(sentences), config, device="cpu").steps(None, 0)]
    targets = [[token for token in row[1] if token] for batch in batches for row in rows(batch)]
    assert sorted(targets) == sorted(sentences)
    assert targets != sorted(targets, key=len)
    assert sum(batch.tokens.numel() for batch in batches) < 1.1 * sum(map(len, sentences))
    again = SentenceLoader(corpus(sentences), config, device="cpu").steps(None, 11)
    assert all(torch.equal(step.batch.tokens, batch.tokens) for step, batch in zip(again, batches[11:], strict=True))


def test_segments_of_fixed_length_need_no_random_numbers() -> None:
    assert [(segment.start, segment.rows) for segment in segments(None, 4, 11, vary=False)] == [(0, 4), (4, 4), (8, 2)]


def test_stream_is_read_in_order() -> None:
    text = corpus([list(range(2, 121))])
    for vary in (True, False):
        config = StreamSettings(segment_length=7, vary_segments=vary, batch_size=3)
        loader = StreamLoader(text, config, device="cpu")
        steps = list(loader.steps(np.random.RandomState(0), 0))
        assert torch.cat([step.batch.tokens for step in steps])[:, 1].tolist() == list(range(42, 81))
        assert all(torch.equal(step.batch.targets[:-1], step.batch.tokens[1:]) for step in steps)
        assert sum(step.batch.token_count for step in steps) == 3 * 39
        assert loader.share(steps[-1].after) == 1.0


def test_fragment_batches_have_one_length_and_fragments_between_punctuation() -> None:
    words = ["The cat , they say , sleeps .", '" No , " said the dog', "It rains", "cats sleep"]
    text, _ = read_corpora([Sentence(tuple(line.split())) for line in words], "words")
    encoded = text.encode(text.vocabulary(100, 1))
    loader = FragmentLoader(encoded, FragmentSettings(batch_words=8), device="cpu")
    batches = list(loader.check())
    assert sorted(batch.tokens.shape for batch in batches) == [(1, 4), (1, 5), (2, 2)]
    fragments = {tuple(row) for batch in batches for row in batch.fragments.tolist()}
    assert fragments == {(0, 0, 1, 1, 2), (0, 1, 1, 1), (0, 0)}


def test_parts_of_a_batch_have_no_columns_of_padding() -> None:
    batch = corpus(random_sentences()).sentences(np.arange(10))
    parts = batch.parts(4)
    assert [len(part.tokens) for part in parts] == [3, 3, 2, 2]
    assert all(part.tokens.shape[1] == int(part.lengths.max()) for part in parts)
    sentences = [row[:n] for part in parts for row, n in zip(part.tokens.tolist(), part.lengths.tolist(), strict=True)]
    assert sentences == random_sentences()[:10]


def test_boundary_token_in_the_text_is_an_unknown_word() -> None:
    text, _ = read_corpora([Sentence(("a", BOUNDARY, "b")), Sentence(("a", "b"))], "raw")
    encoded = text.encode(text.vocabulary(10, 1))
    assert [encoded.sentence(k) for k in range(2)] == [[2, 1, 3], [2, 3]]
    assert text.words == 5


def test_unknown_words_have_the_index_of_a_pseudo_word() -> None:
    counts = {"walk": 5, "Paris": 1, **{f"{stem}ing": 1 for stem in "abcdefghijkl"}}
    vocabulary = Vocabulary.from_counts(counts, size=10, minimum_count=2, unknown="shape")
    assert vocabulary.words[2] == "walk"
    assert vocabulary.words[vocabulary.id("jumping")] == "<unk:w-ing>"
    assert vocabulary.words[vocabulary.id("Rome")] == "<unk:C>"
    assert vocabulary.words[vocabulary.id("1984")] == "<unk:0>"
    assert vocabulary.id("WALK") == 2
    assert Vocabulary(vocabulary.words).encode(["jumping", "x"]) == vocabulary.encode(["jumping", "x"])


def test_rare_words_have_the_index_of_a_berkeley_class() -> None:
    rare = ("dogs", "glass", "Running", "1984", "30-year", "F-16s", "<unk-NUM>")
    vocabulary = Vocabulary.from_counts(
        {"walk": 5, **dict.fromkeys(rare, 1)}, size=9, minimum_count=2, unknown="berkeley"
    )
    classes = ("CAPS-NUM-DASH-s", "CAPS-ing", "LC", "LC-NUM-DASH", "LC-s", "NUM")
    assert vocabulary.words == ("<eos>", "<unk>", "walk", *sorted(f"<unk-{name}>" for name in classes))
    words = ["walk", "Walk", "cats", "nation", "Ed", "Wearing", "50-seat", "2,000", "..."]
    names = [vocabulary.words[index] for index in Vocabulary(vocabulary.words).encode(words)]
    assert names == [
        *(
            "walk",
            "<unk>",
            "<unk-LC-s>",
            "<unk-LC>",
            "<unk>",
            "<unk-CAPS-ing>",
            "<unk-LC-NUM-DASH>",
            "<unk-NUM>",
            "<unk>",
        )
    ]
    assert not vocabulary.knows("Walk")


LENGTHS = [random.Random(1).randrange(0, 30) for _ in range(500)]


def test_results_are_in_input_order_and_batches_are_within_the_budget() -> None:
    sizes = []

    def double(batch: list[int]) -> list[int]:
        sizes.append((max(batch) + 2) * len(batch))
        return [2 * item for item in batch]

    assert map_by_length(double, LENGTHS, length=int, budget=100) == [2 * item for item in LENGTHS]
    assert max(sizes) <= 100
    assert len(sizes) < 150


def test_short_items_are_not_passed_to_the_function() -> None:
    results = map_by_length(lambda batch: batch, LENGTHS, length=int, min_length=3, short=lambda item: -item)
    assert results == [item if item >= 3 else -item for item in LENGTHS]
    assert map_by_length(lambda batch: batch, [0], length=int, min_length=1) == [None]


def test_every_sentence_is_in_one_batch() -> None:
    for batches in (
        list(batches_by_cost(LENGTHS, budget=64)),
        batches_by_words(LENGTHS, 64),
        [rows for rows, _ in batches_of_equal_length(LENGTHS, lambda length: 3)],
    ):
        assert sorted(index for batch in batches for index in batch) == list(range(len(LENGTHS)))


def test_sentence_over_the_budget_is_a_batch() -> None:
    assert list(batches_by_cost([3, 300, 2], budget=20)) == [[2, 0], [1]]
    assert [batch.tolist() for batch in batches_by_words([3, 30, 2, 10], 10)] == [[1], [3], [0, 2]]
    assert [rows.tolist() for rows, _ in batches_of_equal_length([4, 4], lambda length: 0)] == [[0], [1]]


def test_batches_of_no_sentences() -> None:
    assert list(batches_by_cost([])) == batches_by_words([], 10) == []
    assert list(batches_of_equal_length([1], lambda length: 1, min_length=2)) == []
    assert list(batches_of_similar_length([0, 0], lambda length: 1, min_ratio=0.5)) == []


def test_similar_lengths_are_within_the_ratio() -> None:
    batches = list(batches_of_similar_length(LENGTHS, lambda length: 7, min_ratio=0.8))
    for rows, length in batches:
        lengths = [LENGTHS[index] for index in rows]
        assert len(rows) <= 7
        assert max(lengths) == length
        assert min(lengths) >= 0.8 * length
    assert all(first >= second for (_, first), (_, second) in pairwise(batches))
