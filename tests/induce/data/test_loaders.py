"""Batches of one length, the curriculum, the schedules of learning rate and focus, and reference trees."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from induce.data.batches import FragmentBatch, SpanSupervisedBatch
from induce.data.corpus import EncodedCorpus, read_corpora
from induce.data.loaders import FragmentLoader, FragmentSettings
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

LENGTHS = [2, 3, 3, 5, 8, 8, 8, 13]


def corpus(*, focused: bool = False) -> EncodedCorpus:
    """Sentences of `LENGTHS` words with a comma after the first word, and left-branching reference trees."""
    text = [Sentence((*tuple("abcdefghijklm"[:1]), ",", *tuple("abcdefghijklm"[1:n]))) for n in LENGTHS]

    def left(sentences):
        for sentence in sentences:
            count = len(sentence.words)
            yield [Tree.from_spans(sentence.words, [(0, end) for end in range(2, count + 1)])]

    training, _ = read_corpora(text, "words", references=left if focused else None)
    return training.encode(training.vocabulary(100, 1))


def make_loader(config: FragmentSettings, *, focused: bool = False, epochs: int = 40) -> FragmentLoader:
    return FragmentLoader(corpus(focused=focused), config, epochs=epochs, device="cpu")


def test_batches_have_one_length_and_at_most_the_requested_words() -> None:
    steps = list(make_loader(FragmentSettings(batch_words=16)).steps(np.random.RandomState(0), 0))
    batch_lengths = [step.batch.lengths.tolist() for step in steps]
    assert all(len(set(lengths)) == 1 for lengths in batch_lengths)
    assert all(sum(lengths) <= 16 for lengths in batch_lengths)
    assert sorted(length for lengths in batch_lengths for length in lengths) == LENGTHS


def test_curriculum_adds_longer_sentences_in_each_pass() -> None:
    config = FragmentSettings(first_longest=3, longer=5, longest=9)
    loader = make_loader(config, epochs=4)
    longest = [
        max(int(step.batch.lengths.max()) for step in loader.steps(np.random.RandomState(0), 0, number))
        for number in (1, 2, 3, 4)
    ]
    assert longest == [3, 8, 8, 8]
    assert max(int(batch.lengths.max()) for batch in loader.check()) == 13


def test_resumed_pass_has_the_same_batches() -> None:
    config = FragmentSettings(batch_words=8)
    whole = list(make_loader(config, epochs=2).steps(np.random.RandomState(3), 0, 2))
    rest = list(make_loader(config, epochs=2).steps(np.random.RandomState(3), whole[1].after, 2))
    assert [step.rate for step in rest] == [step.rate for step in whole[2:]]
    for step, expected in zip(rest, whole[2:], strict=True):
        assert torch.equal(step.batch.tokens, expected.batch.tokens)


def test_learning_rate_falls_after_the_steady_share() -> None:
    loader = make_loader(FragmentSettings(steady=0.5))
    assert [loader.rate(progress) for progress in (0, 0.5, 0.75, 1)] == [1, 1, 0.5, 0.05]
    assert make_loader(FragmentSettings()).rate(1.0) == 1


@pytest.mark.parametrize(("fade", "expected"), [(0.0, [4, 4, 0, 0]), (0.4, [4, 4, 2, 0])])
def test_penalty_ends_at_once_or_fades(fade: float, expected: list[float]) -> None:
    loader = make_loader(FragmentSettings(focus_penalty=4, focus_share=0.4, focus_fade=fade))
    assert [loader.penalty(progress) for progress in (0, 0.39, 0.6, 0.9)] == pytest.approx(expected)


def test_spans_outside_the_reference_trees_have_lower_weights() -> None:
    loader = make_loader(FragmentSettings(focus_penalty=1.0, focus_share=1.0, batch_words=16), focused=True)
    for step in loader.steps(np.random.RandomState(0), 0):
        batch = step.batch
        assert isinstance(batch, SpanSupervisedBatch)
        count = int(batch.lengths[0])
        for start in range(count):
            for end in range(start + 2, count + 1):
                expected = 1.0 if start == 0 else np.exp(-1.0)
                assert batch.weights[:, start, end].tolist() == pytest.approx([expected] * len(batch.lengths))


def test_largest_penalty_and_the_product_of_two_are_not_zero() -> None:
    loader = make_loader(FragmentSettings(focus_penalty=1e3, focus_share=1.0), focused=True)
    smallest = min(float(step.batch.weights.min()) for step in loader.steps(np.random.RandomState(0), 0))
    assert smallest < np.exp(-39)
    assert np.float32(smallest) * np.float32(smallest) > 0


def test_no_weights_without_references_or_after_the_focus() -> None:
    after = make_loader(FragmentSettings(focus_share=0.0), focused=True)
    never = make_loader(FragmentSettings(focus_share=1.0))
    for loader in (after, never):
        assert {type(step.batch) for step in loader.steps(np.random.RandomState(0), 0)} == {FragmentBatch}
    focused = make_loader(FragmentSettings(focus_share=1.0), focused=True)
    assert {type(batch) for batch in focused.check()} == {FragmentBatch}
