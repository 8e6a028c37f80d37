"""Schedule of a recipe: how long each model trains, and how much of the text is learned from.

The runs of one stage train at the same time, each on one core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapreplace
from typing import TYPE_CHECKING

from induce.data.loaders import SpanSettings, words_learned
from induce.recipes.recipe import VOTE, PartRun, Recipe

if TYPE_CHECKING:
    import numpy as np

SLACK = 2.0  # factor on the minutes of a part that ends after its passes, in case other programs slow it down


def packed_minutes(stage: Sequence[PartRun], cores: int) -> float:
    """The least wall-clock time in which ``cores`` cores can train the runs of a stage."""
    minutes = [run.part.minutes for run in stage]
    return max(sum(minutes) / cores, *minutes)


def wall_minutes(stage: Sequence[PartRun], cores: int) -> float:
    """Wall-clock time of the runs of a stage that ``cores`` cores train in this order."""
    ends = [0.0] * cores  # of the last training of each core, the earliest first
    for run in stage:
        heapreplace(ends, ends[0] + run.part.minutes)
    return max(ends)


@dataclass(frozen=True)
class Schedule:
    """The stages of a recipe on ``cores`` cores in ``minutes``. Runs train for ``stretch`` times their minutes."""

    recipe: Recipe
    minutes: float  # wall-clock time of all stages
    cores: int

    @cached_property
    def stretch(self) -> float:
        """The factor on the minutes of each part with which all that do not learn from the vote use their time."""
        costs = self.recipe.costs
        stages = [stage for stage in self.recipe.stages if VOTE not in stage[0].teachers]
        packed = sum(packed_minutes(stage, self.cores) for stage in stages)
        return min(costs.max_stretch, self.minutes * costs.training_share / packed)

    def shares(self, words: int) -> tuple[float, float]:
        """Shares of a text of ``words`` words that the parts, and the students of the vote, learn from.

        As much is used as can be parsed in the time that training leaves, and at least in a tenth of the time; at least
        half of that time is for the vote.
        """
        if not words:
            return 1.0, 1.0
        costs = self.recipe.costs
        training_minutes = self.stretch * sum(packed_minutes(stage, self.cores) for stage in self.recipe.stages)
        parsing_minutes = max(0.1 * self.minutes, self.minutes - training_minutes)
        learned = 60 * costs.words_per_second * parsing_minutes * self.cores
        part_words = min(words, learned / 2 / costs.teaching)
        vote_words = min(part_words, (learned - part_words * costs.teaching) / costs.voting)
        return max(0.001, round(part_words / words, 3)), max(0.001, round(vote_words / words, 3))

    def vote_share(self, words: int, shares: tuple[float, float], teaching_seconds: float, minutes: float) -> float:
        """The share for students of the vote, reduced to at least a tenth if it cannot be parsed in ``minutes``.

        If parsing for other parts took ``teaching_seconds``, longer than planned, parsing for students takes longer by
        the same factor.
        """
        costs = self.recipe.costs
        teaching, voting = (
            cost * words * share / (60 * costs.words_per_second * self.cores)
            for cost, share in zip((costs.teaching, costs.voting), shares, strict=True)
        )
        voting *= max(1.0, teaching_seconds / 60 / teaching) if teaching else 1.0
        if 0 < minutes < voting:
            return max(0.001, round(shares[1] * max(0.1, minutes / voting), 3))
        return shares[1]

    def room(self, number: int, remaining: Sequence[PartRun], minutes_left: float) -> float:
        """The factor on the minutes of the ``remaining`` runs of stage ``number`` that ends them in time.

        Later stages keep their minutes divided by ``SLACK``, but at most half of ``minutes_left``.
        """
        later = sum(self._minutes(stage) for stage in self.recipe.stages[number + 1 :])
        return (minutes_left - min(later / SLACK, minutes_left / 2)) / self._minutes(remaining)

    def parsing_minutes(self, minutes_left: float) -> float:
        """Minutes for parsing the text for the last stage, at least half of ``minutes_left``."""
        return max(minutes_left / 2, minutes_left - self._minutes(self.recipe.stages[-1]))

    def _minutes(self, stage: Sequence[PartRun]) -> float:
        return self.stretch * wall_minutes(stage, self.cores)


def fit_passes(loader: SpanSettings, lengths: np.ndarray, words: float, max_passes: int) -> tuple[int, SpanSettings]:
    """Number of passes over sentences of these ``lengths`` that learn from at most ``words`` words, and the settings.

    The longest sentences are learned from in the last pass at the latest.
    """
    if max_passes == 1:
        return 1, replace(loader, first_longest=0)
    for passes in range(max_passes, 1, -1):
        rise = -(-max(0, loader.longest - loader.first_longest) // (passes - 1))
        loader = replace(loader, longer=max(loader.longer, rise))
        if words_learned(lengths, loader, passes) <= words:
            break
    return passes, loader
