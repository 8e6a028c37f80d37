"""Comparison of masked models with the released programs, and of a batch with its sentences."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from induce.data.batches import MaskedBatch
from induce.layers.masks import real_words
from tests.support.reference import Fixture

PADDING = 1  # the number that the released programs pad with

ENCODER = {  # ours -> theirs, within a layer
    "output": "self_attn.out_proj",
    "norm": "norm",
    "feedforward_norm": "feedforward.0",
    "widen": "feedforward.1",
    "narrow": "feedforward.4",
}
OTHERS = {
    "embedding.weight": "emb.weight",
    "position.weight": "pos_emb.weight",
    "decoder_bias": "output_layer.bias",
    "norm.weight": "norm.weight",
    "norm.bias": "norm.bias",
    "scales": "_scaler",
    "relations": "_rel_weight",
    "parser.gap.weight": "distance_ff.0.conv.weight",
    "parser.gap.bias": "distance_ff.0.conv.bias",
    "parser.distance.weight": "distance_ff.3.weight",
    "parser.distance.bias": "distance_ff.3.bias",
    "parser.word.weight": "height_ff.0.weight",
    "parser.word.bias": "height_ff.0.bias",
    "parser.height.weight": "height_ff.3.weight",
    "parser.height.bias": "height_ff.3.bias",
}


def original_names(name: str) -> list[str]:
    """Names, in the released programs, of the weights whose rows are concatenated in ours."""
    parts = name.split(".")
    if parts[0] == "layers":
        if parts[2] == "project":
            return [f"layers.{parts[1]}.self_attn.{x}_proj.{parts[3]}" for x in "qkv"]
        return [f"layers.{parts[1]}.{ENCODER[parts[2]]}.{parts[3]}"]
    if name.startswith("parser.convolutions"):
        return [f"parser_layers.{parts[2]}.0.conv.{parts[3]}"]
    return [OTHERS[name]]


def give_weights(model: Any, fixture: Fixture) -> None:
    """Copy the weights of a fixture into ``model``, all of them and no others."""
    used = {"output_layer.weight"}  # tied to emb.weight
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            names = original_names(name)
            value = torch.cat([torch.tensor(fixture.arrays["weight/" + entry]) for entry in names])
            parameter[: len(value)] = value  # a fixture has only the positions in use
            assert name == "position.weight" or parameter.shape == value.shape
            used.update(names)
    assert used == {name.removeprefix("weight/") for name in fixture.arrays if name.startswith("weight/")}


def check_gradients(model: Any, fixture: Fixture) -> None:
    """Compare every gradient with the fixture's. All of them must be used."""
    used = set()
    for name, parameter in model.named_parameters():
        names = original_names(name)
        rows = fixture.arrays["grad/" + names[0]].shape[0]
        assert not parameter.grad[rows * len(names) :].any()
        for k, entry in enumerate(names):
            fixture.check("grad/" + entry, parameter.grad[k * rows : (k + 1) * rows])
        used.update(names)
    assert used == {name.removeprefix("grad/") for name in fixture.arrays if name.startswith("grad/")}


def check_masked_loss(model: Any, fixture: Fixture) -> None:
    """Compare hidden states, scores, loss and gradients of StructFormer or Transformer with the fixture's."""
    ids, targets = torch.tensor(fixture.arrays["ids"]), torch.tensor(fixture.arrays["targets"])
    lengths = torch.tensor(fixture.sizes["lengths"])
    hidden = model.final_states(ids, lengths)
    fixture.check("hidden", hidden)
    fixture.check("logits", functional.linear(hidden, model.embedding.weight, model.decoder_bias))
    loss = model.masked_loss(ids, lengths, targets, targets != PADDING)
    fixture.check("loss", loss.objective)
    loss.objective.backward()
    check_gradients(model, fixture)


def check_that_padding_is_ignored(model: Any) -> None:
    """Compare the loss of a batch with those of its sentences. The gradients of the batch remain in ``model``."""
    tokens, lengths = torch.randint(2, 20, (3, 7)), torch.tensor([7, 5, 1])
    tokens[~real_words(tokens, lengths)] = 0
    chance = torch.rand(tokens.shape)
    loss = model.loss(MaskedBatch(tokens, lengths, chance))
    loss.objective.backward()
    total = 0.0
    with torch.no_grad():
        for k, length in enumerate(lengths.tolist()):
            alone = model.loss(MaskedBatch(tokens[k : k + 1, :length], lengths[k : k + 1], chance[k : k + 1, :length]))
            total += float(alone.objective) * alone.count
    assert total / loss.count == pytest.approx(float(loss.objective.detach()), abs=1e-12)
