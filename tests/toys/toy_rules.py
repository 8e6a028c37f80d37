"""Grammar with rules of its own type: a tensor of low rank, p(A -> B C) = sum_r parent[A, r] left[r, B] right[r, C].

After TN-PCFG (Yang, Zhao & Tu 2021); the table of rules is never built for training or for marginals.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from induce.models.grammars.grammar import Grammar, Tables, perceptron, spread_weights
from induce.models.grammars.rules import Rules

PRESET = """
source = "a toy"
model = {name = "toy_rules", nonterminals = 4, preterminals = 6, rank = 3, size = 8}
data.minimum_count = 1
train.epochs = 1
loader = {name = "fragments", batch_words = 64}
"""


@dataclass(frozen=True, eq=False)
class RankRules(Rules):
    """Rules of rank R: ``parent`` (S, R), ``left`` and ``right`` (R, M), or one grammar for each sentence."""

    parent: Tensor
    left: Tensor
    right: Tensor

    def table(self) -> Tensor:
        """Sum of R outer products."""
        return torch.einsum("...ar,...rb,...rc->...abc", self.parent, self.left, self.right)

    def combine(self, lefts: Tensor, rights: Tensor) -> Tensor:
        """Sum over splits in the space of R numbers."""
        ranks = (lefts @ self.left.mT) * (rights @ self.right.mT)  # (spans, B, splits, R)
        return (ranks.sum(2)[:, :, None] @ self.parent.mT)[:, :, 0]


@dataclass(frozen=True, kw_only=True)
class ToyConfig:
    """Settings."""

    nonterminals: int = 4
    preterminals: int = 6
    rank: int = 3
    size: int = 8


class Toy(Grammar):
    """TN-PCFG: all factors are softmaxes of embeddings."""

    Config = ToyConfig

    def __init__(self, config: ToyConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        symbols = config.nonterminals + config.preterminals
        self.start = nn.Parameter(torch.empty(1, config.size))
        self.ranks = nn.Parameter(torch.empty(config.nonterminals, config.rank))
        self.left, self.right = (nn.Parameter(torch.empty(config.rank, symbols)) for _ in range(2))
        self.preterminal = nn.Parameter(torch.empty(config.preterminals, config.size))
        self.root = perceptron(config.size, config.size, config.nonterminals)
        self.words = perceptron(config.size, config.size, vocabulary_size)
        spread_weights(self)

    def tables(self, tokens: Tensor) -> Tables:
        """One table for all sentences."""
        factors = (part.softmax(-1) for part in (self.ranks, self.left, self.right))
        rules = RankRules(self.root(self.start)[0].softmax(-1), *factors)
        return Tables(self.words(self.preterminal).log_softmax(-1).t(), rules)
