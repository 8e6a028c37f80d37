"""How text is cut into what a training step learns from."""

from __future__ import annotations

import numpy as np
import torch

from induce.config import TrainConfig
from induce.data.batching import Piece, Sentences, Stream, segments

TEXT = torch.tensor([5, 3, 0, 4, 0, 0, 7, 7, 8, 0, 9, 2, 0])  # four sentences, and one without a word


def rows(piece: Piece) -> list[tuple[list[int], list[int]]]:
    """Input and targets of each sentence, as far as they are counted."""
    assert piece.counted is not None
    found = []
    for k in range(piece.tokens.shape[1]):
        counted = piece.counted[:, k]
        found.append((piece.tokens[counted, k].tolist(), piece.targets[counted, k].tolist()))
    return found


def test_sentences_stand_between_marks_and_predict_the_mark_behind_them() -> None:
    feed = Sentences(TEXT, TrainConfig(), batch_size=3, device="cpu")
    first, last = feed.check()
    assert rows(first) == [([0, 5, 3], [5, 3, 0]), ([0, 4], [4, 0]), ([0, 7, 7, 8], [7, 7, 8, 0])]
    assert first.tokens.shape == (5, 3)  # the mark behind a sentence is read, as in the program
    assert (first.words, first.rows, first.factor) == (9, 9, 1.0)
    assert rows(last) == [([0, 9, 2], [9, 2, 0])]


def test_training_leaves_out_the_last_sentences_that_fill_no_batch_and_goes_on_anywhere() -> None:
    feed = Sentences(TEXT, TrainConfig(), batch_size=2, device="cpu")
    assert [piece.after for piece in feed.pieces(None, 0)] == [1, 2]
    assert [piece.after for piece in feed.pieces(None, 1)] == [2]
    assert [piece.after for piece in Sentences(TEXT, TrainConfig(), batch_size=3, device="cpu").pieces(None, 0)] == [1]
    assert [piece.after for piece in Sentences(TEXT, TrainConfig(), batch_size=9, device="cpu").pieces(None, 0)] == [1]
    assert [feed.share(start) for start in (0, 1, 2)] == [0, 0.5, 1]


def test_batches_of_like_length_hold_every_sentence_and_little_padding() -> None:
    draw = np.random.RandomState(0)
    sentences = [[*draw.randint(1, 50, draw.randint(1, 9))] for _ in range(200)]
    text = torch.tensor([word for sentence in sentences for word in (*sentence, 0)])
    feed = Sentences(text, TrainConfig(alike=True), batch_size=7, device="cpu")
    pieces = list(feed.pieces(None, 0))
    found = [[token for token in one[1] if token] for piece in pieces for one in rows(piece)]
    assert sorted(found) == sorted(sentences)
    assert found != sorted(found, key=len)
    assert sum(piece.tokens.numel() for piece in pieces) < 1.1 * (len(text) + 2 * len(sentences))
    again = list(Sentences(text, TrainConfig(alike=True), batch_size=7, device="cpu").pieces(None, 11))
    assert all(torch.equal(one.tokens, other.tokens) for one, other in zip(again, pieces[11:], strict=True))


def test_segments_of_one_length_draw_nothing() -> None:
    assert [(one.start, one.rows) for one in segments(None, 4, 11, vary=False)] == [(0, 4), (4, 4), (8, 2)]


def test_a_stream_is_read_from_top_to_bottom() -> None:
    text = torch.arange(1, 121)
    for vary in (True, False):
        config = TrainConfig(segment_length=7, vary_segments=vary)
        feed = Stream(text, config, batch_size=3, device="cpu")
        pieces = list(feed.pieces(np.random.RandomState(0), 0))
        assert torch.cat([piece.tokens for piece in pieces])[:, 1].tolist() == list(range(41, 80))
        assert all(torch.equal(piece.targets, piece.tokens + 1) for piece in pieces)
        assert sum(piece.words for piece in pieces) == 3 * 39
        assert feed.share(pieces[-1].after) == 1.0
