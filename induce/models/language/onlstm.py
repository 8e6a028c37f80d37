"""ON-LSTM: ordered neurons (Shen, Tan, Sordoni & Courville 2019), as in the released program.

Read from the top: the settings, one layer, whose recurrence is in ``induce/models/language/onlstm_kernel.py``, the
language model. ``docs/reference/models/onlstm.md`` maps the paper's equations to these functions and lists every place
where the released program, which is followed here, departs from the paper.

Shapes: T steps, B sentences or streams, E embedding, H units of a layer, C units a chunk, n = H / C chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, SentenceBatch, StreamBatch
from induce.layers.awd_dropout import (
    LanguageOutput,
    Masks,
    activation_penalty,
    check_output,
    draw_masks,
    dropped_weight,
    output_table,
    run_layers,
    temporal_activation_penalty,
)
from induce.layers.cross_entropy import cross_entropy
from induce.models.base import Loss, Model, NextWords, Query, bounded, next_words
from induce.models.em.word_probabilities import next_word_log_probabilities, next_word_vectors
from induce.models.language.onlstm_kernel import recurrence
from induce.setting import count, dropout_rate, setting, weight
from induce.structures import Distances

WORDS_PER_PASS = 2**10  # of a batch, that go through all layers before the next ones when parsing, to reuse memory


@dataclass(frozen=True, kw_only=True)
class OnLstmConfig:
    """Sizes and dropout rates of an ON-LSTM language model. The defaults are the paper's (section 5.1)."""

    embedding_size: int = count(400, "units of a word embedding")
    hidden_size: int = count(1150, "units of a hidden layer")
    layers: int = count(3, "layers of the network")
    chunk_size: int = count(10, "units that share one master gate; divides hidden_size")
    tied_embeddings: bool = setting(True, help="whether the output layer shares the embedding table")
    output_size: int = setting(
        0, at_least=0, at_most=1e9, help="units of the last layer if embeddings are not tied; 0: hidden_size"
    )
    embedding_dropout: float = dropout_rate(0.1, "dropout of whole rows of the embedding table")
    input_dropout: float = dropout_rate(0.5, "dropout of the embedded words, one mask for all steps")
    hidden_dropout: float = dropout_rate(0.3, "dropout between layers, one mask for all steps")
    output_dropout: float = dropout_rate(0.45, "dropout after the last layer, one mask for all steps")
    weight_dropout: float = dropout_rate(0.45, "dropout of entries of the hidden-to-hidden matrices")
    activation_penalty: float = weight(2.0, "weight of the squared outputs of the last layer (AR, Merity et al. 2017)")
    temporal_activation_penalty: float = weight(
        1.0, "weight of the squared changes of these outputs between steps (TAR, Merity et al. 2017)"
    )

    def check(self) -> None:
        """Raises ValueError if the sizes do not fit together."""
        check_output(self)
        last = "embedding_size" if self.tied_embeddings else "output_size"
        for name in (last, "hidden_size"):
            if getattr(self, name) % self.chunk_size:
                raise ValueError(f"{name} = {getattr(self, name)} is not a multiple of chunk_size = {self.chunk_size}")

    @property
    def last_size(self) -> int:
        """Units of the last layer."""
        return self.embedding_size if self.tied_embeddings else self.output_size or self.hidden_size


class LayerState(NamedTuple):
    """Hidden state ``h`` (B, H) and cell state ``c`` (B, n, C)."""

    h: Tensor
    c: Tensor


class SegmentOutput(NamedTuple):
    """Output of one layer over a segment."""

    hidden: Tensor  # (T, B, H)
    state: LayerState
    distance_forget: Tensor  # (T, B): 1 - mean master forget gate, the syntactic distance (eq. 15, up to a constant)
    distance_input: Tensor  # (T, B): mean master input gate
    input: Tensor  # (T, B, input): what it read
    before: Tensor  # (B, H): the hidden state that it began with


class OnLstmLayer(nn.Module):
    """One layer. Its hidden-to-hidden matrix is ``recurrent.weight``, the one that weight dropout acts on."""

    def __init__(self, input_size: int, units: int, chunk_size: int) -> None:
        super().__init__()
        self.units, self.chunk_size, self.chunks = units, chunk_size, units // chunk_size
        rows = 2 * self.chunks + 4 * units
        self.input = nn.Linear(input_size, rows)
        self.recurrent = nn.Linear(units, rows)

    def initial_state(self, batch: int) -> LayerState:
        """Zeros."""
        weight = self.recurrent.weight
        return LayerState(weight.new_zeros(batch, self.units), weight.new_zeros(batch, self.chunks, self.chunk_size))

    def forward(self, x: Tensor, state: LayerState, recurrent_weight: Tensor | None = None) -> SegmentOutput:
        """Run over ``x`` (T, B, input). ``recurrent_weight`` replaces the layer's matrix (dropped or scaled)."""
        weight = self.recurrent.weight if recurrent_weight is None else recurrent_weight
        projected = functional.linear(x, self.input.weight, self.input.bias + self.recurrent.bias)
        hidden, c, distance_forget, distance_input = recurrence(projected, weight, *state)
        return SegmentOutput(hidden, LayerState(hidden[-1], c), distance_forget, distance_input, x, state.h)

    def forget_logits(self, output: SegmentOutput, recurrent_weight: Tensor) -> Tensor:
        """Master forget gate before its cumax (T, B, n), recomputed so that gradients flow through it."""
        rows = slice(self.chunks, 2 * self.chunks)
        states = torch.cat((output.before[None], output.hidden[:-1]))
        bias = self.input.bias[rows] + self.recurrent.bias[rows]
        return functional.linear(output.input, self.input.weight[rows], bias) + states @ recurrent_weight[rows].t()


