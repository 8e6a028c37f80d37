"""ONLSTM-SYD computes what the released program of Du et al. computes: outputs, losses and every gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from induce.data.batches import SentenceBatch, StreamBatch, SupervisedStreamBatch
from induce.data.corpus import gold_distances
from induce.decoding.distances import biased, unbiased
from induce.models.base import Query, detach
from induce.models.language.next_word_model import rank, ranking_loss
from induce.models.language.onlstm import OnLstmSyd, OnLstmSydConfig
from induce.structures import Distances
from tests.support.reference import Fixture, fixtures, load, without_labels
from treebank.core.distances import spans_from_distances
from treebank.core.tree import Tree

pytestmark = pytest.mark.usefixtures("double")


def language_model(fixture: Fixture, supervised_layer: int, ranking: str) -> tuple[OnLstmSyd, dict[str, Any]]:
    """The model of a fixture with its weights, one layer supervised, and its parameters under their original names."""
    sizes = fixture.sizes
    config = OnLstmSydConfig(
        embedding_size=sizes["emb"],
        hidden_size=sizes["hidden"],
        layers=sizes["layers"],
        chunk_size=sizes["chunk_size"],
        embedding_dropout=0.0,
        input_dropout=0.0,
        hidden_dropout=0.0,
        output_dropout=0.0,
        weight_dropout=sizes.get("wdrop", 0.0),
        activation_penalty=sizes["alpha"],
        temporal_activation_penalty=sizes["beta"],
        supervised_layer=supervised_layer,
        tree_weight=sizes.get("weight_rank", 1.0),
        lm_weight=sizes.get("weight_lm", 1.0),
        ranking=ranking,
        ranking_margin=sizes.get("margin", 1.0),
        distance_scale="share",
    )
    model = OnLstmSyd(config, sizes["vocab"])
    named: dict[str, Any] = {"encoder.weight": model.embedding.weight, "decoder.bias": model.decoder_bias}
    parts: list[tuple[str, Any]] = [(f"{supervised_layer - 1}.fwh", model.head)]
    for k, layer in enumerate(model.layers):
        parts += [(f"{k}.ih.0", layer.input), (f"{k}.hh", layer.recurrent)]
    named |= {f"rnn.cells.{name}.{kind}": getattr(part, kind) for name, part in parts for kind in ("weight", "bias")}
    for name, parameter in named.items():
        parameter.data = fixture.tensor("weight/" + name)
    return model, named


def check_gradients(fixture: Fixture, kind: str, named: dict[str, Any]) -> None:
    """Compare the gradients of all parameters. What the fixture has beside them must be zero."""
    stored = {name.removeprefix(kind + "/") for name in fixture.arrays if name.startswith(kind + "/")}
    assert named.keys() <= stored
    for name in stored - named.keys():
        assert ".fwh." in name, name
        assert not fixture.arrays[f"{kind}/{name}"].any(), name
    for name, parameter in named.items():
        if parameter.grad is None:  # of the head, where nothing was supervised
            assert ".fwh." in name, name
            assert not fixture.arrays[f"{kind}/{name}"].any(), name
        else:
            fixture.check(f"{kind}/{name}", parameter.grad)


@pytest.mark.parametrize(("ranking", "loss", "grad"), [("batch", "loss", "grad"), ("column", "loss_time", "grad_time")])
@pytest.mark.parametrize("name", fixtures("sdlm_onlstm_train"))
def test_training(name: str, ranking: str, loss: str, grad: str) -> None:
    fixture = load(name)
    model, named = language_model(fixture, fixture.sizes["supervised_layer"] + 1, ranking)
    objectives, state = [], None
    for k in range(len(fixture.sizes["lengths"])):
        prefix = f"seg{k + 1}/"
        tokens, targets, gold = (fixture.tensor(prefix + key) for key in ("tokens", "targets", "gold"))
        result = model.loss(SupervisedStreamBatch(tokens, targets, gold), state)
        fixture.check(prefix + "nll", result.nll)
        objectives.append(result.objective)
        state = detach(result.state)
    total = torch.stack(objectives).sum()
    fixture.check(loss, total)
    total.backward()
    check_gradients(fixture, grad, named)


@pytest.mark.parametrize("layer", [1, 2, 3])
@pytest.mark.parametrize("name", fixtures("sdlm_onlstm"))
def test_distances_of_every_layer(name: str, layer: int) -> None:
    """And of the ranking losses on those that the fixture supervises."""
    fixture = load(name)
    model, _ = language_model(fixture, layer, "batch")
    model.eval()
    training = "seg1/tokens" in fixture.arrays
    state: Any = None
    for prefix in ("seg1/", "seg2/") if training else ("",):
        tokens = fixture.tensor(prefix + "tokens")
        weights = model.recurrent_weights()
        result = model(tokens, state or model.initial_state(tokens.shape[1]), weights=weights)
        output = result.layers[layer - 1]
        distances = model.supervised(output, weights[layer - 1])
        pairs = {"distance_supervised": distances, "distance_forget": output.distance_forget}
        for key, value in pairs.items():
            want = fixture.arrays[prefix + key][layer - 1]
            np.testing.assert_allclose(value.detach().numpy(), want, **fixture.tolerance)
        if training and layer == fixture.sizes["supervised_layer"] + 1:
            gold, margin = fixture.tensor(prefix + "gold"), fixture.sizes["margin"]
            fixture.check(prefix + "rank_across_batch", rank(distances, gold, tokens, "batch", margin))
            fixture.check(prefix + "rank_across_time", rank(distances, gold, tokens, "column", margin))
        state = [item.state for item in result.layers]


@pytest.mark.parametrize("name", fixtures("sdlm_onlstm_eval"))
def test_evaluation(name: str) -> None:
    fixture = load(name)
    model, named = language_model(fixture, fixture.sizes["supervised_layer"] + 1, "batch")
    model.eval()
    result = model.loss(StreamBatch(fixture.tensor("tokens"), fixture.tensor("targets")))
    fixture.check("nll", result.nll)
    words = fixture.doc["expected"]["parse_words"]
    batch = SentenceBatch(fixture.tensor("parse/tokens")[None, 1:-1], torch.tensor([len(words)]))
    layer = fixture.sizes["supervised_layer"] + 1
    for key, distances in (("lm", "lm"), ("supervised", "syd")):
        values = model.structure(batch, Query(Distances, layer, distances)).values[0].detach().numpy()
        fixture.check(f"parse/{key}", values)
        for decode in (unbiased, biased):
            tree = Tree.from_spans(words, decode(values.tolist()))
            assert without_labels(tree) == fixture.doc["expected"]["parse_trees"][f"{key}_{decode.__name__}"]
    fixture.check("loss", result.nll)
    result.nll.backward()
    check_gradients(fixture, "grad", named)


@pytest.mark.parametrize("name", fixtures("sdlm_rankloss"))
def test_ranking_loss(name: str) -> None:
    fixture = load(name)
    cases = [key.removesuffix("/predicted") for key in fixture.arrays if key.endswith("/predicted")]
    assert {"ties", "all_tied", "padded", "exponential"} < set(cases)
    for case in cases:
        predicted = fixture.tensor(f"{case}/predicted").requires_grad_()
        valid = fixture.tensor(f"{case}/valid").bool()
        gold = fixture.tensor(f"{case}/gold").double().masked_fill(~valid, float("nan"))
        margin, exponential = float(fixture.tensor(f"{case}/margin")), bool(fixture.tensor(f"{case}/exponential"))
        loss = ranking_loss(predicted, gold, margin=margin, exponential=exponential)
        loss.backward()
        fixture.check(f"{case}/loss", loss)
        fixture.check(f"grad/{case}", predicted.grad)


@pytest.mark.parametrize("name", fixtures("sdlm_gold_distance"))
def test_gold_distances(name: str) -> None:
    """The program's gaps are one lower than the paper's, which we keep to. The order is the same."""
    fixture = load(name)
    expected = fixture.doc["expected"]
    for text, want, binary in zip(expected["trees"], expected["distances"], expected["binarised"], strict=True):
        tree = Tree.from_text(text)
        result = gold_distances(tree, range(len(tree)))
        assert [value - 1 for value in result[1:]] == want
        assert without_labels(Tree.from_spans(tree.words, spans_from_distances(result))).strip("()") == binary.strip(
            "()"
        )
