"""The chart parser: loss, distillation from trees, and punctuation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from induce.data.batches import FragmentBatch, SentenceBatch, SpanTargetBatch
from induce.data.corpus import read_corpora
from induce.models.base import Query
from induce.models.distilled.student import ChartConfig, ChartParser
from induce.structures import SpanScores
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

TINY = ChartConfig(embedding_size=8, hidden_size=6, span_size=5, dropout=0.0, unknown_rate=0.0)


def batch_of(count: int, rows: int = 3) -> SpanTargetBatch:
    """Sentences of random words whose trees branch to the left."""
    tokens = torch.tensor(np.random.RandomState(1).randint(2, 12, (rows, count)))
    spans = torch.zeros(rows, count, count + 1)
    spans[:, 0, 2:] = 1
    return SpanTargetBatch(tokens, torch.full((rows,), count), torch.zeros_like(tokens), spans)


def test_loss_is_the_cross_entropy_of_each_inner_span() -> None:
    torch.manual_seed(0)
    model, batch = ChartParser(TINY, 12).double().eval(), batch_of(4)
    batch.spans[:, 0, 3] = 0.25
    batch = SpanTargetBatch(batch.tokens, batch.lengths, batch.gaps, batch.spans.double())
    loss = model.loss(batch)
    with torch.inference_mode():
        probability = model.structure(batch, Query(SpanScores)).score
    nats = 0.0
    for row in range(3):
        for start, end in [(0, 2), (0, 3), (1, 3), (1, 4), (2, 4)]:
            share, chance = batch.spans[row, start, end].item(), probability[row, start, end].item()
            nats -= share * math.log(chance) + (1 - share) * math.log(1 - chance)
    assert loss.count == 12
    assert loss.nll.item() == pytest.approx(nats / 12, abs=1e-9)


def test_punctuation_between_words_changes_scores() -> None:
    model, batch = ChartParser(TINY, 12).eval(), batch_of(4)
    cut = FragmentBatch(batch.tokens, batch.lengths, torch.tensor([[0, 0, 1, 0]] * 3))
    with torch.inference_mode():
        whole = model.structure(SentenceBatch(batch.tokens, batch.lengths), Query(SpanScores)).score
        same = model.structure(batch, Query(SpanScores)).score
        other = model.structure(cut, Query(SpanScores)).score
    assert torch.equal(whole, same)
    assert not torch.allclose(whole[:, 0, 2], other[:, 0, 2])
    assert torch.equal(whole[:, 1, 4], other[:, 1, 4])  # neither end is next to the comma


def test_targets_are_shares_of_the_reference_trees() -> None:
    words = ("a", "b", ",", "c", "d")
    left = Tree.from_spans(words, [(0, 2), (0, 4), (0, 5)])
    right = Tree.from_spans(words, [(0, 5), (1, 5), (3, 5)])
    corpus, held_out = read_corpora(
        [Sentence(words)] * 4, "words", development_share=0.5, references=lambda text: ([left, right] for _ in text)
    )
    for text_part in (corpus, held_out):
        references = text_part.encode(corpus.vocabulary(20, 1)).references
        shares = references.shares(np.array([1, 0]), 4)
        targets = {(int(i), int(j)): float(shares[0, i, j]) for i, j in zip(*shares[0].nonzero(), strict=True)}
        assert targets == {(0, 2): 0.5, (0, 3): 0.5, (0, 4): 1.0, (1, 4): 0.5, (2, 4): 0.5}
        assert (shares[0] == shares[1]).all()
        assert references.weights(np.array([0]), 4, 0.25)[0, 1].tolist() == [0.25, 0.25, 0.25, 0.25, 1.0]
