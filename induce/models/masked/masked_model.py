"""Base of the masked language models: embeddings, masking of words, the loss and the scores of words.

Shapes: B sentences, N words, E embedding, R masked words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from induce.data.batches import Batch, MaskedBatch, SentenceBatch
from induce.layers.cross_entropy import cross_entropy, target_log_probabilities
from induce.models.base import Loss, Model
from induce.models.capabilities import MaskingImpact, WordScoring, WordVectors
from induce.setting import count, weight

MAX_COPIED_WORDS = 4096  # words per batch of masked copies of sentences


@dataclass(frozen=True, kw_only=True)
class MaskedConfig:
    """Settings of all masked language models."""

    embedding_size: int = count(512, "units of a word embedding")
    mask_rate: float = weight(0.3, "share of the words that are masked")

    def check(self) -> None:
        """Raises ValueError if the settings do not fit together."""
        if not 0 < self.mask_rate < 1:
            raise ValueError(f"mask_rate = {self.mask_rate} must lie between 0 and 1")


class MaskedLanguageModel(MaskingImpact, WordScoring, WordVectors, Model):
    """A model that finds masked words. The number after those of the vocabulary represents a masked word.

    A subclass adds its layers in `build` and defines `final_states`.
    """

    reads: ClassVar[tuple[type[Batch], ...]] = (MaskedBatch,)
    rounds = True
    max_length: ClassVar[int | None] = 10_000  # whose attention or heads fit into a few gigabytes
    max_positions: ClassVar[int] = 500  # positions with their own embedding; later ones share the last
    config: Any
    norm: nn.Module  # of the final states
    dropout: nn.Module  # of the input of the output layer

    def __init__(self, config: Any, vocabulary_size: int) -> None:
        """``config`` is a `MaskedConfig` with ``dropout``, and ``has_positions`` as `build` needs it."""
        super().__init__()
        config.check()
        self.config, self.mask_symbol = config, vocabulary_size
        symbols, size = vocabulary_size + 1, config.embedding_size
        self.embedding = nn.Embedding(symbols, size)
        self.position = nn.Embedding(self.max_positions, size) if config.has_positions else None
        self.build(symbols)
        self.norm = nn.LayerNorm(size)
        self.decoder_bias = nn.Parameter(torch.zeros(symbols))
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.embedding, self.position):
            if table is not None:
                nn.init.uniform_(table.weight, -0.1, 0.1)

    def build(self, symbols: int) -> None:
        """Create the layers between embeddings and final normalization, for ``symbols`` words, the mask included."""
        raise NotImplementedError

    def final_states(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Normalized final states (B, N, E) of ``tokens`` (B, N), of which ``lengths`` (B,) are words."""
        raise NotImplementedError

    def parsing_cost(self, length: int) -> float:
        """Quadratic in the length, because of attention, with a small factor: it counts from 1,000 words on."""
        return length + 2.0 + length**2 / 4096

    @property
    def decoder_weight(self) -> Tensor:
        """Output embeddings (V, E), by default those of the input."""
        return self.embedding.weight

    def embedded(self, tokens: Tensor) -> Tensor:
        """Embeddings (B, N, E) of words and, if the model has them, of positions."""
        x: Tensor = self.embedding(tokens)
        if self.position is None:
            return x
        return x + self.position(torch.arange(tokens.shape[1], device=tokens.device).clamp(max=self.max_positions - 1))

    def loss(self, batch: MaskedBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of masked words: those whose random number is less than the mask rate."""
        masked, targets = mask_words(batch.tokens, batch.uniforms < self.config.mask_rate, mask=self.mask_symbol)
        return self.masked_loss(masked, batch.lengths, targets, masked != batch.tokens)

    def masked_loss(self, masked: Tensor, lengths: Tensor, targets: Tensor, where: Tensor) -> Loss:
        """Mean negative log-likelihood of ``targets`` (B, N) ``where`` words are masked."""
        hidden = self.dropout(self.final_states(masked, lengths)[where])
        if not len(hidden):  # the mean of an empty batch is undefined
            return Loss(hidden.sum(), hidden.sum(), 0)
        nll = cross_entropy(hidden, self.decoder_weight, self.decoder_bias, targets[where])
        return Loss(nll, nll, len(hidden))

    def word_vectors(self, batch: SentenceBatch) -> Tensor:
        """The normalized final states (B, N, E)."""
        return self.final_states(batch.tokens, batch.lengths)

    def impact(self, batch: SentenceBatch) -> Tensor:
        """Distance (B, N, N) between the final states of word i if it alone, and if word j as well, is masked.

        Perturbed masking (Wu et al. 2020, section 2). Each pair of words needs one copy of its sentence.
        """
        impacts = self.embedding.weight.new_zeros(*batch.tokens.shape, batch.tokens.shape[1])
        for row, (tokens, length) in enumerate(zip(batch.tokens, batch.lengths.tolist(), strict=True)):
            states = impacts.new_zeros(length, length, self.config.embedding_size)  # of word i without i and j
            first, second = torch.triu_indices(length, length, device=tokens.device)
            size = max(1, MAX_COPIED_WORDS // max(1, length))
            for i, j in zip(first.split(size), second.split(size), strict=True):
                copies, each = tokens[:length].repeat(len(i), 1), torch.arange(len(i), device=tokens.device)
                copies[each, i] = copies[each, j] = self.mask_symbol
                final = self.final_states(copies, torch.full((len(i),), length))
                states[i, j], states[j, i] = final[each, i], final[each, j]
            single = states.diagonal(dim1=0, dim2=1).t()
            impacts[row, :length, :length] = (single[:, None] - states).norm(dim=-1)
        return impacts

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability (B, N) of each word if it alone is masked (Salazar et al. 2020, eq. 1), or 0 at padding.

        Unknown words are never masked in training, so the model has no probability for them: their entry is 0, and they
        do not count.
        """
        tokens, lengths = batch.tokens, batch.lengths.to(batch.tokens.device)
        row, column = (tokens > 1).nonzero(as_tuple=True)
        scores, size = self.embedding.weight.new_zeros(tokens.shape), max(1, MAX_COPIED_WORDS // tokens.shape[1])
        for rows, columns in zip(row.split(size), column.split(size), strict=True):
            copies, each = tokens[rows], torch.arange(len(rows), device=rows.device)
            copies[each, columns] = self.mask_symbol
            hidden = self.final_states(copies, lengths[rows])[each, columns]
            targets = tokens[rows, columns]
            scores[rows, columns] = target_log_probabilities(hidden, self.decoder_weight, self.decoder_bias, targets)
        return scores


def mask_words(tokens: Tensor, drawn: Tensor, *, mask: int) -> tuple[Tensor, Tensor]:
    """``tokens`` with ``mask`` instead of the ``drawn`` words, and these words with 0 elsewhere.

    Padding (0) and unknown words (1) are never masked.
    """
    masked = drawn.bool() & (tokens > 1)
    return tokens.masked_fill(masked, mask), tokens.masked_fill(~masked, 0)


def distributions(attention: Tensor) -> Tensor:
    """Attention (…, N, N) whose rows are divided by their sums. A row of zeros stays as it is."""
    return attention / attention.sum(-1, keepdim=True).clamp(min=torch.finfo(attention.dtype).tiny)


def without_self(head: Tensor) -> Tensor:
    """Head distributions (B, N, N) without a word's probability of being its own head: rows no longer sum to 1."""
    return head.masked_fill(torch.eye(head.shape[1], dtype=torch.bool, device=head.device), 0.0)
