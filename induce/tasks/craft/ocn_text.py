"""An Option-Controller Network over words (after Shen 2022, thesis, chapter 5): the next action is the next word.

Controller, options, soft call and return are those of `induce.tasks.craft.ocn`. The observation before a word is the
preceding word. Each option has a vector for the next word; its products with the embeddings are the scores of the
words. Control returns to the controller between segments, which ideally are chunks. See
``docs/reference/models/ocn.md``.

Shapes: B sentences, N words, E units of an embedding, K options, S = N + 1 steps. The last step
predicts the end-of-sentence token.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.layers.cross_entropy import mixture_cross_entropy, mixture_log_probabilities
from induce.models.base import Loss, Query
from induce.models.capabilities import WordScoring, WordVectors
from induce.setting import count, dropout_rate, limited
from induce.structures import Distances
from induce.tasks.craft.ocn import Move, OptionProgram

MIN_SHARE = 1e-9  # share of an option, for a finite logarithm


@dataclass(frozen=True, kw_only=True)
class OptionWordsConfig:
    """Sizes of an Option-Controller Network over words. The defaults are not from a paper."""

    embedding_size: int = count(64, "units of a word embedding")
    hidden_size: int = count(128, "units of a hidden layer")
    inner_size: int = count(128, "units inside the network of a cell")
    options: int = limited(4, 1, 1000, "types of segments that can be learned")
    temperature: float = limited(30.0, 1e-3, 1e6, "temperature of the controller's choice")
    dropout: float = dropout_rate(0.1, "dropout of the embedded words and before the output layer")


class OptionWords(WordScoring, WordVectors, OptionProgram):
    """Options that predict the next word."""

    Config = OptionWordsConfig
    reads = (SentenceBatch,)
    gives = (Distances,)

    def __init__(self, config: OptionWordsConfig, vocabulary_size: int) -> None:
        size = config.embedding_size
        super().__init__(config, features=size, actions=size, tasks=1)
        self.embedding = nn.Embedding(vocabulary_size, size)
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))
        self.dropout = nn.Dropout(config.dropout)
        nn.init.normal_(self.embedding.weight, std=size**-0.5)

    def read(self, tokens: Tensor) -> tuple[Move, Tensor]:
        """Moves of S = N + 1 steps for ``tokens`` (B, N), and vectors (S, K, B, E) of the called options."""
        before = functional.pad(tokens, (1, 0))  # the boundary token comes first
        move, called, _ = self.moves(self.dropout(self.embedding(before)), tokens.new_zeros(len(tokens)))
        return move, called

    def mixture_parts(self, batch: SentenceBatch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Parts of the mixture for each of the R tokens, end-of-sentence tokens included, in the order of the steps.

        Returns vectors (R, 2 K, E) of the options that continue and of those that are called, the logarithms of their
        shares (R, 2 K), the target tokens (R,), and a boolean mask of the real steps (S, B).
        """
        move, called = self.read(batch.tokens)
        targets = functional.pad(batch.tokens, (0, 1)).t()
        steps = torch.arange(len(targets), device=targets.device)[:, None]
        real = steps <= batch.lengths.to(targets.device)
        vectors = torch.cat((move.scores, called), 1).transpose(1, 2)[real]  # (R, 2 K, E)
        shares = torch.cat(move.shares(), -1)[real]
        return self.dropout(vectors), shares.clamp(min=MIN_SHARE).log(), targets[real], real

    def loss(self, batch: SentenceBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of words and end-of-sentence tokens: behavior cloning (eq. 5.2.18)."""
        vectors, shares, targets, _ = self.mixture_parts(batch)
        nll = mixture_cross_entropy(vectors, shares, self.embedding.weight, self.bias, targets)
        return Loss(nll, nll, len(targets))

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability (B, N + 1) of each word given the preceding words, and of the end-of-sentence token."""
        vectors, shares, targets, real = self.mixture_parts(batch)
        scores = mixture_log_probabilities(vectors, shares, self.embedding.weight, self.bias, targets)
        return scores.new_zeros(real.shape).masked_scatter(real, scores).t()

    def word_vectors(self, batch: SentenceBatch) -> Tensor:
        """Mean vector of the options after each word (B, N, E), weighted by their shares."""
        move, called = self.read(batch.tokens)
        shares, vectors = torch.cat(move.shares(), -1), torch.cat((move.scores, called), 1)
        return torch.einsum("sbk,skbe->bse", shares, vectors)[:, 1:]

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """The gap before each word is the probability that the segment before it was done."""
        return Distances(self.read(batch.tokens)[0].end.t()[:, : batch.tokens.shape[1]], batch.lengths)
