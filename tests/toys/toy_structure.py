"""A new structure: scores of phrase beginnings and ends, with a decoder that has an option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from induce.data.batches import SentenceBatch
from induce.decoding.chart import mbr, mbr_k_best
from induce.models.base import Query, next_words
from induce.models.capabilities import WordScoring
from induce.structures import Structure
from tests.toys.bigram import Bigram

PRESET = """
source = "a toy"
model.name = "toy_structure"
data.minimum_count = 1
train.epochs = 1
loader = {name = "sentences", batch_size = 8}
"""


@dataclass(frozen=True)
class PhraseEdges(Structure):
    """Probabilities ``values`` (B, N, 2) that a phrase begins, and that it ends, with each word."""

    name = "phrase_edges"
    rows_are = "a list of pairs of numbers"
    entries = "pairs"
    votes_for = supports = "trees"
    values: Tensor
    lengths: Tensor
    probabilities: bool = True

    def rows(self) -> list[Any]:
        """Pairs of each sentence."""
        pairs = zip(self.values.tolist(), self.lengths.tolist(), strict=True)
        return [row[:length] for row, length in pairs]

    @classmethod
    def trivial(cls, length: int) -> list[list[float]]:
        """All words alike."""
        return [[0.5, 0.5]] * length

    @classmethod
    def from_json(cls, value: Any) -> list[list[float]]:
        """Pairs of numbers."""
        return [list(map(float, pair)) for pair in value]

    @classmethod
    def sharpness(cls, row: Any) -> dict[str, float]:
        """Mean distance from one half."""
        return {"decidedness": float(np.abs(np.asarray(row) - 0.5).mean())}

    @classmethod
    def support(cls, row: Any, parts: Sequence[tuple[int, int]]) -> list[float]:
        """Mean of both edges."""
        return [(row[start][0] + row[end - 1][1]) / 2 for start, end in parts]

    @classmethod
    def drawn_numbers(cls, row: Any) -> dict[str, Any]:
        """The beginnings as distances."""
        return {"distances": [begin for begin, _ in row]}

    @classmethod
    def votes(cls, row: Any) -> np.ndarray:
        """Products of both edges."""
        return span_scores(row)


def span_scores(row: Any, end_weight: float = 1.0) -> np.ndarray:
    """Scores (N, N + 1) of spans from ``row`` (N, 2)."""
    begins, ends = np.asarray(row, dtype=float).reshape(-1, 2).T
    scores = np.zeros((len(begins), len(begins) + 1))
    scores[:, 1:] = begins[:, None] * ends**end_weight
    return scores


def edges_to_tree(row: Any, *, end_weight: float = 1.0) -> list[tuple[int, int]]:
    """Brackets of the tree with the best phrases, with ends raised to the power ``end_weight``."""
    return mbr(span_scores(row, end_weight))


def k_best_trees(row: Any, k: int, *, end_weight: float = 1.0) -> list[tuple[float, list[tuple[int, int]]]]:
    """Scores and brackets of the ``k`` best trees."""
    return mbr_k_best(span_scores(row, end_weight), k)


def first_words(row: Any, evidence: Any, strength: float) -> Any:
    """Prior: phrases that begin with the first word gain ``strength``."""
    return [[min(1.0, begin + strength * (index == 0)), end] for index, (begin, end) in enumerate(row)]


class Toy(WordScoring, Bigram):
    """A bigram model of word vectors whose first numbers are the edges."""

    gives = (PhraseEdges,)

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability (B, N + 1) of each next word."""
        words = next_words(batch)
        logs = self.output(self.embedding(words.tokens)).log_softmax(-1)
        chosen = logs.gather(-1, words.targets[..., None])[..., 0]
        mask = torch.ones_like(chosen) if words.target_mask is None else words.target_mask
        return (chosen * mask)[:-1].t()

    def structure(self, batch: SentenceBatch, query: Query) -> PhraseEdges:
        """Sigmoids of two numbers of each word's vector."""
        return PhraseEdges(self.embedding(batch.tokens)[..., :2].sigmoid(), batch.lengths)
