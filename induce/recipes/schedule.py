"""Schedule of a recipe: how long each model trains, and how much of the text is learned from.

The runs of one stage train at the same time, each on one core.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapreplace

from induce.recipes.recipe import VOTE, PartRun, Recipe

SLACK = 2.0  # factor on the minutes of a part that ends after its passes, in case other programs slow it down
READ = 0.45  # of the words of a text: what a pass reads on average if it begins with short sentences
FIRST_PASSES = 5  # over a text of any size, if there is time; the share of a large text leaves time for them
FEWEST_WORDS = 10_000  # to learn from; 32 were worse than the teachers, and numbers between were not measured
FILLED = 0.95  # of the time that is left: planned for the students of the vote, which are the last


def makespan(minutes: Iterable[float], cores: int) -> float:
    """Wall-clock time of trainings of so many ``minutes``, which ``cores`` cores begin in this order."""
    ends = [0.0] * cores  # of the last training of each core, the earliest first
    for training in minutes:
        heapreplace(ends, ends[0] + training)
    return max(ends)


def wall_minutes(stage: Sequence[PartRun], cores: int) -> float:
    """Wall-clock time of the runs of a ``stage`` if each takes the minutes of its part."""
    return makespan((run.part.minutes for run in stage), cores)


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
        minutes = sum(wall_minutes(stage, self.cores) for stage in stages)
        return min(costs.max_stretch, self.minutes * costs.training_share / minutes)

    def parsing(self, number: int, words: float) -> float:
        """Planned minutes in which the teachers of stage ``number`` parse ``words`` words, if these learn in passes."""
        costs, taught_by = self.recipe.costs, {run.part.teachers for run in self.recipe.stages[number]}
        grammars = {part.name for part in self.recipe.parts if part.max_passes}
        cost = costs.voting if VOTE in taught_by else costs.teaching if taught_by & grammars else 0.0
        return cost * words / (60 * costs.words_per_second * self.cores)

    def training(self, run: PartRun, words: float) -> float:
        """Planned minutes in which ``run`` learns from ``words`` running words. 0 words: the minutes of its part."""
        part = run.part
        if not words:
            return part.minutes * self.stretch
        return part.minutes * words / part.words if part.words else words / (60 * self.recipe.costs.words_per_second)

    def share(self, number: int, words: int, minutes_left: float, words_per_second: float) -> float:
        """Share of a text of ``words`` words that the runs of stage ``number`` learn from.

        As much is used as can be parsed in the time that training leaves, at the speed ``words_per_second`` of a
        grammar that learns. Half of this time is for the vote. It is at least a tenth of the minutes that are left, and
        half of them in the last stage. Students of a few sentences are worse than none, so their share is at least a
        tenth, and other models read `FEWEST_WORDS` or more, even if they are not ready in time. Grammars read no more
        than they can learn from in `FIRST_PASSES` passes.
        """
        costs, stages = self.recipe.costs, self.recipe.stages
        is_last = VOTE in stages[number][0].teachers
        minutes = sum(wall_minutes(stage, self.cores) for stage in stages[number:])
        training = minutes * costs.words_per_second / words_per_second * (1.0 if is_last else self.stretch)
        parsing = max((0.5 if is_last else 0.1) * minutes_left, minutes_left - training)
        parsed = 60 * parsing * self.cores * words_per_second / (costs.voting if is_last else 2 * costs.teaching)
        learned = 60 * self.stretch * costs.words_per_second  # in a minute of a part
        limited = [run.part for run in stages[number] if run.part.max_passes and not run.part.words]
        passes = ((part.minutes, min(FIRST_PASSES, part.max_passes)) for part in limited)
        read = min((learned * minutes / (READ * count) for minutes, count in passes), default=parsed)
        least = 0.1 if is_last else max(0.001, FEWEST_WORDS / max(1, words))
        return round(min(1.0, max(least, min(parsed, read) / max(1, words))), 3)

    def room(
        self, number: int, remaining: Sequence[PartRun], minutes_left: float, words_per_second: float = 0.0
    ) -> float:
        """The factor on the minutes of the ``remaining`` runs of stage ``number`` that ends them in time.

        Later stages keep the minutes that they need at ``words_per_second`` (0: the planned speed), divided by
        ``SLACK``, but at most half of ``minutes_left``.
        """
        planned = self.recipe.costs.words_per_second
        later = self.stretch * sum(wall_minutes(stage, self.cores) for stage in self.recipe.stages[number + 1 :])
        reserved = min(later * planned / (words_per_second or planned) / SLACK, minutes_left / 2)
        return (minutes_left - reserved) / (self.stretch * wall_minutes(remaining, self.cores))

    def limit(self, run: PartRun, room: float, used: float = 0.0) -> float:
        """Minutes after which ``run`` ends, if ``used`` minutes of a stored training are over."""
        part, planned = run.part, run.part.minutes * self.stretch
        if part.words and VOTE in run.teachers:  # nothing follows
            return room * planned
        slack = SLACK if part.max_passes and not part.words else 1.0
        return min(slack * planned - used, room * planned)

    def words(self, run: PartRun, room: float, words_per_second: float) -> float:
        """Number of running words that ``run`` learns from if it has ``room`` times its minutes.

        Without a number in the recipe, it is that of the planned minutes. Students of the vote, after which nothing
        follows, learn from more words if there is time, and from up to half as many if there is little: from a multiple
        of an eighth of the number, so that results hardly depend on the speed of the machine.
        """
        part, costs, planned = run.part, self.recipe.costs, run.part.minutes * self.stretch
        if not part.words:
            return 60 * planned * min(1.0, room) * costs.words_per_second
        possible = FILLED * room * self.stretch * words_per_second / costs.words_per_second
        return part.words * (max(0.5, int(8 * possible) / 8) if VOTE in run.teachers else 1.0)
