"""Trees over the actions of trajectories. A line contains a task, a map and actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from induce.data.by_length import batches_by_cost
from induce.models.base import Query
from induce.parsing.model_parser import ModelParser
from induce.parsing.reading import Reading
from induce.tasks.craft.demonstrations import Demonstration, follow, make_batch, replay
from induce.tasks.craft.sketches import read_sketch, read_sketches
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence


class TrajectoryParser(ModelParser):
    """A trained policy with a decoder."""

    def read_block(self, block: Sequence[Sentence]) -> Iterator[Reading]:
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
        for trajectory, row in zip(trajectories, rows, strict=True):
            words = () if trajectory is None else trajectory.actions
            yield Reading(words, tuple(range(len(words))), self.structure, row)

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
