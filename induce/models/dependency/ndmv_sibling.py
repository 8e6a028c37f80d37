"""Sibling neural dependency model with valence (Yang, Jiang, Han and Tu 2020).

Each rule also depends on the sibling: the next farther dependent of the same head on the same side. The scores of
triples are factorized. The order in this file: settings, network, scores. See docs/reference/models/ndmv-sibling.md.

Shapes: B sentences, N words, K classes with index 0 for padding, H hidden units, S = K + 1 siblings, 0 for none.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from induce.models.dependency.factors import Factors, RoleEncoder
from induce.models.dependency.neural_dmv import NeuralDmv, NeuralDmvConfig
from induce.models.dependency.outward_sums import RuleScores
from induce.setting import count


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


class NdmvSibling(NeuralDmv):
    """Second-order model over classes."""

    Config = NdmvSiblingConfig
    siblings = True

    def __init__(self, config: NdmvSiblingConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        self.rules = SiblingRules(config, self.class_count)

    def scores(self, tokens: Tensor) -> RuleScores:
        """Log probabilities of dependents, decisions and roots."""
        return self.rules(self.classes[tokens])
