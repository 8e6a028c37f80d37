"""PRPN computes what the released program computes: gates, attention, states, losses, statistics, every gradient."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from induce.data.batches import SentenceBatch, StreamBatch
from induce.decoding.distances import biased
from induce.models.base import NextWords, Query, detach
from induce.models.language.prpn import Prpn, PrpnConfig, PrpnMasks, PrpnOutput
from induce.models.language.prpn_kernel import attend
from induce.models.language.prpn_networks import (
    Cell,
    LayerMasks,
    ParsingMasks,
    ParsingNetwork,
    ParsingState,
    PredictMasks,
)
from induce.structures import Distances
from tests.support.reference import Fixture, fixtures, load, weights_and_biases, without_labels
from treebank.core.tree import Tree

pytestmark = pytest.mark.usefixtures("double")

STATISTICS = ("running_mean", "running_var")


def config(sizes: dict[str, Any], **changes: Any) -> PrpnConfig:
    """The settings of a fixture."""
    arguments = {
        "embedding_size": sizes["emb"],
        "hidden_size": sizes["hidden"],
        "reading_layers": sizes.get("layers", 1),
        "slots": sizes["slots"],
        "lookback": sizes["lookback"],
        "resolution": sizes["resolution"],
        "residual_blocks": sizes.get("res", 0),
        "gate": "hard" if sizes.get("hard", True) else "soft",
        "outer_dropout": sizes.get("dropout", 0.0),
        "inner_dropout": sizes.get("idropout", 0.0),
        "recurrent_dropout": sizes.get("rdropout", 0.0),
    }
    return PrpnConfig(**{**arguments, **changes})


def cell_names(cell: Cell, prefix: str) -> dict[str, nn.Parameter]:
    """Original name -> parameter."""
    named = weights_and_biases({f"{prefix}ih.0": cell.input, f"{prefix}hh.0": cell.recurrent})
    for original, norm in (("ih.1", cell.input_norm), ("hh.1", cell.recurrent_norm), ("c_norm", cell.cell_norm)):
        named |= {f"{prefix}{original}.gamma": norm.gain, f"{prefix}{original}.beta": norm.bias}
    return named


def parsing_parts(network: ParsingNetwork, prefix: str) -> dict[str, nn.Module]:
    """Original name -> the parts of the parsing network."""
    return {
        f"{prefix}gate.1": network.convolution,
        f"{prefix}gate.2": network.normalization,
        f"{prefix}gate.5": network.projection,
    }


class Copy:
    """The model of a fixture, with its weights, and its parameters under their original names."""

    def __init__(self, fixture: Fixture, **changes: Any) -> None:
        self.fixture = fixture
        self.model = model = Prpn(config(fixture.sizes, **changes), fixture.sizes["vocab"])
        parts = parsing_parts(model.parsing, "parser.")
        self.named: dict[str, nn.Parameter] = {
            "encoder.weight": model.embedding.weight,
            "decoder.bias": model.decoder_bias,
        }
        for k, layer in enumerate(model.reading):
            self.named |= cell_names(layer.cell, f"reader.{k}.memory_rnn.")
            parts[f"reader.{k}.projector_summ.1"] = layer.key
        parts |= {"predictor.projector_pred.1": model.predict.key, "predictor.ffd.1": model.predict.output}
        parts["predictor.ffd.2"] = model.predict.output_norm
        for k, block in enumerate(model.predict.blocks):
            order = {0: block.lower, 1: block.lower_norm, 4: block.upper, 5: block.upper_norm}
            parts |= {f"predictor.res.res.{k}.{index}": part for index, part in order.items()}
        self.named |= weights_and_biases(parts)
        self.norms = {prefix: part for prefix, part in parts.items() if isinstance(part, nn.BatchNorm1d)}
        computed = {f"{prefix}.{kind}" for prefix in self.norms for kind in (*STATISTICS, "num_batches_tracked")}
        assert fixture.copy_weights(self.named) == {*computed, "decoder.weight"}
        for prefix, norm in self.norms.items():
            for kind in STATISTICS:
                getattr(norm, kind).copy_(fixture.tensor(f"weight/{prefix}.{kind}"))

    def check_gradients(self) -> None:
        """All gradients, and no other."""
        self.fixture.check_gradients("grad", self.named)

    def check_statistics(self, prefix: str) -> None:
        """Compare the statistics of the batch normalizations."""
        result = {f"{prefix}{name}.{kind}" for name in self.norms for kind in STATISTICS}
        assert {name for name in self.fixture.arrays if name.startswith(prefix)} == result
        for name, norm in self.norms.items():
            for kind in STATISTICS:
                self.fixture.check(f"{prefix}{name}.{kind}", getattr(norm, kind))

    def check_output(self, prefix: str, result: PrpnOutput, batch: int) -> None:
        """Everything that a segment gives."""
        parsing, model = result.parsing, self.model
        logits = (result.output @ model.decoder_weight.t() + model.decoder_bias).unflatten(0, (-1, batch))
        expected = {
            "logits": logits,
            "logprob": logits.log_softmax(-1),
            "distance": parsing.distance,
            "distance_next": parsing.guess,
            "read_gate": parsing.read_gate.transpose(0, 1),
            "predict_gate": parsing.predict_gate.transpose(0, 1),
            "predict_attention": result.predict_attention,
            "state/emb_last": result.state[0].embeddings,
            "state/dist_last": result.state[0].distances,
            "state/predict_memory": result.state[-1].h,
        }
        for k, reading in enumerate(result.reading):
            expected[f"read_attention/{k}"] = reading.attention
            expected |= {f"state/memory_h/{k}": reading.tapes.h, f"state/memory_c/{k}": reading.tapes.c}
        self.fixture.check_all(expected, prefix)


def masks(fixture: Fixture, layers: int, blocks: int) -> PrpnMasks:
    """The dropout masks that a fixture gives, divided by the share kept."""
    sizes = fixture.sizes
    inner, outer, recurrent = sizes["idropout"], sizes["dropout"], sizes["rdropout"]

    def masked(name: str, rate: float, of: Any = slice(None)) -> Tensor | None:
        return fixture.tensor(f"keep/{name}")[of] / (1 - rate) if rate else None

    def input_size(k: int) -> int:
        return sizes["hidden"] if k else sizes["emb"]

    return PrpnMasks(
        parsing=ParsingMasks(masked("parser.gate.0", inner, 0), masked("parser.gate.4", inner, 0)),
        reading=[
            LayerMasks(
                key_input=masked(f"reader.{k}.projector_summ.0", inner, (..., slice(input_size(k)))),
                key_state=masked(f"reader.{k}.projector_summ.0", inner, (..., slice(input_size(k), None))),
                key=masked(f"reader.{k}.projector_summ.2", inner),
                input=masked(f"reader.{k}.drop", inner if k else outer),
                recurrent=masked("rdrop", recurrent, (0, k)),
            )
            for k in range(layers)
        ],
        predict=PredictMasks(
            key_input=masked("predictor.projector_pred.0", inner),
            key=masked("predictor.projector_pred.2", inner),
            residual=[masked(f"predictor.res.res.{k}.3", inner, 0) for k in range(blocks)],
            joined=masked("predictor.ffd.0", inner, 0),
            output=masked("drop", outer, 0),
        ),
    )


@pytest.mark.parametrize("name", fixtures("prpn_parts"))
def test_parts(name: str) -> None:
    fixture = load(name)
    values: dict[str, Tensor] = {}
    cell = Cell(fixture.sizes["lstm_in"], fixture.sizes["lstm_hidden"])
    named = cell_names(cell, "lstm.")
    fixture.copy_weights(named)
    h, c = cell(cell.from_input(fixture.tensor("lstm/x")), *(fixture.tensor(f"lstm/{key}0") for key in "hc"))
    weight = attend(fixture.tensor("attend/score"), fixture.tensor("attend/gate"))
    values |= {"lstm/h": h, "lstm/c": c, "attend/weight": weight}

    for kind in ("soft", "hard"):
        network = ParsingNetwork(config(fixture.sizes, gate=kind))
        original = parsing_parts(network, "gates.")
        fixture.copy_weights(weights_and_biases(original))
        for statistic in STATISTICS:
            getattr(network.normalization, statistic).copy_(fixture.tensor(f"weight/gates.gate.2.{statistic}"))
        state = ParsingState(fixture.tensor("gates/emb_last"), fixture.tensor("gates/dist_last"))
        result = network(fixture.tensor("gates/emb"), state)
        of_network = {
            "distance": result.distance,
            "distance_next": result.guess,
            "read_gate": result.read_gate,
            "predict_gate": result.predict_gate,
            "new_emb_last": result.state.embeddings,
            "new_dist_last": result.state.distances,
            **{statistic: getattr(network.normalization, statistic) for statistic in STATISTICS},
        }
        values |= {f"{kind}/{key}": value for key, value in of_network.items()}
        named |= weights_and_biases(parsing_parts(network, kind + "."))
    without_cotangent = {key for key in values if f"cotangent/{key}" not in fixture.arrays}
    for key in without_cotangent:
        fixture.check(key, values.pop(key))
    fixture.check_weighted(values)
    fixture.check_gradients("grad", named)


@pytest.mark.parametrize("name", fixtures("prpn_*lm"))
def test_two_segments_in_training_mode(name: str) -> None:
    fixture = load(name)
    copy = Copy(fixture)
    state, losses = None, []
    for k, length in enumerate(fixture.sizes["lengths"]):
        prefix = f"seg{k + 1}/"
        tokens, targets = fixture.tensor(prefix + "tokens"), fixture.tensor(prefix + "targets")
        assert len(tokens) == length
        begin = state or copy.model.initial_state(tokens.shape[1])
        probe = deepcopy(copy.model)  # the statistics move with each call
        copy.check_output(prefix, probe(tokens, begin), tokens.shape[1])
        loss = copy.model.loss(StreamBatch(tokens, targets), state)
        fixture.check(prefix + "nll", loss.nll)
        copy.check_statistics(prefix + "running/")
        losses.append(loss.objective)
        state = detach(loss.state)
    total = torch.stack(losses).sum()
    fixture.check("loss", total)
    total.backward()
    copy.check_gradients()


@pytest.mark.parametrize("name", fixtures("prpn_eval"))
def test_evaluation_mode(name: str) -> None:
    fixture = load(name)
    losses = []
    gradients: dict[str, Tensor] = {}
    for kind in ("soft", "hard"):
        copy = Copy(fixture, gate=kind)
        copy.model.eval()
        state = None
        for k in range(len(fixture.sizes["lengths"])):
            prefix = f"{kind}/seg{k + 1}/"
            tokens, targets = (fixture.tensor(f"seg{k + 1}/{part}") for part in ("tokens", "targets"))
            begin = state or copy.model.initial_state(tokens.shape[1])
            copy.check_output(prefix, copy.model(tokens, begin), tokens.shape[1])
            loss = copy.model.loss(StreamBatch(tokens, targets), begin)
            fixture.check(prefix + "nll", loss.nll)
            loss.objective.backward()
            losses.append(loss.nll)
            state = detach(loss.state)
        for key, parameter in copy.named.items():
            gradients[key] = gradients.get(key, torch.zeros(())) + parameter.grad
    fixture.check("loss", torch.stack(losses).sum())
    for key, parameter in copy.named.items():
        parameter.grad = gradients[key]
    copy.check_gradients()
    check_parse(fixture, copy.model)


def check_parse(fixture: Fixture, model: Prpn) -> None:
    """The sentence that a fixture parses: its distances, and the tree."""
    words = fixture.doc["expected"]["parse_words"]
    batch = SentenceBatch(fixture.tensor("parse/tokens")[None, 1:-1], torch.tensor([len(words)]))
    result = model.structure(batch, Query(Distances)).values[0]
    np.testing.assert_allclose(result.detach().numpy(), fixture.arrays["parse/distance"][1:-1], **fixture.tolerance)
    tree = Tree.from_spans(words, biased(result.tolist()))
    assert without_labels(tree) == fixture.doc["expected"]["parse_tree"]


@pytest.mark.parametrize("name", fixtures("prpn_padded"))
def test_padded_sentences(name: str) -> None:
    fixture = load(name)
    copy = Copy(fixture)
    tokens, targets, mask = (fixture.tensor(key) for key in ("tokens", "targets", "mask"))
    probe = deepcopy(copy.model)
    copy.check_output("", probe(tokens, probe.initial_state(tokens.shape[1])), tokens.shape[1])
    words = NextWords(tokens, targets, mask > 0)
    loss = copy.model.language_loss(copy.model.run(words), words)
    fixture.check("loss", loss.nll)
    copy.check_statistics("running/")
    loss.objective.backward()
    copy.check_gradients()


@pytest.mark.parametrize("name", fixtures("prpn_dropout"))
def test_dropout(name: str) -> None:
    fixture = load(name)
    copy = Copy(fixture)
    arguments = masks(fixture, len(copy.model.reading), len(copy.model.predict.blocks))
    drawn = copy.model.draw_masks(*fixture.arrays["tokens"].shape)
    assert shapes(arguments) == shapes(drawn)
    tokens, targets = fixture.tensor("tokens"), fixture.tensor("targets")
    copy.check_output(
        "", copy.model(tokens, copy.model.initial_state(tokens.shape[1]), masks=arguments), tokens.shape[1]
    )
    loss = copy.model.loss(StreamBatch(tokens, targets), masks=arguments)
    fixture.check("nll", loss.nll)
    fixture.check("loss", loss.objective)
    loss.objective.backward()
    copy.check_gradients()


def shapes(masks: Any) -> Any:
    """The shape of every mask, in place of the masks."""
    if masks is None or isinstance(masks, Tensor):
        return masks if masks is None else tuple(masks.shape)
    return [shapes(part) for part in masks]
