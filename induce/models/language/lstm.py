"""AWD-LSTM: a language model without structure (Merity, Keskar & Socher 2017), the baseline of perplexities.

The sizes, the five dropouts and the two penalties are those around ON-LSTM; the layers are torch's own LSTM. Two
dropout conventions are those of AWD-LSTM's released program and differ from ON-LSTM's:
``docs/reference/models/lstm-and-transformer.md``.

Shapes: T steps, B streams, E embedding, H units of a layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from induce.data.batches import SentenceBatch, StreamBatch
from induce.layers.awd_dropout import (
    LanguageOutput,
    Masks,
    activation_penalty,
    check_output,
    draw_masks,
    output_table,
    run_layers,
    temporal_activation_penalty,
)
from induce.layers.cross_entropy import cross_entropy
from induce.models.base import Loss, Model, next_words
from induce.models.em.word_probabilities import next_word_log_probabilities, next_word_vectors
from induce.setting import count, dropout_rate, setting, weight

RECURRENT = "weight_hh_l0"  # torch's name of the hidden-to-hidden matrix


@dataclass(frozen=True, kw_only=True)
class LstmConfig:
    """Sizes and dropout rates of an AWD-LSTM. The defaults are the paper's for the Penn Treebank (section 5)."""

    embedding_size: int = count(400, "units of a word embedding")
    hidden_size: int = count(1150, "units of a hidden layer")
    layers: int = count(3, "layers of the network")
    tied_embeddings: bool = setting(True, help="whether the output layer shares the embedding table")
    output_size: int = setting(
        0, at_least=0, at_most=1e9, help="units of the last layer if embeddings are not tied; 0: hidden_size"
    )
    embedding_dropout: float = dropout_rate(0.1, "dropout of whole rows of the embedding table")
    input_dropout: float = dropout_rate(0.4, "dropout of the embedded words, one mask for all steps")
    hidden_dropout: float = dropout_rate(0.25, "dropout between layers, one mask for all steps")
    output_dropout: float = dropout_rate(0.4, "dropout after the last layer, one mask for all steps")
    weight_dropout: float = dropout_rate(0.5, "dropout of entries of the hidden-to-hidden matrices")
    activation_penalty: float = weight(2.0, "weight of the squared outputs of the last layer (AR, Merity et al. 2017)")
    temporal_activation_penalty: float = weight(
        1.0, "weight of the squared changes of these outputs between steps (TAR, Merity et al. 2017)"
    )

    def check(self) -> None:
        """Raises ValueError if there is an output size although the output layer shares the embedding table."""
        check_output(self)

    @property
    def last_size(self) -> int:
        """Units of the last layer."""
        return self.embedding_size if self.tied_embeddings else self.output_size or self.hidden_size


class LayerState(NamedTuple):
    """Hidden state ``h`` and cell state ``c`` (1, B, H), as torch's LSTM has them."""

    h: Tensor
    c: Tensor


class LayerOutput(NamedTuple):
    """Output of one layer over a segment."""

    hidden: Tensor  # (T, B, H)
    state: LayerState


class LstmLayer(nn.Module):
    """One layer of torch's LSTM whose hidden-to-hidden matrix can be replaced for a segment."""

    def __init__(self, input_size: int, units: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_size, units)

    @property
    def recurrent_weight(self) -> Tensor:
        """The matrix (4H, H) that weight dropout acts on."""
        return cast(Tensor, getattr(self.lstm, RECURRENT))

    def forward(self, x: Tensor, state: LayerState, recurrent_weight: Tensor | None = None) -> LayerOutput:
        """Run over ``x`` (T, B, input). ``recurrent_weight`` replaces the layer's matrix."""
        replacement = {} if recurrent_weight is None else {RECURRENT: recurrent_weight}
        hidden, last = functional_call(self.lstm, replacement, (x, tuple(state)))
        return LayerOutput(hidden, LayerState(*last))


class Lstm(Model):
    """AWD-LSTM language model. Input and output embeddings are tied, or not."""

    Config = LstmConfig
    reads = (StreamBatch, SentenceBatch)
    rounds = True
    whole_batch = (SentenceBatch,)  # padding counts in activation penalties

    def __init__(self, config: LstmConfig, vocabulary_size: int) -> None:
        super().__init__()
        config.check()
        self.config = config
        sizes = [config.embedding_size] + [config.hidden_size] * (config.layers - 1) + [config.last_size]
        self.embedding = nn.Embedding(vocabulary_size, config.embedding_size)
        self.layers = nn.ModuleList(LstmLayer(below, units) for below, units in pairwise(sizes))
        self.decoder = None if config.tied_embeddings else output_table(vocabulary_size, config.last_size)
        self.decoder_bias = nn.Parameter(torch.zeros(vocabulary_size))
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    @property
    def stack(self) -> list[LstmLayer]:
        """The layers, lowest first."""
        return cast("list[LstmLayer]", list(self.layers))

    def initial_state(self, batch: int) -> list[LayerState]:
        """Zeros for every layer."""
        zeros = [layer.recurrent_weight.new_zeros(1, batch, layer.lstm.hidden_size) for layer in self.stack]
        return [LayerState(zero, zero) for zero in zeros]

    def draw_masks(self, batch: int) -> Masks:
        """Fresh masks for one segment of ``batch`` streams."""
        recurrent = [layer.recurrent_weight for layer in self.stack]
        return draw_masks(self.config, self.embedding.weight, recurrent, batch)

    def recurrent_weights(self, masks: Masks | None = None) -> list[Tensor]:
        """The hidden-to-hidden matrices in use: with dropout, divided by the share kept, or as they are."""
        weights = [layer.recurrent_weight for layer in self.stack]
        if masks is None:
            return weights
        share = 1 - self.config.weight_dropout
        return [weight * mask / share for weight, mask in zip(weights, masks.weights, strict=True)]

    def forward(self, tokens: Tensor, state: list[LayerState], *, masks: Masks | None = None) -> LanguageOutput:
        """Run over ``tokens`` (T, B). With ``masks`` every dropout acts. Without, none does."""
        return run_layers(self.stack, tokens, self.embedding.weight, state, self.recurrent_weights(masks), masks)

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
        output, layers = self(words.tokens, state or self.initial_state(columns), masks=masks)
        rows, targets = words.chosen(output.flatten(0, 1))
        nll = cross_entropy(rows, self.decoder_weight, self.decoder_bias, targets)
        objective = (
            nll
            + activation_penalty(output, self.config.activation_penalty)  # after the output dropout, unlike ON-LSTM
            + temporal_activation_penalty(layers[-1].hidden, self.config.temporal_activation_penalty)
        )
        return Loss(objective, nll, len(targets), [layer.state for layer in layers])
