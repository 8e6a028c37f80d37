"""Wall-clock time of the stages of a recipe: members of one stage train at the same time, each on one core."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapreplace

from induce.recipes.recipe import Member


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
