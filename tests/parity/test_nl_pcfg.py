"""NL-PCFG computes what the released program computes: rules, log partition, gradients, marginals, trees and heads."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from induce.models.grammars.grammar import GrammarConfig, emitted
from induce.models.grammars.lexicalized_pcfg import NlPcfg
from tests.support.grammar_weights import check_grammar, fixture_sizes, sentences, with_weights
from tests.support.reference import Fixture, fixtures, load

pytestmark = pytest.mark.usefixtures("double")


def grammar(fixture: Fixture) -> tuple[NlPcfg, dict[str, Tensor]]:
    """The model of a fixture with its weights, and its parameters under their original names."""
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


@pytest.mark.parametrize("name", fixtures("nlpcfg"))
def test_rules_loss_trees_and_heads(name: str) -> None:
    fixture = load(name)
    model, named = grammar(fixture)
    batch = sentences(fixture)
    tables = model.tables(batch.tokens)
    rules = tables.rules
    left, right = rules.rules[:1].log().unbind(2)
    fixture.check("rule", torch.stack([right, left.mT], 1))
    fixture.check("unary", emitted(tables, batch.tokens))
    fixture.check("root", rules.root.log())
    check_grammar(model, fixture, named, "arc_marginal_exact")
