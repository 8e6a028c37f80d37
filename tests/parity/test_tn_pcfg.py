"""TN-PCFG computes what both released programs compute: rules, log partition, gradients, marginals and trees."""

from __future__ import annotations

from typing import Any

import pytest
from torch import Tensor

from induce.models.grammars.grammar import emitted
from induce.models.grammars.tn_pcfg import TnPcfg, TnPcfgConfig
from tests.support.grammar_weights import Layers, check_grammar, fixture_sizes, sentences, with_weights
from tests.support.reference import Fixture, fixtures, load

pytestmark = pytest.mark.usefixtures("double")


def is_shared(fixture: Fixture) -> bool:
    return "weight/rank_proj" in fixture.arrays


def grammar(fixture: Fixture) -> tuple[TnPcfg, dict[str, Tensor]]:
    """The model of a fixture with its weights, and its parameters under their original names."""
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
        fixture.arrays["weight/rank_proj"] = fixture.arrays["weight/rank_proj"].T
        fixture.arrays["grad/rank_proj"] = fixture.arrays["grad/rank_proj"].T
        named["rank_proj"] = model.projections[0].weight
    return model, with_weights(model, fixture, named, parts)


@pytest.mark.parametrize("name", fixtures("tnpcfg_"))
def test_rules_loss_and_trees(name: str) -> None:
    fixture = load(name)
    model, named = grammar(fixture)
    batch = sentences(fixture)
    tables = model.tables(batch.tokens)
    rules = tables.rules
    factors = {"head": rules.parent, "left": rules.left.t(), "right": rules.right.t()}
    for key, value in factors.items():
        fixture.check(key, value if is_shared(fixture) else value.log())
    fixture.check("root", rules.root.log())
    fixture.check("unary", emitted(tables, batch.tokens))
    check_grammar(model, fixture, named)
