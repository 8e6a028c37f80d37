"""Lexicalized, sibling and joint neural dependency models with valence (Yang, Jiang, Han and Tu 2020).

In the lexicalized model, heads and dependents are words: the vector of a word is that of its class followed by its own.
In the sibling model, each rule also depends on the sibling: the next farther dependent of the same head on the same
side. The scores of pairs and triples are factorized (`Factors`). The joint model maximizes the product of the
probabilities that both give to a tree, which is not a likelihood, and its trees are the best ones of this product.

See docs/reference/models/ndmv.md.

Axes: B sentences, N words, V vocabulary, K classes with index 0 for padding, S = K + 1 siblings (0 for none), H hidden
units. In the factors: X any axes, D the two directions (left, right), V the two valences, R rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.models.capabilities import SentenceScoring
from induce.models.dependency.neural_dmv import NeuralDmv, NeuralDmvConfig
from induce.models.dependency.outward_sums import RuleScores
from induce.setting import count, dropout_rate


class RoleEncoder(nn.Module):
    """Vectors of a word for each direction and valence, with skip connections, as in the released program."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.no_child, self.has_child = nn.Linear(size, size), nn.Linear(size, size)
        self.valence = nn.Linear(size, size)
        self.left, self.right = nn.Linear(size, size), nn.Linear(size, size)
        self.direction = nn.Linear(size, size)
        self.inner, self.outer = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x: Tensor) -> Tensor:
        """Vectors (X, D, V, H) for vectors ``x`` (X, H)."""
        active = functional.relu(x)
        valences = torch.stack([layer(active) + x for layer in (self.no_child, self.has_child)], -2)
        valences = functional.relu(self.valence(functional.relu(valences)))
        directions = torch.stack([layer(valences) + x[..., None, :] for layer in (self.left, self.right)], -3)
        directions = functional.relu(self.direction(functional.relu(directions)))
        return functional.relu(self.outer(self.inner(directions)))


class Factors(nn.Module):
    """Score Σ_r P_r(x) Q_r(y) … of vectors of two or three roles, each with its own linear map to R numbers."""

    def __init__(self, size: int, rank: int, roles: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(size, rank) for _ in range(roles))

    def forward(self, *roles: Tensor) -> Tensor:
        """Scores (X, Y, D, V) or (X, Y, Z, D, V) of all pairs or triples of vectors (X, D, V, H), (Y, D, V, H), …"""
        first, second, *third = (layer(vectors) for layer, vectors in zip(self.maps, roles, strict=True))
        if not third:
            return torch.einsum("xdvr,ydvr->xydv", first, second)
        return torch.einsum("xydvr,zdvr->xyzdv", torch.einsum("xdvr,ydvr->xydvr", first, second), third[0])


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


class NdmvLexical(NeuralDmv, SentenceScoring):
    """First-order model over words."""

    Config = NdmvLexicalConfig
    gives_words = True

    def __init__(self, config: NdmvLexicalConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        self.rules = WordRules(config, self.class_count, vocabulary_size)

    def scores(self, tokens: Tensor) -> RuleScores:
        """Log-probabilities (nats) of dependents, of continuing and stopping, and of roots for ``tokens`` (B, N)."""
        return self.rules(tokens, self.classes)


@dataclass(frozen=True, kw_only=True)
class SiblingSizes:
    """Sizes of the neural DMV with siblings. Defaults are those of the released program."""

    hidden_size: int = count(100, "units of all vectors")
    attach_rank: int = count(100, "rank of the scores of a head, a dependent and a sibling")
    decision_rank: int = count(20, "rank of the scores of a head, a sibling and a decision")
    root_rank: int = count(100, "rank of the scores of the root")


@dataclass(frozen=True, kw_only=True)
class NdmvSiblingConfig(SiblingSizes, NeuralDmvConfig):
    """Settings of the neural DMV with siblings: sizes of vectors, word classes and initial trees."""


class SiblingRules(nn.Module):
    """Probabilities of rules over K classes, including that of padding, which is never a dependent."""

    def __init__(self, sizes: SiblingSizes, classes: int) -> None:
        super().__init__()
        size = sizes.hidden_size
        self.embedding = nn.Embedding(classes + 1, size)  # the last row: no sibling
        self.root_vector = nn.Parameter(torch.randn(1, size))
        self.decision_vectors = nn.Parameter(torch.randn(2, size))  # continue, stop
        self.parent, self.sibling, self.child = (nn.Linear(size, size) for _ in range(3))
        self.root, self.decision = nn.Linear(size, size), nn.Linear(size, size)
        self.encoder = RoleEncoder(size)
        self.attach_factors = Factors(size, sizes.attach_rank, 3)
        self.decision_factors = Factors(size, sizes.decision_rank, 3)
        self.root_factors = Factors(size, sizes.root_rank, 2)

    def forward(self, classes: Tensor) -> RuleScores:
        """Scores for sentences of ``classes`` (B, N)."""
        words, embedded = torch.arange(classes.shape[1], device=classes.device), self.embedding.weight
        heads = self.encoder(self.parent(embedded[:-1]))
        siblings = self.encoder(torch.cat([embedded[-1:], self.sibling(embedded[:-1])]))
        children = self.encoder(self.child(embedded[1:-1]))
        choices = self.encoder(self.decision(self.decision_vectors))
        attach = self.attach_factors(heads, children, siblings).log_softmax(1)  # (K, K - 1, S, 2, 2)
        decision = self.decision_factors(heads, siblings, choices).log_softmax(2)  # (K, S, 2 choices, 2, 2)
        root = self.root_factors(self.encoder(self.root(self.root_vector)), children).sum((2, 3)).log_softmax(1)[0]
        side = (words > words[:, None]).long()
        child = (classes - 1).clamp(min=0)
        sibling = torch.cat([torch.zeros_like(classes[:, :1]), classes + 1], 1)
        arcs = attach[
            classes[:, :, None, None], child[:, None, :, None], sibling[:, None, None], side[None, :, :, None]
        ]
        decisions = decision[classes[:, :, None], sibling[:, None]]  # (B, N, N + 1, 2 choices, 2, 2)
        return RuleScores(arcs, decisions.permute(0, 1, 2, 4, 5, 3), root[child])


class NdmvSibling(NeuralDmv, SentenceScoring):
    """Second-order model over classes."""

    Config = NdmvSiblingConfig
    siblings = True

    def __init__(self, config: NdmvSiblingConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        self.rules = SiblingRules(config, self.class_count)

    def scores(self, tokens: Tensor) -> RuleScores:
        """Log probabilities of dependents, decisions and roots."""
        return self.rules(self.classes[tokens])


@dataclass(frozen=True, kw_only=True)
class NdmvJointConfig(LexicalSizes, SiblingSizes, NeuralDmvConfig):
    """Settings of the joint neural DMV: sizes of both models, word classes and initial trees."""


class NdmvJoint(NeuralDmv):
    """Neural DMV whose log scores are the sum of two models: a first-order one of words, a sibling one of classes.

    It has no `SentenceScoring`, because the product of two models is not a probability.
    """

    Config = NdmvJointConfig
    siblings, gives_words = True, True
    measure = "disagreement"

    def __init__(self, config: NdmvJointConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        self.lexical = WordRules(config, self.class_count, vocabulary_size)
        self.sibling = SiblingRules(config, self.class_count)

    def scores(self, tokens: Tensor) -> RuleScores:
        """Log of the product of the probabilities of both models."""
        models = self.lexical(tokens, self.classes), self.sibling(self.classes[tokens])
        return RuleScores(*(first + second for first, second in zip(*models, strict=True)))
