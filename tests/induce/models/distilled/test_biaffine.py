"""The biaffine parser: loss, distillation from heads, and endings."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from induce.data.batches import HeadSupervisedBatch
from induce.data.corpus import read_corpora
from induce.models.base import Context
from induce.models.distilled.array_student import BUCKETS
from induce.models.distilled.student import Biaffine, BiaffineConfig, head_loss, some_unknown
from tests.support.tiny import with_chains
from treebank.core.sentence import Sentence

TINY = BiaffineConfig(embedding_size=8, hidden_size=6, arc_size=5, dropout=0.0, unknown_rate=0.0)


def batch_of(*lengths: int) -> HeadSupervisedBatch:
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
    corpus, _ = read_corpora(text, "cased")
    encoded = corpus.encode(corpus.vocabulary(100, 1))
    model = Biaffine(TINY, len(encoded.vocabulary))
    model.prepare(encoded, Context())
    walking, talking, cats, dogs = (encoded.vocabulary.id(word) for word in ("walking", "talking", "cats", "dogs"))
    assert (model.reader.ending[walking] == model.reader.ending[talking]).all()
    assert model.reader.ending[cats][0] == model.reader.ending[dogs][0] != model.reader.ending[walking][0]
    assert (model.reader.ending[cats][1:] != model.reader.ending[dogs][1:]).all()
    assert model.reader.ending.max() < BUCKETS


def test_words_become_unknown_at_random_only_in_training() -> None:
    batch = batch_of(6, 4)
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
    corpus, _ = read_corpora(text, "words", references=with_chains)
    encoded = corpus.encode(corpus.vocabulary(100, 1))
    squares = encoded.head_references.heads(np.array([1, 0]), encoded.lengths[[1, 0]], 3)
    assert squares.shape == (2, 3, 3)
    assert squares[0, 2].tolist() == squares[0, :, 2].tolist() == [0, 0, 0]
    np.testing.assert_allclose(squares[1].sum(1), 1, atol=1e-3)
    assert squares[1, 1].argmax() == 2  # dogs <- bark
    # the head of the first word is the comma, which is removed
    assert squares[1, 0].tolist() == pytest.approx([1 / 3] * 3, abs=1e-3)
