"""Log-probabilities of the words of sentences under next-word models and masked language models.

B sentences, N words of the longest one, V words in the vocabulary, E units of the vectors that the output layer reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import next_words

LOGIT_ROWS = 512  # rows of logits in memory at once
MAX_COPIED_WORDS = 4096  # words per batch of masked copies of sentences


class NextWordModel(Protocol):
    """A model whose output layer reads one vector for each position of a text."""

    decoder_bias: Any  # (V,)

    @property
    def decoder_weight(self) -> Tensor:
        """Output embeddings (V, E)."""
        ...

    def predictions(self, tokens: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Vectors (T, B, E) after each of ``tokens`` (T, B), and the final state."""
        ...


def target_log_probabilities(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Log-probabilities (R,) in nats of ``targets`` (R,) under softmax(hidden (R, E) weight (V, E)ᵀ + bias (V,))."""
    blocks = zip(hidden.split(LOGIT_ROWS), targets.split(LOGIT_ROWS), strict=True)
    parts = [
        -functional.cross_entropy(functional.linear(rows, weight, bias), labels, reduction="none")
        for rows, labels in blocks
    ]
    return torch.cat(parts) if parts else hidden.new_zeros(0)


def next_word_log_probabilities(model: NextWordModel, batch: SentenceBatch) -> Tensor:
    """Log-probability (B, N + 1) of each word given the previous words, and of the end-of-sentence token.

    Each sentence is read separately, after a boundary token. Padding has 0.
    """
    words = next_words(batch)
    output, _ = model.predictions(words.tokens)
    rows, targets = words.chosen(output.flatten(0, 1))
    scores = target_log_probabilities(rows, model.decoder_weight, model.decoder_bias, targets)
    mask = words.target_mask
    if mask is None:
        raise TypeError("sentences have padding")
    return scores.new_zeros(mask.shape).masked_scatter(mask, scores)[:-1].t()


def next_word_vectors(model: NextWordModel, batch: SentenceBatch) -> Tensor:
    """Vectors (B, N, E) that the output layer reads after each word. Each sentence is read separately."""
    output, _ = model.predictions(next_words(batch).tokens)
    return output[1:-1].transpose(0, 1)


def masked_word_log_probabilities(
    batch: SentenceBatch, read: Callable[[Tensor, Tensor], Tensor], mask: int, weight: Tensor, bias: Tensor
) -> Tensor:
    """Log-probability (B, N) of each word if it alone is masked (Salazar et al. 2020, eq. 1), or 0 at padding.

    ``read`` maps tokens (R, N) and lengths (R,) to vectors (R, N, E). Unknown words are never masked in training, so
    the model has no probability for them: their entry is 0, and they do not count.
    """
    tokens, lengths = batch.tokens, batch.lengths.to(batch.tokens.device)
    row, column = (tokens > 1).nonzero(as_tuple=True)
    scores = weight.new_zeros(tokens.shape)
    for rows, columns in zip(
        *(part.split(max(1, MAX_COPIED_WORDS // tokens.shape[1])) for part in (row, column)), strict=True
    ):
        copies = tokens[rows]
        copies[torch.arange(len(rows), device=rows.device), columns] = mask
        hidden = read(copies, lengths[rows])[torch.arange(len(rows), device=rows.device), columns]
        scores[rows, columns] = target_log_probabilities(hidden, weight, bias, tokens[rows, columns])
    return scores
