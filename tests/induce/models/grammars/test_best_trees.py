"""The best labelled trees against all labelled trees."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch

from tests.induce.models.grammars.test_rules import KINDS, S, grammar, labelled_trees, of_sentence, words
from tests.support.binary_trees import all_brackets


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