class OnLstm(Model):
    """ON-LSTM language model (Shen et al. 2019, section 5.1). Input and output embeddings are tied, or not (5.3)."""

    Config = OnLstmConfig
    reads: ClassVar[tuple[type[Batch], ...]] = (StreamBatch, SentenceBatch)
    rounds = True
    gives = (Distances,)
    whole_batch: tuple[type[Batch], ...] = (SentenceBatch,)  # padding counts in activation penalties

    def __init__(self, config: OnLstmConfig, vocabulary_size: int) -> None:
        super().__init__()
        config.check()
        self.config = config
        sizes = [config.embedding_size] + [config.hidden_size] * (config.layers - 1) + [config.last_size]
        self.embedding = nn.Embedding(vocabulary_size, config.embedding_size)
        self.layers = nn.ModuleList(OnLstmLayer(below, units, config.chunk_size) for below, units in pairwise(sizes))
        self.decoder = None if config.tied_embeddings else output_table(vocabulary_size, config.last_size)
        self.decoder_bias = nn.Parameter(torch.zeros(vocabulary_size))
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    @property
    def stack(self) -> list[OnLstmLayer]:
        """The layers, lowest first."""
        return cast("list[OnLstmLayer]", list(self.layers))

    def initial_state(self, batch: int) -> list[LayerState]:
        """Zeros for every layer."""
        return [layer.initial_state(batch) for layer in self.stack]

    def draw_masks(self, batch: int) -> Masks:
        """Fresh masks for one segment of ``batch`` streams."""
        recurrent = [layer.recurrent.weight for layer in self.stack]
        return draw_masks(self.config, self.embedding.weight, recurrent, batch)

    def recurrent_weights(self, masks: Masks | None = None, *, layers: int | None = None) -> list[Tensor]:
        """The matrices in use in the first ``layers`` layers (all by default): with the masks' dropout or scaled."""
        dropped = [None] * len(self.layers) if masks is None else masks.weights
        return [
            dropped_weight(layer.recurrent.weight, self.config.weight_dropout, mask)
            for layer, mask in zip(self.stack[:layers], dropped, strict=False)
        ]

    def forward(
        self,
        tokens: Tensor,
        state: list[LayerState],
        *,
        masks: Masks | None = None,
        weights: list[Tensor] | None = None,
    ) -> LanguageOutput:
        """Run over ``tokens`` (T, B) as many layers as there are ``weights`` (all by default).

        With ``masks`` every dropout acts; without, none does. ``weights`` saves computing `recurrent_weights` again.
        """
        return run_layers(
            self.stack, tokens, self.embedding.weight, state, weights or self.recurrent_weights(masks), masks
        )

    @property
    def decoder_weight(self) -> Tensor:
        """Output embeddings (V, units of the last layer)."""
        return self.embedding.weight if self.decoder is None else self.decoder.weight

    def predictions(self, tokens: Tensor, state: list[LayerState] | None = None) -> tuple[Tensor, list[LayerState]]:
        """Vectors (T, B, E) that the output layer reads after each of ``tokens`` (T, B), and the state to carry on."""
        output, layers = self(tokens, state or self.initial_state(tokens.shape[1]))
        return output, [layer.state for layer in layers]

    def word_vectors(self, batch: SentenceBatch) -> Tensor:
        """Input of the output layer after each word (B, N, E)."""
        return next_word_vectors(self, batch)

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability (B, N + 1) of each word and of the end-of-sentence token, for each sentence by itself."""
        return next_word_log_probabilities(self, batch)

    def loss(
        self,
        batch: StreamBatch | SentenceBatch,
        state: list[LayerState] | None = None,
        *,
        masks: Masks | None = None,
    ) -> Loss:
        """Objective and mean negative log-likelihood of the words that follow. Masks are drawn in training mode."""
        words = next_words(batch)
        columns = words.tokens.shape[1]
        if masks is None and self.training:
            masks = self.draw_masks(columns)
        return self.language_loss(self(words.tokens, state or self.initial_state(columns), masks=masks), words)

    def language_loss(self, result: LanguageOutput, words: NextWords) -> Loss:
        """The loss of ``result`` on the targets of ``words``, activation penalties included."""
        output, layers = result
        rows, targets = words.chosen(output.flatten(0, 1))
        nll = cross_entropy(rows, self.decoder_weight, self.decoder_bias, targets)
        last = layers[-1].hidden  # before the output dropout, as in the released program
        objective = (
            nll
            + activation_penalty(last, self.config.activation_penalty)
            + temporal_activation_penalty(last, self.config.temporal_activation_penalty)
        )
        return Loss(objective, nll, len(targets), [layer.state for layer in layers])

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """Forget distances of layer ``query.layer`` (from 1). No layer above it is computed."""
        return self.read_distances(batch, query.layer, lambda output, _: output.distance_forget)

    def read_distances(
        self, batch: SentenceBatch, layer: int, read: Callable[[SegmentOutput, Tensor], Tensor]
    ) -> Distances:
        """Distances by ``read``, a function from the output of ``layer`` and its recurrent matrix to (T, B)."""
        columns = len(batch.tokens)
        state, weights = self.initial_state(columns), self.recurrent_weights(layers=layer)
        distances = []
        for steps in bounded(batch.tokens).t().split(max(1, WORDS_PER_PASS // columns)):
            _, outputs = self(steps, state, weights=weights)
            state = [output.state for output in outputs]
            distances.append(read(outputs[-1], weights[-1]))
        return Distances(torch.cat(distances).t()[:, 1:-1], batch.lengths)
