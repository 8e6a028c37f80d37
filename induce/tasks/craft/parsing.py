"""Segments of trajectories: a line holds a task, a map and actions, and gives a tree over the actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from induce.data.by_length import batches_by_cost
from induce.models.base import Query
from induce.parsing.parser import ModelParser
from induce.parsing.reading import Reading
from induce.tasks.craft.demonstrations import Demonstration, follow, replay
from induce.tasks.craft.loader import make_batch
from induce.tasks.craft.sketches import read_sketch, read_sketches
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence


class TrajectoryParser(ModelParser):
    """A trained policy with a decoder."""

    def read_block(self, block: Sequence[Sentence]) -> Iterator[Reading]:
        """What the model says of each trajectory; its words are the actions. An empty line has none.

        Raises SynparseError for a line that is no trajectory, and for a task that the model has not learned.
        """
        sketches = read_sketches(self.checkpoint.config.task.sketches)
        shown = [self._followed(sentence, sketches) for sentence in block]
        wanted = [index for index, one in enumerate(shown) if one is not None]
        rows: list[list[float]] = [[] for _ in shown]
        items = replay([one for one in shown if one is not None], sketches)
        for chosen in batches_by_cost(items.lengths):
            with torch.inference_mode():
                batch = make_batch(items, chosen).to(self.device)
                structure = self.model.structure(batch, Query(self.structure, self.layer, self.distances))
            for place, row in zip(chosen, structure.rows(), strict=True):
                rows[wanted[place]] = row
        for one, row in zip(shown, rows, strict=True):
            words = () if one is None else one.actions
            yield Reading(words, tuple(range(len(words))), self.structure, row)

    def _followed(self, sentence: Sentence, sketches: Sequence[str]) -> Demonstration | None:
        """The trajectory on a line; None if it is empty."""
        if not sentence.words:
            return None
        if len(sentence.words) < 3:
            raise SynparseError(f"{sentence.place}: expected a task, a map and actions")
        try:
            sketch = read_sketch(sentence.words[0])
            if sketch not in sketches:
                raise SynparseError(f"task {sketch!r} is none that this model has learned ({' '.join(sketches)})")
            return follow(sketch, sentence.words[1], sentence.words[2:])
        except (ValueError, SynparseError) as error:
            raise SynparseError(f"{sentence.place}: {error}") from None
