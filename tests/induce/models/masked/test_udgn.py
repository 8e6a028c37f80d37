"""UDGN computes what the released program computes: outputs, losses and every gradient, and its settings act."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from induce.data.batches import MaskedBatch, SentenceBatch, batches_by_words
from induce.decoding.heads import argmax, chu_liu_edmonds
from induce.models.base import Query
from induce.models.masked.masked_model import mask_words, without_self
from induce.models.masked.udgn import GraphLayer, Udgn, UdgnConfig, undirected
from induce.structures import HeadDistribution
from tests.support.masked_weights import PADDING, check_that_padding_is_ignored
from tests.support.reference import Fixture, fixtures, load
from treebank.core.sentence import ROOT

pytestmark = pytest.mark.usefixtures("double")

TINY = UdgnConfig(
    embedding_size=6,
    channels=3,
    channel_size=4,
    layers=2,
    parser_layers=2,
    dropout=0.0,
    parser_dropout=0.0,
    channel_dropout=0.0,
    mask_rate=0.5,
)


def model_of(fixture: Fixture) -> tuple[Udgn, dict[str, torch.nn.Parameter]]:
    """The model of a fixture with its weights, and its parameters under their original names."""
    sizes = fixture.sizes
    config = replace(
        TINY,
        embedding_size=sizes["emb"],
        channels=sizes["heads"],
        channel_size=sizes["head_size"],
        layers=sizes["layers"],
        parser_layers=sizes["parser_layers"],
        positions="both" if sizes["positions"] else "bias",
    )
    model = Udgn(config, sizes["vocab"] - 1)  # the mask has a number of its own
    original = {
        "embedding.weight": "emb.weight",
        "parser.embedding.weight": "parser_emb.weight",
        "position.weight": "pos_emb.weight",
        "decoder_bias": "output_layer.bias",
        "norm.weight": "norm.weight",
        "norm.bias": "norm.bias",
        "parser.arcs.weight": "parser_ff.weight",
        "parser.arcs.bias": "parser_ff.bias",
    }
    for k in range(sizes["layers"]):
        original[f"layers.{k}.direction"] = f"layers.{k}.self_attn.rels_bias"
        for kind in ("weight", "bias"):
            original[f"layers.{k}.project.{kind}"] = f"layers.{k}.self_attn.proj.{kind}"
            original[f"layers.{k}.output.{kind}"] = f"layers.{k}.self_attn.out_proj.{kind}"
    named = {}
    for name, parameter in model.named_parameters():
        known = original.get(name, name.replace("parser.lstm.", "parser_layers."))
        named[known] = parameter
        parameter.data = torch.tensor(fixture.arrays["weight/" + known])
    in_fixture = {name.removeprefix("weight/") for name in fixture.arrays if name.startswith("weight/")}
    assert in_fixture - {"output_layer.weight"} == set(named)  # tied to emb.weight
    return model, named


@pytest.mark.parametrize("name", fixtures("udgn_mlm"))
def test_like_the_released_program(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fixture = load(name)
    arrays = {key: torch.tensor(value) for key, value in fixture.arrays.items()}
    lengths = torch.tensor(fixture.sizes["lengths"])
    ids, targets, heads = arrays["ids"], arrays["targets"], arrays["heads"]
    model, named = model_of(fixture)

    scores = model.parser(ids, lengths)
    fixture.check("parser_logits", scores)
    fixture.check("head_full", scores.softmax(-1))
    fixture.check("head", model.head_distribution(ids, lengths))
    output = model(ids, lengths)
    fixture.check("dependency_mask", output.mask)
    fixture.check("hidden", output.hidden)
    fixture.check("logits", functional.linear(output.hidden, model.embedding.weight, model.decoder_bias))
    for k, weights in enumerate(output.weights):
        fixture.check(f"channel_attention/{k}", weights.permute(0, 2, 3, 1))
    for k, state in enumerate(output.states):
        fixture.check(f"layer_state/{k}", state)

    loss = model.masked_loss(ids, lengths, targets, targets != PADDING)
    fixture.check("loss", loss.objective)
    assert loss.count == int((targets != PADDING).sum())
    loss.objective.backward()
    fixture.check_gradients("grad", named)

    parser_loss = functional.cross_entropy(model.parser(ids, lengths).flatten(0, 1), heads.flatten(), ignore_index=-1)
    fixture.check_loss(parser_loss, named, "parser_loss", kind="grad_parser")

    gold = without_self(functional.one_hot(heads.clamp(min=0), ids.shape[1]).to(scores))
    fixture.check("gold_mode/dependency_mask", undirected(gold))
    monkeypatch.setattr(model, "head_distribution", lambda *_: gold)
    fixture.check("gold_mode/loss", model.masked_loss(ids, lengths, targets, targets != PADDING).objective)


@pytest.mark.parametrize("name", fixtures("udgn_mlm"))
def test_the_same_trees_as_the_released_program(name: str) -> None:
    fixture = load(name)
    model, _ = model_of(fixture)
    expected = fixture.doc["expected"]["heads"]
    assert len(expected) == len(fixture.sizes["lengths"])
    for tokens, length, target in zip(fixture.arrays["tokens"], fixture.sizes["lengths"], expected, strict=True):
        batch = SentenceBatch(torch.tensor(tokens[:length])[None], torch.tensor([length]))
        with torch.inference_mode():
            result = model.structure(batch, Query(HeadDistribution)).probability[0].numpy()
        for mode, decode in (("argmax", argmax), ("tree", chu_liu_edmonds)):
            rooted = [i if head == ROOT else head for i, head in enumerate(decode(result))]
            assert rooted == target[mode], mode


@pytest.mark.parametrize("name", fixtures("mlm_batching"))
def test_masks_and_batches_like_the_released_program(name: str) -> None:
    fixture = load(name)
    masked, targets = mask_words(torch.tensor(fixture.arrays["ids"]), torch.tensor(fixture.arrays["draw"]), mask=2)
    np.testing.assert_array_equal(masked, fixture.arrays["masked"])
    np.testing.assert_array_equal(targets.masked_fill(targets == 0, PADDING), fixture.arrays["targets"])
    lengths, budget = fixture.arrays["lengths"].tolist(), fixture.sizes["budget"]
    assert len(lengths) == fixture.sizes["sentences"]
    assert [batch.tolist() for batch in batches_by_words(lengths, budget)] == fixture.doc["expected"]["udgn"]


# --- settings -------------------------------------------------------------------------------------------------------


def plain_layer(layer: GraphLayer, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The layer's equations (4.2.9 to 4.2.17) for one sentence (N, E), pair by pair and channel by channel."""
    config, count = layer.config, len(x)
    parts = layer.project(x).view(count, -1, config.channels, config.channel_size)
    query, key, value = parts[:, 0], parts[:, 1], parts[:, 2]
    squash = {"tanh": torch.tanh, "identity": lambda v: v, "relu": torch.relu, "elu": functional.elu}[config.activation]
    result = torch.zeros(count, config.channels, config.channel_size)
    for i in range(count):
        for j in range(count):
            e = (query[i] * key[j]).sum(-1)
            bias = torch.zeros(config.channels)
            if layer.direction is not None and i != j:
                bias = layer.direction[0 if j < i else 1]
            root = config.channel_size**0.5
            e = (e + bias) / root if config.scaled_bias else e / root + bias
            a = (e.softmax(0) if config.competition == "softmax" else 1 / (1 + torch.exp(-e))) * (mask[i, j] + 1e-6)
            c = squash(value[j])
            if config.gates:
                c = c * torch.sigmoid(parts[i, 3])
            result[i] += a[:, None] * c
    return x + layer.output(result.flatten(1))


