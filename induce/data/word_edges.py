"""Edges of the segments between punctuation marks, and the words that occur there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from induce.setting import limited, setting

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

Array = np.ndarray

BEGIN, END = 0, 1  # rows of the tables below
MEAN_WORDS = 3.0  # occurrences of an average word added to the counts of each word, which smooths rare words
SMALLEST = 1e-9  # relative frequency, so that its log is finite


@dataclass(frozen=True, kw_only=True)
class SegmentEdgesConfig:
    """Weights of the tree distribution, for right-branching text: see `span_log_weights`."""

    end: float = setting(1.1, at_least=-10, at_most=10, help="weight of the last word of a span as the end of segments")
    begin: float = setting(
        0.3, at_least=-10, at_most=10, help="weight of the first word of a span as the beginning of segments"
    )
    length: float = setting(0.5, at_least=-10, at_most=10, help="cost of the logarithm of the length of a span")
    pair: float = setting(1.0, at_least=-10, at_most=10, help="gain of a span of two words")
    cohesion: float = setting(
        0.3, at_least=-10, at_most=10, help="cost of the mutual information of the two words around an edge of a span"
    )
    limit: float = setting(
        1.5,
        at_least=0,
        at_most=100,
        help="log of the relative frequency at the edge of a segment, and the largest one elsewhere",
    )
    smoothing: float = setting(
        MEAN_WORDS, at_least=1e-3, at_most=1e6, help="average words added to the counts of each word"
    )
    pairs: int = limited(100_000, 1, 1e8, "maximum pairs of words whose mutual information is stored")


def words_at_edges(corpus: EncodedCorpus) -> tuple[Array, Array]:
    """The running words of a corpus (T,), and whether each begins, and ends, a segment (2, T)."""
    words = corpus.ids != 0
    begins = np.concatenate([[True], ~words[:-1]]) | corpus.breaks
    ends = np.concatenate([~words[1:] | corpus.breaks[1:], [True]])
    return corpus.ids[words], np.stack([begins[words], ends[words]])


def edge_shares(ids: Array, edges: Array, size: int, smoothing: float = MEAN_WORDS) -> tuple[Array, Array]:
    """Share of the occurrences of each word that are at an edge (2, V), and the mean of all words (2,).

    ``ids`` (T,) and ``edges`` (2, T) are those of `words_at_edges`, and ``size`` is V. ``smoothing`` occurrences of an
    average word are added to the counts of each word.
    """
    occurrences = np.bincount(ids, minlength=size)
    means = edges.sum(1) / max(1, len(ids))
    counts = np.stack([np.bincount(ids[edge], minlength=size) for edge in edges])
    return (counts + smoothing * means[:, None]) / (occurrences + smoothing), means


def pair_cohesion(ids: Array, edges: Array, size: int, most: int) -> tuple[Array, Array]:
    """The ``most`` pairs of words with the largest positive cohesion: their keys, ascending, and cohesion (P,).

    ``ids`` (T,) and ``edges`` (2, T) are those of `words_at_edges`. The cohesion of two words is their pointwise mutual
    information, in nats, as neighbors in a segment: log((c + 1) / (m + 1)), where the second word follows the first c
    times, and m times are expected from the frequencies of both. The key of words v and w is v ``size`` + w.
    """
    inside = ~edges[END, :-1]  # pairs that no punctuation separates
    first, second = (words[inside].astype(np.int64) for words in (ids[:-1], ids[1:]))
    keys, counts = np.unique(first * size + second, return_counts=True)
    totals = np.bincount(first, minlength=size), np.bincount(second, minlength=size)
    expected = totals[0][keys // size] / max(1, len(first)) * totals[1][keys % size]
    cohesion = np.log((counts + 1) / (expected + 1))
    chosen = np.sort(np.argsort(-cohesion, kind="stable")[: min(most, int((cohesion > 0).sum()))])
    return keys[chosen], cohesion[chosen]


def word_edges(corpus: EncodedCorpus, size: int) -> Array:
    """Relative frequency (2, V) of each word of a vocabulary of ``size`` at the beginning, and end, of segments.

    A value is the smoothed share of the word's occurrences at the edge, divided by that share for all words.
    """
    shares, means = edge_shares(*words_at_edges(corpus), size)
    relative: Array = shares / np.maximum(means, SMALLEST)[:, None]
    return relative


def span_log_weights(
    frequencies: Array, edges: Array, right: float, config: SegmentEdgesConfig, cohesion: Array | None = None
) -> Array:
    """Log weight (B, N, N + 1) of each span. The log weight of a tree is the sum over its spans.

    ``frequencies`` (2, B, N): the relative frequency with which each word begins, and ends, a segment. ``edges``
    (B, N + 1): whether a gap is the edge of a segment. ``right``: probability that the text branches to the right.
    ``cohesion`` (B, N + 1): of the two words around each gap, 0 at the edges of segments (`pair_cohesion`).

    For a span (i, j) of text that branches to the right, with e(g) the log of the frequency with which the word before
    gap g ends a segment, and b(g) that with which the word after it begins one, both at most ``limit``, and equal to it
    at the edges of segments, and c(g) the cohesion:

        end e(j) + begin b(i) - length log(j - i) + pair [j - i = 2] - cohesion (c(i) + c(j))

    Text that branches to the left has the mirror image. Both are averaged, weighted by their probabilities.
    """
    count = edges.shape[1] - 1
    words = np.minimum(np.log(np.maximum(frequencies, SMALLEST)), config.limit)
    edge = np.full((len(edges), 1), config.limit)
    begins = np.where(edges, config.limit, np.concatenate([words[BEGIN], edge], 1))  # (B, N + 1): of each gap
    ends = np.where(edges, config.limit, np.concatenate([edge, words[END]], 1))
    at_end = (right * config.end + (1 - right) * config.begin) * ends
    at_start = (right * config.begin + (1 - right) * config.end) * begins
    if cohesion is not None:
        at_end, at_start = at_end - config.cohesion * cohesion, at_start - config.cohesion * cohesion
    width = np.arange(count + 1) - np.arange(count)[:, None]
    fixed = config.pair * (width == 2) - config.length * np.log(np.maximum(width, 1))
    weights: Array = at_start[:, :-1, None] + at_end[:, None, :] + fixed
    return weights
