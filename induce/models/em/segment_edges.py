"""Constituents from the words at the edges of segments.

A *segment* is a maximal sequence of words without punctuation between them. Words that often end segments often end
constituents, and words that never end one, such as articles, do not. All counts come from one pass over the text. See
docs/reference/models/segment-edges.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor

from induce.data.batches import Batch, FragmentBatch
from induce.data.segment_edges import BEGIN, END, edge_shares, words_at_edges
from induce.models.base import FitStep, FittedModel, Loss, Query
from induce.models.em.bracket_sums import bracket_counts
from induce.models.em.ccm import TABLE, blocks_of_one_length
from induce.setting import setting
from induce.structures import SpanScores, Structure

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

LONGEST = 1000  # words of a sentence whose tables fit into a gigabyte


@dataclass(frozen=True, kw_only=True)
class SegmentEdgesConfig:
    """Weights of the tree distribution, for right-branching text: see `SegmentEdges.log_weights`."""

    end: float = setting(1.1, at_least=-10, at_most=10, help="weight of the last word of a span as the end of segments")
    begin: float = setting(
        0.2, at_least=-10, at_most=10, help="weight of the first word of a span as the beginning of segments"
    )
    before: float = setting(
        0.1, at_least=-10, at_most=10, help="weight of the word before a span as the end of segments"
    )
    length: float = setting(0.5, at_least=-10, at_most=10, help="cost of the logarithm of the length of a span")
    pair: float = setting(1.0, at_least=-10, at_most=10, help="gain of a span of two words")
    limit: float = setting(
        1.5,
        at_least=0,
        at_most=100,
        help="log of the relative frequency at the edge of a segment, and the largest one elsewhere",
    )
    smoothing: float = setting(10.0, at_least=1e-3, at_most=1e6, help="average words added to the counts of each word")


class SegmentEdges(FittedModel):
    """Distribution over binary trees whose spans begin and end with words that begin and end segments.

    ``shares`` (2, V): share of the occurrences of each word that begin, and end, a segment. ``means`` (2,): of all
    words.
    """

    Config: ClassVar[type] = SegmentEdgesConfig
    reads: ClassVar[tuple[type[Batch], ...]] = (FragmentBatch,)
    gives: ClassVar[tuple[type[Structure], ...]] = (SpanScores,)
    max_length: ClassVar[int | None] = LONGEST
    shares: Tensor
    means: Tensor

    def __init__(self, config: SegmentEdgesConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("shares", torch.full((2, vocabulary_size), 0.5, dtype=torch.float64))
        self.register_buffer("means", torch.full((2,), 0.5, dtype=torch.float64))

    def fit(self, corpus: EncodedCorpus, start: int = 0) -> Iterator[FitStep]:
        """Count the words that begin segments in the first step, and those that end segments in the second."""
        ids, edges = words_at_edges(corpus)
        shares, means = map(torch.from_numpy, edge_shares(ids, edges, self.shares.shape[1], self.config.smoothing))
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
        weights = self.log_weights(batch)
        score = torch.zeros_like(weights)
        for rows, count in blocks_of_one_length(batch.lengths.cpu().numpy()):
            table = weights[rows, :count, : count + 1].permute(1, 2, 0).cpu().numpy()
            probabilities = torch.from_numpy(bracket_counts(table).probability).permute(2, 0, 1)
            score[rows, :count, : count + 1] = probabilities.to(score)
        return SpanScores(score, batch.lengths)

    def log_weights(self, batch: FragmentBatch) -> Tensor:
        """Log weight (B, N, N + 1) of each span. The log weight of a tree is the sum over its spans.

        For a span (i, j) of text that branches to the right, with e(g) the log of the relative frequency with which the
        word before gap g ends a segment, and b(g) that with which the word after it begins one, both at most ``limit``,
        and equal to it at the edges of segments:

            end e(j) + begin b(i) + before e(i) - length log(j - i) + pair [j - i = 2]

        Text that branches to the left has the mirror image. Both are averaged, weighted by their probabilities.
        """
        config, right = self.config, self.right_probability
        _, edges = self._edges(batch)
        logs = (self.shares / self.means.clamp(min=1e-9)[:, None]).clamp(min=1e-9).log().clamp(max=config.limit)
        words = logs[:, batch.tokens]  # (2, B, N)
        edge = words.new_full((2, len(batch.lengths), 1), config.limit)
        begins = torch.where(edges, edge[0], torch.cat([words[BEGIN], edge[BEGIN]], 1))  # (B, N + 1): of each gap
        ends = torch.where(edges, edge[1], torch.cat([edge[END], words[END]], 1))
        at_end = right * (config.end * ends) + (1 - right) * (config.begin * ends + config.before * begins)
        at_start = right * (config.begin * begins + config.before * ends) + (1 - right) * (config.end * begins)
        width = torch.arange(edges.shape[1], device=edges.device) - torch.arange(
            edges.shape[1] - 1, device=edges.device
        ).unsqueeze(1)
        fixed = config.pair * (width == 2) - config.length * width.clamp(min=1).to(words.dtype).log()
        return at_start[:, :-1, None] + at_end[:, None, :] + fixed

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
        """Cost at which a full batch fills the tables."""
        return float(4096 * max(length, 4) ** 2 / TABLE)


def _nats(shares: np.ndarray, at_edge: np.ndarray) -> float:
    """Sum of the negative logs of the probabilities of ``at_edge``, given the probabilities ``shares`` of true."""
    chosen = np.where(at_edge, shares, 1 - shares)
    return float(-np.log(np.maximum(chosen, 1e-12)).sum())