SETTINGS = {
    "released": {},
    "thesis": {"scaled_bias": False},
    "no nonlinearity": {"activation": "identity"},
    "relu": {"activation": "relu"},
    "elu": {"activation": "elu"},
    "no gates": {"gates": False},
    "no competition": {"competition": "sigmoid"},
    "single channel": {"channels": 1, "channel_size": 12},
    "positions": {"positions": "embedding"},
    "positions and directions": {"positions": "both"},
}


@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)
def test_a_layer_is_what_the_equations_say(changes: dict[str, Any]) -> None:
    torch.manual_seed(1)
    config = replace(TINY, **changes)
    layer = GraphLayer(config)
    x, mask = torch.randn(5, 6), torch.rand(5, 5)
    result, _ = layer(x[None], mask[None], torch.ones(1, 5, dtype=torch.bool))
    torch.testing.assert_close(result[0], plain_layer(layer, x, mask), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("changes", [*SETTINGS.values(), {"tags": 5}], ids=[*SETTINGS, "tags"])
def test_every_setting_trains_all_its_weights_and_ignores_padding(changes: dict[str, Any]) -> None:
    torch.manual_seed(2)
    model = Udgn(replace(TINY, **changes), 20)
    if model.parser.tags is not None:
        torch.nn.init.normal_(model.parser.tags.weight)  # at 0, where they start, all tags are alike
    check_that_padding_is_ignored(model)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        alone = changes.get("channels") == 1 and name.endswith("direction")  # a single channel wins any competition
        assert (parameter.grad.abs().sum() > 0) != alone, name


def test_tags_are_shared_embeddings() -> None:
    """Equation 4.2.1: before training all tags are equally likely, the first class being none at all."""
    torch.manual_seed(3)
    model = Udgn(replace(TINY, tags=4), 20)
    tokens, lengths = torch.tensor([[5, 6, 7]]), torch.tensor([3])
    before = model.parser(tokens, lengths)
    shift = model.parser.tag_embedding.weight.sum(1) / 5
    with torch.no_grad():
        model.parser.tag_embedding.weight.zero_()
        assert not torch.allclose(model.parser(tokens, lengths), before)
        model.parser.embedding.weight += shift
    torch.testing.assert_close(model.parser(tokens, lengths), before)


def test_locality_divides_by_a_power_of_the_distance() -> None:
    torch.manual_seed(6)
    model = Udgn(TINY, 20).eval()
    near = Udgn(replace(TINY, locality=1.5), 20).eval()
    near.load_state_dict(model.state_dict())
    tokens, lengths = torch.randint(2, 20, (2, 5)), torch.tensor([5, 3])
    index = torch.arange(5.0)
    target = model.parser(tokens, lengths).exp() / (index - index[:, None]).abs().clamp(min=1) ** 1.5
    torch.testing.assert_close(near.parser(tokens, lengths).softmax(-1), target / target.sum(-1, keepdim=True))


def test_only_the_parser_runs_for_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Udgn(TINY, 20).eval()
    tokens = torch.tensor([[0, 4, 5, 6, 0, 0], [0, 7, 0, 0, 0, 0]])

    def fail(*_: Any) -> None:
        raise AssertionError("a layer of the graph network ran")

    monkeypatch.setattr(GraphLayer, "forward", fail)
    result = model.structure(SentenceBatch(tokens[:, 1:-1], torch.tensor([3, 1])), Query(HeadDistribution)).probability
    assert result.shape == (2, 4, 4)
    assert result[0, :3, 3].abs().sum() == 0
    with pytest.raises(AssertionError, match="graph network ran"):
        model(tokens, torch.tensor([6, 6]))


def test_batch_without_masked_words_has_a_loss_of_zero() -> None:
    model = Udgn(TINY, 20)
    tokens = torch.tensor([[1, 1, 1]])  # unknown words only
    loss = model.loss(MaskedBatch(tokens, torch.tensor([3]), torch.zeros(1, 3)))
    assert (float(loss.objective.detach()), loss.count) == (0.0, 0)
    loss.objective.backward()


@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_the_mask_rate(rate: float) -> None:
    torch.manual_seed(4)
    model = Udgn(replace(TINY, mask_rate=rate), 20)
    tokens = torch.randint(2, 20, (60, 40))
    batch = MaskedBatch(tokens, torch.full((60,), 40), torch.rand(tokens.shape))
    share = model.loss(batch).count / tokens.numel()
    assert share == pytest.approx(rate, abs=0.03)
