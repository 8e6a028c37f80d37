"""Grammars compute what the released programs compute: rules, log partition, gradients, marginals, trees and heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from induce.data.batches import SpanSupervisedBatch
from induce.data.references import References
from induce.models.grammars.grammar import GrammarConfig, emitted
from induce.models.grammars.lexicalized_pcfg import NblPcfg, NblPcfgConfig, NlPcfg
from induce.models.grammars.tn_pcfg import TnPcfg, TnPcfgConfig
from tests.support.grammar_weights import Layers, check_grammar, fixture_sizes, sentences, with_weights
from tests.support.reference import Fixture, fixtures, load

pytestmark = pytest.mark.usefixtures("double")
MODES = ("soft", "hard", "none")
Copied = tuple[Any, dict[str, Tensor]]  # a model with the weights of a fixture, and its parameters by original names


def nl_pcfg(fixture: Fixture) -> Copied:
    """NL-PCFG with the weights of a fixture."""
    model = NlPcfg(GrammarConfig(**fixture_sizes(fixture)), fixture.sizes["vocab"]).eval()
    named: dict[str, Tensor] = {"root_emb": model.start, "nonterm_emb": model.nonterminal}
    named |= {"nonterm_emission_emb": model.phrase, "term_emb": model.preterminal}
    parts = {
        "word_emb": model.embedding,
        "root_mlp": model.root,
        "head_mlp": [model.encoder, *model.head],
        "left_rule_mlp": model.right,  # the program names them by the child that keeps the head
        "right_rule_mlp": model.left,
        "term_mlp": model.words,
    }
    return model, with_weights(model, fixture, named, parts)


def nbl_pcfg(fixture: Fixture) -> Copied:
    """NBL-PCFG with the weights of a fixture."""
    model = NblPcfg(NblPcfgConfig(**fixture_sizes(fixture, rank="rank")), fixture.sizes["vocab"]).eval()
    named: dict[str, Tensor] = {"root_emb": model.start, "nonterm_emb": model.nonterminal}
    named |= {"r_emb": model.head_rank, "r_emb2": model.dependent_rank, "r_emb3": model.word_rank}
    parts = {
        "word_emb": model.embedding,
        "root_mlp": model.root,
        "root_mlp2": model.root_word,
        "head_encoder": model.encoder,
        "head_mlp": model.head,
        "beta_mlp": model.words,
        "inherent_mlp.0": model.head_child,
        "noninherent_mlp.0": model.new_child,
    }
    return model, with_weights(model, fixture, named, parts)


def is_shared(fixture: Fixture) -> bool:
    return "weight/rank_proj" in fixture.arrays


def tn_pcfg(fixture: Fixture) -> Copied:
    """TN-PCFG with the weights of a fixture of one of its two programs."""
    factors = {"factors": "shared", "floors": True} if is_shared(fixture) else {"factors": "separate"}
    sizes: dict[str, Any] = fixture_sizes(fixture, rank="rank")
    model = TnPcfg(TnPcfgConfig(**sizes, **factors), fixture.sizes["vocab"]).eval()
    named: dict[str, Tensor] = {"root_emb": model.start, "rule_state_emb": model.symbols}
    parts: dict[str, Layers] = {"root_mlp": model.root, "term_mlp": model.words}
    for k, name in enumerate(("parent", "left", "right")):
        parts[f"{name}_mlp.0"] = getattr(model, name)
        if not is_shared(fixture):
            parts[f"{name}_mlp.2"] = model.projections[k]
    if model.preterminal is not None:
        named["term_emb"] = model.preterminal
    else:
        for kind in ("weight", "grad"):
            fixture.arrays[f"{kind}/rank_proj"] = fixture.arrays[f"{kind}/rank_proj"].T
        named["rank_proj"] = model.projections[0].weight
    return model, with_weights(model, fixture, named, parts)


def nl_rules(fixture: Fixture, rules: Any, scores: Tensor) -> dict[str, Tensor]:
    """The rules of NL-PCFG by the names of the fixture."""
    left, right = rules.rules[:1].log().unbind(2)
    return {"rule": torch.stack([right, left.mT], 1), "unary": scores, "root": rules.root.log()}


def nbl_rules(fixture: Fixture, rules: Any, scores: Tensor) -> dict[str, Tensor]:
    """The rules of NBL-PCFG by the names of the fixture."""
    rank = rules.head_child.shape[1]
    new_child = scores[:, :, None, :rank, None] + rules.new_child.permute(1, 2, 0).log()
    root = scores[..., rank:] + rules.root.log()
    return {"head": rules.heads.log(), "inherent": rules.head_child.log(), "noninherent": new_child, "root": root}


def tn_rules(fixture: Fixture, rules: Any, scores: Tensor) -> dict[str, Tensor]:
    """The rules of TN-PCFG by the names of the fixture."""
    factors = {"head": rules.parent, "left": rules.left.t(), "right": rules.right.t()}
    factors = factors if is_shared(fixture) else {key: value.log() for key, value in factors.items()}
    return {**factors, "unary": scores, "root": rules.root.log()}


GRAMMARS = {  # prefix of the fixtures -> model, its rules, and the name of the marginals of arcs
    "nlpcfg": (nl_pcfg, nl_rules, "arc_marginal_exact"),
    "nblpcfg": (nbl_pcfg, nbl_rules, "arc_marginal"),
    "tnpcfg_": (tn_pcfg, tn_rules, ""),
}


@pytest.mark.parametrize("name", [item for prefix in GRAMMARS for item in fixtures(prefix)])
def test_rules_loss_trees_and_heads(name: str) -> None:
    fixture = load(name)
    make, rules_of, arcs = next(entry for prefix, entry in GRAMMARS.items() if name.startswith(prefix))
    model, named = make(fixture)
    tokens = sentences(fixture).tokens
    tables = model.tables(tokens)
    fixture.check_all(rules_of(fixture, tables.rules, emitted(tables, tokens)))
    check_grammar(model, fixture, named, arcs)


def focused(fixture: Fixture) -> Copied:
    """The model of a fixture of Park and Kim (2024) with its weights."""
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
    model, named = focused(fixture)
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
