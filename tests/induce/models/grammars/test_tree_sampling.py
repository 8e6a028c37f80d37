"""Drawn trees have the probabilities of the grammar, and their spans and heads its marginals."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from induce.data.batches import SentenceBatch
from induce.models.base import Query
from induce.models.grammars import tree_sampling
from induce.models.grammars.tree_sampling import DrawnTree, Sampler
from induce.structures import HeadDistribution, SpanScores
from tests.induce.models.grammars.test_grammar import WORDS, model
from treebank.core.sentence import ROOT

DRAWS = 600
DEVIATIONS = 5  # standard deviations that a count may be off


def draws(kind: str, count: int = DRAWS) -> list[DrawnTree]:
    """Trees of at most three words among ``count`` draws."""
    sampler = Sampler(model(kind), torch.Generator().manual_seed(1))
    return [tree for tree in (sampler.draw(3) for _ in range(count)) if tree is not None]


@pytest.mark.parametrize("kind", ["npcfg", "simple-pcfg", "tn-pcfg", "nl-pcfg", "nbl-pcfg"])
def test_drawn_trees_have_the_probabilities_of_the_grammar(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frequencies of sentences of two words, and of the spans and heads in sentences of three words."""
    monkeypatch.setattr(
        tree_sampling, "BOUNDARY_INDEX", slice(0, 0)
    )  # no word is left out, so that probabilities are exact
    grammar, trees = model(kind), draws(kind)
    grid = torch.cartesian_prod(torch.arange(WORDS), torch.arange(WORDS))
    with torch.no_grad():
        probabilities = grammar.log_probability(SentenceBatch(grid, torch.full((len(grid),), 2))).exp().tolist()
    counts = Counter(tuple(tree.words) for tree in trees)
    for words, p in zip(grid.tolist(), probabilities, strict=True):
        assert abs(counts[tuple(words)] - DRAWS * p) <= DEVIATIONS * math.sqrt(DRAWS * p) + 1

    long = [tree for tree in trees if len(tree.words) == 3]
    assert len(long) > 30
    batch = SentenceBatch(torch.tensor([tree.words for tree in long]), torch.full((len(long),), 3))
    with torch.no_grad():
        spans = grammar.structure(batch, Query(SpanScores)).score.sum(0)
    for start, end in ((0, 2), (1, 3), (0, 3)):
        number = sum((start, end) in [(i, j) for i, j, _ in tree.spans] for tree in long)
        assert abs(number - spans[start, end].item()) <= DEVIATIONS * math.sqrt(len(long)) / 2
    if HeadDistribution not in grammar.gives:
        assert not any(tree.heads for tree in long)
        return
    heads = grammar.structure(batch, Query(HeadDistribution)).probability.sum(0)
    for word in range(3):
        for head in range(3):
            number = sum(tree.heads[word] == (ROOT if head == word else head) for tree in long)
            assert abs(number - heads[word, head].item()) <= DEVIATIONS * math.sqrt(len(long)) / 2


def test_boundary_token_is_not_drawn_and_each_sentence_of_a_compound_grammar_has_its_own_rules() -> None:
    trees = draws("cpcfg", 60)
    assert not any(0 in tree.words for tree in trees)
    assert draws("cpcfg", 60) == trees
    sampler = Sampler(model("cpcfg"), torch.Generator().manual_seed(1))
    before = sampler.tables.rules.root
    sampler.draw(3)
    assert not torch.equal(sampler.tables.rules.root, before)
