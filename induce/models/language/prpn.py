"""PRPN: parsing, reading and predict networks (Shen, Lin, Huang & Courville 2018), as in the released program.

This file has the parsing network, which computes distances from a convolution over the last words, and gates from
distances (section 4), and then the settings and the language model. ``prpn_reading.py`` has the reading network, which
attends to earlier states through the gates, and the predict network.
Formulas in which the paper differs from the program are settings; ``docs/reference/models/prpn.md`` lists them and maps
equations to functions.

Shapes: T steps, B sentences or streams, E embedding, H hidden units, S slots of memory, L words of look-back. Slot k
of a step at time t is the state of time t - 1 - k: the newest first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, SentenceBatch
from induce.layers.masks import dropped, scaled_mask
from induce.models.base import Query, bounded
from induce.models.capabilities import GatedMemory, MemoryWeights
from induce.models.language.next_word_model import NextWordModel
from induce.models.language.prpn_reading import (
    LayerMasks,
    LayerReading,
    PredictMasks,
    PredictNetwork,
    ReadingLayer,
    Tapes,
)
from induce.setting import choice, count, dropout_rate, limited, setting, weight
from induce.structures import Distances
from treebank.base.errors import SynparseError


def gates(now: Tensor, window: Tensor, kind: str, resolution: float, *, reading: bool) -> Tensor:
    """Gate of each slot (B, T, S), from 0 to 1: the products of eq. 5, newest slot first.

    ``now`` (B, T) is the distance of the word that looks back, ``window`` (B, T, S) those of the words up to time t,
    newest first, +inf before the start. For ``reading`` the word at t looks, so that the first factor compares its
    distance with itself; else the next word does, with a guessed distance.
    """
    difference = (now[..., None] - window) / resolution
    if kind == "binary":  # the limits of "hard" and "soft": open up to a larger distance
        factors = (difference >= 0).to(now)
    elif kind == "hard":
        factors = (functional.hardtanh(2 * difference + 1) + 1) / 2
    elif kind == "soft":
        factors = torch.sigmoid(10 * difference + 5)
    else:
        factors = (functional.hardtanh(difference) + 1) / 2  # eq. 6
        if reading:  # the product of eq. 5 ends before the word's own distance
            factors = torch.cat((torch.ones_like(factors[..., :1]), factors[..., 1:]), -1)
    return factors.cumprod(-1)


class ParsingState(NamedTuple):
    """State from which the distances of the next segment follow."""

    embeddings: Tensor  # (L, B, E): of the last words, zeros before the start
    distances: Tensor  # (B, S): the last ones, oldest first, +inf before the start


class Parsing(NamedTuple):
    """Output of the parsing network over a segment."""

    distance: Tensor  # (B, T): d_t, the gap before word t
    guess: Tensor  # (B, T): d'_{t+1}, that of the gap after it, computed before word t + 1 is seen
    read_gate: Tensor  # (B, T, S)
    predict_gate: Tensor  # (B, T, S)
    state: Any  # ParsingState, or that of another parsing network
    supervised: Tensor | None = None  # (B, T): a second set of distances, if the model has one


def parsing_start(config: Any, batch: int, like: Tensor) -> ParsingState:
    """The state before any word, of the type and on the device of ``like``."""
    embeddings = like.new_zeros(config.lookback, batch, config.embedding_size)
    return ParsingState(embeddings, like.new_full((batch, config.slots), math.inf))


class ParsingMasks(NamedTuple):
    """Dropout masks of the parsing network."""

    window: Tensor | None  # (B, E, L + T), words of the segment before included
    hidden: Tensor | None  # (B, H, T)
    guess: ParsingMasks | None = None  # of the convolution for the guess, if it has one for itself


class Convolution(nn.Module):
    """Convolution over the last words whose units are divided among ``outputs`` values per word (eq. 7, 8, 13)."""

    def __init__(self, config: Any, outputs: int) -> None:
        super().__init__()
        self.config = config
        hidden = config.hidden_size
        self.convolution = nn.Conv1d(config.embedding_size, hidden, config.lookback + 1)
        self.normalization = nn.BatchNorm1d(hidden)
        self.projection = nn.Conv1d(hidden, outputs, 1, groups=outputs)

    def convolve(self, words: Tensor, masks: ParsingMasks | None) -> Tensor:
        """Values (B, outputs, T) of the last T of ``words`` (L + T, B, E)."""
        x = dropped(words.permute(1, 2, 0), masks and masks.window)
        hidden = self.normalization(self.convolution(x)).relu()  # eq. 7
        values = self.projection(dropped(hidden, masks and masks.hidden))  # eq. 8, 13
        return values.sigmoid() if self.config.distance == "sigmoid" else values.relu()

    def draw_masks(self, steps: int, batch: int) -> ParsingMasks:
        """Fresh masks for one segment."""
        config, weight, rate = self.config, self.convolution.weight, self.config.inner_dropout
        return ParsingMasks(
            scaled_mask(weight, rate, batch, config.embedding_size, config.lookback + steps),
            scaled_mask(weight, rate, batch, config.hidden_size, steps),
        )


class ParsingNetwork(Convolution):
    """Distances from a convolution over the last words, and gates from distances (section 4.2).

    Distance and guess each see half of the units, as in the released program, or have a convolution each.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config, 1 if config.separate_guess else 2)
        self.guess = Convolution(config, 1) if config.separate_guess else None

    def distances(self, words: Tensor, masks: ParsingMasks | None = None) -> tuple[Tensor, Tensor]:
        """Distances and guesses (B, T) of the last T of ``words`` (L + T, B, E)."""
        values = self.convolve(words, masks)
        guesses = values if self.guess is None else self.guess.convolve(words, masks and masks.guess)
        return values[:, 0], guesses[:, -1]

    def initial_state(self, batch: int) -> ParsingState:
        """Before any word: zeros, and distances that close every gate."""
        return parsing_start(self.config, batch, self.convolution.weight)

    def draw_masks(self, steps: int, batch: int) -> ParsingMasks:
        """Fresh masks for one segment."""
        masks = super().draw_masks(steps, batch)
        return masks._replace(guess=self.guess.draw_masks(steps, batch)) if self.guess else masks

    def forward(self, words: Tensor, state: ParsingState, masks: ParsingMasks | None = None) -> Parsing:
        """Distances and gates of the embedded ``words`` (T, B, E)."""
        words = torch.cat((state.embeddings, words))
        distance, guess = self.distances(words, masks)
        last = words[len(words) - self.config.lookback :]
        kind = gate_kind(self.config, training=self.training)
        return parsing_from_distances(distance, guess, last, state, kind, self.config.resolution)


