"""The chart parser in NumPy: the scores of `induce.models.distilled.chart` without torch.

Shapes: B sentences, longest first, N words, A units of the ends of spans.
"""

from __future__ import annotations

import numpy as np

from induce.data.batches import FragmentBatch, SentenceBatch
from induce.data.punctuation import GAP_FEATURES, gap_features
from induce.models.distilled.array_student import ArrayStudent, Shapes, leaky, linear_shapes
from induce.models.distilled.settings import LONGEST, MAX_WIDTH, ChartConfig
from induce.structures import SpanScores


class ArrayChart(ArrayStudent):
    """Probability that each span of words is a constituent, as `induce.models.distilled.chart.Chart` computes it."""

    Config = ChartConfig
    gives = (SpanScores,)
    estimates_root = False
    shortest = 2
    max_length = LONGEST
    linear_layers = ("start", "end", "starting", "ending")

    @classmethod
    def shapes(cls, config: ChartConfig, vocabulary_size: int) -> Shapes:
        """Shape of each weight of a chart parser with these settings, by name."""
        hidden, ends = config.hidden_size, config.span_size
        sizes = super().shapes(config, vocabulary_size) | {"pairs.weight": (ends, ends), "width": (MAX_WIDTH + 1,)}
        for end, score in (("start", "starting"), ("end", "ending")):
            sizes |= linear_shapes(end, ends, 2 * hidden + GAP_FEATURES) | linear_shapes(score, 1, ends)
        return sizes

    def structure(self, batch: SentenceBatch, query: object = None) -> SpanScores:
        """Probability that each span is a constituent. The batch contains arrays."""
        lengths = np.asarray(batch.lengths)
        order = np.argsort(-lengths, kind="stable")
        tokens = np.asarray(batch.tokens)[order]
        gaps = np.asarray(batch.gaps)[order] if isinstance(batch, FragmentBatch) else np.zeros_like(tokens)
        scores = np.empty((len(tokens), tokens.shape[1], tokens.shape[1] + 1), dtype=np.float32)
        scores[order] = self.scores(tokens, lengths[order], gaps)
        with np.errstate(over="ignore"):  # exp of a large number is infinite, and its reciprocal 0
            return SpanScores(1 / (1 + np.exp(-scores)), lengths)

    def scores(self, tokens: np.ndarray, lengths: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Scores (B, N, N + 1) of the spans of ``tokens`` (B, N) with the codes of their ``gaps`` (B, N)."""
        count, time = len(tokens), tokens.shape[1] + 2
        bounded = np.zeros((time, count), dtype=np.int64)
        bounded[1:-1] = tokens.T
        states = self.states(bounded, (lengths + 2 > np.arange(time)[:, None]).sum(1))
        half = states.shape[-1] // 2
        ends = np.zeros((count, time - 1, 2 * half + GAP_FEATURES), dtype=np.float32)
        ends[..., :half] = states[:-1, :, :half].swapaxes(0, 1)
        ends[..., half : 2 * half] = states[1:, :, half:].swapaxes(0, 1)
        inside = np.arange(1, time - 2) < lengths[:, None]
        ends[:, 1:-1, 2 * half :] = gap_features()[gaps[:, 1:]] * inside[..., None]
        start, end = (leaky(self.apply_linear(name, ends)) for name in ("start", "end"))
        scores: np.ndarray = (start @ self.pairs) @ end.swapaxes(1, 2)
        scores += self.apply_linear("starting", start)
        scores += self.apply_linear("ending", end).swapaxes(1, 2)
        index = np.arange(time - 1)
        scores += self.weights["width"][(index - index[:, None]).clip(0, MAX_WIDTH)]
        return scores[:, :-1]
