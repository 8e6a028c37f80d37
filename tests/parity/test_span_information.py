"""Rewards of spans, and the distribution over trees that learns from them, equal those of SemInfo's program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from induce.distillation.span_information import longest_matches, match_counts, span_rewards
from induce.layers.tree_crf import TreeCrf, span_marginals
from induce.models.grammars.rules import crf_scores
from tests.support.reference import Fixture, fixtures, load

pytestmark = pytest.mark.usefixtures("double")


def cases(fixture: Fixture) -> list[tuple[str, dict[str, Any]]]:
    """Prefix of the arrays of each sentence, and what is expected of it."""
    return [(f"s{k}/", row) for k, row in enumerate(fixture.doc["expected"]["rows"])]


@pytest.mark.parametrize("name", fixtures("seminfo"))
def test_rewards_are_those_of_matching_characters(name: str) -> None:
    fixture = load(name)
    corpus = [tuple(sentence.split()) for sentence in fixture.doc["expected"]["corpus"]]
    rows = {tuple(row["sentence"]): (prefix, row) for prefix, row in cases(fixture)}
    assert rows.keys() <= set(corpus)
    paraphrases = [
        [tuple(other) for other in rows[words][1]["paraphrases"]] if words in rows else [] for words in corpus
    ]
    for words, rewards in zip(corpus, span_rewards(corpus, paraphrases, by_characters=True), strict=True):
        if words not in rows:
            continue
        prefix, row = rows[words]
        counts = match_counts(words, [tuple(other) for other in row["paraphrases"]], by_characters=True)
        limited = {span: numbers[1] for span, numbers in row["counts"].items() if isinstance(numbers, list)}
        assert {f"{i},{j}": count for (i, j), count in counts.items()} == {key: n for key, n in limited.items() if n}
        table = np.zeros((len(words) + 1, len(words) + 1))
        table[tuple(np.array(rewards.spans).T)] = rewards.values
        size = len(fixture.arrays[f"{prefix}reward"])
        fixture.check(f"{prefix}reward", table[:size, :size])


@pytest.mark.parametrize("name", fixtures("seminfo"))
def test_distribution_over_trees(name: str) -> None:
    fixture = load(name)
    for prefix, row in cases(fixture):
        count = len(row["sentence"])
        marginal, reward = (fixture.tensor(f"{prefix}{key}")[:count, : count + 1] for key in ("marginal", "reward"))
        scores = crf_scores(marginal[None])
        crf = TreeCrf(scores)
        alpha = torch.zeros(count + 1, count + 1)
        for width in range(2, count + 1):
            alpha.diagonal(width).copy_(crf.inside[width][0])
        fixture.check(f"{prefix}alpha", alpha)
        fixture.check(f"{prefix}entropy", crf.entropy[0])
        fixture.check(f"{prefix}expected_reward", (span_marginals(scores)[0] * reward).sum())
        spans, log_probability = greedy_tree(crf, count)
        expected = {(start, end) for start, end in row["greedy_spans"] if end - start > 1}
        assert {(start, end) for start, end in spans if end - start > 1} == expected
        fixture.check(f"{prefix}greedy_logprob", log_probability)
        fixture.check(f"{prefix}greedy_reward", sum(reward[i, j] for i, j in spans if j - i > 1))
        tree = torch.zeros(1, 1, count, count + 1, dtype=torch.bool)
        tree[0, 0][tuple(torch.tensor(spans).t())] = True
        fixture.check(f"{prefix}greedy_logprob", crf.log_probability(tree)[0, 0])


def greedy_tree(crf: TreeCrf, count: int) -> tuple[list[tuple[int, int]], float]:
    """Spans of the tree of the most probable split of each span, from the top, and its log-probability."""
    spans, total, waiting = [], 0.0, [(0, count)]
    while waiting:
        start, end = waiting.pop()
        spans.append((start, end))
        if end - start > 1:
            splits = crf.log_splits[end - start][0, start]
            middle = start + 1 + int(splits.argmax())
            total += float(splits.max())
            waiting += [(start, middle), (middle, end)]
    return spans, total


def test_words_match_whole_words() -> None:
    words, other = ("he", "is", "in", "a", "town"), ("she", "is", "in", "a", "town", "he", "is")
    assert list(longest_matches(words, other)) == [(0, 2), (1, 5)]
    assert list(longest_matches(words, other, by_characters=True)) == [(0, 4), (1, 5)]
    assert list(longest_matches(("a", "b", "c"), ("x", "a", "b", "c"))) == [(0, 2), (1, 3)]
    assert not list(longest_matches(("a", "b"), ("a", "b", "c")))
