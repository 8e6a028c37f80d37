"""Neural dependency model with valence (Jiang, Han and Tu 2016), in the form of the released program of Yang et al.

A network computes the probabilities of the rules from embeddings, so that similar classes have similar rules. The order
in this file: settings, network, scores. See docs/reference/models/ndmv.md.

Shapes: B sentences, N words, K classes with index 0 for padding, E units of an embedding, H hidden units.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.models.capabilities import SentenceScoring
from induce.models.dependency.neural_dmv import NeuralDmv, NeuralDmvConfig
from induce.models.dependency.outward_sums import HAS_CHILD, LEFT, NO_CHILD, RIGHT, STOP, RuleScores
from induce.models.em.valence_grammar import ValenceGrammar
from induce.setting import count


@dataclass(frozen=True, kw_only=True)
class NdmvConfig(NeuralDmvConfig):
    """Settings of the neural DMV. Default sizes are those of the released program."""

    embedding_size: int = count(100, "units of the embedding of a class")
    hidden_size: int = count(500, "hidden units for a head, a direction and a valence")
    child_size: int = count(250, "units of the layer before the dependents")
    decision_size: int = count(100, "units of the layer before the decisions")


class Ndmv(NeuralDmv, SentenceScoring):
    """First-order model: rules depend on the class of the head, direction and valence."""

    Config = NdmvConfig

    def __init__(self, config: NdmvConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        size, hidden, classes = config.embedding_size, config.hidden_size, self.class_count
        self.embedding = nn.Embedding(classes, size)
        self.direction = nn.Parameter(torch.randn(2, size))  # left, right
        self.root_vector = nn.Parameter(torch.randn(1, size))
        self.has_child, self.no_child = nn.Linear(2 * size, hidden), nn.Linear(2 * size, hidden)
        self.child, self.child_output = nn.Linear(hidden, config.child_size), nn.Linear(config.child_size, classes)
        self.decision, self.decision_output = (
            nn.Linear(hidden, config.decision_size),
            nn.Linear(config.decision_size, 2),
        )
        self.root = nn.Linear(size, classes)

    def scores(self, tokens: Tensor) -> RuleScores:
        """Scores without siblings: log P(dependent), log P(decision) given [head, direction, valence], log P(root)."""
        classes, words = self.classes[tokens], torch.arange(tokens.shape[1], device=tokens.device)
        children, decisions, root = self.rule_tables()
        side = (words > words[:, None]).long()
        attach = children[classes[:, :, None], side[None], :, classes[:, None]]  # (B, N, N, 2)
        return RuleScores(attach[:, :, :, None], decisions[classes][:, :, None], root[classes])

    def rule_tables(self) -> tuple[Tensor, Tensor, Tensor]:
        """Log P(dependent) (K, 2, 2, K) and log P(decision) (K, 2, 2, 2) of [head, direction, valence], log P(root)."""
        heads = self.embedding.weight[:, None].expand(-1, 2, -1)
        inputs = torch.cat([heads, self.direction.expand(len(heads), -1, -1)], -1)  # (K, 2, 2 E)
        hidden = functional.relu(torch.stack([self.has_child(inputs), self.no_child(inputs)], 2))  # (K, 2, 2, H)
        children = self.child_output(functional.relu(self.child(hidden))).log_softmax(-1)  # (K, 2, 2, K)
        decisions = self.decision_output(functional.relu(self.decision(hidden))).log_softmax(-1)
        return children, decisions, self.root(self.root_vector)[0].log_softmax(-1)

    @torch.no_grad()
    def valence_grammar(self) -> ValenceGrammar:
        """The rules as probabilities, with the numbers of sides and valences of `ValenceGrammar`."""
        children, decisions, root = (table.double().exp().cpu().numpy() for table in self.rule_tables())
        sides, valences = [RIGHT, LEFT], [NO_CHILD, HAS_CHILD]
        return ValenceGrammar(root, decisions[:, sides][:, :, valences, STOP], children[:, sides][:, :, valences])
