"""An Option-Controller Network over words (after Shen 2022, thesis, chapter 5): what is done next is the next word.

Controller, options, soft call and return are those of `induce.tasks.craft.ocn`. What is observed before a word is the
word
before it; each option has a vector for the next word, whose product with the words' embeddings is its score. Control
comes back to the controller between segments: chunks, if the options are any use. ``docs/models/ocn.md`` tells more.

Shapes: B sentences, N words, E units of an embedding, K options, S steps, one for each word and for the mark behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import Loss, Query
from induce.settings.field import count, dropout_rate, setting
from induce.structures import Distances
from induce.tasks.craft.mixture_cross_entropy import mixture_cross_entropy, mixture_log_probabilities
from induce.tasks.craft.ocn import Move, OptionProgram

LEAST = 1e-9  # share of an option, in a logarithm


@dataclass(frozen=True, kw_only=True)
class OptionWordsConfig:
    """Sizes of an Option-Controller Network over words; no paper tells them."""

    embedding_size: int = count(64, "units of a word embedding")
    hidden_size: int = count(128, "units of a hidden layer")
    inner_size: int = count(128, "units inside the network of a cell")
    options: int = setting(4, at_least=1, at_most=1000, help="kinds of segments that can be learned")
    temperature: float = setting(30.0, at_least=1e-3, at_most=1e6, help="of the controller's choice")
    dropout: float = dropout_rate(0.1, "dropout of the embedded words and before the output layer")


class OptionWords(OptionProgram):
    """Options that say the next word."""

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
        """What goes on along ``tokens`` (B, N): the moves of S = N + 1 steps, and the vectors (S, K, B, E) of options
        that are called."""
        before = functional.pad(tokens, (1, 0))  # a boundary mark in front
        move, called, _ = self.moves(self.dropout(self.embedding(before)), tokens.new_zeros(len(tokens)))
        return move, called

    def parts(self, batch: SentenceBatch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Of each of R words and marks, step by step: vectors (R, 2 K, E) of options that go on and of those that are
        called, the logarithms of their shares (R, 2 K), the word (R,), and which steps these are (S, B)."""
        move, called = self.read(batch.tokens)
        targets = functional.pad(batch.tokens, (0, 1)).t()
        steps = torch.arange(len(targets), device=targets.device)[:, None]
        real = steps <= batch.lengths.to(targets.device)
        vectors = torch.cat((move.scores, called), 1).transpose(1, 2)[real]  # (R, 2 K, E)
        shares = torch.cat(move.shares(), -1)[real]
        return self.dropout(vectors), shares.clamp(min=LEAST).log(), targets[real], real

    def loss(self, batch: SentenceBatch, state: None = None) -> Loss:
        """The mean negative log-likelihood of words and marks: behaviour cloning (eq. 5.2.18)."""
        vectors, shares, targets, _ = self.parts(batch)
        nll = mixture_cross_entropy(vectors, shares, self.embedding.weight, self.bias, targets)
        return Loss(nll, nll, len(targets))

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability (B, N + 1) of each word after those before it, and of the mark behind the last one."""
        vectors, shares, targets, real = self.parts(batch)
        scores = mixture_log_probabilities(vectors, shares, self.embedding.weight, self.bias, targets)
        return scores.new_zeros(real.shape).masked_scatter(real, scores).t()

    def word_vectors(self, batch: SentenceBatch) -> Tensor:
        """The options' vectors behind each word (B, N, E), weighed by their shares."""
        move, called = self.read(batch.tokens)
        shares, vectors = torch.cat(move.shares(), -1), torch.cat((move.scores, called), 1)
        return torch.einsum("sbk,skbe->bse", shares, vectors)[:, 1:]

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """The gap before each word is the probability that the segment before it was done."""
        return Distances(self.read(batch.tokens)[0].end.t()[:, : batch.tokens.shape[1]], batch.lengths)
