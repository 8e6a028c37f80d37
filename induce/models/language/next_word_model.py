"""Bases of the models that predict the next word: the interface, recurrent models with AWD-LSTM's dropout, and the
loss by which distances learn the order of gold distances (Du et al. 2020).

Shapes: T steps, B sentences or streams, N words, E units that the output layer reads, V words of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, SentenceBatch, StreamBatch
from induce.layers.cross_entropy import (
    SoftmaxMixture,
    cross_entropy,
    mixture_cross_entropy,
    mixture_log_probabilities,
    target_log_probabilities,
)
from induce.layers.masks import Masks, activation_penalty, draw_masks, temporal_activation_penalty
from induce.models.base import Loss, Model, NextWords, next_words
from induce.models.capabilities import WordScoring, WordVectors
from induce.setting import choice, count, dropout_rate, limited, setting, unequal, weight

RANKINGS = ("sentence", "column", "batch")


class NextWordModel(WordScoring, WordVectors, Model):
    """A model that predicts each word from those before it.

    Its ``forward(tokens, state, masks=…)`` returns an object with ``output`` (T, B, E) or (T B, E), the vectors that
    the output layer reads, and ``state``.
    """

    reads: ClassVar[tuple[type[Batch], ...]] = (StreamBatch, SentenceBatch)
    embedding: nn.Embedding
    decoder_bias: nn.Parameter  # (V,)

    @property
    def decoder_weight(self) -> Tensor:
        """Output embeddings (V, E)."""
        return self.embedding.weight

    def draw_masks(self, steps: int, columns: int) -> Any:
        """Fresh dropout masks for one segment."""
        raise NotImplementedError

    def run(self, words: NextWords, state: Any = None, masks: Any = None) -> Any:
        """`forward` over ``words``, from the beginning if there is no ``state``, with masks drawn in training mode."""
        steps, columns = words.tokens.shape
        if masks is None and self.training:
            masks = self.draw_masks(steps, columns)
        return self(words.tokens, state or self.initial_state(columns), masks=masks)

    def loss(self, batch: StreamBatch | SentenceBatch, state: Any = None, *, masks: Any = None) -> Loss:
        """Objective and mean negative log-likelihood of the words that follow. Masks are drawn in training mode."""
        words = next_words(batch)
        return self.language_loss(self.run(words, state, masks), words)

    def language_loss(self, result: Any, words: NextWords) -> Loss:
        """Mean negative log-likelihood of the targets of ``words``."""
        rows, targets = words.chosen(result.output.flatten(0, -2))
        nll = cross_entropy(rows, self.decoder_weight, self.decoder_bias, targets)
        return Loss(nll, nll, len(targets), result.state)

    def target_log_probabilities(self, rows: Tensor, targets: Tensor) -> Tensor:
        """Log-probabilities (R,) in nats of ``targets`` (R,), given the vectors ``rows`` (R, E) of `predictions`."""
        return target_log_probabilities(rows, self.decoder_weight, self.decoder_bias, targets)

    def predictions(self, tokens: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Vectors (T, B, E) that the output layer reads after each of ``tokens`` (T, B), and the state to carry on."""
        result = self(tokens, state or self.initial_state(tokens.shape[1]))
        return result.output.view(*tokens.shape, result.output.shape[-1]), result.state

    def word_vectors(self, batch: SentenceBatch) -> Tensor:
        """Input of the output layer after each word (B, N, E). Each sentence is read separately."""
        output, _ = self.predictions(next_words(batch).tokens)
        return output[1:-1].transpose(0, 1)

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability (B, N + 1) of each word given the previous words, and of the end-of-sentence token.

        Each sentence is read separately, after a boundary token. Padding has 0.
        """
        words = next_words(batch)
        rows, targets = words.chosen(self.predictions(words.tokens)[0].flatten(0, 1))
        scores = self.target_log_probabilities(rows, targets)
        mask = words.target_mask
        assert mask is not None
        return scores.new_zeros(mask.shape).masked_scatter(mask, scores)[:-1].t()


@dataclass(frozen=True, kw_only=True)
class AwdConfig:
    """Sizes, dropout rates and penalties of AWD-LSTM (Merity et al. 2017), with the sizes for the Penn Treebank."""

    embedding_size: int = count(400, "units of a word embedding")
    hidden_size: int = count(1150, "units of a hidden layer")
    layers: int = limited(3, 1, 1000, "layers of the network")
    tied_embeddings: bool = setting(True, help="whether the output layer shares the embedding table")
    output_size: int = limited(
        0,
        0,
        1e9,
        "units of the last layer if embeddings are not tied or there are several softmaxes; "
        "0: hidden_size, or embedding_size if tied",
    )
    softmaxes: int = count(1, "softmaxes whose mixture predicts the next word (Yang et al. 2018)")
    softmax_dropout: float = limited(
        0.0,
        0.0,
        0.99,
        "dropout of the vectors of a mixture of softmaxes, one mask for all steps",
        when=unequal("model.softmaxes", 1),
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
        """Raises ValueError if the only softmax shares the embedding table and has another size."""
        if self.tied_embeddings and self.output_size and self.softmaxes == 1:
            raise ValueError(
                f"output_size = {self.output_size} needs tied_embeddings = false or several softmaxes; "
                "tied, it is embedding_size"
            )

    @property
    def last_size(self) -> int:
        """Units of the last layer."""
        return self.output_size or (self.embedding_size if self.tied_embeddings else self.hidden_size)


class LanguageOutput(NamedTuple):
    """Output of a recurrent language model over a segment."""

    output: Tensor  # (T, B, units of the last layer), after the output dropout
    layers: list[Any]  # output of each layer: ``hidden`` (T, B, H), ``state`` and more

    @property
    def state(self) -> list[Any]:
        """The state of each layer after the segment."""
        return [layer.state for layer in self.layers]


class AwdModel(NextWordModel):
    """Recurrent layers with the dropouts and penalties of AWD-LSTM. Input and output embeddings are tied, or not.

    A layer has a ``recurrent_weight`` (the hidden-to-hidden matrix) and ``initial_state(columns)``, and is called with
    its input, its state and the matrix to use.
    """

    rounds = True
    whole_batch: tuple[type[Batch], ...] = (SentenceBatch,)  # padding counts in activation penalties
    config: Any

    def __init__(self, config: AwdConfig, vocabulary_size: int) -> None:
        super().__init__()
        config.check()
        self.config = config
        sizes = [config.embedding_size] + [config.hidden_size] * (config.layers - 1) + [config.last_size]
        self.embedding = nn.Embedding(vocabulary_size, config.embedding_size)
        self.layers = nn.ModuleList(self.make_layer(below, units) for below, units in pairwise(sizes))
        self.decoder = None if config.tied_embeddings else nn.Embedding(vocabulary_size, config.last_size)
        self.decoder_bias = nn.Parameter(torch.zeros(vocabulary_size))
        for table in (self.decoder, self.embedding):
            if table is not None:
                nn.init.uniform_(table.weight, -0.1, 0.1)
        self.mixture: SoftmaxMixture | None = None
        if config.softmaxes > 1:
            size = self.decoder_weight.shape[1]
            self.mixture = SoftmaxMixture(config.last_size, size, config.softmaxes, dropout=config.softmax_dropout)

    def make_layer(self, input_size: int, units: int) -> nn.Module:
        """A recurrent layer."""
        raise NotImplementedError

    def used_weight(self, weight: Tensor, mask: Tensor | None) -> Tensor:
        """The hidden-to-hidden matrix under the dropout ``mask``, or as it is used without dropout."""
        raise NotImplementedError

    @property
    def stack(self) -> list[Any]:
        """The layers, lowest first."""
        return list(self.layers)

    @property
    def decoder_weight(self) -> Tensor:
        """Output embeddings (V, units of the last layer)."""
        return self.embedding.weight if self.decoder is None else self.decoder.weight

    def initial_state(self, columns: int) -> list[Any]:
        """Zeros for every layer."""
        return [layer.initial_state(columns) for layer in self.stack]

    def draw_masks(self, steps: int, columns: int) -> Masks:
        """Fresh masks for one segment."""
        recurrent = [layer.recurrent_weight for layer in self.stack]
        return draw_masks(self.config, self.embedding.weight, recurrent, columns)

    def recurrent_weights(self, masks: Masks | None = None, *, layers: int | None = None) -> list[Tensor]:
        """The hidden-to-hidden matrices in use in the first ``layers`` layers (all by default)."""
        dropped = [None] * len(self.layers) if masks is None else masks.weights
        pairs = zip(self.stack[:layers], dropped, strict=False)
        return [self.used_weight(layer.recurrent_weight, mask) for layer, mask in pairs]

    def forward(
        self, tokens: Tensor, state: list[Any], *, masks: Masks | None = None, weights: Iterable[Tensor] | None = None
    ) -> LanguageOutput:
        """Run ``tokens`` (T, B) through as many layers as there are ``weights`` (all by default).

        With ``masks`` all dropouts act, otherwise none. ``weights`` saves computing `recurrent_weights` again.
        """
        x = functional.embedding(tokens, self.embedding.weight)
        if masks is not None:
            x = x * masks.embedding[tokens] * masks.input
        outputs: list[Any] = []
        for k, (layer, used) in enumerate(zip(self.stack, weights or self.recurrent_weights(masks), strict=False)):
            outputs.append(layer(x, state[k], used))
            x = outputs[-1].hidden
            if masks is not None:
                x = x * (masks.hidden[k] if k < len(masks.hidden) else masks.output)
        return LanguageOutput(x, outputs)

    def penalized(self, result: LanguageOutput) -> Tensor:
        """The activations (T, B, H) of the last layer whose squares are penalized."""
        return result.layers[-1].hidden

    def target_log_probabilities(self, rows: Tensor, targets: Tensor) -> Tensor:
        """Log-probabilities (R,) in nats of ``targets`` (R,), those of the mixture if there are several softmaxes."""
        if self.mixture is None:
            return super().target_log_probabilities(rows, targets)
        vectors, log_shares = self.mixture(rows)
        return mixture_log_probabilities(vectors, log_shares, self.decoder_weight, self.decoder_bias, targets)

    def word_loss(self, result: LanguageOutput, words: NextWords) -> Loss:
        """Mean negative log-likelihood of the targets of ``words`` under one softmax or their mixture."""
        if self.mixture is None:
            return super().language_loss(result, words)
        parts = (words.chosen(part.flatten(0, 1)) for part in self.mixture(result.output))
        (vectors, targets), (log_shares, _) = parts
        nll = mixture_cross_entropy(vectors, log_shares, self.decoder_weight, self.decoder_bias, targets)
        return Loss(nll, nll, len(targets), result.state)

    def language_loss(self, result: LanguageOutput, words: NextWords) -> Loss:
        """The loss on the targets of ``words``, activation penalties included."""
        loss, config = self.word_loss(result, words), self.config
        objective = (
            loss.nll
            + activation_penalty(self.penalized(result), config.activation_penalty)
            + temporal_activation_penalty(result.layers[-1].hidden, config.temporal_activation_penalty)
        )
        return replace(loss, objective=objective)


@dataclass(frozen=True, kw_only=True)
class SupervisionConfig:
    """Settings of distances that learn from trees. The defaults are the paper's (section 5.1)."""

    tree_weight: float = weight(0.75, "weight of the loss of trees (alpha of eq. 19)")
    lm_weight: float = weight(1.0, "weight of the loss of the language model")
    ranking: str = choice(
        "sentence",
        RANKINGS,
        "pairs of distances that are compared with trees: sentence (as in the paper), column or batch",
    )
    ranking_margin: float = weight(1.0, "margin between the distances of a pair")

    def with_trees(self, loss: Loss, distances: Tensor, gold: Tensor, tokens: Tensor) -> Loss:
        """``loss`` with the ranking loss of ``distances`` added (eq. 19). Arguments as of `rank`."""
        ranking = rank(distances, gold, tokens, self.ranking, self.ranking_margin)
        return replace(loss, objective=self.lm_weight * loss.objective + self.tree_weight * ranking)


