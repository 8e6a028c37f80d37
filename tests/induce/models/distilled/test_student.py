"""The distilled parsers: losses, distillation from trees and heads, punctuation and endings."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from induce.data.batches import FragmentBatch, HeadSupervisedBatch, SentenceBatch, SpanTargetBatch
from induce.data.corpus import read_corpora
from induce.models.base import Context, Query
from induce.models.distilled.array_student import BUCKETS
from induce.models.distilled.student import Biaffine, BiaffineConfig, ChartConfig, ChartParser, head_loss, some_unknown
from induce.structures import SpanScores
from tests.support.tiny import encoded, with_chains
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


TINY_BIAFFINE = BiaffineConfig(embedding_size=8, hidden_size=6, arc_size=5, dropout=0.0, unknown_rate=0.0)


def batch_with_heads(*lengths: int) -> HeadSupervisedBatch:
    """Sentences of random words in which the head of each word is the next word."""
    draw = np.random.RandomState(1)
    longest = max(lengths)
    tokens, heads = torch.zeros(len(lengths), longest, dtype=torch.int64), torch.zeros(len(lengths), longest, longest)
    for row, count in enumerate(lengths):
        tokens[row, :count] = torch.tensor(draw.randint(2, 12, count))
        for word in range(count):
            heads[row, word, min(word + 1, count - 1)] = 1
    uniforms = torch.tensor(draw.rand(len(lengths), longest))
    return HeadSupervisedBatch(tokens, torch.tensor(lengths), uniforms, heads)


def test_loss_is_the_cross_entropy_of_nonzero_rows() -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 3, 3, dtype=torch.float64)
    scores[1, :, 2] = -math.inf  # padding
    heads = torch.tensor([[[0.5, 0.5, 0], [0, 0, 0], [0, 0.25, 0.75]], [[0, 1, 0], [1, 0, 0], [0, 0, 0]]]).double()
    total, count = 0.0, 0
    for square, target in zip(scores.tolist(), heads.tolist(), strict=True):
        for row, shares in zip(square, target, strict=True):
            if sum(shares):
                log_sum = math.log(sum(math.exp(score) for score in row))
                total -= sum(share * (score - log_sum) for share, score in zip(shares, row, strict=True) if share)
                count += 1
    mean, rows = head_loss(scores, heads)
    assert rows == count == 4
    assert mean.item() == pytest.approx(total / count, abs=1e-12)


def test_words_with_equal_endings_share_ending_features() -> None:
    text = [Sentence(("walking", "talking", "cats")), Sentence(("dogs", "walking"))]
    corpus = encoded(text, minimum_count=1)
    model = Biaffine(TINY_BIAFFINE, len(corpus.vocabulary))
    model.prepare(corpus, Context())
    walking, talking, cats, dogs = (corpus.vocabulary.id(word) for word in ("walking", "talking", "cats", "dogs"))
    assert (model.reader.ending[walking] == model.reader.ending[talking]).all()
    assert model.reader.ending[cats][0] == model.reader.ending[dogs][0] != model.reader.ending[walking][0]
    assert (model.reader.ending[cats][1:] != model.reader.ending[dogs][1:]).all()
    assert model.reader.ending.max() < BUCKETS


def test_words_become_unknown_at_random_only_in_training() -> None:
    batch = batch_with_heads(6, 4)
    noisy = some_unknown(batch.tokens, batch.uniforms, 0.5)
    real = batch.tokens > 0
    assert (noisy[real] == 1).eq(batch.uniforms[real] < 0.5).all()
    assert (noisy[~real] == 0).all()
    model = Biaffine(BiaffineConfig(embedding_size=8, hidden_size=6, arc_size=5, dropout=0.0, unknown_rate=0.9), 12)
    trained, scored = model.loss(batch), model.eval().loss(batch)
    assert trained.nll != scored.nll
    assert scored.count == 10


def test_reference_heads_are_squares_without_punctuation() -> None:
    text = [Sentence(("Yes", ",", "dogs", "bark", ".")), Sentence(("Cats", "sleep"))]
    corpus = encoded(text, "words", minimum_count=1, references=with_chains)
    squares = corpus.head_references.heads(np.array([1, 0]), corpus.lengths[[1, 0]], 3)
    assert squares.shape == (2, 3, 3)
    assert squares[0, 2].tolist() == squares[0, :, 2].tolist() == [0, 0, 0]
    np.testing.assert_allclose(squares[1].sum(1), 1, atol=1e-3)
    assert squares[1, 1].argmax() == 2  # dogs <- bark
    # the head of the first word is the comma, which is removed
    assert squares[1, 0].tolist() == pytest.approx([1 / 3] * 3, abs=1e-3)
