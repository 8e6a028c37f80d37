"""PRPN: parsing, reading and predict networks (Shen, Lin, Huang & Courville 2018), as in the released program, and
PRPN-SYD, which has a second set of distances that learns from trees (Du et al. 2020, section 6 and appendix A.4).

The networks are in ``prpn_networks.py``, and the steps of the reading network in ``prpn_kernel.py``. This file has the
settings and the language models. Formulas in which the paper differs from the program are settings;
``docs/reference/models/prpn.md`` lists them and maps equations to functions. For PRPN-SYD no code was published, and
the paper names no sizes; our choices are listed in ``docs/reference/models/syd.md``.

Shapes: T steps, B sentences or streams, E embedding, H hidden units, S slots of memory, L words of look-back, P units
of the parsing network of PRPN-SYD.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, SentenceBatch, StreamBatch, SupervisedBatch, SupervisedStreamBatch
from induce.layers.masks import dropped, scaled_mask
from induce.models.base import Loss, Query, bounded, gold_distances, next_words
from induce.models.capabilities import GatedMemory, MemoryWeights
from induce.models.language.next_word_model import NextWordModel, SupervisionConfig
from induce.models.language.prpn_networks import (
    LayerMasks,
    LayerReading,
    Parsing,
    ParsingNetwork,
    PredictMasks,
    PredictNetwork,
    ReadingLayer,
    Tapes,
    gate_kind,
    parsing_from_distances,
    parsing_start,
)
from induce.setting import choice, count, dropout_rate, limited, setting, weight
from induce.structures import Distances
from treebank.base.errors import SynparseError


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


@dataclass(frozen=True, kw_only=True)
class PrpnSydConfig(SupervisionConfig, PrpnConfig):
    """Settings of PRPN, and of the supervision."""

    parsing_size: int = count(400, "units of the second LSTM and of both feed-forward networks")

    def check(self) -> None:
        """Raises ValueError if the values do not fit together."""
        super().check()
        if not self.parsing_network:
            raise ValueError("parsing_network = false leaves nothing that could learn from trees")
        if self.separate_guess:
            raise ValueError("separate_guess = true is for prpn; this parsing network is another one")


class SydParsingState(NamedTuple):
    """State from which the distances of the next segment follow."""

    window: Tensor  # (L, B, E): the last outputs of the first LSTM, zeros before the start
    distances: Tensor  # (B, S): the last ones, oldest first, +inf before the start
    word_h: Tensor  # (1, B, E)
    word_c: Tensor  # (1, B, E)
    gap_h: Tensor  # (1, B, P)
    gap_c: Tensor  # (1, B, P)


class SydParsingMasks(NamedTuple):
    """Dropout masks of the parsing network."""

    words: Tensor | None  # (T, B, E)
    hidden: Tensor | None  # (B, H, T)
    gaps: Tensor | None  # (T, B, P)


class SydParsingNetwork(nn.Module):
    """Two sets of distances: LSTM over words, convolution, LSTM over gaps, a feed-forward network for each set."""

    def __init__(self, config: PrpnSydConfig) -> None:
        super().__init__()
        self.config = config
        words, units, size = config.embedding_size, config.hidden_size, config.parsing_size
        self.words = nn.LSTM(words, words)
        self.convolution = nn.Conv1d(words, units, config.lookback + 1)
        self.normalization = nn.BatchNorm1d(units)
        self.gaps = nn.LSTM(units, size)
        self.to_distances = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 2))  # and guesses
        # without a bias, because only the order matters
        self.to_supervised = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 1, bias=False))

    def initial_state(self, batch: int) -> SydParsingState:
        """Before any word: zeros, and distances that close every gate."""
        start = parsing_start(self.config, batch, self.convolution.weight)
        word, gap = (start.embeddings.new_zeros(1, batch, lstm.hidden_size) for lstm in (self.words, self.gaps))
        return SydParsingState(*start, word, word, gap, gap)

    def draw_masks(self, steps: int, batch: int) -> SydParsingMasks:
        """Fresh masks for one segment."""
        config, like, rate = self.config, self.convolution.weight, self.config.inner_dropout
        return SydParsingMasks(
            scaled_mask(like, rate, steps, batch, config.embedding_size),
            scaled_mask(like, rate, batch, config.hidden_size, steps),
            scaled_mask(like, rate, steps, batch, config.parsing_size),
        )

    def forward(self, words: Tensor, state: SydParsingState, masks: SydParsingMasks | None = None) -> Parsing:
        """Distances and gates of the embedded ``words`` (T, B, E)."""
        read, word_state = self.words(dropped(words, masks and masks.words), (state.word_h, state.word_c))
        window = torch.cat((state.window, read))  # (L + T, B, E)
        hidden = self.normalization(self.convolution(window.permute(1, 2, 0))).relu()
        hidden = dropped(hidden, masks and masks.hidden).permute(2, 0, 1)  # (T, B, H)
        gaps, gap_state = self.gaps(hidden, (state.gap_h, state.gap_c))
        gaps = dropped(gaps, masks and masks.gaps)
        both = self.to_distances(gaps)
        distance, guess = (both.sigmoid() if self.config.distance == "sigmoid" else both.relu()).unbind(-1)
        last = window[len(words) :]
        kind = gate_kind(self.config, training=self.training)
        parsing = parsing_from_distances(distance.t(), guess.t(), last, state, kind, self.config.resolution)
        supervised = self.to_supervised(gaps)[..., 0].t()
        carried = SydParsingState(last, parsing.state.distances, *word_state, *gap_state)
        return parsing._replace(state=carried, supervised=supervised)


class PrpnSyd(Prpn):
    """PRPN language model whose parsing network also learns the distances of given trees."""

    Config = PrpnSydConfig
    reads: ClassVar[tuple[type[Batch], ...]] = (SupervisedStreamBatch, SupervisedBatch)
    config: PrpnSydConfig
    parsing_network: ClassVar[Any] = SydParsingNetwork

    def loss(
        self, batch: StreamBatch | SentenceBatch, state: list[Any] | None = None, *, masks: PrpnMasks | None = None
    ) -> Loss:
        """Loss of the language model as `Prpn.loss` has it. Of a batch with gold distances, NaN without, eq. 19."""
        words, gold = next_words(batch), gold_distances(batch)
        result = self.run(words, state, masks)
        loss = self.language_loss(result, words)
        if gold is None:
            return loss
        assert result.parsing.supervised is not None
        return self.config.with_trees(loss, result.parsing.supervised.t(), gold, words.tokens)

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """The supervised distances (``syd``), or those of the language model (``lm``)."""
        words = functional.embedding(bounded(batch.tokens).t(), self.embedding.weight)
        parsing = cast(SydParsingNetwork, self.parsing)
        result = parsing(words, parsing.initial_state(len(batch.tokens)))
        values = result.supervised if query.distances == "syd" else result.distance
        return Distances(values[:, 1:-1], batch.lengths)
