"""Untied output embeddings, mixtures of softmaxes, and the presets of targeted syntactic evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from induce.models.base import make_model
from induce.settings.presets import load_preset
from induce.storage.checkpoint import Check
from induce.training.loop import Trainer
from induce.training.state import Run
from tests.support.tiny import settings, trainer

MIXTURE = ("model.softmaxes=3", "model.softmax_dropout=0.2", "model.output_size=12", "train.epochs=1")
UNTIED = ("model.tied_embeddings=false", "model.output_size=12", "optimizer.name=sgd", "optimizer.learning_rate=2")


def changed_weights(run: Run) -> set[str]:
    """Names of the weights that a training changes. The output has 12 units, and the loss falls."""
    assert run.model.initial_state(1)[-1].h.shape[-1] == 12
    before = {key: value.clone() for key, value in run.model.state_dict().items()}
    checks = [event for event in Trainer(run).train() if isinstance(event, Check)]
    assert checks[-1].development_perplexity < 0.8 * len(run.vocabulary)
    return {key for key, value in run.model.state_dict().items() if not torch.equal(value, before[key])}


@pytest.mark.parametrize("name", ["lstm", "onlstm", "onlstm-syd"])
def test_untied_model_trains_all_weights(tmp_path: Path, name: str) -> None:
    run = trainer(settings(name, *UNTIED), tmp_path / "run").run
    assert run.model.decoder_weight.shape == (len(run.vocabulary), 12)
    assert changed_weights(run) == set(run.model.state_dict())


@pytest.mark.parametrize("name", ["lstm", "onlstm"])
def test_mixture_of_softmaxes_trains_all_weights_with_tied_embeddings(tmp_path: Path, name: str) -> None:
    run = trainer(settings(name, *MIXTURE), tmp_path / "run").run
    assert run.model.decoder_weight is run.model.embedding.weight
    mixture = {"mixture.vectors.weight", "mixture.vectors.bias", "mixture.shares.weight"}
    assert changed_weights(run) == set(run.model.state_dict()) > mixture


@pytest.mark.parametrize("name", ["lstm", "onlstm"])
def test_agreement_presets_have_the_sizes_of_the_paper(name: str) -> None:
    with torch.device("meta"):
        model = make_model(load_preset(f"{name}-agreement"), 50_000)
    assert model.embedding.weight.shape == (50_000, 200)
    assert model.decoder_weight.shape == (50_000, 650)
    assert [state.h.shape[-1] for state in model.initial_state(1)] == [650, 650]
