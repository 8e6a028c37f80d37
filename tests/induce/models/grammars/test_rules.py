"""The inside kernels against all trees, and against plain loops over logarithms."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from induce.models.grammars.npcfg import FullRules
from induce.models.grammars.rules import Rules
from induce.models.grammars.simple_pcfg import SimpleRules
from induce.models.grammars.tn_pcfg import FlooredRankRules, RankRules
from tests.support.binary_trees import all_brackets
from tests.support.twins import inside as inside_plain
from tests.toys.toy_rules import RankRules as ToyRules
from treebank.base.errors import SynparseError

KINDS = ("full", "simple", "rank", "toy")
RANKED = {"rank": RankRules, "toy": ToyRules, "floored": FlooredRankRules}
S, T = 2, 3


def grammar(kind: str, seed: int = 0, *, batch: tuple[int, ...] = ()) -> Rules:
    """Random rules in float64, with one grammar per sentence if ``batch`` is given."""
    draw = torch.Generator().manual_seed(seed)

    def table(*shape: int) -> Tensor:
        return torch.randn(*batch, *shape, generator=draw, dtype=torch.float64)

    root = table(S).softmax(-1)
    if kind in RANKED:
        left, right = (table(2, S + T).softmax(-1) for _ in range(2))
        return RANKED[kind](root, table(S, 2).softmax(-1), left, right)
    if kind == "full":
        return FullRules(root, table(S, (S + T) ** 2).softmax(-1).view(*batch, S, S + T, S + T))
    return SimpleRules(root, table(S, S + T).softmax(-1), table(S, S + T).softmax(-1))


def words(batch: int, count: int, seed: int = 1) -> Tensor:
    """Random log emissions (B, N, T)."""
    return 2 * torch.randn(batch, count, T, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) - 3


def of_sentence(rules: Rules, k: int) -> Rules:
    return type(rules)(*(part[k] for part in rules))


def labelled_trees(
    symbol: int, start: int, end: int, table: list[list[list[float]]], emissions: list[list[float]]
) -> list[tuple[float, tuple]]:
    """Probability and spans (start, end, symbol) of every tree over the words with ``symbol`` (of M) at its top."""
    if (end - start == 1) != (symbol >= S):
        return []
    if symbol >= S:
        return [(emissions[start][symbol - S], ())]
    result = []
    for middle in range(start + 1, end):
        below = [labelled_trees(child, start, middle, table, emissions) for child in range(S + T)]
        siblings = [labelled_trees(child, middle, end, table, emissions) for child in range(S + T)]
        for left, right in product(range(S + T), range(S + T)):
            rule = table[symbol][left][right]
            pairs = product(below[left], siblings[right])
            result += [(rule * p * q, ((start, end, symbol), *x, *y)) for (p, x), (q, y) in pairs]
    return result


def span_marginals(rules: Rules, emissions: Tensor, **options: Any) -> tuple[Tensor, Tensor]:
    """log Z (B,) and P(span i, j | sentence) (B, N, N + 1) for spans of two or more words, 0 elsewhere."""
    log_z, shares = rules.symbol_marginals(emissions, **options)
    batch, count, _ = emissions.shape
    marginals = emissions.new_zeros(batch, count, count + 1)
    for width in range(2, count + 1):
        marginals.diagonal(width, 1, 2).copy_(shares[width].sum(-1).t())
    return log_z, marginals


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_equals_the_sum_over_all_labelled_trees(kind: str, count: int) -> None:
    rules, emissions = grammar(kind), words(1, count)
    table, probabilities = rules.table().tolist(), emissions[0].exp().tolist()
    trees = [
        (rules.root[top].item() * p, spans)
        for top in range(S)
        for p, spans in labelled_trees(top, 0, count, table, probabilities)
    ]
    total = sum(p for p, _ in trees)
    log_z, marginals = span_marginals(rules, emissions)
    _, by_width = rules.symbol_marginals(emissions)
    assert log_z.item() == pytest.approx(math.log(total), abs=1e-12)
    for start in range(count):
        for end in range(count + 1):
            shares = [sum(p for p, spans in trees if (start, end, symbol) in spans) / total for symbol in range(S)]
            assert marginals[0, start, end].item() == pytest.approx(sum(shares), abs=1e-12)
            if end - start >= 2:
                assert by_width[end - start][start, 0].tolist() == pytest.approx(shares, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("separate", [False, True], ids=["shared", "own-grammars"])
@pytest.mark.parametrize("count", [2, 3, 4, 9])
def test_equals_plain_loops(kind: str, weighted: bool, separate: bool, count: int) -> None:
    batch = 3
    rules, emissions = grammar(kind, batch=(batch,) if separate else ()), words(batch, count)
    leaves = [emissions.requires_grad_(), *(part.requires_grad_() for part in rules)]
    draw = torch.Generator().manual_seed(3)
    weights = torch.rand(batch, count, count + 1, generator=draw, dtype=torch.float64) if weighted else None
    pull = torch.tensor([0.7, -1.2, 2.0], dtype=torch.float64)
    plain = torch.stack([
        inside_plain.log_partition(
            emissions[k], of_sentence(rules, k) if separate else rules, weights=None if weights is None else weights[k]
        )
        for k in range(batch)
    ])  # fmt: skip
    fast = rules.log_partition(emissions, weights=weights, growth=0.4)
    assert torch.allclose(fast, plain, rtol=0, atol=1e-10)
    expected = torch.autograd.grad((plain * pull).sum(), leaves)
    got = torch.autograd.grad((fast * pull).sum(), leaves)
    for actual, other in zip(got, expected, strict=True):
        assert torch.allclose(actual, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_marginals_are_gradients_at_the_logarithms_of_weights(kind: str) -> None:
    rules, emissions = grammar(kind), words(2, 7)
    weights = torch.rand(2, 7, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(5)) + 0.1
    weights.requires_grad_()
    plain = torch.stack([inside_plain.log_partition(emissions[k], rules, weights=weights[k]) for k in range(2)])
    (expected,) = torch.autograd.grad(plain.sum(), weights)
    log_z, marginals = span_marginals(rules, emissions, weights=weights.detach())
    assert torch.allclose(log_z, plain, rtol=0, atol=1e-10)
    assert torch.allclose(marginals, expected * weights, rtol=0, atol=1e-10)
    assert torch.allclose(marginals.sum((1, 2)), torch.full((2,), 6.0, dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("growth", [-30.0, 0.0, 30.0])
def test_any_growth_gives_the_same_result(kind: str, growth: float) -> None:
    rules = type(grammar(kind))(*(part.float() for part in grammar(kind)))
    emissions = words(2, 90).float()
    emissions[:, 40:60] -= 80.0
    emissions.requires_grad_()
    log_z = rules.log_partition(emissions, growth=growth)
    exact = inside_plain.log_partition(emissions[0, 35:55].detach().double(), grammar(kind))
    part, _ = span_marginals(rules, emissions[:, 35:55].detach(), growth=growth)
    assert part[0].item() == pytest.approx(exact.item(), rel=1e-5)
    (gradient,) = torch.autograd.grad(log_z.sum(), emissions)
    assert torch.allclose(gradient.sum((1, 2)), torch.tensor([90.0, 90.0]), rtol=1e-4)


@pytest.mark.parametrize("kind", ["full", "simple", "rank"])
def test_400_words(kind: str) -> None:
    rules = type(grammar(kind))(*(part.float() for part in grammar(kind)))
    log_z, marginals = span_marginals(rules, words(1, 400).float(), growth=0.5)
    assert -1e5 < log_z.item() < 0
    assert marginals.sum().item() == pytest.approx(399, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_sentence_without_tree_has_probability_zero(kind: str) -> None:
    nothing = torch.zeros(1, 4, 5, dtype=torch.float64)
    log_z, marginals = span_marginals(grammar(kind), words(1, 4), weights=nothing)
    assert log_z.item() == -math.inf
    assert not marginals.any()


@pytest.mark.parametrize("separate", [False, True], ids=["shared", "own-grammars"])
def test_floors_change_little_and_keep_gradients_and_marginals_consistent(separate: bool) -> None:
    """The marginals of spans are the gradients at their weights, with floors as well."""
    exact, floored = (grammar(kind, batch=(2,) if separate else ()) for kind in ("rank", "floored"))
    emissions = words(2, 6)
    weights = torch.ones(2, 6, 7, dtype=torch.float64, requires_grad=True)
    log_z = floored.log_partition(emissions, weights=weights)
    log_exact, _ = span_marginals(exact, emissions)
    difference = log_z.detach() - log_exact
    assert difference.min().item() > 1e-12
    assert difference.max().item() < 1e-6
    (gradient,) = torch.autograd.grad(log_z.sum(), weights)
    _, marginals = span_marginals(floored, emissions)
    assert torch.allclose(marginals, gradient, rtol=0, atol=1e-12)


def test_table_of_many_symbols_is_refused() -> None:
    rules = RankRules(*(torch.ones(shape) for shape in ((1000,), (1000, 1), (1, 2000), (1, 2000))))
    with pytest.raises(SynparseError, match="4,000,000,000 rules, more than 100,000,000; use --decoder mbr"):
        rules.maxima()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("separate", [False, True], ids=["shared", "own-grammars"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_best_trees_equal_the_best_of_all_labeled_trees(kind: str, separate: bool, count: int) -> None:
    rules, emissions = grammar(kind, batch=(2,) if separate else ()), words(2, count)
    best_spans = rules.best_trees(emissions)
    for k in range(2):
        sentence_rules = of_sentence(rules, k) if separate else rules
        table, probabilities = sentence_rules.table().tolist(), emissions[k].exp().tolist()
        trees = [
            (sentence_rules.root[top].item() * p, spans)
            for top in range(S)
            for p, spans in labelled_trees(top, 0, count, table, probabilities)
        ]
        best = max(p for p, _ in trees)
        shapes = {tuple(sorted(spans)) for p, spans in trees if p > best * (1 - 1e-9)}
        assert tuple(sorted(best_spans[k])) in shapes
        assert _probability(best_spans[k], sentence_rules, table, emissions[k]) == pytest.approx(best)


def _probability(spans: list, rules: object, table: list, emissions: torch.Tensor) -> float:
    """Probability of the labeled tree with the best preterminals."""
    label = {(start, end): nonterminal for start, end, nonterminal in spans}

    def best(start: int, end: int) -> list[float]:
        if end - start == 1:
            return [0.0] * S + emissions[start].exp().tolist()
        middle = next(k for k in range(start + 1, end) if _is_node(start, k, label) and _is_node(k, end, label))
        left, right = best(start, middle), best(middle, end)
        row = table[label[start, end]]
        ways = max(row[b][c] * left[b] * right[c] for b in range(len(left)) for c in range(len(right)))
        return [ways if symbol == label[start, end] else 0.0 for symbol in range(len(left))]

    count = max(end for _, end, _ in spans)
    return rules.root[label[0, count]].item() * best(0, count)[label[0, count]]


def _is_node(start: int, end: int, label: dict[tuple[int, int], int]) -> bool:
    return end - start == 1 or (start, end) in label


@pytest.mark.parametrize("kind", KINDS)
def test_long_sentences_need_no_recursion(kind: str) -> None:
    (spans,) = grammar(kind).best_trees(words(1, 60))
    assert len(spans) == 59
    assert spans[0][:2] == (0, 60)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("count", "k"), [(2, 1), (3, 4), (4, 10), (6, 25)])
def test_k_best_trees_equal_enumeration(kind: str, count: int, k: int) -> None:
    rules, emissions = grammar(kind, seed=count, batch=(1,)), words(1, count)
    alone, table = of_sentence(rules, 0), of_sentence(rules, 0).table().tolist()
    probabilities = []
    for spans in all_brackets(0, count):
        for labels in product(range(S), repeat=count - 1):
            labelled = [(*span, label) for span, label in zip(spans, labels, strict=True)]
            probabilities.append(_probability(labelled, alone, table, emissions[0]))
    for ranked in (rules.k_best_trees(emissions, k)[0], alone.k_best_trees(emissions, k)[0]):
        logs = [log for log, _ in ranked]
        expected = sorted(map(math.log, probabilities), reverse=True)[:k]
        assert logs == pytest.approx(expected)
        assert len({tuple(sorted(spans)) for _, spans in ranked}) == len(expected)
        for log, spans in ranked:
            assert math.log(_probability(spans, alone, table, emissions[0])) == pytest.approx(log)
    assert sorted(ranked[0][1]) == sorted(rules.best_trees(emissions)[0])
