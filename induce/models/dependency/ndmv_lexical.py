"""Lexicalized neural dependency model with valence (Yang, Jiang, Han and Tu 2020).

Heads and dependents are words: the vector of a word is that of its class followed by its own. The scores of pairs are
factorized. The order in this file: settings, network, scores. See docs/reference/models/ndmv-lexical.md.

Shapes: B sentences, N words, V vocabulary, K classes, E units of a class and of a word, H = 2 E.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.models.dependency.factors import Factors, RoleEncoder
from induce.models.dependency.neural_dmv import NeuralDmv, NeuralDmvConfig
from induce.models.dependency.outward_sums import RuleScores
from induce.setting import count, dropout_rate


@dataclass(frozen=True, kw_only=True)
class LexicalSizes:
    """Sizes of the lexicalized neural DMV. Defaults are those of the released program."""

    class_size: int = count(100, "units of the embedding of a class")
    word_size: int = count(100, "units of the embedding of a word")
    word_attach_rank: int = count(150, "rank of the scores of two words")
    word_decision_rank: int = count(50, "rank of the scores of a word and a decision")
    word_root_rank: int = count(150, "rank of the scores of a word as the root")
    head_dropout: float = dropout_rate(0.5, "dropout of the vectors of heads")


@dataclass(frozen=True, kw_only=True)
class NdmvLexicalConfig(LexicalSizes, NeuralDmvConfig):
    """Settings of the lexicalized neural DMV: sizes of vectors, word classes and initial trees."""


class WordRules(nn.Module):
    """Probabilities of rules over the V words of a vocabulary with K classes."""

    def __init__(self, sizes: LexicalSizes, classes: int, vocabulary_size: int) -> None:
        super().__init__()
        size = sizes.class_size + sizes.word_size
        self.class_embedding = nn.Embedding(classes, sizes.class_size)
        self.word_embedding = nn.Embedding(vocabulary_size, sizes.word_size)
        self.root_vector = nn.Parameter(torch.randn(1, size))
        self.decision_vectors = nn.Parameter(torch.randn(2, size))  # continue, stop
        self.parent, self.child = nn.Linear(size, size), nn.Linear(size, size)
        self.root, self.decision = nn.Linear(size, size), nn.Linear(size, size)
        self.encoder = RoleEncoder(size)
        self.attach_factors = Factors(size, sizes.word_attach_rank, 2)
        self.decision_factors = Factors(size, sizes.word_decision_rank, 2)
        self.root_factors = Factors(size, sizes.word_root_rank, 2)
        self.dropout = sizes.head_dropout

    def forward(self, tokens: Tensor, classes: Tensor) -> RuleScores:
        """Scores without siblings for sentences ``tokens`` (B, N), given the class of each word (V,)."""
        types, index = tokens.unique(return_inverse=True)  # the scores of a head are computed once
        vectors = torch.cat([self.class_embedding(classes), self.word_embedding.weight], 1)
        heads = self.encoder(self.parent(functional.dropout(vectors[types], self.dropout, self.training)))
        children = self.encoder(self.child(vectors))
        choices = self.encoder(self.decision(self.decision_vectors))
        attach = self.attach_factors(heads, children).log_softmax(1)  # (types, V, 2, 2)
        decision = self.decision_factors(heads, choices).log_softmax(1)  # (types, 2 choices, 2, 2)
        root = self.root_factors(self.encoder(self.root(self.root_vector)), children).sum((2, 3)).log_softmax(1)[0]
        words = torch.arange(tokens.shape[1], device=tokens.device)
        side = (words > words[:, None]).long()
        arcs = attach[index[:, :, None], tokens[:, None], side[None]]  # (B, N, N, 2)
        return RuleScores(arcs[:, :, :, None], decision[index].permute(0, 1, 3, 4, 2)[:, :, None], root[tokens])


class NdmvLexical(NeuralDmv):
    """First-order model over words."""

    Config = NdmvLexicalConfig
    gives_words = True

    def __init__(self, config: NdmvLexicalConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        self.rules = WordRules(config, self.class_count, vocabulary_size)

    def scores(self, tokens: Tensor) -> RuleScores:
        """Log-probabilities (nats) of dependents, of continuing and stopping, and of roots for ``tokens`` (B, N)."""
        return self.rules(tokens, self.classes)
