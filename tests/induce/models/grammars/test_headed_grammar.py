"""Lexicalized grammars against all labeled trees with heads, and against their own scaling."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor

from induce.models.grammars.headed_grammar import HeadedRules
from induce.models.grammars.lexicalized_pcfg import BilexicalRules, LexicalRules
from tests.induce.models.grammars.test_rules import span_marginals
from tests.support.binary_trees import all_brackets

KINDS = ["bilexical", "lexical"]
S, T, R = 2, 2, 3
M = S + T


def grammar(kind: str, count: int, *, seed: int = 0) -> tuple[HeadedRules, Tensor]:
    """Random rules for two sentences of ``count`` words, and log scores of their words, in float64."""
    draw = torch.Generator().manual_seed(seed)

    def table(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    root, none = table(S).softmax(-1), torch.zeros(0, dtype=torch.float64)
    if kind == "lexical":
        rules = table(2, count, S, 2 * M * M).softmax(-1).view(2, count, S, 2, M, M).transpose(2, 3)
        return LexicalRules(root, none, rules), table(2, count, M) - 2
    heads, head_child, new = table(2, count, S, R).softmax(-1), table(M, R).softmax(0), table(2, M, R).flatten(0, 1)
    return BilexicalRules(root, none, heads, head_child, new.softmax(0).view(2, M, R)), table(2, count, R + S) - 2


def rule(rules: HeadedRules, scores: Tensor, k: int, p: int, q: int) -> Tensor:
    """p(A[p] -> X[p] Y[q], side) (2, S, M, M) with the score of word q, in sentence k, the side of Y first."""
    if isinstance(rules, LexicalRules):
        return rules.rules[k, p] * scores[k, q].exp()
    words = scores[k, q, :R].exp()
    return torch.einsum("ar,xr,dyr,r->daxy", rules.heads[k, p], rules.head_child, rules.new_child, words)


def headed_tree(
    rules: HeadedRules, scores: Tensor, k: int, span: tuple[int, int], split: dict[tuple[int, int], int]
) -> dict[tuple[int, tuple[tuple[int, int], ...]], Tensor]:
    """Inside probabilities (M,) of one tree, whose spans end at ``split``, for each assignment of heads.

    A key is the head of the span and the arcs (head, dependent) below it.
    """
    start, end = span
    if end - start == 1:
        return {(start, ()): torch.tensor([0.0] * S + [1.0] * T, dtype=torch.float64)}
    parts = [headed_tree(rules, scores, k, part, split) for part in ((start, split[span]), (split[span], end))]
    result = {}
    for (left, right), head_is_left in product(product(*(part.items() for part in parts)), (True, False)):
        ((p, above), x), ((q, below), y) = (left, right) if head_is_left else (right, left)
        value = torch.einsum("axy,x,y->a", rule(rules, scores, k, p, q)[int(head_is_left)], x, y)
        result[p, (*above, *below, (p, q))] = torch.cat([value, torch.zeros(T, dtype=torch.float64)])
    return result


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 4, 6])
def test_equals_the_sum_over_all_trees_and_heads(kind: str, count: int) -> None:
    """For six words, one of the two sentences."""
    rules, scores = grammar(kind, count)
    top = scores[..., :S] if kind == "lexical" else scores[..., R:]
    log_z, spans = span_marginals(rules, scores)
    heads = rules.head_marginals(scores)
    for k in range(1 if count == 6 else 2):
        total, expected_spans, expected_heads = 0.0, torch.zeros_like(spans[k]), torch.zeros_like(heads[k])
        for tree in all_brackets(0, count):
            split = {(i, j): next(m for m in range(i + 1, j) if _are_parts(tree, i, m, j)) for i, j in tree}
            for (root, arcs), inside in headed_tree(rules, scores, k, (0, count), split).items():
                p = float((inside[:S] * rules.root * top[k, root].exp()).sum())
                total += p
                expected_spans[tuple(zip(*tree, strict=True))] += p
                expected_heads[root, root] += p
                for head, dependent in arcs:
                    expected_heads[dependent, head] += p
        assert log_z[k].exp().item() == pytest.approx(total, rel=1e-12)
        torch.testing.assert_close(spans[k], expected_spans / total, rtol=0, atol=1e-12)
        torch.testing.assert_close(heads[k], expected_heads / total, rtol=0, atol=1e-12)


def _are_parts(tree: tuple[tuple[int, int], ...], start: int, middle: int, end: int) -> bool:
    return all(j - i == 1 or (i, j) in tree for i, j in ((start, middle), (middle, end)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("growth", [-30.0, 30.0])
def test_any_growth_gives_the_same_result(kind: str, growth: float) -> None:
    """In float32, with words whose scores are far apart."""
    rules, scores = grammar(kind, 12)
    scores[:, 4:7] -= 80.0
    single = type(rules)(*(part.float() for part in rules))
    log_z, spans = span_marginals(rules, scores)
    heads = rules.head_marginals(scores)
    log_single, spans_single = span_marginals(single, scores.float(), growth=growth)
    torch.testing.assert_close(log_single.double(), log_z, rtol=1e-5, atol=0)
    torch.testing.assert_close(spans_single.double(), spans, rtol=0, atol=1e-4)
    torch.testing.assert_close(single.head_marginals(scores.float(), growth=growth).double(), heads, rtol=0, atol=1e-4)
    torch.testing.assert_close(heads.sum(2), torch.ones(2, 12, dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_spans(kind: str) -> None:
    """Marginals are gradients at the logarithms of weights, and a sentence without a tree has probability 0."""
    rules, scores = grammar(kind, 6)
    weights = torch.rand(2, 6, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(5)) + 0.1
    weights.requires_grad_()
    log_z = rules.log_partition(scores, weights=weights, growth=0.7)
    (gradient,) = torch.autograd.grad(log_z.sum(), weights)
    _, marginals = span_marginals(rules, scores, weights=weights.detach())
    torch.testing.assert_close(marginals, gradient * weights.detach(), rtol=0, atol=1e-10)
    assert rules.log_partition(scores, weights=0 * weights.detach()).tolist() == [-torch.inf] * 2
