"""Wall-clock time of the stages of a recipe: members of one stage train at the same time, each on one core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace

from induce.recipes.recipe import Member

SLACK = 2.0  # factor on the minutes of a part that ends after its passes, in case other programs slow it down


def packed_minutes(stage: Sequence[Member], cores: int) -> float:
    """The least wall-clock time in which ``cores`` cores can train the members of a stage."""
    minutes = [member.part.minutes for member in stage]
    return max(sum(minutes) / cores, *minutes)


def wall_minutes(stage: Sequence[Member], cores: int) -> float:
    """Wall-clock time of the members of a stage that ``cores`` cores train in this order."""
    ends = [0.0] * cores  # of the last training of each core, the earliest first
    for member in stage:
        heapreplace(ends, ends[0] + member.part.minutes)
    return max(ends)


@dataclass(frozen=True)
class Schedule:
    """The stages of a job on ``cores`` cores. Members train for ``stretch`` times the minutes of their parts."""

    stages: list[list[Member]]
    stretch: float
    cores: int

    def room(self, number: int, remaining: Sequence[Member], minutes_left: float) -> float:
        """The factor on the minutes of the ``remaining`` members of stage ``number`` that ends them in time.

        Later stages keep their minutes divided by ``SLACK``, but at most half of ``minutes_left``.
        """
        later = sum(self._minutes(stage) for stage in self.stages[number + 1 :])
        return (minutes_left - min(later / SLACK, minutes_left / 2)) / self._minutes(remaining)

    def parsing_minutes(self, minutes_left: float) -> float:
        """Minutes for parsing the text for the last stage, at least half of ``minutes_left``."""
        return max(minutes_left / 2, minutes_left - self._minutes(self.stages[-1]))

    def _minutes(self, members: Sequence[Member]) -> float:
        return self.stretch * wall_minutes(members, self.cores)
