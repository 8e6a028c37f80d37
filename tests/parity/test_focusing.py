"""Focusing computes what the program of Park and Kim (2024) computes from the same weights of spans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from induce.data.batches import SpanSupervisedBatch
from induce.data.references import References
from induce.models.grammars.grammar import emitted
from induce.models.grammars.tn_pcfg import TnPcfg, TnPcfgConfig
from tests.support.grammar_weights import Layers, fixture_sizes, with_weights
from tests.support.reference import Fixture, fixtures, load

pytestmark = pytest.mark.usefixtures("double")
MODES = ("soft", "hard", "none")


def grammar(fixture: Fixture) -> tuple[TnPcfg, dict[str, Tensor]]:
    """The model of the fixture with its weights, and its parameters under their original names."""
    sizes: dict[str, Any] = fixture_sizes(fixture, rank="rank")
    model = TnPcfg(TnPcfgConfig(**sizes, factors="shared", floors=True), fixture.sizes["vocab"]).eval()
    for kind in ("weight", *(f"grad_{mode}" for mode in MODES)):
        symbols = [fixture.arrays.pop(f"{kind}/{name}_emb") for name in ("nonterm", "term")]
        fixture.arrays[f"{kind}/symbols"] = np.concatenate(symbols)
        fixture.arrays[f"{kind}/nonterms.rank_proj"] = fixture.arrays[f"{kind}/nonterms.rank_proj"].T
    # the last layer of the root has the vectors of the nonterminals as its matrix
    fixture.arrays["weight/root.root_mlp.3.weight"] = fixture.arrays["weight/symbols"][: sizes["nonterminals"]]
    named = {
        "root.root_emb": model.start,
        "symbols": model.symbols,
        "nonterms.rank_proj": model.projections[0].weight,
    }
    parts: dict[str, Layers] = {"root.root_mlp": model.root, "terms.term_mlp": model.words}
    parts |= {f"nonterms.{name}_mlp.0": getattr(model, name) for name in ("parent", "left", "right")}
    return model, with_weights(model, fixture, named, parts)


def references(fixture: Fixture) -> References:
    """The trees of the fixture."""
    sentences, trees, spans, _ = fixture.arrays["input/trees"].shape
    offsets = np.arange(sentences + 1) * trees * spans
    return References(fixture.arrays["input/trees"].reshape(-1, 2), offsets, trees)


def span_weights(fixture: Fixture, mode: str) -> np.ndarray:
    """Weights (B, N, N + 1) of spans, which the program of the fixture applies twice."""
    if mode == "soft":
        return fixture.arrays["weight_soft"][:, :-1]
    chosen, length = np.arange(len(fixture.arrays["input/words"])), fixture.sizes["length"]
    trees = references(fixture)
    return trees.weights(chosen, length, 0.0) if mode == "hard" else trees.trees * trees.shares(chosen, length)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", fixtures("parse_focusing"))
def test_weighted_likelihood_and_gradients(name: str, mode: str) -> None:
    fixture = load(name)
    model, named = grammar(fixture)
    words, weights = fixture.tensor("input/words"), torch.from_numpy(span_weights(fixture, mode)).double()
    lengths = torch.full((len(words),), words.shape[1])
    batch = SpanSupervisedBatch(words, lengths, torch.zeros_like(words), weights=weights**2)
    tables = model.tables(words)
    fixture.check(f"value/{mode}", tables.rules.log_partition(emitted(tables, words), weights=batch.weights))
    loss = model.loss(batch).objective
    fixture.check(f"loss/{mode}", loss)
    loss.backward()
    tied = named["root.root_mlp.3.weight"]
    assert tied.grad is not None
    assert model.symbols.grad is not None
    model.symbols.grad[: len(tied)] += tied.grad
    tied.grad = None
    fixture.check_gradients(f"grad_{mode}", named)


@pytest.mark.parametrize("name", fixtures("parse_focusing"))
def test_shares_of_trees_are_the_counts_of_the_program(name: str) -> None:
    fixture = load(name)
    trees = references(fixture)
    counts = trees.trees * trees.shares(np.arange(len(fixture.arrays["input/words"])), fixture.sizes["length"])
    np.testing.assert_allclose(counts, fixture.arrays["count"][:, :-1])
