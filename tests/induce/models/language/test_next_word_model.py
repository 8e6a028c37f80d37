"""AWD-LSTM against torch's layers, untied output embeddings, mixtures of softmaxes, and presets of their sizes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import StreamBatch
from induce.models.base import detach, make_model
from induce.models.language.lstm import Lstm
from induce.models.language.next_word_model import AwdConfig
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


SIZES = {"embedding_size": 6, "hidden_size": 9, "layers": 3}
WORDS, STEPS, BATCH = 20, 7, 4


class ByHand(nn.Module):
    """A language model without dropout: torch's own layers, one after another."""

    def __init__(self, model: Lstm) -> None:
        super().__init__()
        sizes = [6, 9, 9, 6]
        self.layers = nn.ModuleList(nn.LSTM(below, units) for below, units in pairwise(sizes))
        self.table, self.bias = nn.Parameter(torch.zeros(WORDS, 6)), nn.Parameter(torch.zeros(WORDS))
        for weights_list, other in zip(self.parameters_in_order(), ordered(model), strict=True):
            weights_list.data = other.detach().clone()

    def parameters_in_order(self) -> list[Tensor]:
        return [self.table, self.bias, *(parameter for layer in self.layers for parameter in layer.parameters())]

    def forward(self, tokens: Tensor, targets: Tensor, states: list[Any]) -> tuple[Tensor, Tensor, list[Any]]:
        """Logits, objective, states."""
        x, after = self.table[tokens], []
        for layer, state in zip(self.layers, states, strict=True):
            x, new = layer(x, state)
            after.append(new)
        logits = x @ self.table.t() + self.bias
        nll = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, nll + 2 * x.square().mean() + x.diff(dim=0).square().mean(), after


def ordered(model: Lstm) -> list[Tensor]:
    """The parameters of ``model``: table, bias, then layer by layer."""
    return [model.embedding.weight, model.decoder_bias, *(item for layer in model.stack for item in layer.parameters())]


def texts(count: int) -> list[tuple[Tensor, Tensor]]:
    return [(torch.randint(WORDS, (STEPS, BATCH)), torch.randint(WORDS, (STEPS, BATCH))) for _ in range(count)]


@pytest.mark.usefixtures("double")
def test_without_dropout_it_is_a_stack_of_torch_layers() -> None:
    model = Lstm(AwdConfig(**SIZES), WORDS).eval()
    other = ByHand(model)
    state, states = None, [None] * 3
    for tokens, targets in texts(2):  # the second with the state of the first
        loss = model.loss(StreamBatch(tokens, targets), state)
        logits, objective, states = other(tokens, targets, states)
        x, _ = model.predictions(tokens, state)
        torch.testing.assert_close(x @ model.decoder_weight.t() + model.decoder_bias, logits)
        torch.testing.assert_close(loss.objective, objective)
        loss.objective.backward()
        objective.backward()
        for weights_list, expected in zip(ordered(model), other.parameters_in_order(), strict=True):
            torch.testing.assert_close(weights_list.grad, expected.grad)
        state, states = detach(loss.state), [tuple(part.detach() for part in item) for item in states]
        for item, expected in zip(state, states, strict=True):
            torch.testing.assert_close(tuple(item), tuple(expected))


@pytest.mark.usefixtures("double")
def test_masks_do_what_the_paper_says() -> None:
    """Weights dropped and rescaled, one mask for all steps elsewhere. AR after the output dropout, TAR before."""
    config = AwdConfig(**SIZES)
    model = Lstm(config, WORDS)
    other = ByHand(model)
    (tokens, targets), masks = texts(1)[0], model.draw_masks(STEPS, BATCH)
    loss = model.loss(StreamBatch(tokens, targets), masks=masks)

    x = other.table[tokens] * masks.embedding[tokens] * masks.input
    for k, layer in enumerate(other.layers):
        layer.weight_hh_l0.data *= masks.weights[k] / (1 - config.weight_dropout)
        raw, _ = layer(x)
        x = raw * [*masks.hidden, masks.output][k]
    nll = functional.cross_entropy((x @ other.table.t() + other.bias).flatten(0, 1), targets.flatten())
    torch.testing.assert_close(loss.nll, nll)
    torch.testing.assert_close(loss.objective, nll + 2 * x.square().mean() + raw.diff(dim=0).square().mean())
    assert {round(float(value), 6) for value in masks.input.unique()} == {0, round(1 / 0.6, 6)}
    assert masks.embedding.shape == (WORDS, 1)
    loss.objective.backward()
    for layer, mask in zip(model.stack, masks.weights, strict=True):
        gradient = layer.recurrent_weight.grad
        assert bool((gradient[~mask] == 0).all())
        assert gradient[mask].abs().sum() > 0
        assert layer.recurrent_weight is layer.lstm.weight_hh_l0  # the layer has its own matrix again


@pytest.mark.usefixtures("double")
def test_masks_are_drawn_in_training_only() -> None:
    model, (tokens, targets) = Lstm(AwdConfig(**SIZES), WORDS), texts(1)[0]
    assert not torch.equal(model.loss(StreamBatch(tokens, targets)).nll, model.loss(StreamBatch(tokens, targets)).nll)
    model.eval()
    assert torch.equal(model.loss(StreamBatch(tokens, targets)).nll, model.loss(StreamBatch(tokens, targets)).nll)
