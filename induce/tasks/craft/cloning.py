"""Base of the models that learn from demonstrations by behavior cloning.

Shapes: B demonstrations, N steps, A actions.
"""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from induce.data.batches import SentenceBatch
from induce.data.vocabulary import FIRST
from induce.layers.padding import real_words
from induce.models.base import Loss, Model, Query
from induce.structures import Distances
from induce.tasks.batches import DemonstrationBatch

MIN_PROBABILITY = 1e-9  # probability of an action in the loss


class CloningModel(Model):
    """A model of demonstrations. A subclass defines ``run``."""

    reads = (DemonstrationBatch,)
    gives = (Distances,)
    has_options: ClassVar[bool] = False  # whether the result of ``run`` also has ``choice`` (B, N, K), of options

    def run(self, observations: Tensor, tasks: Tensor) -> Any:
        """Predictions for ``observations`` (B, N, F) in demonstrations of ``tasks`` (B,).

        The result has ``actions`` (B, N, A or more), the probabilities of actions, and ``end`` (B, N), the probability
        that the subtask before a step was done.
        """
        raise NotImplementedError

    def trace(self, batch: DemonstrationBatch) -> Any:
        """`run` for demonstrations."""
        return self.run(batch.observations, batch.sketches)

    def loss(self, batch: DemonstrationBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of the demonstrated actions (thesis, eq. 5.2.18)."""
        actions, real, targets = self.trace(batch).actions, *targets_of(batch)
        probability = actions.gather(-1, targets[..., None])[..., 0][real]
        nll = -probability.clamp(min=MIN_PROBABILITY).log().mean()
        return Loss(nll, nll, int(real.sum()), correct=self.count_correct(actions, real, targets))

    def count_correct(self, actions: Tensor, real: Tensor, targets: Tensor) -> int:
        """Number of steps whose most probable action is the demonstrated one."""
        return int(((actions.argmax(-1) == targets) & real).sum())

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """Distances whose gap before each action is the probability that the subtask before it was done."""
        assert isinstance(batch, DemonstrationBatch)
        return Distances(self.trace(batch).end, batch.lengths)


def targets_of(batch: DemonstrationBatch) -> tuple[Tensor, Tensor]:
    """Mask (B, N) of the steps, and the index (B, N) of the action of each."""
    return real_words(batch.tokens, batch.lengths), (batch.tokens - FIRST).clamp(min=0)
