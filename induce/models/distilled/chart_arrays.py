"""The chart parser in NumPy: the scores of `induce.models.distilled.chart` without torch.

Loading torch takes longer and more memory than parsing a page of text. Trees are the same: scores differ in their last
digits only. The order in this file: the shapes of the weights, the model, the LSTM (Hochreiter and Schmidhuber 1997,
with forget gates; both directions read each layer).

Shapes: B sentences, longest first, N words, T = N + 2 tokens with the boundaries, E units of an embedding, H of one
direction of the LSTM, A of the ends of spans. States and gaps are ordered by time first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from induce.data.batches import FragmentBatch, SentenceBatch
from induce.data.punctuation import GAP_FEATURES, gap_features
from induce.layers.endings import BUCKETS, ENDINGS
from induce.models.distilled.settings import LONGEST, MAX_WIDTH, ChartConfig
from induce.structures import SpanScores

GATES = 4  # of an LSTM: input, forget, cell, output
SLOPE = 0.01  # of the leaky rectifier below 0
COST_SHARE = 0.3  # of the cost of a sentence in torch: larger batches save calls


def shapes(config: ChartConfig, vocabulary_size: int) -> dict[str, tuple[int, ...]]:
    """Shape of each weight of a chart parser with these settings, by name."""
    size, hidden, ends = config.embedding_size, config.hidden_size, config.span_size
    sizes: dict[str, tuple[int, ...]] = {
        "reader.embedding.weight": (vocabulary_size, size),
        "reader.ending": (vocabulary_size, len(ENDINGS)),
        "pairs.weight": (ends, ends),
        "width": (MAX_WIDTH + 1,),
    }
    if config.endings:
        sizes |= {f"reader.endings.{index}.weight": (BUCKETS, size) for index in range(len(ENDINGS))}
    for layer in range(config.layers):
        for side in ("", "_reverse"):
            name = f"l{layer}{side}"
            sizes[f"reader.lstm.weight_ih_{name}"] = (GATES * hidden, size if layer == 0 else 2 * hidden)
            sizes[f"reader.lstm.weight_hh_{name}"] = (GATES * hidden, hidden)
            sizes |= {f"reader.lstm.bias_{part}_{name}": (GATES * hidden,) for part in ("ih", "hh")}
    for end, score in (("start", "starting"), ("end", "ending")):
        sizes |= {f"{end}.weight": (ends, 2 * hidden + GAP_FEATURES), f"{end}.bias": (ends,)}
        sizes |= {f"{score}.weight": (1, ends), f"{score}.bias": (1,)}
    return sizes


def _in_shape(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """``arrays`` with floating-point numbers in single precision.

    Raises ValueError if they do not have exactly the names and the ``shapes``.
    """
    if different := sorted(arrays.keys() ^ shapes.keys()):
        raise ValueError(f"weights are missing or superfluous: {', '.join(different)}")
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name}: the settings need the shape {shape}, and the file has {arrays[name].shape}")
    return {
        name: value if np.issubdtype(value.dtype, np.integer) else value.astype(np.float32, copy=False)
        for name, value in arrays.items()
    }


class ArrayChart:
    """Probability that each span of words is a constituent, as `induce.models.distilled.chart.Chart` computes it."""

    Config = ChartConfig
    gives = (SpanScores,)
    estimates_root = False
    shortest = 2
    max_length = LONGEST

    def __init__(self, config: ChartConfig, vocabulary_size: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Raises ValueError if settings and weights do not fit together."""
        if config.layers > len(arrays):
            raise ValueError(f"layers = {config.layers} is out of proportion to the weights")
        weights = _in_shape(arrays, shapes(config, vocabulary_size))
        endings = weights["reader.ending"]
        if endings.dtype.kind != "i" or endings.min() < 0 or endings.max() >= BUCKETS:
            raise ValueError(f"reader.ending should contain whole numbers from 0 to {BUCKETS - 1}")
        self.words = weights["reader.embedding.weight"]  # (V, E): sums of the embeddings of a word and its endings
        for index in range(len(ENDINGS) if config.endings else 0):
            self.words = self.words + weights[f"reader.endings.{index}.weight"][endings[:, index]]
        self.layers = [
            tuple(Direction.of(weights, f"l{layer}{side}") for side in ("", "_reverse"))
            for layer in range(config.layers)
        ]
        names = ("start", "end", "starting", "ending")
        self.linear = {name: (weights[f"{name}.weight"].T.copy(), weights[f"{name}.bias"]) for name in names}
        self.pairs = weights["pairs.weight"].T / np.float32(math.sqrt(config.span_size))
        self.width = weights["width"]

    def edge_statistics(self) -> None:
        """None: no prior of a chart parser needs counts of the training corpus."""

    def parsing_cost(self, length: int) -> float:
        """Quadratic in the length, because the scores form a table of spans."""
        return COST_SHARE * (length + 2.0 + length**2 / 8)

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
        states = self._states(bounded, (lengths + 2 > np.arange(time)[:, None]).sum(1))
        half = states.shape[-1] // 2
        ends = np.zeros((count, time - 1, 2 * half + GAP_FEATURES), dtype=np.float32)
        ends[..., :half] = states[:-1, :, :half].swapaxes(0, 1)
        ends[..., half : 2 * half] = states[1:, :, half:].swapaxes(0, 1)
        inside = np.arange(1, time - 2) < lengths[:, None]
        ends[:, 1:-1, 2 * half :] = gap_features()[gaps[:, 1:]] * inside[..., None]
        start, end = (_leaky(self._linear(name, ends)) for name in ("start", "end"))
        scores: np.ndarray = (start @ self.pairs) @ end.swapaxes(1, 2)
        scores += self._linear("starting", start)
        scores += self._linear("ending", end).swapaxes(1, 2)
        index = np.arange(time - 1)
        scores += self.width[(index - index[:, None]).clip(0, MAX_WIDTH)]
        return scores[:, :-1]

    def _linear(self, name: str, rows: np.ndarray) -> np.ndarray:
        weight, bias = self.linear[name]
        result = rows.reshape(-1, rows.shape[-1]) @ weight
        result += bias
        return result.reshape(*rows.shape[:-1], -1)

    def _states(self, tokens: np.ndarray, active: np.ndarray) -> np.ndarray:
        """States (T, B, 2 H) of the last layer, given the number of sentences that are ``active`` (T,) at each step."""
        types, inverse = np.unique(tokens, return_inverse=True)
        inputs, inverse = self.words[types], inverse.reshape(tokens.shape)
        for forward, backward in self.layers:
            states = np.zeros((*tokens.shape, 2 * len(forward.recurrent)), dtype=np.float32)
            half = states.shape[-1] // 2
            for direction, steps, part in (
                (forward, range(len(tokens)), states[..., :half]),
                (backward, range(len(tokens) - 1, -1, -1), states[..., half:]),
            ):
                direction.read(direction.projected(inputs), inverse, active, steps, part)
            inputs, inverse = states.reshape(-1, states.shape[-1]), np.arange(tokens.size).reshape(tokens.shape)
        return states


