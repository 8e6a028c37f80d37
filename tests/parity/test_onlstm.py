"""ON-LSTM and ONLSTM-SYD compute what the released programs compute: outputs, losses and every gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from induce.data.batches import SentenceBatch, StreamBatch, SupervisedStreamBatch
from induce.data.corpus import gold_distances
from induce.data.loaders import columns, segments
from induce.decoding.distances import biased, unbiased
from induce.layers.masks import Masks, activation_penalty, dropped_weight, temporal_activation_penalty
from induce.models.base import Query, detach
from induce.models.language.next_word_model import rank, ranking_loss
from induce.models.language.onlstm import (
    OnLstm,
    OnLstmConfig,
    OnLstmLayer,
    OnLstmState,
    OnLstmSyd,
    OnLstmSydConfig,
    SegmentOutput,
)
from induce.models.language.onlstm_kernel import cumax
from induce.settings.run import NtAsgdSettings
from induce.structures import Distances
from induce.training.optimizer import NtAsgd
from tests.support.reference import Fixture, fixtures, load, weights_and_biases, without_labels
from treebank.core.distances import spans_from_distances
from treebank.core.tree import Tree

pytestmark = pytest.mark.usefixtures("double")


def language_model(
    fixture: Fixture, model_type: type[OnLstm] = OnLstm, config_type: type[OnLstmConfig] = OnLstmConfig, **settings: Any
) -> tuple[Any, dict[str, Any]]:
    """The model of a fixture with its weights, and its parameters under their original names."""
    sizes = fixture.sizes
    config = config_type(
        embedding_size=sizes["emb"],
        hidden_size=sizes["hidden"],
        layers=sizes["layers"],
        chunk_size=sizes["chunk_size"],
        embedding_dropout=sizes.get("dropoute", 0.0),
        input_dropout=sizes.get("dropouti", 0.0),
        hidden_dropout=sizes.get("dropouth", 0.0),
        output_dropout=sizes.get("dropout", 0.0),
        weight_dropout=sizes.get("wdrop", 0.0),
        activation_penalty=sizes["alpha"],
        temporal_activation_penalty=sizes["beta"],
        **settings,
    )
    model: Any = model_type(config, sizes["vocab"])
    parts = {f"{k}.{part}": linear for k, layer in enumerate(model.layers) for part, linear in layer_parts(layer)}
    if isinstance(model, OnLstmSyd):
        parts[f"{config.supervised_layer - 1}.fwh"] = model.head
    named = {"encoder.weight": model.embedding.weight, "decoder.bias": model.decoder_bias}
    named |= {f"rnn.cells.{name}": parameter for name, parameter in weights_and_biases(parts).items()}
    fixture.copy_weights(named)
    return model, named


def layer_parts(layer: OnLstmLayer) -> list[tuple[str, nn.Linear]]:
    """Original names of the linear maps of a layer."""
    return [("ih.0", layer.input), ("hh", layer.recurrent)]


def masks(fixture: Fixture) -> Masks:
    """The dropout masks that a fixture gives, divided by the share kept where the program divides."""
    sizes, layers = fixture.sizes, fixture.sizes["layers"]
    return Masks(
        embedding=fixture.tensor("keep_embedding") / (1 - sizes["dropoute"]),
        input=fixture.tensor("keep_input") / (1 - sizes["dropouti"]),
        hidden=[fixture.tensor(f"keep_hidden/{k}") / (1 - sizes["dropouth"]) for k in range(layers - 1)],
        output=fixture.tensor("keep_output") / (1 - sizes["dropout"]),
        weights=[fixture.tensor(f"drop_weight/{k}") == 0 for k in range(layers)],
    )


@pytest.mark.parametrize("name", fixtures("cumax"))
def test_cumax(name: str) -> None:
    fixture = load(name)
    x = fixture.tensor("x", gradient=True)
    fixture.check_weighted({"y": cumax(x)})
    fixture.check("grad/input/x", x.grad)


@pytest.mark.parametrize("name", fixtures("onlstm_cell"))
def test_cell(name: str) -> None:
    fixture = load(name)
    sizes = fixture.sizes
    layer = OnLstmLayer(sizes["input_size"], sizes["hidden_size"], sizes["chunk_size"])
    named = weights_and_biases(dict(layer_parts(layer)))
    fixture.copy_weights(named)
    inputs = {key: fixture.tensor(key, gradient=True) for key in ("x", "h0", "c0")}
    state = OnLstmState(inputs["h0"], inputs["c0"])
    out = layer(inputs["x"][None], state)
    fixture.check_weighted(cell_values(out))
    fixture.check_gradients("grad", {**named, **{"input/" + key: value for key, value in inputs.items()}})
    out = layer(inputs["x"][None], state, layer.recurrent.weight * (1 - sizes["wdrop"]))
    fixture.check_all(cell_values(out), "eval/")


def cell_values(output: SegmentOutput) -> dict[str, torch.Tensor]:
    """States and distances of a segment of one step, by their names in the fixtures."""
    distances = {"distance_forget": output.distance_forget[0], "distance_input": output.distance_input[0]}
    return {"h": output.state.h, "c": output.state.c, **distances}


@pytest.mark.parametrize("name", fixtures("onlstm_lm"))
def test_language_model(name: str) -> None:
    fixture = load(name)
    model, named = language_model(fixture)
    dropped = "keep_embedding" in fixture.arrays
    leaves_copy = masks(fixture) if dropped else None
    model.eval()
    prefixes = [""] if dropped else [f"seg{k + 1}/" for k in range(len(fixture.sizes["lengths"]))]
    losses, objectives, state = [], [], None
    for prefix in prefixes:
        tokens, targets = fixture.tensor(prefix + "tokens"), fixture.tensor(prefix + "targets")
        begin = state or model.initial_state(tokens.shape[1])
        output, layers = model(tokens, begin, masks=leaves_copy)
        loss = model.loss(StreamBatch(tokens, targets), begin, masks=leaves_copy)
        last, config = layers[-1].hidden, model.config
        logits = output @ model.embedding.weight.t() + model.decoder_bias
        expected = {
            "output": output,
            "logits": logits,
            "logprob": logits.log_softmax(-1),
            "nll": loss.nll,
            "ar": activation_penalty(last, config.activation_penalty),
            "tar": temporal_activation_penalty(last, config.temporal_activation_penalty),
            "distance_forget": torch.stack([layer.distance_forget for layer in layers]),
            "distance_input": torch.stack([layer.distance_input for layer in layers]),
        }
        for k, layer in enumerate(layers):
            expected |= {f"layer_output/{k}": layer.hidden, f"h/{k}": layer.state.h, f"c/{k}": layer.state.c}
        fixture.check_all(expected, prefix)
        losses.append(loss.nll)
        objectives.append(loss.objective)
        state = detach(loss.state)
    total = torch.stack(objectives if dropped else losses).sum()
    fixture.check_loss(total, named)
    if "loss_regularised" in fixture.arrays:
        regularised = torch.stack(objectives).sum()
        fixture.check_loss(regularised, named, "loss_regularised", kind="grad_regularised")
    if "parse/tokens" in fixture.arrays:
        check_parse(fixture, model)


def check_parse(fixture: Fixture, model: OnLstm) -> None:
    """The sentence that a fixture parses: distances of every layer, and the tree."""
    tokens = fixture.tensor("parse/tokens")[None]
    words = fixture.doc["expected"]["parse_words"]
    lengths = torch.tensor([len(words)])
    for k, row in enumerate(fixture.arrays["parse/distance_forget"]):
        got = model.structure(SentenceBatch(tokens[:, 1:-1], lengths), Query(Distances, k + 1)).values[0]
        np.testing.assert_allclose(got.detach().numpy(), row[1:-1], **fixture.tolerance)
    second = min(2, len(model.layers))  # the one that the program reads trees from
    distances = model.structure(SentenceBatch(tokens[:, 1:-1], lengths), Query(Distances, second)).values[0].tolist()
    fixture.check("parse/decoded", np.array(distances))
    tree = Tree.from_spans(words, biased(distances))
    assert without_labels(tree) == fixture.doc["expected"]["parse_tree"]


@pytest.mark.parametrize("name", fixtures("opt_ar_tar"))
def test_activation_penalties(name: str) -> None:
    fixture = load(name)
    last = fixture.tensor("last", gradient=True)
    ar = activation_penalty(last, float(fixture.arrays["alpha"]))
    tar = temporal_activation_penalty(last, float(fixture.arrays["beta"]))
    (ar + tar).backward()
    fixture.check_all({"ar": ar, "tar": tar, "loss": ar + tar})
    fixture.check("grad/input/last", last.grad)


def one_layer_model(vocabulary: int, embedding: int) -> OnLstm:
    """A model whose embedding look-up is all that the test uses."""
    return OnLstm(OnLstmConfig(embedding_size=embedding, hidden_size=embedding, layers=1, chunk_size=1), vocabulary)


def captured_input(model: OnLstm, tokens: torch.Tensor, leaves_copy: Masks | None) -> torch.Tensor:
    """The inputs of the first layer."""
    names_seen: list[torch.Tensor] = []
    hook = model.layers[0].register_forward_pre_hook(lambda module, arguments: names_seen.append(arguments[0]))
    model(tokens, model.initial_state(tokens.shape[1]), masks=leaves_copy)
    hook.remove()
    return names_seen[0]


@pytest.mark.parametrize("name", fixtures("opt_embed_dropout"))
def test_embedding_dropout(name: str) -> None:
    fixture = load(name)
    sizes = fixture.sizes
    model = one_layer_model(sizes["vocab"], sizes["emb"])
    model.embedding.weight.data = fixture.tensor("table")
    tokens = fixture.tensor("ids")
    entries = torch.ones(1, sizes["batch"], sizes["emb"])
    keep = fixture.tensor("keep") / (1 - float(fixture.arrays["rate"]))
    full = torch.ones_like(model.layers[0].recurrent.weight, dtype=torch.bool)
    output = captured_input(model, tokens, Masks(keep, entries, [], entries, [full]))
    fixture.check_weighted({"output": output})
    fixture.check("grad_plain/table", model.embedding.weight.grad)  # the accident with the last row is not followed
    fixture.check("output_eval", captured_input(model, tokens, None))


@pytest.mark.parametrize("name", fixtures("opt_locked_dropout"))
def test_locked_dropout(name: str) -> None:
    fixture = load(name)
    steps, batch, units = (fixture.sizes[key] for key in ("time", "batch", "units"))
    model = one_layer_model(steps * batch, units)
    x = fixture.tensor("x")
    model.embedding.weight.data = x.reshape(steps * batch, units).clone()
    tokens = torch.arange(steps * batch).view(steps, batch)
    keep = fixture.tensor("keep") / (1 - float(fixture.arrays["rate"]))
    full = torch.ones_like(model.layers[0].recurrent.weight, dtype=torch.bool)
    leaves_copy = Masks(torch.ones(steps * batch, 1), keep, [], torch.ones(1, batch, units), [full])
    output = captured_input(model, tokens, leaves_copy)
    fixture.check_weighted({"output": output})
    fixture.check("grad/input/x", model.embedding.weight.grad.view_as(x))


@pytest.mark.parametrize("name", fixtures("opt_weight_drop"))
def test_weight_dropout(name: str) -> None:
    fixture = load(name)
    weight, bias, x = (fixture.tensor(key, gradient=True) for key in ("weight", "bias", "x"))
    rate = float(fixture.arrays["rate"])
    output = x @ dropped_weight(weight, rate, fixture.tensor("drop") == 0).t() + bias
    fixture.check_weighted({"output": output})
    for key, value in (("weight", weight), ("bias", bias), ("x", x)):
        fixture.check("grad/input/" + key, value.grad)
    fixture.check("output_eval", x @ dropped_weight(weight, rate, None).t() + bias)


@pytest.mark.parametrize("name", fixtures("opt_training_loop"))
def test_one_epoch_of_training(name: str) -> None:
    fixture = load(name)
    sizes, arrays = fixture.sizes, fixture.arrays
    model, named = language_model(fixture)
    optimizer = NtAsgd(
        list(model.parameters()),
        NtAsgdSettings(learning_rate=sizes["lr"], weight_decay=sizes["weight_decay"], nonmonotone=5, restart_epoch=500),
    )
    stream = columns(torch.tensor(arrays["stream"]), sizes["batch"])
    draw = np.random.RandomState(int(arrays["seed"]))
    state: Any = None
    result: dict[str, list[float]] = {key: [] for key in ("length", "rows", "lr", "nll", "objective", "gradient_norm")}
    for segment in segments(draw, sizes["nominal"], len(stream)):
        rows = slice(segment.start, segment.start + segment.rows)
        targets = stream[segment.start + 1 : segment.start + 1 + segment.rows]
        model.zero_grad()
        loss = model.loss(StreamBatch(stream[rows], targets), state)
        loss.objective.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), sizes["clip"])
        factor = segment.length / sizes["nominal"]
        optimizer.step(factor)
        state = detach(loss.state)
        values = (segment.length, segment.rows, sizes["lr"] * factor, loss.nll.detach(), loss.objective.detach(), norm)
        for key, value in zip(result, values, strict=True):
            result[key].append(float(value))
    for key, value in result.items():
        fixture.check(key, np.array(value))
    for original, parameter in named.items():
        fixture.check("final/" + original, parameter)


def supervised_model(fixture: Fixture, supervised_layer: int, ranking: str) -> tuple[OnLstmSyd, dict[str, Any]]:
    """The model of a fixture of Du et al. with its weights, one layer supervised, and its parameters."""
    sizes = fixture.sizes
    settings = {
        "supervised_layer": supervised_layer,
        "tree_weight": sizes.get("weight_rank", 1.0),
        "lm_weight": sizes.get("weight_lm", 1.0),
        "ranking": ranking,
        "ranking_margin": sizes.get("margin", 1.0),
        "distance_scale": "share",
    }
    return language_model(fixture, OnLstmSyd, OnLstmSydConfig, **settings)


def check_supervised_gradients(fixture: Fixture, kind: str, named: dict[str, Any]) -> None:
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
def test_training_with_trees(name: str, ranking: str, loss: str, grad: str) -> None:
    fixture = load(name)
    model, named = supervised_model(fixture, fixture.sizes["supervised_layer"] + 1, ranking)
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
    check_supervised_gradients(fixture, grad, named)


@pytest.mark.parametrize("layer", [1, 2, 3])
@pytest.mark.parametrize("name", fixtures("sdlm_onlstm"))
def test_distances_of_every_layer(name: str, layer: int) -> None:
    """And of the ranking losses on those that the fixture supervises."""
    fixture = load(name)
    model, _ = supervised_model(fixture, layer, "batch")
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
def test_evaluation_with_trees(name: str) -> None:
    fixture = load(name)
    model, named = supervised_model(fixture, fixture.sizes["supervised_layer"] + 1, "batch")
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
    check_supervised_gradients(fixture, "grad", named)


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
