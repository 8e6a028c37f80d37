"""Constituents from the words at the edges of segments.

A *segment* is a maximal sequence of words without punctuation between them. Words that often end segments often end
constituents, and words that never end one, such as articles, do not. All counts come from one pass over the text. See
docs/reference/models/segment-edges.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from induce.data.batches import Batch, FragmentBatch
from induce.data.corpus import EncodedCorpus
from induce.data.punctuation import (
    BEGIN,
    END,
    SMALLEST,
    SegmentEdgesConfig,
    edge_shares,
    pair_cohesion,
    span_log_weights,
)
from induce.models.base import Context, FitStep, FittedModel, Loss, Query
from induce.models.em.ccm import TABLE, UNUSED, blocks_of_one_length, bracket_counts
from induce.structures import SpanScores, Structure

LONGEST = 1000  # words of a sentence whose tables fit into a gigabyte


class SegmentEdges(FittedModel):
    """Distribution over binary trees whose spans begin and end with words that begin and end segments.

    ``shares`` (2, V): share of the occurrences of each word that begin, and end, a segment. ``means`` (2,): of all
    words. ``pairs`` (P,): keys of pairs of words, ascending, padded with `UNUSED`. ``cohesion`` (P,): of these pairs
    (`pair_cohesion`).
    """

    Config: ClassVar[type] = SegmentEdgesConfig
    reads: ClassVar[tuple[type[Batch], ...]] = (FragmentBatch,)
    gives: ClassVar[tuple[type[Structure], ...]] = (SpanScores,)
    max_length: ClassVar[int | None] = LONGEST
    shares: Tensor
    means: Tensor
    pairs: Tensor
    cohesion: Tensor

    def __init__(self, config: SegmentEdgesConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("shares", torch.full((2, vocabulary_size), 0.5, dtype=torch.float64))
        self.register_buffer("means", torch.full((2,), 0.5, dtype=torch.float64))
        self.register_buffer("pairs", torch.full((config.pairs,), UNUSED))
        self.register_buffer("cohesion", torch.zeros(config.pairs, dtype=torch.float64))

    def fit(self, corpus: EncodedCorpus, start: int, context: Context) -> Iterator[FitStep]:
        """Count the words that begin segments in the first step, and those that end segments in the second."""
        ids, edges = corpus.words_at_edges()
        shares, means = map(torch.from_numpy, edge_shares(ids, edges, self.shares.shape[1], self.config.smoothing))
        keys, values = map(torch.from_numpy, pair_cohesion(ids, edges, self.shares.shape[1], self.config.pairs))
        self.pairs[: len(keys)], self.cohesion[: len(keys)] = keys, values
        count = 2 * len(ids)
        for side in (BEGIN, END)[start:]:
            nats = sum(_nats(self.shares[k].cpu().numpy()[ids], edges[k]) for k in (BEGIN, END))
            self.shares[side], self.means[side] = shares[side], means[side]
            yield FitStep(done=side + 1, total=2, nll=nats / max(1, count), count=count, check=side == END)

    def loss(self, batch: FragmentBatch, state: object = None) -> Loss:
        """Mean negative log-likelihood of the edges of segments: whether each word begins one, and whether it ends one.

        This is not a probability of the words.
        """
        real, edges = self._edges(batch)
        total = 0.0
        for side, at_edge in zip((BEGIN, END), (edges[:, :-1], edges[:, 1:]), strict=True):
            shares = self.shares[side][batch.tokens[real]].cpu().numpy()
            total += _nats(shares, at_edge[real].cpu().numpy())
        count = 2 * batch.token_count
        nll = torch.tensor(total / max(1, count), dtype=torch.float64)
        return Loss(nll, nll, count)

    def structure(self, batch: FragmentBatch, query: Query) -> Structure:  # type: ignore[override]
        """Probability (B, N, N + 1) of each span. Raises SentenceTooLong above ``max_length`` words."""
        self.check_lengths(batch)
        weights = self.log_weights(batch, query.right_probability)
        score = torch.zeros(weights.shape, dtype=torch.float64, device=batch.tokens.device)
        for rows, count in blocks_of_one_length(batch.lengths.cpu().numpy()):
            table = weights[rows, :count, : count + 1].transpose(1, 2, 0)
            probabilities = torch.from_numpy(bracket_counts(table).probability).permute(2, 0, 1)
            score[rows, :count, : count + 1] = probabilities.to(score)
        return SpanScores(score, batch.lengths)

    def log_weights(self, batch: FragmentBatch, right_probability: float) -> np.ndarray:
        """Log weight (B, N, N + 1) of each span (`span_log_weights`)."""
        _, edges = self._edges(batch)
        frequencies = (self.shares / self.means.clamp(min=SMALLEST)[:, None])[:, batch.tokens].cpu().numpy()
        gaps = edges.cpu().numpy()
        tokens, pairs = batch.tokens.cpu().numpy(), self.pairs.cpu().numpy()
        keys = tokens[:, :-1] * self.shares.shape[1] + tokens[:, 1:]
        indices = np.minimum(np.searchsorted(pairs, keys), len(pairs) - 1)
        cohesion = np.zeros(gaps.shape)  # of the words around each gap, 0 at the edges of segments
        cohesion[:, 1:-1] = np.where(pairs[indices] == keys, self.cohesion.cpu().numpy()[indices], 0)
        cohesion = np.where(gaps, 0, cohesion)
        return span_log_weights(frequencies, gaps, right_probability, self.config, cohesion)

    @staticmethod
    def _edges(batch: FragmentBatch) -> tuple[Tensor, Tensor]:
        """Whether there is a word at each position (B, N), and the edge of a segment at each gap (B, N + 1)."""
        gaps = torch.arange(batch.tokens.shape[1] + 1, device=batch.tokens.device)
        lengths = batch.lengths.to(batch.tokens.device)[:, None]
        edges = (gaps == 0) | (gaps == lengths)
        fragments = batch.fragments
        edges[:, 1:-1] |= (fragments[:, 1:] != fragments[:, :-1]) & (gaps[1:-1] < lengths)
        return gaps[:-1] < lengths, edges

    def parsing_cost(self, length: int) -> float:
        """Quadratic in the length, in units in which a full batch fills the tables."""
        return float(4096 * max(length, 4) ** 2 / TABLE)


def _nats(shares: np.ndarray, at_edge: np.ndarray) -> float:
    """Sum of the negative logs of the probabilities of ``at_edge``, given the probabilities ``shares`` of true."""
    chosen = np.where(at_edge, shares, 1 - shares)
    return float(-np.log(np.maximum(chosen, 1e-12)).sum())
