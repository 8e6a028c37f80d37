"""Base of the models that learn from demonstrations by behavior cloning, and their parser of trajectories.

A line with a trajectory contains a task, a map and actions. Shapes: B demonstrations, N steps, A actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from induce.data.batches import SentenceBatch, batches_by_cost
from induce.data.vocabulary import FIRST
from induce.layers.masks import real_words
from induce.models.base import Loss, Model, Query
from induce.parsing.model_parser import ModelParser
from induce.parsing.parser import PredictOptions
from induce.parsing.reading import Reading
from induce.structures import Distances
from induce.tasks.craft.demonstrations import Demonstration, follow, make_batch, replay
from induce.tasks.craft.episodes import read_sketch, read_sketches
from induce.tasks.examples import DemonstrationBatch
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

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


class TrajectoryParser(ModelParser):
    """A trained policy with a decoder."""

    def predict_block(self, block: Sequence[Sentence], options: PredictOptions) -> list[Reading | SynparseError]:
        """Predictions for each trajectory, with its actions as words. An empty line has no words.

        Raises SynparseError if a line is not a trajectory or the model has not learned its task.
        """
        sketches = read_sketches(self.checkpoint.config.task.sketches)
        trajectories = [self._trajectory(sentence, sketches) for sentence in block]
        nonempty = [index for index, trajectory in enumerate(trajectories) if trajectory is not None]
        rows: list[list[float]] = [[] for _ in trajectories]
        items = replay([trajectory for trajectory in trajectories if trajectory is not None], sketches)
        for chosen in batches_by_cost(items.lengths):
            with torch.inference_mode():
                batch = make_batch(items, chosen).to(self.device)
                structure = self.model.structure(batch, Query(self.structure, self.layer, self.distances))
            for item, row in zip(chosen, structure.rows(), strict=True):
                rows[nonempty[item]] = row
        actions = [() if trajectory is None else trajectory.actions for trajectory in trajectories]
        return [
            Reading(words, range(len(words)), self.structure, row) for words, row in zip(actions, rows, strict=True)
        ]

    def _trajectory(self, sentence: Sentence, sketches: Sequence[str]) -> Demonstration | None:
        """The trajectory on a line, or None if the line is empty."""
        if not sentence.words:
            return None
        if len(sentence.words) < 3:
            raise SynparseError(f"{sentence.location}: expected a task, a map and actions")
        try:
            sketch = read_sketch(sentence.words[0])
            if sketch not in sketches:
                raise SynparseError(f"task {sketch!r} is not one of the tasks of this model ({' '.join(sketches)})")
            return follow(sketch, sentence.words[1], sentence.words[2:])
        except (ValueError, SynparseError) as error:
            raise SynparseError(f"{sentence.location}: {error}") from None
