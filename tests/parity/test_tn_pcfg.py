"""TN-PCFG computes what both released programs compute: rules, log partition, gradients, marginals and trees."""

from __future__ import annotations

import pytest
from torch import Tensor

from induce.models.grammars.grammar import emitted
from induce.models.grammars.rank_rules import RankRules
from induce.models.grammars.tn_pcfg import TnPcfg, TnPcfgConfig
from tests.support.grammar_weights import check_loss, check_spans, give_weights, layer_names, sentences
from tests.support.reference import Fixture, fixtures, load

pytestmark = pytest.mark.usefixtures("double")


def is_shared(fixture: Fixture) -> bool:
    return "weight/rank_proj" in fixture.arrays


def grammar(fixture: Fixture) -> tuple[TnPcfg, dict[str, Tensor]]:
    """The model of a fixture with its weights, and its parameters under their original names."""
    sizes = fixture.sizes
    config = TnPcfgConfig(
        nonterminals=sizes["nonterminals"],
        preterminals=sizes["preterminals"],
        rank=sizes["rank"],
        embedding_size=sizes["state_dim"],
        factors="shared" if is_shared(fixture) else "separate",
        floors=is_shared(fixture),
    )
    model = TnPcfg(config, sizes["vocab"]).eval()
    named = {"root_emb": model.start, "rule_state_emb": model.symbols}
    named |= layer_names("root_mlp", model.root) | layer_names("term_mlp", model.words)
    for k, name in enumerate(("parent", "left", "right")):
        named |= layer_names(f"{name}_mlp.0", getattr(model, name))
        if not is_shared(fixture):
            named |= layer_names(f"{name}_mlp.2", model.projections[k])
    if model.preterminal is not None:
        named["term_emb"] = model.preterminal
    else:
        fixture.arrays["weight/rank_proj"] = fixture.arrays["weight/rank_proj"].T
        fixture.arrays["grad/rank_proj"] = fixture.arrays["grad/rank_proj"].T
        named["rank_proj"] = model.projections[0].weight
    give_weights(model, fixture, named)
    return model, named


@pytest.mark.parametrize("name", fixtures("tnpcfg_"))
def test_rules(name: str) -> None:
    fixture = load(name)
    model, _ = grammar(fixture)
    batch = sentences(fixture)
    tables = model.tables(batch.tokens)
    rules = tables.rules
    assert isinstance(rules, RankRules)
    factors = {"head": rules.parent, "left": rules.left.t(), "right": rules.right.t()}
    for key, value in factors.items():
        fixture.check(key, value if is_shared(fixture) else value.log())
    fixture.check("root", rules.root.log())
    fixture.check("unary", emitted(tables, batch.tokens))


@pytest.mark.parametrize("name", fixtures("tnpcfg_"))
def test_loss_and_trees(name: str) -> None:
    fixture = load(name)
    model, named = grammar(fixture)
    batch = sentences(fixture)
    check_spans(model, batch, fixture)
    check_loss(model, batch, fixture, named)
