"""What a policy with options does along demonstrations, and how policies were learned: numbers and plots of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from induce.reporting.plots import Line, draw_lines
from induce.storage.checkpoint import build_model, find, read
from induce.tasks.craft.demonstrations import Craft, Demonstration, read_demonstrations, replay
from induce.tasks.craft.evaluation import subtasks_of
from induce.tasks.craft.loader import make_batch
from induce.tasks.craft.ocn import OptionController
from induce.tasks.craft.sketches import SUBTASKS, read_sketches
from induce.tasks.evaluation import read_run
from treebank.base.errors import SynparseError
from treebank.draw.scene import Scene


@dataclass(frozen=True)
class Along:
    """What a model finds at each of T steps of a demonstration (figure 18 of the thesis)."""

    shown: Demonstration
    ends: Sequence[float]  # (T,) the probability that the subtask before the step was done ("switch")
    choices: Sequence[Sequence[float]]  # (T, K) the options that are at work

    @property
    def columns(self) -> list[str]:
        """Names of the columns of `rows`."""
        return ["Step", "Action", "Subtask", "Switch", *(f"Option {k}" for k in range(1, len(self.choices[0]) + 1))]

    @property
    def rows(self) -> list[list[str]]:
        """A row for each step."""
        subtasks = [list(SUBTASKS)[number] for number in subtasks_of(self.shown)]
        return [
            [str(place), action, subtask, *(f"{value:.2f}" for value in (end, *choice))]
            for place, (action, subtask, end, choice) in enumerate(
                zip(self.shown.actions, subtasks, self.ends, self.choices, strict=True), 1
            )
        ]

    def scene(self) -> Scene:
        """The same as lines over the steps."""
        lines = [Line("switch", list(enumerate(self.ends)))]
        for number, values in enumerate(zip(*self.choices, strict=True), 1):
            lines.append(Line(f"option {number}", list(enumerate(values))))
        title = f"{self.shown.sketch}: {self.shown.size} actions"
        ends = ", ".join(str(end + 1) for end in self.shown.ends)
        across = f"actions; subtasks end with {ends}" if ends else "actions"
        return draw_lines(lines, title=title, across=across, up=f"{title}, probability", names=self.shown.actions)

    def to_json(self) -> dict[str, Any]:
        """Plain lists."""
        shown = {"task": self.shown.sketch, "actions": list(self.shown.actions), "ends": list(self.shown.ends)}
        return {**shown, "switch": list(self.ends), "options": [list(one) for one in self.choices]}


@torch.inference_mode()
def follow_options(run: str, paths: Sequence[str]) -> list[Along]:
    """What the model in ``run`` finds along the demonstrations in files, or along a generated one of each of its tasks.

    Raises SynparseError for a model without options, and for a task that it has not learned.
    """
    checkpoint = read_run(run, "craft")
    model = build_model(checkpoint)
    if not isinstance(model, OptionController):
        raise SynparseError(f"{run}: this {checkpoint.config.model_name} has no options")
    sketches = read_sketches(checkpoint.config.task.sketches)
    if paths:
        given = [one for one, _ in read_demonstrations(paths)]
    else:
        given = list(Craft().generate(checkpoint.config.task, "test", len(sketches)))
    unknown = next((one.sketch for one in given if one.sketch not in sketches), "")
    if unknown:
        raise SynparseError(f"task {unknown!r} is none that this model has learned ({' '.join(sketches)})")
    items, found = replay(given, sketches), []
    for place, one in enumerate(given):
        batch = make_batch(items, [place])
        trace = model.run(batch.observations, batch.sketches)
        found.append(Along(one, trace.end[0].tolist(), trace.choice[0].tolist()))
    return found


def learning_curves(runs: Sequence[str]) -> list[Line]:
    """Of each run the share, in percent, of what it does right, over its steps: updates, or calls of options.

    Of one that learns from demonstrations it is that of the actions in the development part, of one that learns by
    reinforcement that of the episodes. Raises SynparseError for a run of which nothing of that kind is known.
    """
    lines = []
    for run in runs:
        history = read(find(Path(run))).facts.history
        points = [(float(check.step), 100 * (check.development_accuracy or 0.0)) for check in history]
        if not any(check.development_accuracy is not None for check in history):
            raise SynparseError(f"{run}: this run has no accuracy by step; curves are of tasks")
        lines.append(Line(run, points))
    return lines
