"""Log-probabilities of words and sentences against the loss of the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from induce.data.batches import MaskedBatch, SentenceBatch, pad
from induce.likelihood.language_model import SentenceScorer
from induce.likelihood.units import sentence_units
from induce.models.base import FittedModel, NotTrained
from induce.models.capabilities import SentenceScoring, WordScoring
from induce.registry import MODELS, model_class
from tests.support.tiny import sentences, settings, train, trainer
from treebank.core.sentence import Sentence

NEXT = sorted(
    name for name in MODELS if issubclass(model_class(name), WordScoring) and MaskedBatch not in model_class(name).reads
)
MASKED = sorted(
    name for name in MODELS if issubclass(model_class(name), WordScoring) and MaskedBatch in model_class(name).reads
)
ESTIMATED = {"rnng", "urnng"}  # models whose loss samples trees
IDS = [[2, 3, 4, 5, 2, 6], [5, 1, 3], [7]]


def untrained(name: str, folder: Path) -> Any:
    """A model with random weights, in evaluation mode."""
    torch.manual_seed(3)
    return trainer(settings(name), folder).run.model.eval()


@pytest.mark.parametrize("name", sorted(set(NEXT) - ESTIMATED))
@torch.inference_mode()
def test_next_words_sum_to_the_loss_whatever_the_padding(name: str, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "run")
    batch = SentenceBatch(*pad(IDS))
    scores = model.word_log_probabilities(batch)
    assert scores.shape == (3, 7)
    assert float(scores[1, 4:].abs().sum()) == 0
    for k, ids in enumerate(IDS):
        alone = SentenceBatch(*pad([ids]))
        loss = model.loss(alone)
        assert loss.count == len(ids) + 1
        torch.testing.assert_close(-scores[k].sum(), loss.nll * loss.count)
        torch.testing.assert_close(scores[k, : len(ids) + 1], model.word_log_probabilities(alone)[0])
    torch.testing.assert_close(model.log_probability(batch), scores.sum(1))


@pytest.mark.parametrize("name", NEXT)
@torch.inference_mode()
def test_last_word_does_not_change_the_probabilities_of_previous_words(name: str, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "run")
    first, second = (model.word_log_probabilities(SentenceBatch(*pad([[2, 3, 4, last]])))[0] for last in (5, 6))
    torch.testing.assert_close(first[:3], second[:3])
    assert float((first - second).abs()[3]) > 1e-6


@pytest.mark.parametrize("name", MASKED)
@torch.inference_mode()
def test_masked_words_are_masked_one_by_one(name: str, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "run")
    scores = model.word_log_probabilities(SentenceBatch(*pad(IDS)))
    assert scores.shape == (3, 6)
    for k, ids in enumerate(IDS):
        for index, word in enumerate(ids):
            tokens, lengths = pad([ids])
            uniforms = torch.ones(tokens.shape)
            uniforms[0, index] = 0.0
            loss = model.loss(MaskedBatch(tokens, lengths, uniforms))
            assert loss.count == (word > 1)  # unknown words are never masked
            expected = -loss.nll if loss.count else torch.zeros(())
            torch.testing.assert_close(scores[k, index], expected, rtol=1e-4, atol=1e-5)
    assert float(scores[2, 1:].abs().sum()) == 0


class Grammar(SentenceScoring, FittedModel):
    """A model of sentences with a cost of one nat per word and two per sentence."""

    def log_probability(self, batch: SentenceBatch) -> torch.Tensor:
        return -(batch.lengths + 2.0)


def test_fitted_model_without_scores_has_no_loss() -> None:
    with pytest.raises(NotTrained):
        FittedModel().loss(SentenceBatch(*pad(IDS)))


def test_units_of_a_model_of_sentences_count_words_and_ends() -> None:
    (units,) = sentence_units(Grammar(), [[[5, 6, 7], [8]]], "cpu")
    assert units.sums.tolist() == [[5, 4], [3, 2]]
    assert units.ends.all()
    assert units.tokens_read == 6


def test_equal_sentences_have_equal_scores_whatever_the_batch(tmp_path: Path) -> None:
    train(settings("lstm", "train.epochs=1"), tmp_path / "run")
    scorer = SentenceScorer(str(tmp_path / "run"))
    text = [*sentences(40), *sentences(3), Sentence(("The", "zebra", "saw")), Sentence((".",))]
    scores = list(scorer.score(text))
    assert [score.log_probability for score in scores[40:43]] == [score.log_probability for score in scores[:3]]
    assert [score.sentence.unknown for score in scores[-2:]] == [1, 0]
    assert (scores[-1].log_probability, scores[-1].words) == (None, ())
    names = [name for name, _ in scores[-2].surprisals]
    assert names == ["the", "zebra", "saw", "<eos>"]


@pytest.mark.parametrize("name", sorted(ESTIMATED))
@torch.inference_mode()
def test_estimates_of_a_sentence_do_not_depend_on_the_batch(name: str, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "run")
    batch = SentenceBatch(*pad(IDS))
    words, totals = model.word_log_probabilities(batch), model.log_probability(batch)
    torch.testing.assert_close(words.sum(1), totals, rtol=0.1, atol=0)
    for k, ids in enumerate(IDS):
        alone = SentenceBatch(*pad([ids]))
        torch.testing.assert_close(words[k, : len(ids) + 1], model.word_log_probabilities(alone)[0])
        torch.testing.assert_close(totals[k : k + 1], model.log_probability(alone))
    assert float(words[1, 4:].abs().sum()) == 0
