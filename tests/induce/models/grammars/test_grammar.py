"""Base class of the neural grammars: sentences of any length, mixed batches, the scale of charts, drawn trees."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
import torch

from induce.data.batches import FragmentBatch, SentenceBatch
from induce.data.punctuation import MEAN_WORDS, word_edges
from induce.decoding.chart import mbr
from induce.layers import masks
from induce.models.base import Query, make_model
from induce.models.grammars import grammar as grammar_module
from induce.models.grammars import tree_sampling
from induce.models.grammars.tree_sampling import DrawnTree, Sampler
from induce.structures import Brackets, HeadDistribution, SpanScores
from tests.support.tiny import encoded_ids, random_batch, settings
from treebank.core.sentence import ROOT

WORDS = 7


def model(kind: str) -> Any:
    """An untrained model over `WORDS` words, in evaluation mode."""
    torch.manual_seed(1)
    changes = ["model.factors=shared"] if kind == "tn-pcfg" else []
    return make_model(settings(kind, *changes), WORDS).eval()


def batch(*lengths: int) -> SentenceBatch:
    plain = random_batch(WORDS, *lengths)
    return SentenceBatch(plain.tokens, plain.lengths)


@pytest.mark.parametrize("kind", ["npcfg", "simple-pcfg", "tn-pcfg", "nl-pcfg", "nbl-pcfg"])
def test_probabilities_of_one_length_sum_to_at_most_one(kind: str) -> None:
    """The sum is 1 for sentences of one word, and at most 1 for sentences of two words."""
    for length in (1, 2):
        grid = torch.cartesian_prod(*[torch.arange(WORDS)] * length).view(-1, length)
        total = model(kind).log_probability(SentenceBatch(grid, torch.full((len(grid),), length))).exp().sum()
        assert total.item() <= 1 + 1e-5
        assert length > 1 or total.item() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("kind", ["npcfg", "cpcfg", "simple-pcfg", "tn-pcfg", "nl-pcfg", "nbl-pcfg"])
def test_batch_loss_equals_the_loss_of_single_sentences(kind: str) -> None:
    grammar, mixed = model(kind), batch(5, 1, 3, 5)
    alone = [grammar.log_probability(mixed.select(torch.tensor([k]))) for k in range(4)]
    assert grammar.log_probability(mixed).tolist() == pytest.approx(torch.cat(alone).tolist(), rel=1e-5)
    loss = grammar.loss(mixed)
    assert loss.count == 14
    assert loss.nll.item() == pytest.approx(-torch.cat(alone).sum().item() / 14, rel=1e-5)


@pytest.mark.parametrize("kind", ["npcfg", "cpcfg", "simple-pcfg", "tn-pcfg", "diora", "s-diora"])
def test_sentences_of_every_length_get_trees(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences of more than 4 words are parsed in pieces, which are joined from the right."""
    for module in (masks, grammar_module):
        monkeypatch.setattr(module, "LONGEST_PIECE", 4)
    chart, sentences = model(kind), batch(1, 2, 4, 9)
    with torch.no_grad():
        scores, trees = (chart.structure(sentences, Query(type_)).rows() for type_ in (SpanScores, Brackets))
    for count, score, spans in zip((1, 2, 4, 9), scores, trees, strict=True):
        assert len(mbr(score)) == len({(start, end) for start, end, *_ in spans}) == count - 1
        assert score.sum() == pytest.approx(count - 1, rel=1e-4)  # every tree has as many brackets
        assert "diora" in kind or all(label.startswith("NT") for _, _, label in spans)
    assert {(3, 9), (6, 9)} <= set(mbr(scores[3])) & {(start, end) for start, end, *_ in trees[3]}


def test_chart_scale_follows_training() -> None:
    grammar = model("npcfg").train()
    for _ in range(60):
        before = float(grammar.growth)
        grammar.loss(batch(6, 6))
    assert float(grammar.growth) != 0
    assert float(grammar.growth) == pytest.approx(before, abs=1e-2)
    assert math.isfinite(before)


def test_symbols_are_counted_at_segment_edges() -> None:
    """Both inner spans of three words, in segments of one and two words, begin at a segment start."""
    grammar, plain = model("npcfg").train(), batch(3)
    grammar.loss(FragmentBatch(plain.tokens, plain.lengths, torch.tensor([[0, 1, 0]])))
    with torch.no_grad():
        marginals = grammar.eval().structure(plain, Query(SpanScores)).rows()[0]
    first, second = marginals[0, 2], marginals[1, 3]  # both begin at a segment start, one ends at a segment end
    assert first + second == pytest.approx(1, abs=1e-5)
    begins, ends = grammar.edges.sum(1).tolist()
    assert begins == pytest.approx(grammar_module.COUNTED_MEMORY * 1, rel=1e-4)
    assert ends == pytest.approx(grammar_module.COUNTED_MEMORY * second, rel=1e-4)


def test_words_are_counted_at_segment_edges() -> None:
    """In `2 3, 2 | 3 2`, word 2 begins and ends two of three segments, and word 3 begins and ends one."""
    corpus = encoded_ids([2, 3, 2, 0, 3, 2, 0], dropped=(2, 3))  # the final mark of a sentence may be dropped, too
    begins, ends = word_edges(*corpus.words_at_edges(), 5)
    mean, rare = 3 / 5, MEAN_WORDS
    assert begins.tolist() == pytest.approx(
        [1, 1, (2 + rare * mean) / (3 + rare) / mean, (1 + rare * mean) / (2 + rare) / mean, 1]
    )
    assert ends.tolist() == pytest.approx(begins.tolist())
    assert begins[2] > 1 > begins[3]


def test_batch_that_needs_double_precision_has_trees() -> None:
    grammar, sentence = model("npcfg"), batch(5, 60)
    with torch.no_grad():
        expected = grammar.structure(sentence, Query(SpanScores)).score
        grammar.growth.fill_(30.0)  # far from the cost of these rules, so that sums overflow in float32
        torch.testing.assert_close(grammar.structure(sentence, Query(SpanScores)).score, expected, rtol=0, atol=1e-4)


def test_symbol_probabilities_sum_to_span_probabilities() -> None:
    grammar = model("npcfg")
    with torch.no_grad():
        scores = grammar.structure(batch(1, 4, 5), Query(SpanScores, symbols=True))
    torch.testing.assert_close(scores.symbols.sum(-1), scores.score)
    rows = scores.symbol_rows()
    assert [row.shape for row in rows] == [(1, 2, 4), (4, 5, 4), (5, 6, 4)]


def test_shared_grammar_is_computed_once_for_each_state_of_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar, calls = model("npcfg"), list[int]()
    compute = grammar.tables
    monkeypatch.setattr(grammar, "tables", lambda tokens: calls.append(1) or compute(tokens))
    query, text = Query(SpanScores), batch(5, 3, 4)

    @torch.inference_mode()
    def scores() -> torch.Tensor:
        return torch.as_tensor(grammar.structure(text, query).score)

    first = scores()
    assert torch.equal(scores(), first)
    assert len(calls) == 1
    with torch.no_grad():
        grammar.start += 1
        grammar.nonterminal *= 2
    changed = scores()
    assert len(calls) == 2
    assert not torch.allclose(changed, first)
    fresh = model("npcfg")
    fresh.load_state_dict(grammar.state_dict())
    with torch.inference_mode():
        assert torch.equal(torch.as_tensor(fresh.structure(text, query).score), changed)


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