def rank(distances: Tensor, gold: Tensor, tokens: Tensor, ranking: str, margin: float) -> Tensor:
    """Ranking loss of ``distances`` (T, B) against ``gold``, NaN at positions without gold (Du et al. 2020, eq. 18).

    ``ranking`` says which pairs are compared: those in one ``sentence`` (the paper), in one ``column`` of the stream,
    or at the same step of different columns of the ``batch`` (the released program). A sentence ends at token 0.
    """
    if ranking == "batch":
        return ranking_loss(distances, gold, margin=margin)
    groups = (tokens == 0).cumsum(0).t() if ranking == "sentence" else None
    return ranking_loss(distances.t(), gold.t(), groups=groups, margin=margin)


def ranking_loss(
    predicted: Tensor, gold: Tensor, *, groups: Tensor | None = None, margin: float = 1.0, exponential: bool = False
) -> Tensor:
    """Mean hinge over the pairs of positions in a row that gold distances order (Du et al. 2020, eq. 18).

    ``predicted`` and ``gold`` are (rows, positions), NaN at positions without gold. A pair with gold_i > gold_j
    costs max(0, ``margin`` - (d_i - d_j)), or with ``exponential`` exp of that less 1. With ``groups`` (rows,
    positions) both must be of one group. Ties cost nothing; the paper adds a constant for each. The paper
    sums over pairs; this function and the released program take the mean. Without pairs the loss is 0.
    """
    ordered = gold[:, :, None] > gold[:, None, :]  # false for NaN
    if groups is not None:
        ordered &= groups[:, :, None] == groups[:, None, :]
    cost = (margin - (predicted[:, :, None] - predicted[:, None, :])).relu()
    if exponential:
        cost = cost.expm1()
    return (cost * ordered).sum() / (ordered.sum() + 1e-9)
