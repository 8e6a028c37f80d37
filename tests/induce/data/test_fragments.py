"""Batches of one length, the curriculum, the schedules of learning rate and focus, and reference trees."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from induce.data.batches import FragmentBatch, SpanSupervisedBatch
from induce.data.corpus import EncodedCorpus, read_corpora
from induce.data.fragments import FragmentLoader, FragmentSettings
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

LENGTHS = [2, 3, 3, 5, 8, 8, 8, 13]


def corpus(*, focused: bool = False) -> EncodedCorpus:
    """Sentences of `LENGTHS` words, a comma behind the first of each; reference trees branch to the left."""
    text = [Sentence((*tuple("abcdefghijklm"[:1]), ",", *tuple("abcdefghijklm"[1:n]))) for n in LENGTHS]

    def left(sentences):
        for one in sentences:
            count = len(one.words)
            yield [Tree.from_spans(one.words, [(0, end) for end in range(2, count + 1)])]

    training, _ = read_corpora(text, "words", references=left if focused else None)
    return training.encode(training.vocabulary(100, 1))


def loader(config: FragmentSettings, *, focused: bool = False, epochs: int = 40) -> FragmentLoader:
    return FragmentLoader(corpus(focused=focused), config, epochs=epochs, device="cpu")


def test_a_batch_has_sentences_of_one_length_and_no_more_words_than_asked() -> None:
    steps = list(loader(FragmentSettings(batch_words=16)).steps(np.random.RandomState(0), 0))
    seen = [step.batch.lengths.tolist() for step in steps]
    assert all(len(set(lengths)) == 1 for lengths in seen)
    assert all(sum(lengths) <= 16 for lengths in seen)
    assert sorted(length for lengths in seen for length in lengths) == LENGTHS


def test_a_sentence_longer_than_a_batch_is_one() -> None:
    seen = [batch.lengths.tolist() for batch in loader(FragmentSettings(batch_words=4)).check()]
    assert [8] in seen
    assert [13] in seen


def test_the_curriculum_lets_longer_sentences_in_pass_by_pass() -> None:
    config = FragmentSettings(first_longest=3, longer=5, longest=9)
    read = loader(config, epochs=4)
    longest = [
        max(int(step.batch.lengths.max()) for step in read.steps(np.random.RandomState(0), 0, number))
        for number in (1, 2, 3, 4)
    ]
    assert longest == [3, 8, 8, 8]
    assert max(int(batch.lengths.max()) for batch in read.check()) == 13


def test_a_pass_taken_up_again_goes_on_as_it_would_have() -> None:
    config = FragmentSettings(batch_words=8)
    whole = list(loader(config, epochs=2).steps(np.random.RandomState(3), 0, 2))
    rest = list(loader(config, epochs=2).steps(np.random.RandomState(3), whole[1].after, 2))
    assert [step.rate for step in rest] == [step.rate for step in whole[2:]]
    for one, other in zip(rest, whole[2:], strict=True):
        assert torch.equal(one.batch.tokens, other.batch.tokens)


def test_the_learning_rate_falls_after_its_steady_part() -> None:
    read = loader(FragmentSettings(steady=0.5))
    assert [read.rate(progress) for progress in (0, 0.5, 0.75, 1)] == [1, 1, 0.5, 0.05]
    assert loader(FragmentSettings()).rate(1.0) == 1


@pytest.mark.parametrize(("fade", "expected"), [(0.0, [4, 4, 0, 0]), (0.4, [4, 4, 2, 0])])
def test_the_penalty_goes_at_once_or_fades(fade: float, expected: list[float]) -> None:
    read = loader(FragmentSettings(focus_penalty=4, focus_share=0.4, focus_fade=fade))
    assert [read.penalty(progress) for progress in (0, 0.39, 0.6, 0.9)] == pytest.approx(expected)


def test_spans_outside_of_the_reference_trees_weigh_less() -> None:
    read = loader(FragmentSettings(focus_penalty=1.0, focus_share=1.0, batch_words=16), focused=True)
    for step in read.steps(np.random.RandomState(0), 0):
        batch = step.batch
        assert isinstance(batch, SpanSupervisedBatch)
        count = int(batch.lengths[0])
        for start in range(count):
            for end in range(start + 2, count + 1):
                expected = 1.0 if start == 0 else np.exp(-1.0)
                assert batch.weights[:, start, end].tolist() == pytest.approx([expected] * len(batch.lengths))


def test_without_references_or_after_the_focus_there_are_no_weights() -> None:
    after = loader(FragmentSettings(focus_share=0.0), focused=True)
    never = loader(FragmentSettings(focus_share=1.0))
    for read in (after, never):
        assert {type(step.batch) for step in read.steps(np.random.RandomState(0), 0)} == {FragmentBatch}
    focused = loader(FragmentSettings(focus_share=1.0), focused=True)
    assert {type(batch) for batch in focused.check()} == {FragmentBatch}


def test_words_know_which_stretch_between_punctuation_they_are_in() -> None:
    for batch in loader(FragmentSettings()).check():
        assert batch.fragments[:, 0].tolist() == [0] * len(batch.lengths)
        assert batch.fragments[:, 1:].unique().tolist() == [1]