class Direction(NamedTuple):
    """Weights of one direction of one layer of an LSTM.

    The inputs of the gates are halved, because sigmoid(x) = (1 + tanh(x / 2)) / 2: one tanh serves all four.
    """

    weight: np.ndarray  # (E, 4 H)
    recurrent: np.ndarray  # (H, 4 H)
    bias: np.ndarray  # (4 H,)

    @classmethod
    def of(cls, weights: Mapping[str, np.ndarray], name: str) -> Direction:
        """The direction called ``name``, such as ``l0_reverse``, in the ``weights`` of a torch LSTM."""
        parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weight, recurrent, *biases = (weights[f"reader.lstm.{part}_{name}"] for part in parts)
        factor = np.repeat(np.array([0.5, 0.5, 1.0, 0.5], dtype=np.float32), len(biases[0]) // GATES)
        scaled = [(array * factor[:, None]).T.copy() for array in (weight, recurrent)]
        return cls(scaled[0], scaled[1], (biases[0] + biases[1]) * factor)

    def projected(self, inputs: np.ndarray) -> np.ndarray:
        """The part (K, 4 H) of the inputs of the gates that depends on ``inputs`` (K, E)."""
        return inputs @ self.weight + self.bias

    def read(
        self, inputs: np.ndarray, rows: np.ndarray, active: np.ndarray, steps: Iterable[int], states: np.ndarray
    ) -> None:
        """Write the states (T, B, H) of the active sentences.

        ``rows`` (T, B) are the rows of the projected ``inputs`` (K, 4 H). Copying them step by step needs less memory.
        """
        hidden = np.zeros((rows.shape[1], len(self.recurrent)), dtype=np.float32)
        cell = np.zeros_like(hidden)
        for step in steps:
            count = active[step]
            gates = inputs[rows[step, :count]]
            gates += hidden[:count] @ self.recurrent
            np.tanh(gates, out=gates)
            enter, keep, value, leave = gates.reshape(count, GATES, -1).swapaxes(0, 1)
            memory = cell[:count]
            keep += 1
            memory *= keep
            enter += 1
            enter *= value
            memory += enter
            memory *= 0.5
            np.tanh(memory, out=value)
            leave += 1
            leave *= value
            leave *= 0.5
            hidden[:count] = states[step, :count] = leave


def _leaky(values: np.ndarray) -> np.ndarray:
    return np.maximum(values, SLOPE * values)
