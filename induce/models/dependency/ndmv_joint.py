"""Joint model of Yang, Jiang, Han and Tu (2020): a lexicalized and a sibling model that agree on trees.

The objective and the trees are those of the product of both probabilities of a tree, which is not a likelihood. See
docs/reference/models/ndmv.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from induce.models.base import Model
from induce.models.dependency.ndmv_lexical import LexicalSizes, WordRules
from induce.models.dependency.ndmv_sibling import SiblingRules, SiblingSizes
from induce.models.dependency.neural_dmv import NeuralDmv, NeuralDmvConfig
from induce.models.dependency.outward_sums import RuleScores


@dataclass(frozen=True, kw_only=True)
class NdmvJointConfig(LexicalSizes, SiblingSizes, NeuralDmvConfig):
    """Settings of the joint neural DMV: sizes of both models, word classes and initial trees."""


class NdmvJoint(NeuralDmv):
    """Neural DMV whose log scores are the sum of two models: a first-order one of words, a sibling one of classes."""

    Config = NdmvJointConfig
    siblings, gives_words = True, True
    measure = "disagreement"
    log_probability = Model.log_probability  # sentences have no probability

    def __init__(self, config: NdmvJointConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        self.lexical = WordRules(config, self.class_count, vocabulary_size)
        self.sibling = SiblingRules(config, self.class_count)

    def scores(self, tokens: Tensor) -> RuleScores:
        """Log of the product of the probabilities of both models."""
        models = self.lexical(tokens, self.classes), self.sibling(self.classes[tokens])
        return RuleScores(*(first + second for first, second in zip(*models, strict=True)))