def gate_kind(config: Any, *, training: bool) -> str:
    """The gates in use: those of the settings, or gates of 0 and 1 outside of training if the settings request them."""
    return "binary" if config.binary_test and not training else config.gate


def parsing_from_distances(
    distance: Tensor, guess: Tensor, last: Tensor, state: Any, kind: str, resolution: float
) -> Parsing:
    """The gates that ``distance`` and ``guess`` (B, T) give, and the state after them. ``last`` are its words."""
    slots = state.distances.shape[1]
    known = torch.cat((state.distances, distance), 1)
    window = known.unfold(1, slots, 1)[:, 1:].flip(-1)  # (B, T, S)
    return Parsing(
        distance,
        guess,
        gates(distance, window, kind, resolution, reading=True),
        gates(guess, window, kind, resolution, reading=False),
        ParsingState(last, known[:, -slots:]),
    )


@dataclass(frozen=True, kw_only=True)
class PrpnConfig:
    """Sizes, formulas and dropout rates. The defaults are the paper's word-level model as the program computes it."""

    embedding_size: int = count(800, "units of a word embedding")
    hidden_size: int = count(1200, "units of a hidden layer")
    reading_layers: int = limited(2, 1, 1000, "layers of the reading network")
    slots: int = count(15, "states that can be remembered (N_m)")
    lookback: int = count(5, "words before the current one that its distance depends on (L)")
    resolution: float = weight(0.1, "difference of distances over which a gate closes (1 / tau)")
    residual_blocks: int = limited(0, 0, 1000, "residual blocks of the predict network")
    gate: str = choice(
        "hard", ("hard", "soft", "paper"), "how gates close: hard or soft (as released) or paper (eq. 6)"
    )
    binary_test: bool = setting(False, help="gates of 0 and 1 outside of training, the limit of a resolution of 0")
    distance: str = choice(
        "sigmoid", ("sigmoid", "relu"), "how distances are computed: sigmoid (as released) or relu (eq. 8 and 13)"
    )
    attention: str = choice(
        "masked",
        ("masked", "modulated"),
        "attention over slots: masked (softmax over open slots, as released) or modulated (eq. 10 and 11)",
    )
    parsing_network: bool = setting(
        True, help="whether distances open and close gates; without it all gates stay open (table 3)"
    )
    separate_guess: bool = setting(
        False, help="whether the guessed distance has a convolution for itself (Stratos) instead of half of one"
    )
    reading_attention: bool = setting(
        True, help="whether reading attends to remembered states; without it reading is a plain LSTM"
    )
    predict_attention: bool = setting(
        True, help="whether the next word depends on all remembered states, or on the last state alone"
    )
    tied_embeddings: bool = setting(True, help="whether the output layer shares the embedding table")
    outer_dropout: float = dropout_rate(0.7, "dropout of the embedded words and before the output layer")
    inner_dropout: float = dropout_rate(0.5, "dropout everywhere else")
    recurrent_dropout: float = dropout_rate(0.5, "dropout of remembered states, one mask for all steps and sentences")

    def check(self) -> None:
        """Raises ValueError if the values do not fit together."""
        if self.hidden_size % 2:
            raise ValueError(f"hidden_size = {self.hidden_size} must be even: each half sees one of two distances")
        if not self.resolution > 0:
            raise ValueError(f"resolution = {self.resolution} must be above 0")
        if self.separate_guess and not self.parsing_network:
            raise ValueError("separate_guess = true has no effect without a parsing network")
        if self.parsing_network and not (self.reading_attention or self.predict_attention):
            raise ValueError("without attention, nothing depends on distances; set parsing_network = false, too")


