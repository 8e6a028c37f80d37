"""NBL-PCFG computes what the released program computes: rules, log partition, gradients, marginals, trees and heads."""

from __future__ import annotations

import pytest
from torch import Tensor

from induce.models.grammars.grammar import emitted
from induce.models.grammars.lexicalized_pcfg import NblPcfg, NblPcfgConfig
from tests.support.grammar_weights import check_grammar, fixture_sizes, sentences, with_weights
from tests.support.reference import Fixture, fixtures, load

pytestmark = pytest.mark.usefixtures("double")


def grammar(fixture: Fixture) -> tuple[NblPcfg, dict[str, Tensor]]:
    """The model of a fixture with its weights, and its parameters under their original names."""
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


@pytest.mark.parametrize("name", fixtures("nblpcfg"))
def test_rules_loss_trees_and_heads(name: str) -> None:
    fixture = load(name)
    model, named = grammar(fixture)
    batch = sentences(fixture)
    tables = model.tables(batch.tokens)
    rules, scores = tables.rules, emitted(tables, batch.tokens)
    fixture.check("head", rules.heads.log())
    fixture.check("inherent", rules.head_child.log())
    rank = model.config.rank
    fixture.check("noninherent", scores[:, :, None, :rank, None] + rules.new_child.permute(1, 2, 0).log())
    fixture.check("root", scores[..., rank:] + rules.root.log())
    check_grammar(model, fixture, named, "arc_marginal")
