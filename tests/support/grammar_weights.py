"""Weights of grammars by their names in the released programs, and comparison of trees with theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from induce.data.batches import SentenceBatch
from induce.decoding.chart import mbr
from induce.decoding.heads import mbr_heads
from induce.models.base import Query
from induce.models.grammars.grammar import Grammar, Residual
from induce.structures import HeadDistribution, SpanScores
from tests.support.reference import Fixture

Layers = nn.Module | list[nn.Module]


def layer_names(prefix: str, layers: Layers) -> dict[str, Tensor]:
    """Parameters of a module, or of the numbered ``layers`` of a sequence, by their original names."""
    if isinstance(layers, Residual):
        return layer_names(f"{prefix}.linear.0", layers.first) | layer_names(f"{prefix}.linear.2", layers.second)
    if not isinstance(layers, nn.Linear | nn.Embedding):
        parts = [layer_names(f"{prefix}.{k}", layer) for k, layer in enumerate(layers)]
        return {name: parameter for part in parts for name, parameter in part.items()}
    return {f"{prefix}.{name}": parameter for name, parameter in layers.named_parameters()}


def fixture_sizes(fixture: Fixture, **names: str) -> dict[str, int]:
    """Sizes of the grammar of a fixture as settings, with the ``names`` of those that not every grammar has."""
    names |= {"nonterminals": "nonterminals", "preterminals": "preterminals", "embedding_size": "state_dim"}
    return {setting: fixture.sizes[name] for setting, name in names.items()}


def with_weights(
    model: Grammar, fixture: Fixture, named: Mapping[str, Tensor], parts: Mapping[str, Layers]
) -> dict[str, Tensor]:
    """All parameters of ``model`` by their original names, after the weights of a fixture were copied into them.

    ``named`` are single parameters, ``parts`` layers, whose parameters have names of their own.
    """
    parameters = dict(named)
    for name, part in parts.items():
        parameters |= layer_names(name, part)
    give_weights(model, fixture, parameters)
    return parameters


def check_grammar(model: Grammar, fixture: Fixture, named: dict[str, Tensor], arcs: str = "") -> None:
    """Compare spans, loss and gradients, and for a grammar with heads their marginals, called ``arcs``."""
    batch = sentences(fixture)
    check_spans(model, batch, fixture)
    if arcs:
        check_heads(model, batch, fixture, arcs)
    check_loss(model, batch, fixture, named)


def give_weights(model: Grammar, fixture: Fixture, named: dict[str, Tensor]) -> None:
    """Copy the weights of a fixture into the parameters ``named``, which must be all of the model's."""
    assert {id(parameter) for parameter in named.values()} == {id(parameter) for parameter in model.parameters()}
    shapes = {name: parameter.shape for name, parameter in named.items()}
    assert not fixture.copy_weights(named)
    assert shapes == {name: parameter.shape for name, parameter in named.items()}


def sentences(fixture: Fixture) -> SentenceBatch:
    """The sentences of a fixture."""
    words = fixture.tensor("input/words")
    every = torch.full((len(words),), words.shape[1])
    return SentenceBatch(words, fixture.tensor("input/lengths") if "input/lengths" in fixture.arrays else every)


def check_spans(model: Grammar, batch: SentenceBatch, fixture: Fixture) -> None:
    """Compare span marginals and the trees with the largest sum of them."""
    scores: Any = model.structure(batch, Query(SpanScores))
    fixture.check("span_marginal", nn.functional.pad(scores.score, (0, 0, 0, 1)))
    for row, spans in zip(scores.rows(), fixture.doc["expected"]["mbr_spans"], strict=True):
        assert set(mbr(row)) == {(start, end) for start, end in spans if end - start > 1}


def check_loss(model: Grammar, batch: SentenceBatch, fixture: Fixture, named: dict[str, Tensor]) -> None:
    """Compare log partition, loss and all gradients."""
    fixture.check("logpartition", model.log_probability(batch))
    loss = model.loss(batch).objective
    fixture.check_loss(loss, named)


def check_heads(model: Grammar, batch: SentenceBatch, fixture: Fixture, arcs: str) -> None:
    """Compare marginals of roots and ``arcs``, and decode those of the program, which may differ from ``arcs``."""
    result: Any = model.structure(batch, Query(HeadDistribution))
    root = result.probability.diagonal(0, 1, 2)
    fixture.check("root_marginal", root)
    fixture.check(arcs, result.probability - torch.diag_embed(root))
    decoded = (fixture.tensor("arc_marginal") + torch.diag_embed(fixture.tensor("root_marginal"))).numpy()
    for row, pairs in zip(decoded, fixture.doc["expected"]["mbr_arcs"], strict=True):
        assert dict(enumerate(mbr_heads(row))) == {child: head for head, child in pairs}
