"""The distilled parsers in NumPy: the scores of `induce.models.distilled.student` without torch.

Loading torch takes longer and more memory than parsing a page of text. Scores differ from those in torch in their
last digits only. The order in this file: the settings, which are needed before torch loads, the reader, the LSTM
(Hochreiter and Schmidhuber 1997, with forget gates; both directions read each layer), the chart parser, the biaffine
parser.

Shapes: B sentences, longest first, N words, T tokens, E units of an embedding, H of one direction of the LSTM, A of
the ends of spans or of arcs. States are ordered by time first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple
from zlib import crc32

import numpy as np

from induce.data.batches import FragmentBatch, SentenceBatch
from induce.data.punctuation import GAP_FEATURES, gap_features
from induce.setting import count, dropout_rate, limited, setting
from induce.structures import HeadDistribution, SpanScores

ENDINGS = (1, 2, 3)  # lengths in letters
BUCKETS = 4096  # for the endings of one length, some of which share a bucket
MAX_WIDTH = 40  # of spans with their own weight in the chart parser, in words; wider spans share one
LONGEST = 3_000  # words of a sentence that is decoded by the chart parser in some ten seconds
MAX_DISTANCE = 10  # of a head in words; larger distances share one weight
MAX_HEADS = 2_000  # words of a sentence whose heads are decoded in some seconds
GATES = 4  # of an LSTM: input, forget, cell, output
COST_SHARE = 0.3  # of the cost of a sentence in torch: larger batches save calls
SLOPE = 0.01  # of the leaky rectifier below 0

Shapes = dict[str, tuple[int, ...]]
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class StudentConfig:
    """Sizes and rates of the reader, with defaults for training on a CPU."""

    embedding_size: int = count(64, "units of a word embedding")
    hidden_size: int = count(128, "units of one direction of the LSTM")
    layers: int = limited(1, 1, 1000, "layers of the network")
    endings: bool = setting(True, help="whether words are also known by their last letters")
    dropout: float = dropout_rate(0.3, "dropout inside the layers")
    unknown_rate: float = limited(0.2, 0, 0.99, "share of the words that are unknown in training")


@dataclass(frozen=True, kw_only=True)
class ChartConfig(StudentConfig):
    """Sizes and rates of the chart parser."""

    span_size: int = count(100, "units of the vectors of a gap as start and as end of a span")


@dataclass(frozen=True, kw_only=True)
class BiaffineConfig(StudentConfig):
    """Sizes and rates, with defaults for training on a CPU with about 10,000 sentences."""

    hidden_size: int = count(100, "units of one direction of the LSTM")
    arc_size: int = count(100, "units of the vectors of a word as head and as dependent")
    unknown_rate: float = limited(0.3, 0, 0.99, "share of the words that are unknown in training")


def buckets(word: str) -> list[int]:
    """Bucket of the ending of each length of ``word``, whose case does not matter."""
    lower = word.lower()
    return [crc32(lower[-count:].encode("utf-8", "replace")) % BUCKETS for count in ENDINGS]


def linear_shapes(name: str, outputs: int, inputs: int) -> Shapes:
    """Shapes of the weights of a linear layer with a bias."""
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


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


class ArrayStudent:
    """Base of the distilled parsers in NumPy: checked weights, states of the tokens, and layers."""

    linear_layers: ClassVar[tuple[str, ...]] = ()  # names of the linear layers with a bias

    def __init__(self, config: Any, vocabulary_size: int, arrays: Arrays) -> None:
        """Raises ValueError if settings and weights do not fit together."""
        if config.layers > len(arrays):
            raise ValueError(f"layers = {config.layers} is out of proportion to the weights")
        self.weights = _in_shape(arrays, self.shapes(config, vocabulary_size))
        endings = self.weights["reader.ending"]
        if endings.dtype.kind != "i" or endings.min() < 0 or endings.max() >= BUCKETS:
            raise ValueError(f"reader.ending should contain whole numbers from 0 to {BUCKETS - 1}")
        self.words = self.weights["reader.embedding.weight"]  # (V, E): sums of the embeddings of a word and its endings
        for index in range(len(ENDINGS) if config.endings else 0):
            self.words = self.words + self.weights[f"reader.endings.{index}.weight"][endings[:, index]]
        self.layers = [
            tuple(LstmDirection.of(self.weights, f"l{layer}{side}") for side in ("", "_reverse"))
            for layer in range(config.layers)
        ]
        self.linear = {
            name: (self.weights[f"{name}.weight"].T.copy(), self.weights[f"{name}.bias"]) for name in self.linear_layers
        }
        pairs = self.weights["pairs.weight"]  # of a bilinear form, which a subclass has in its shapes
        self.pairs = pairs.T / np.float32(math.sqrt(len(pairs)))

    @classmethod
    def shapes(cls, config: Any, vocabulary_size: int) -> Shapes:
        """Shape of each weight of a student with these settings, by name. The base has those of the reader."""
        size, hidden = config.embedding_size, config.hidden_size
        sizes: Shapes = {
            "reader.embedding.weight": (vocabulary_size, size),
            "reader.ending": (vocabulary_size, len(ENDINGS)),
        }
        if config.endings:
            sizes |= {f"reader.endings.{index}.weight": (BUCKETS, size) for index in range(len(ENDINGS))}
        for layer in range(config.layers):
            for side in ("", "_reverse"):
                name = f"l{layer}{side}"
                sizes[f"reader.lstm.weight_ih_{name}"] = (GATES * hidden, size if layer == 0 else 2 * hidden)
                sizes[f"reader.lstm.weight_hh_{name}"] = (GATES * hidden, hidden)
                sizes |= {f"reader.lstm.bias_{part}_{name}": (GATES * hidden,) for part in ("ih", "hh")}
        return sizes

    def parsing_cost(self, length: int) -> float:
        """Quadratic in the length, because the scores form a table of pairs of positions."""
        return COST_SHARE * (length + 2.0 + length**2 / 8)

    def apply_linear(self, name: str, rows: np.ndarray) -> np.ndarray:
        """The linear layer ``name`` applied to ``rows`` (…, D)."""
        weight, bias = self.linear[name]
        result = rows.reshape(-1, rows.shape[-1]) @ weight
        result += bias
        return result.reshape(*rows.shape[:-1], -1)

    def states(self, tokens: np.ndarray, active: np.ndarray) -> np.ndarray:
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


class LstmDirection(NamedTuple):
    """Weights of one direction of one layer of an LSTM.

    The inputs of the gates are halved, because sigmoid(x) = (1 + tanh(x / 2)) / 2: one tanh serves all four.
    """

    weight: np.ndarray  # (E, 4 H)
    recurrent: np.ndarray  # (H, 4 H)
    bias: np.ndarray  # (4 H,)

    @classmethod
    def of(cls, weights: Mapping[str, np.ndarray], name: str) -> LstmDirection:
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
        """Write the states (T, B, H) of the active sentences, which are 0 before.

        ``rows`` (T, B) are the rows of the projected ``inputs`` (K, 4 H). Copying them step by step needs less memory.
        """
        hidden, cell = np.zeros((2, *states.shape[1:]), dtype=np.float32)
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
            hidden = states[step]
            np.multiply(leave, 0.5, out=hidden[:count])


def leaky(values: np.ndarray) -> np.ndarray:
    """The leaky rectifier."""
    return np.maximum(values, SLOPE * values)


class ArrayChart(ArrayStudent):
    """Probability that each span of words is a constituent, as `induce.models.distilled.student.Chart` computes it."""

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


class ArrayBiaffine(ArrayStudent):
    """P(word j heads word i), as `induce.models.distilled.student.Biaffine` computes it."""

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
