"""The biaffine parser in NumPy: the scores of `induce.models.distilled.biaffine` without torch.

Shapes: B sentences, longest first, N words, A units of the vectors of a word as head and as dependent.
"""

from __future__ import annotations

import numpy as np

from induce.data.batches import SentenceBatch
from induce.models.distilled.array_student import ArrayStudent, Shapes, leaky, linear_shapes
from induce.models.distilled.settings import MAX_DISTANCE, MAX_HEADS, BiaffineConfig
from induce.structures import HeadDistribution


class ArrayBiaffine(ArrayStudent):
    """P(word j heads word i), as `induce.models.distilled.biaffine.Biaffine` computes it."""

    Config = BiaffineConfig
    gives = (HeadDistribution,)
    estimates_root = True
    shortest = 1
    max_length = MAX_HEADS
    linear_layers = ("head", "dependent", "heading", "rooting")

    @classmethod
    def shapes(cls, config: BiaffineConfig, vocabulary_size: int) -> Shapes:
        """Shape of each weight of a biaffine parser with these settings, by name."""
        states, arcs = 2 * config.hidden_size, config.arc_size
        sizes = super().shapes(config, vocabulary_size)
        sizes |= linear_shapes("head", arcs, states) | linear_shapes("dependent", arcs, states)
        sizes |= linear_shapes("heading", 1, arcs) | linear_shapes("rooting", 1, arcs)
        return sizes | {"pairs.weight": (arcs, arcs), "distance": (2, MAX_DISTANCE)}

    def structure(self, batch: SentenceBatch, query: object = None) -> HeadDistribution:
        """Head distributions of full sentences. The batch contains arrays."""
        lengths = np.asarray(batch.lengths)
        order = np.argsort(-lengths, kind="stable")
        scores = self.scores(np.asarray(batch.tokens)[order], lengths[order])
        scores -= scores.max(2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(2, keepdims=True)
        probability = np.empty_like(scores)
        probability[order] = scores
        return HeadDistribution(probability, lengths)

    def scores(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Scores (B, N, N) of word j as the head of word i in ``tokens`` (B, N), and of the root on the diagonal.

        Scores are -inf if j is padding.
        """
        time = np.arange(tokens.shape[1])
        states = self.states(tokens.T, (lengths > time[:, None]).sum(1)).swapaxes(0, 1)
        head, dependent = (leaky(self.apply_linear(side, states)) for side in ("head", "dependent"))
        scores: np.ndarray = (dependent @ self.pairs) @ head.swapaxes(1, 2)
        scores += self.apply_linear("heading", head).swapaxes(1, 2)
        distance = time - time[:, None]
        scores += self.weights["distance"][(distance > 0).astype(int), np.abs(distance).clip(1, MAX_DISTANCE) - 1]
        scores[:, time, time] = self.apply_linear("rooting", dependent)[..., 0]
        scores[np.broadcast_to(time >= lengths[:, None, None], scores.shape)] = -np.inf
        return scores