class PrpnMasks(NamedTuple):
    """The dropout masks of one segment, divided by 1 - rate, or None without dropout."""

    parsing: Any  # ParsingMasks, or those of another parsing network; None without any
    reading: Sequence[LayerMasks]
    predict: PredictMasks


class PrpnOutput(NamedTuple):
    """Output of the language model over a segment."""

    output: Tensor  # (T B, E), rows for the output layer
    parsing: Parsing
    reading: list[LayerReading]
    predict_attention: Tensor  # (T, B, S)
    state: list[Any]


class Prpn(GatedMemory, NextWordModel):
    """PRPN language model: a ParsingNetwork steers a reading and a predict network.

    The state carried between segments is a list: ParsingState, then the Tapes of each reading layer. The memory of the
    predict network is the tape of h of the top layer.
    """

    Config = PrpnConfig
    gives = (Distances,)
    parsing_network: ClassVar[Any] = ParsingNetwork
    whole_batch = (Batch,)  # batch normalization

    def __init__(self, config: PrpnConfig, vocabulary_size: int) -> None:
        super().__init__()
        config.check()
        self.config = config
        self.embedding = nn.Embedding(vocabulary_size, config.embedding_size)
        self.parsing = self.parsing_network(config) if config.parsing_network else None
        sizes = [config.embedding_size] + [config.hidden_size] * (config.reading_layers - 1)
        self.reading = nn.ModuleList(ReadingLayer(config, size) for size in sizes)
        self.predict = PredictNetwork(config)
        self.decoder_bias = nn.Parameter(torch.zeros(vocabulary_size))
        tables = [self.embedding.weight]
        if not config.tied_embeddings:
            tables.append(nn.Parameter(torch.empty_like(self.embedding.weight)))
            self.decoder_table = tables[1]
        for table in tables:
            nn.init.uniform_(table, -0.01, 0.01)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm1d):  # as torch did when the program was written
                nn.init.uniform_(module.weight)

    @property
    def decoder_weight(self) -> Tensor:
        """Output embeddings (V, E)."""
        return self.embedding.weight if self.config.tied_embeddings else self.decoder_table

    def initial_state(self, batch: int) -> list[Any]:
        """Before any word: zeros, and distances that close every gate."""
        config, weight = self.config, self.embedding.weight
        tape = weight.new_zeros(batch, config.slots, config.hidden_size)
        start = self.parsing.initial_state(batch) if self.parsing else parsing_start(config, batch, weight)
        return [start, *(Tapes(tape, tape) for _ in self.reading)]

    def draw_masks(self, steps: int, batch: int) -> PrpnMasks:
        """Draw new dropout masks for one segment of the text."""
        config, weight = self.config, self.embedding.weight
        words, units = config.embedding_size, config.hidden_size
        width = self.predict.output.in_features
        inner, outer = config.inner_dropout, config.outer_dropout
        scaled = partial(scaled_mask, weight)
        return PrpnMasks(
            parsing=self.parsing.draw_masks(steps, batch) if self.parsing else None,
            reading=[
                LayerMasks(
                    key_input=scaled(inner, steps, batch, size),
                    key_state=scaled(inner, steps, batch, units),
                    key=scaled(inner, steps, batch, units),
                    input=scaled(inner if k else outer, steps, batch, size),
                    recurrent=scaled(config.recurrent_dropout, units),
                )
                for k, size in enumerate([words] + [units] * (len(self.reading) - 1))
            ],
            predict=PredictMasks(
                key_input=scaled(inner, steps, batch, units),
                key=scaled(inner, steps, batch, units),
                residual=[scaled(inner, steps * batch, width) for _ in self.predict.blocks],
                joined=scaled(inner, steps * batch, width),
                output=scaled(outer, steps * batch, words),
            ),
        )

    def forward(self, tokens: Tensor, state: list[Any], *, masks: PrpnMasks | None = None) -> PrpnOutput:
        """Run over ``tokens`` (T, B). With ``masks`` every dropout acts. Without, none does."""
        words = functional.embedding(tokens, self.embedding.weight)
        if self.parsing is None:  # distances of 0 with every gate open: ordinary attention (first ablation of table 3)
            flat = words.new_zeros(words.shape[1], len(words))
            last = torch.cat((state[0].embeddings, words))[len(words) :]
            parsing = parsing_from_distances(flat, flat, last, state[0], "hard", self.config.resolution)
        else:
            parsing = self.parsing(words, state[0], masks and masks.parsing)
        x, gate = words, parsing.read_gate.transpose(0, 1).contiguous()
        reading: list[LayerReading] = []
        for k, layer in enumerate(self.reading):
            reading.append(layer(x, gate, state[1 + k], masks and masks.reading[k]))
            x = reading[-1].hidden
        predict_gate = parsing.predict_gate.transpose(0, 1)
        output, attention = self.predict(x, state[-1].h, predict_gate, masks and masks.predict)
        return PrpnOutput(output, parsing, reading, attention, [parsing.state, *(layer.tapes for layer in reading)])

    def memory_weights(self, batch: SentenceBatch) -> MemoryWeights:
        """Gates (eq. 5) and attention (eq. 10, 11) at each word, from the state before the sentence on."""
        output = self(bounded(batch.tokens).t(), self.initial_state(len(batch.tokens)))
        attention = torch.stack([layer.attention for layer in output.reading]).permute(2, 0, 1, 3)
        return MemoryWeights(
            output.parsing.read_gate[:, 1:-1],
            output.parsing.predict_gate[:, 1:-1],
            attention[:, :, 1:-1],
            output.predict_attention.transpose(0, 1)[:, 1:-1],
        )

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """The distances of the parsing network. The other networks are not computed."""
        if self.parsing is None:
            raise SynparseError("this model was trained with parsing_network = false, so it has no distances")
        words = functional.embedding(bounded(batch.tokens).t(), self.embedding.weight)
        start = self.initial_state(len(batch.tokens))[0].embeddings
        distance, _ = self.parsing.distances(torch.cat((start, words)))
        return Distances(distance[:, 1:-1], batch.lengths)
