"""The steps of the recipe ``best`` over time: docs/results/speed.md.

``python -m bench.experiments.minutes TEXT --out FOLDER [--minutes 10] [--plot FILE]`` trains the recipe and prints when
each of its steps begins and ends, and how much of the time of the cores was idle. ``--plot`` draws the steps as a
timeline.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

from bench.report import markdown
from induce.recipes.runner import train_recipe
from induce.reporting.plots import Interval, draw_intervals
from induce.training.events import Finished, PartProgress, Started
from induce.training.request import RunRequest
from treebank.draw.picture_files import write_scenes


class Steps:
    """The steps of a job, with the minutes at which they begin and end."""

    def __init__(self) -> None:
        self._start, self._parsing, self._part = time.monotonic(), "", 0
        self.minutes: dict[str, tuple[float, float]] = {}

    def begin(self, name: str) -> None:
        """A step begins now, and the one that parses for teachers ends."""
        now = self._now()
        if self._parsing:
            self.minutes[self._parsing] = self.minutes[self._parsing][0], now
            self._parsing = ""
        self.minutes.setdefault(name, (now, now))

    def end(self, name: str) -> None:
        """A step ends now."""
        self.minutes[name] = self.minutes[name][0], self._now()

    def begin_part(self, event: PartProgress) -> None:
        """A part begins, for whose teachers the text is parsed first."""
        if event.part != self._part:
            self._part = event.part
            self.begin(f"parsing for part {event.part}")
            self._parsing = f"parsing for part {event.part}"

    def _now(self) -> float:
        return (time.monotonic() - self._start) / 60


def cpu_minutes() -> float:
    """CPU time of this process and of the processes that it waited for."""
    usages = [resource.getrusage(part) for part in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) / 60


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("text")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--minutes", type=float, default=10.0)
    options.add_argument("--plot")
    chosen = options.parse_args()
    steps, cpu = Steps(), cpu_minutes()
    steps.begin("all")
    request = RunRequest(run=str(chosen.out), text=[chosen.text])
    for name, event in train_recipe(request, max_minutes=chosen.minutes, report=print):
        if isinstance(event, PartProgress):
            steps.begin_part(event)
        elif isinstance(event, Started):
            steps.begin(name)
        elif isinstance(event, Finished):
            steps.end(name)
    steps.end("all")
    rows = [[name, f"{first:.2f}", f"{last:.2f}"] for name, (first, last) in steps.minutes.items()]
    print(markdown(["step", "from minute", "to minute"], rows))
    cores = os.cpu_count() or 1
    print(f"idle: {100 - 100 * (cpu_minutes() - cpu) / cores / steps.minutes['all'][1]:.1f} % of {cores} cores")
    if chosen.plot:
        bars = [Interval(name, low, low, high, "parsing" not in name) for name, (low, high) in steps.minutes.items()]
        write_scenes([draw_intervals(bars, title="Steps of the recipe best", across="minutes")], chosen.plot)


if __name__ == "__main__":
    main()
