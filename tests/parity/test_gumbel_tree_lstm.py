"""The Gumbel Tree-LSTM computes what the released program computes: choices, vectors, losses, gradients and trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from induce.tasks.encoders.base import Classifier, ClassifierShape
from induce.tasks.encoders.gumbel_tree_lstm import GumbelTreeLstm, GumbelTreeLstmConfig
from induce.tasks.examples import LabelledBatch, Side
from tests.support.reference import Fixture, fixtures, load, without_labels
from treebank.core.tree import Tree

pytestmark = pytest.mark.usefixtures("double")

LEAVES = {"rnn": "lstm", "bi": "bidirectional", "lin": "linear"}
NOTHING = Side([], [], [])


def encoder_of(sizes: Mapping[str, Any], **settings: Any) -> GumbelTreeLstm:
    """The encoder of a fixture."""
    config = GumbelTreeLstmConfig(
        hidden_size=sizes["hidden_dim"],
        embedding_size=sizes["word_dim"],
        leaf="bidirectional" if sizes.get("bidirectional") else LEAVES[sizes.get("leaf", "rnn")],
        temperature=sizes["temperature"],
        embedding_dropout=0.0,
        classifier_dropout=0.0,
        **settings,
    )
    return GumbelTreeLstm(config, sizes.get("vocab", 2))


def named_encoder(encoder: GumbelTreeLstm, prefix: str = "") -> dict[str, Tensor]:
    """The parameters under their original names."""
    named: dict[str, Tensor] = {"comp_query": encoder.query}
    for cell, name in zip(encoder.leaves.cells, ("leaf_rnn_cell", "leaf_rnn_cell_bw"), strict=False):
        named |= {f"{name}.{key}": value for key, value in cell.named_parameters()}
    if encoder.leaves.map is not None:
        named |= {f"word_linear.{key}": value for key, value in encoder.leaves.map.named_parameters()}
    named |= {f"treelstm_layer.comp_linear.{key}": value for key, value in encoder.gates.named_parameters()}
    return {prefix + name: value for name, value in named.items()}


def reordered(rows: Tensor, order: str, result: str) -> Tensor:
    """Blocks of ``rows`` for the gates ``order`` in the order ``result``: i, o, l, r (forget gates) and u."""
    blocks = dict(zip(order, rows.chunk(5), strict=True))
    return torch.cat([blocks[gate] for gate in result])


def is_composition(name: str) -> bool:
    """Whether the rows of a parameter are the gates of the composition."""
    return "comp_linear" in name


def fill(fixture: Fixture, named: dict[str, Tensor]) -> None:
    """Copy all weights of a fixture."""
    assert not fixture.copy_weights(named)
    for name in filter(is_composition, named):
        named[name].data = reordered(named[name].data, "ilruo", "iolru")


def check_gradients(fixture: Fixture, named: Mapping[str, Tensor]) -> None:
    """Compare all gradients. A parameter without a gradient has none in the fixture, or zeros."""
    expected = {name.removeprefix("grad/") for name in fixture.arrays if name.startswith("grad/")}
    assert expected <= set(named)
    for name, parameter in named.items():
        if parameter.grad is None:
            assert name not in expected or not fixture.arrays[f"grad/{name}"].any(), name
        else:
            gradient = reordered(parameter.grad, "iolru", "ilruo") if is_composition(name) else parameter.grad
            fixture.check(f"grad/{name}", gradient)


def given_noise(*batches: tuple[int, list[Tensor]]) -> Callable[[Tensor], Tensor]:
    """Function that returns the noise of the next step, for several batches: number of rows, and noise of each step."""
    steps = iter(range(1000))

    def uniform(logits: Tensor) -> Tensor:
        step, noise = next(steps), torch.full_like(logits, 0.5)
        start = 0
        for count, steps_of_batch in batches:
            if step < len(steps_of_batch):
                values = steps_of_batch[step]
                noise[start : start + count, : values.shape[1]] = values
            start += count
        return noise

    return uniform


def noise_of(fixture: Fixture, prefix: str = "") -> list[Tensor]:
    """The uniform numbers of each step."""
    count = sum(name.startswith(f"{prefix}noise/") for name in fixture.arrays)
    return [fixture.tensor(f"{prefix}noise/{step}") for step in range(count)]


def drawn(spans: Any, length: int) -> str:
    """A tree of the words a, b, c … as in the fixtures."""
    words = [chr(ord("a") + i) for i in range(length)]
    return without_labels(Tree.from_spans(words, spans)) if length > 1 else words[0]


@pytest.mark.parametrize("name", [name for name in fixtures("gumbel_") if "snli" not in str(name)])
def test_encoder(name: str) -> None:
    fixture = load(name)
    sizes = fixture.sizes
    encoder = encoder_of(sizes).train(fixture.doc["mode"].startswith("train"))
    named = named_encoder(encoder)
    fill(fixture, named)
    x, lengths = fixture.tensor("input", gradient=True), fixture.tensor("length")
    encoder.uniform = given_noise((len(x), noise_of(fixture))) if encoder.training else torch.rand_like
    merges = encoder.parse(x, lengths)
    for kind, values in (("logit", merges.logits), ("choice", merges.choices)):
        assert len(values) == sum(key.startswith(f"{kind}/") for key in fixture.arrays)
        for step, value in enumerate(values):
            fixture.check(f"{kind}/{step}", value)
    fixture.check_weighted(dict(zip("hc", merges.root.chunk(2, -1), strict=True)))
    check_gradients(fixture, {**named, "input/input": x})
    encoder.embedding = torch.nn.Embedding.from_pretrained(x.detach().flatten(0, 1))
    encoder.uniform = given_noise((len(x), noise_of(fixture))) if encoder.training else torch.rand_like
    tokens = torch.arange(x.shape[0] * x.shape[1]).view(x.shape[:2])
    rows = encoder.structure(tokens, lengths).rows()
    trees = [drawn(row, length) for row, length in zip(rows, lengths.tolist(), strict=True)]
    assert trees == fixture.doc["expected"]["trees"]


@pytest.mark.parametrize("name", [name for name in fixtures("gumbel_") if "snli" in str(name)])
def test_pair_classifier(name: str) -> None:
    fixture = load(name)
    sizes = fixture.sizes
    settings = {"head_size": sizes["clf_hidden_dim"], "head_layers": sizes["clf_num_layers"]}
    encoder = encoder_of(sizes, head="released", head_norm=sizes["batchnorm"], **settings)
    model = Classifier(encoder, ClassifierShape(2, sizes["classes"], 0.0)).train()
    head = encoder.head
    named = {"word_embedding.weight": encoder.embedding.weight, **named_encoder(encoder, "encoder.")}
    parts = [("mlp." + str(k) + ".0", layer) for k, layer in enumerate(head.layers)]
    norms = [("bn_mlp_input", head.input_norm), ("bn_mlp_output", head.output_norm)]
    for part, module in [*parts, *norms, ("clf_linear", model.outer)]:
        named |= {f"classifier.{part}.{key}": value for key, value in module.named_parameters()}
    fill(fixture, named)
    premise, hypothesis = fixture.tensor("premise"), fixture.tensor("hypothesis")
    width = max(premise.shape[1], hypothesis.shape[1])
    tokens = torch.cat(
        [functional.pad(ids, (0, width - ids.shape[1]), value=sizes["pad"]) for ids in (premise, hypothesis)]
    )
    lengths = torch.tensor([*sizes["lengths_premise"], *sizes["lengths_hypothesis"]])
    noise = [(len(premise), noise_of(fixture, f"{side}/")) for side in ("premise", "hypothesis")]
    batch = LabelledBatch(tokens, lengths, fixture.tensor("label"), [NOTHING] * len(lengths))

    encoder.uniform = given_noise(*noise)
    loss = model.loss(batch)
    loss.objective.backward()
    fixture.check("loss", loss.nll)
    check_gradients(fixture, named)
    for part, norm in norms:
        for key, value in norm.named_buffers():
            if (stored := f"running/classifier.{part}.{key}") in fixture.arrays:
                fixture.check(stored, value)
    encoder.uniform = given_noise(*noise)
    fixture.check("logits", model(tokens, lengths, batch.trees))
    encoder.uniform = given_noise(*noise)
    rows = encoder.structure(tokens, lengths).rows()
    trees = [drawn(row, length) for row, length in zip(rows, lengths.tolist(), strict=True)]
    assert trees == [*fixture.doc["expected"]["premise"], *fixture.doc["expected"]["hypothesis"]]
    assert len(np.unique(trees)) > 1
