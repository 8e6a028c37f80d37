"""Trees and heads of other parsers for the sentences of a text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class References:
    """Spans of two or more words in the reference trees of a text.

    Those of sentence k are ``spans[offsets[k] : offsets[k + 1]]``; a span is repeated for each tree that has it.
    """

    spans: np.ndarray  # (spans, 2) int32: start, end
    offsets: np.ndarray  # (sentences + 1,) int64
    trees: int  # number of trees per sentence

    def weights(self, chosen: np.ndarray, count: int, outside: float) -> np.ndarray:
        """Weights (B, N, N + 1) of the spans of the ``chosen`` sentences, where N is ``count``.

        Spans of the references and full-sentence spans have weight 1, other spans ``outside``.
        """
        weights = np.full((len(chosen), count, count + 1), outside, dtype=np.float32)
        weights[self._indices(chosen)] = 1
        weights[:, 0, count] = 1
        return weights

    def shares(self, chosen: np.ndarray, count: int) -> np.ndarray:
        """Share (B, N, N + 1) of the trees of the ``chosen`` sentences that have each span, where N is ``count``."""
        shares = np.zeros((len(chosen), count, count + 1), dtype=np.float32)
        np.add.at(shares, self._indices(chosen), 1 / self.trees)
        return shares

    def _indices(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, start and end of each span of the ``chosen`` sentences."""
        starts, ends = self.offsets[chosen], self.offsets[np.asarray(chosen) + 1]
        rows = np.repeat(np.arange(len(chosen)), ends - starts)
        spans = np.concatenate([self.spans[start:end] for start, end in zip(starts, ends, strict=True)])
        return rows, spans[:, 0], spans[:, 1]


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
