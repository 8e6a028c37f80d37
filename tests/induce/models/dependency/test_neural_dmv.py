"""Neural dependency models: initial trees, sums over trees with siblings and k best trees against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from induce.data.corpus import EncodedCorpus
from induce.models.base import Context, Query
from induce.models.dependency.ndmv_factorized import NdmvSibling, NdmvSiblingConfig
from induce.models.dependency.neural_dmv import k_best_trees
from induce.models.dependency.outward_sums import RuleScores, best_heads, log_total, tree_arcs
from induce.structures import Heads
from tests.support.dependency_trees import children, projective_trees
from tests.support.tiny import encoded, sentences, with_chains
from treebank.core.sentence import ROOT


def corpus_of(*, with_heads: bool) -> EncodedCorpus:
    """A text, with a chain of heads for each sentence if ``with_heads`` is true."""
    return encoded(sentences(60), "words", minimum_count=1, references=with_chains if with_heads else None)


@pytest.mark.parametrize(("with_heads", "expected"), [(False, {5}), (True, {5, 6})])
def test_heads_of_a_teacher_are_learned_from_longer_sentences(with_heads: bool, expected: set[int]) -> None:
    corpus = corpus_of(with_heads=with_heads)
    model = NdmvSibling(NdmvSiblingConfig(classes=4, start_length=5, teacher_length=6), len(corpus.vocabulary))
    assert {len(heads) for _, rows in model._initial_trees(corpus) for heads in rows} == expected


def test_model_gives_the_heads_of_its_teacher_before_the_first_step() -> None:
    corpus = corpus_of(with_heads=True)
    torch.manual_seed(0)
    config = NdmvSiblingConfig(classes=4, start_epochs=60, teacher_rate=0.01)
    model = NdmvSibling(config, len(corpus.vocabulary))
    model.prepare(corpus, Context())
    batch = corpus.sentences(np.arange(4))
    expected = [[*range(1, length), ROOT] for length in batch.lengths.tolist()]
    assert model.structure(batch, Query(Heads)).heads == expected


def test_batches_of_long_initial_trees_are_small() -> None:
    model = NdmvSibling(NdmvSiblingConfig(start_sentences=256), 100)
    assert [model._sentences_per_batch(length) for length in (5, 10, 40, 200)] == [256, 256, 31, 1]


def random_scores(batch: int, count: int, siblings: int) -> RuleScores:
    draw = torch.Generator().manual_seed(count)
    shapes = (batch, count, count, siblings, 2), (batch, count, siblings, 2, 2, 2), (batch, count)
    return RuleScores(*(torch.randn(shape, generator=draw, dtype=torch.float64) for shape in shapes))


def score_by_definition(scores: RuleScores, sentence: int, heads: tuple[int, ...]) -> Tensor:
    """Sum over rules: dependents from the outermost inwards, the first with valence 1 and no sibling, then a stop."""
    attach, decision, root = (table[sentence] for table in scores)
    with_siblings = attach.shape[2] > 1
    total = root[heads.index(ROOT)]
    for word in range(len(heads)):
        for side in (0, 1):
            before, direction = 0, 1 - side
            for child in reversed(children(heads, word, side)):
                valence, sibling = int(before == 0), before if with_siblings else 0
                total = total + attach[word, child, sibling, valence] + decision[word, sibling, direction, valence, 0]
                before = child + 1
            total = total + decision[word, before if with_siblings else 0, direction, int(before == 0), 1]
    return total


@pytest.mark.parametrize("with_siblings", [False, True])
def test_sums_and_best_trees_equal_enumeration(with_siblings: bool) -> None:
    for count in range(1, 7):
        padded = count + 1  # the first sentence is one word longer than the second
        lengths = torch.tensor([padded, count] if padded < 7 else [count, count])
        width = int(lengths.max())
        scores = random_scores(2, width, width + 1 if with_siblings else 1)
        totals, best = log_total(scores, lengths), log_total(scores, lengths, best=True)
        sums, heads = tree_arcs(scores, lengths), best_heads(scores, lengths)
        for sentence, length in enumerate(lengths.tolist()):
            trees = projective_trees(length)
            values = torch.stack([score_by_definition(scores, sentence, tree) for tree in trees])
            torch.testing.assert_close(totals[sentence], values.logsumexp(0))
            torch.testing.assert_close(best[sentence], values.max())
            assert tuple(heads[sentence, :length].tolist()) == trees[int(values.argmax())]
            expected = torch.zeros(width, width, dtype=torch.float64)
            for tree, share in zip(trees, values.softmax(0), strict=True):
                for child, head in enumerate(tree):
                    expected[head if head != ROOT else child, child] += share
            torch.testing.assert_close(sums.arcs[sentence] + sums.root[sentence].diag(), expected)


@pytest.mark.parametrize("with_siblings", [False, True])
def test_k_best_trees_equal_enumeration(with_siblings: bool) -> None:
    lengths = torch.tensor([6, 3, 1])
    scores = random_scores(3, 6, 7 if with_siblings else 1)
    for sentence, ranked in enumerate(k_best_trees(scores, lengths, 25)):
        trees = projective_trees(int(lengths[sentence]))
        pairs = [(float(score_by_definition(scores, sentence, tree)), tree) for tree in trees]
        pairs.sort(key=lambda pair: -pair[0])
        assert [tree for _, tree in ranked] == [tree for _, tree in pairs[:25]]
        assert [score for score, _ in ranked] == pytest.approx([score for score, _ in pairs[:25]])
