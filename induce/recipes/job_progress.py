"""Progress of a recipe job: how much of its work is done, and the minutes that are left."""

from __future__ import annotations

import time

from induce.recipes.recipe import PartRun
from induce.recipes.recipe_job import RecipeJob
from induce.training.events import PartProgress, Progress


class JobProgress:
    """Progress of a job: the minutes of a run are its share of the work."""

    def __init__(self, job: RecipeJob) -> None:
        self.job = job
        self.shares = {run.name: float(run.name in job.plan.done) for run in job.plan.recipe.runs}
        self.stage: list[PartRun] = []
        self._since, self._before = time.monotonic(), self._share()

    def begin(self, stage: list[PartRun]) -> PartProgress:
        """The event at the beginning of a stage. Earlier ones are over, also if a run ended early."""
        self.shares |= {run.name: 1.0 for run in self.stage}
        self.stage = stage
        return self._event()

    def update(self, name: str, event: Progress) -> PartProgress:
        """The event that follows from the progress of the run ``name``."""
        self.shares[name] = (event.epoch - 1 + event.share) / max(1, event.epochs)
        return self._event()

    def _share(self) -> float:
        runs = self.job.plan.recipe.runs
        return sum(run.part.minutes * self.shares[run.name] for run in runs) / sum(run.part.minutes for run in runs)

    def _event(self) -> PartProgress:
        job, share, minutes = self.job, self._share(), (time.monotonic() - self._since) / 60
        left = minutes * (1 - share) / (share - self._before) if share > self._before else job.minutes_left
        parts = list(dict.fromkeys(run.part.name for stage in job.plan.recipe.stages for run in stage))
        active = [run.part for run in self.stage if self.shares[run.name] < 1] or [self.stage[-1].part]
        return PartProgress(
            parts.index(active[0].name) + 1, len(parts), active[0].does, share, minutes, min(left, job.minutes_left)
        )
