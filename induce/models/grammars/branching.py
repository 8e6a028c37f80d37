"""What punctuation tells of the shape of trees, without any tree: which words end constituents, which spans are likely.

A stretch is what stands between two punctuation marks, or between one and an edge of the sentence.
Shapes: B sentences, N words, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from induce.data.punctuation import bracketed, joined

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

CROSSING = 3.0  # what a span loses that crosses brackets, beside 1 for those that they enclose
ENDS_INSIDE = 2 / 3  # what a span that ends inside a later stretch loses, beside 1 for what others gain
RARE = 10.0  # mean words that each word is counted with, so that rare ones are near the mean


def word_edges(corpus: EncodedCorpus, size: int) -> Tensor:
    """How often each word of a vocabulary of ``size`` begins a stretch between punctuation marks, and how often it ends
    one (2, V): of its places, over the same share of all words. `RARE` mean words are added to each."""
    words = corpus.ids != 0
    after_mark = np.concatenate([[True], ~words[:-1]])
    begins = words & (after_mark | corpus.breaks)
    ends = words & np.concatenate([~words[1:] | corpus.breaks[1:], [True]])
    places = np.bincount(corpus.ids[words], minlength=size)
    rows = []
    for edge in (begins, ends):
        mean = edge.sum() / max(1, words.sum())
        found = np.bincount(corpus.ids[edge], minlength=size)
        rows.append((found + RARE * mean) / (places + RARE) / max(mean, 1e-9))
    return torch.from_numpy(np.stack(rows))


def shape(fragments: Tensor) -> Tensor:
    """How a tree that branches to the right and keeps to punctuation likes each span (B, N, N + 1).

    ``fragments`` (B, N): the stretch between punctuation marks that each word is in. A span that goes on to the end of
    the sentence gains 1, one that goes on to the end of the stretch that it starts in gains 1 (the last stretch: 2),
    and one that ends inside a later stretch loses `ENDS_INSIDE`.
    """
    count = fragments.shape[1]
    closed = begin_of_stretch(fragments)[:, None] & (torch.arange(count + 1, device=fragments.device) > 0)
    first, final = fragments[:, :, None], fragments[:, None].gather(2, _last_words(fragments))
    same = first == final
    whole = torch.zeros(count + 1, device=fragments.device).index_fill_(0, torch.tensor([count]), 1.0)
    return whole + (same & closed).float() - ENDS_INSIDE * (~same & ~closed).float()


def mark_votes(gaps: Tensor, lengths: Tensor) -> Tensor:
    """What the marks in each gap say of spans (B, N, N + 1); ``gaps`` (B, N) are those of `induce.data.punctuation`.

    A span that brackets enclose, or whose words are joined, gains 1. One that crosses such a span loses `CROSSING`, and
    so does one that begins with brackets and goes on behind them: an aside belongs to what stands before it.
    """
    votes = torch.zeros(*gaps.shape, gaps.shape[1] + 1)
    at, end = torch.arange(gaps.shape[1])[:, None], torch.arange(gaps.shape[1] + 1)
    for row, sentence, length in zip(votes, gaps.tolist(), lengths.tolist(), strict=True):
        asides = bracketed(sentence[:length])
        for i, j in {*asides, *joined(sentence[:length])}:
            if 1 < j - i < length:
                row[i, j] += 1
                row -= CROSSING * (((at < i) & (end > i) & (end < j)) | ((at > i) & (at < j) & (end > j)))
        for i, j in asides:
            row[i, j + 1 :] -= CROSSING * (i > 0)
    return votes.to(gaps.device)


def begin_of_stretch(fragments: Tensor) -> Tensor:
    """Whether a stretch begins at each word (B, N + 1), or has ended before it; true at the end of the sentence."""
    edge = fragments.new_ones(len(fragments), 1, dtype=torch.bool)
    return torch.cat([edge, fragments[:, 1:] != fragments[:, :-1], edge], 1)


def _last_words(fragments: Tensor) -> Tensor:
    """The index (B, 1, N + 1) of the last word of the spans that end before word j."""
    count = fragments.shape[1]
    places = (torch.arange(count + 1, device=fragments.device) - 1).clamp_min(0)
    return places.expand(len(fragments), 1, -1)
