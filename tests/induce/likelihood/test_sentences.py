"""Log-probabilities of words and sentences against the loss of the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from induce.data.batches import MaskedBatch, SentenceBatch
from induce.data.loaders import pad
from induce.likelihood.perplexity import sentence_nll
from induce.likelihood.sentences import SentenceScorer
from induce.models.base import FittedModel, Model, NotTrained, scores_sentences, scores_words
from induce.registry import MODELS, model_class
from tests.support.tiny import sentences, settings, train, trainer
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

NEXT = sorted(name for name in MODELS if scores_words(model_class(name)) and MaskedBatch not in model_class(name).reads)
MASKED = sorted(name for name in MODELS if scores_words(model_class(name)) and MaskedBatch in model_class(name).reads)
IDS = [[2, 3, 4, 5, 2, 6], [5, 1, 3], [7]]


def untrained(name: str, folder: Path) -> Any:
    """A model with random weights, in evaluation mode."""
    torch.manual_seed(3)
    return trainer(settings(name), folder).model.eval()


@pytest.mark.parametrize("name", NEXT)
@torch.inference_mode()
def test_next_words_sum_to_the_loss_and_padding_changes_nothing(name: str, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "run")
    batch = SentenceBatch(*pad(IDS))
    together = model.word_log_probabilities(batch)
    assert together.shape == (3, 7)
    assert float(together[1, 4:].abs().sum()) == 0
    for k, ids in enumerate(IDS):
        alone = SentenceBatch(*pad([ids]))
        loss = model.loss(alone)
        assert loss.count == len(ids) + 1
        torch.testing.assert_close(-together[k].sum(), loss.nll * loss.count)
        torch.testing.assert_close(together[k, : len(ids) + 1], model.word_log_probabilities(alone)[0])
    torch.testing.assert_close(model.log_probability(batch), together.sum(1))


@pytest.mark.parametrize("name", NEXT)
@torch.inference_mode()
def test_the_last_word_does_not_change_those_before(name: str, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "run")
    one, other = (model.word_log_probabilities(SentenceBatch(*pad([[2, 3, 4, last]])))[0] for last in (5, 6))
    torch.testing.assert_close(one[:3], other[:3])
    assert float((one - other).abs()[3]) > 1e-6


@pytest.mark.parametrize("name", MASKED)
@torch.inference_mode()
def test_masked_words_are_masked_one_by_one(name: str, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "run")
    scores = model.word_log_probabilities(SentenceBatch(*pad(IDS)))
    assert scores.shape == (3, 6)
    for k, ids in enumerate(IDS):
        for place, number in enumerate(ids):
            tokens, lengths = pad([ids])
            uniforms = torch.ones(tokens.shape)
            uniforms[0, place] = 0.0
            loss = model.loss(MaskedBatch(tokens, lengths, uniforms))
            assert loss.count == (number > 1)  # unknown words are never masked
            expected = -loss.nll if loss.count else torch.zeros(())
            torch.testing.assert_close(scores[k, place], expected, rtol=1e-4, atol=1e-5)
    assert float(scores[2, 1:].abs().sum()) == 0


class Grammar(FittedModel):
    """A model of sentences: each word costs one nat, each sentence two."""

    def log_probability(self, batch: SentenceBatch) -> torch.Tensor:
        return -(batch.lengths + 2.0)


def test_which_models_have_probabilities() -> None:
    assert (scores_words(Grammar), scores_sentences(Grammar)) == (False, True)
    assert (scores_words(FittedModel), scores_sentences(FittedModel)) == (False, False)
    with pytest.raises(NotTrained):
        Model().log_probability(SentenceBatch(*pad(IDS)))


def test_the_text_of_a_model_of_sentences() -> None:
    """Words and the end of each sentence are counted, as of other models."""

    total = sentence_nll(Grammar(), [[[5, 6, 7], [8]]], "cpu")
    assert total == (3 + 2 + 1 + 2, 4 + 2)


def test_equal_sentences_have_equal_scores(tmp_path: Path) -> None:
    train(settings("lstm", "train.epochs=1"), tmp_path / "run")
    scorer = SentenceScorer(str(tmp_path / "run"))
    text = [*sentences(40), *sentences(3), Sentence(("The", "zebra", "saw")), Sentence((".",))]
    scores = list(scorer.score(text))
    assert [one.log_probability for one in scores[40:43]] == [one.log_probability for one in scores[:3]]
    assert [one.sentence.unknown for one in scores[-2:]] == [1, 0]
    assert (scores[-1].log_probability, scores[-1].words) == (None, ())
    names = [name for name, _ in scores[-2].surprisals]
    assert names == ["the", "zebra", "saw", "<eos>"]


def test_a_model_of_a_task_has_no_probabilities(tmp_path: Path) -> None:
    config = settings("lstm", "train.epochs=1")
    train(config, tmp_path / "run")
    place = next((tmp_path / "run").rglob("checkpoint.json"))
    place.write_text(place.read_text("utf-8").replace('"task": ""', '"task": "listops"'), encoding="utf-8")
    with pytest.raises(SynparseError):
        SentenceScorer(str(tmp_path / "run"))
