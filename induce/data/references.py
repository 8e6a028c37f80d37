"""Trees and heads of other parsers, and rewards of spans, for the sentences of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class SentenceRewards(NamedTuple):
    """Spans of two or more words of a sentence, each once, and the reward of each."""

    spans: list[tuple[int, int]]
    values: list[float]


@dataclass(frozen=True, eq=False)
class SpanReferences:
    """Spans of two or more words of the sentences of a text.

    Those of sentence k are ``spans[offsets[k] : offsets[k + 1]]``.
    """

    spans: np.ndarray  # (spans, 2) int32: start, end
    offsets: np.ndarray  # (sentences + 1,) int64

    def indices(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, start and end of each span of the ``chosen`` sentences."""
        starts, ends = self.offsets[chosen], self.offsets[np.asarray(chosen) + 1]
        rows = np.repeat(np.arange(len(chosen)), ends - starts)
        spans = _parts(self.spans, starts, ends)
        return rows, spans[:, 0], spans[:, 1]


def _parts(values: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The parts ``values[start:end]``, joined."""
    return np.concatenate([values[start:end] for start, end in zip(starts, ends, strict=True)])


@dataclass(frozen=True, eq=False)
class RewardReferences(SpanReferences):
    """Rewards of spans. Spans that are not listed have the reward 0."""

    values: np.ndarray  # (spans,) float32

    def rewards(self, chosen: np.ndarray, count: int) -> np.ndarray:
        """Rewards (B, N, N + 1) of the spans of the ``chosen`` sentences of one length N, which is ``count``."""
        rewards = np.zeros((len(chosen), count, count + 1), dtype=np.float32)
        rewards[self.indices(chosen)] = _parts(self.values, self.offsets[chosen], self.offsets[np.asarray(chosen) + 1])
        return rewards


@dataclass(frozen=True, eq=False)
class References(SpanReferences):
    """Spans in the reference trees of a text. A span is repeated for each tree that has it."""

    trees: int  # number of trees per sentence

    def weights(self, chosen: np.ndarray, count: int, outside: float) -> np.ndarray:
        """Weights (B, N, N + 1) of the spans of the ``chosen`` sentences, where N is ``count``.

        Spans of the references and full-sentence spans have weight 1, other spans ``outside``.
        """
        weights = np.full((len(chosen), count, count + 1), outside, dtype=np.float32)
        weights[self.indices(chosen)] = 1
        weights[:, 0, count] = 1
        return weights

    def shares(self, chosen: np.ndarray, count: int) -> np.ndarray:
        """Share (B, N, N + 1) of the trees of the ``chosen`` sentences that have each span, where N is ``count``."""
        shares = np.zeros((len(chosen), count, count + 1), dtype=np.float32)
        np.add.at(shares, self.indices(chosen), 1 / self.trees)
        return shares


@dataclass(frozen=True, eq=False)
class HeadReferences:
    """Head distributions of other parsers: the matrices (N, N) of all sentences in one array.

    That of sentence k starts at ``offsets[k]``. A row of zeros is unlabeled.
    """

    values: np.ndarray  # float16
    offsets: np.ndarray  # (sentences + 1,) int64

    def heads(self, chosen: np.ndarray, lengths: np.ndarray, count: int) -> np.ndarray:
        """Matrices (B, N, N) of the ``chosen`` sentences of ``lengths`` (B,), padded with 0, where N is ``count``."""
        squares = np.zeros((len(chosen), count, count), dtype=np.float32)
        for row, start, length in zip(squares, self.offsets[chosen], lengths, strict=True):
            row[:length, :length] = self.values[start : start + length**2].reshape(length, length)
        return squares
