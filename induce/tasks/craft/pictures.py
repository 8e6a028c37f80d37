"""Tables and plots of the steps of a policy with options along demonstrations, and of learning curves."""

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
class StepAnalysis:
    """Predictions of a model at each of T steps of a demonstration (figure 18 of the thesis)."""

    shown: Demonstration
    ends: Sequence[float]  # (T,) the probability that the subtask before the step was done ("switch")
    choices: Sequence[Sequence[float]]  # (T, K) weights of the active options

    @property
    def columns(self) -> list[str]:
        """Names of the columns of `rows`."""
        return ["Step", "Action", "Subtask", "Switch", *(f"Option {k}" for k in range(1, len(self.choices[0]) + 1))]

    @property
    def rows(self) -> list[list[str]]:
        """A row for each step."""
        subtasks = [list(SUBTASKS)[number] for number in subtasks_of(self.shown)]
        return [
            [str(step), action, subtask, *(f"{value:.2f}" for value in (end, *choice))]
            for step, (action, subtask, end, choice) in enumerate(
                zip(self.shown.actions, subtasks, self.ends, self.choices, strict=True), 1
            )
        ]

    def scene(self) -> Scene:
        """Plot of the predictions as lines over the steps."""
        lines = [Line("switch", list(enumerate(self.ends)))]
        for number, values in enumerate(zip(*self.choices, strict=True), 1):
            lines.append(Line(f"option {number}", list(enumerate(values))))
        title = f"{self.shown.sketch}: {self.shown.size} actions"
        ends = ", ".join(str(end + 1) for end in self.shown.ends)
        across = f"actions; subtasks end with {ends}" if ends else "actions"
        return draw_lines(lines, title=title, across=across, up=f"{title}, probability", names=self.shown.actions)

    def to_json(self) -> dict[str, Any]:
        """The analysis as a JSON object."""
        document = {"task": self.shown.sketch, "actions": list(self.shown.actions), "ends": list(self.shown.ends)}
        return {**document, "switch": list(self.ends), "options": [list(weights) for weights in self.choices]}


@torch.inference_mode()
def follow_options(run: str, paths: Sequence[str]) -> list[StepAnalysis]:
    """Analyze the demonstrations in files, or one generated for each task, with the model in ``run``.

    Raises SynparseError if the model has no options or has not learned a task.
    """
    checkpoint = read_run(run, "craft")
    model = build_model(checkpoint)
    if not isinstance(model, OptionController):
        raise SynparseError(f"{run}: this {checkpoint.config.model_name} has no options")
    sketches = read_sketches(checkpoint.config.task.sketches)
    if paths:
        demonstrations = [demonstration for demonstration, _ in read_demonstrations(paths)]
    else:
        demonstrations = list(Craft().generate(checkpoint.config.task, "test", len(sketches)))
    unknown = next((each.sketch for each in demonstrations if each.sketch not in sketches), "")
    if unknown:
        raise SynparseError(f"task {unknown!r} is not one of the tasks of this model ({' '.join(sketches)})")
    items, analyses = replay(demonstrations, sketches), []
    for index, demonstration in enumerate(demonstrations):
        batch = make_batch(items, [index])
        trace = model.run(batch.observations, batch.sketches)
        analyses.append(StepAnalysis(demonstration, trace.end[0].tolist(), trace.choice[0].tolist()))
    return analyses


def learning_curves(runs: Sequence[str]) -> list[Line]:
    """Accuracy of each run in percent over its steps: updates, or calls of options.

    For a run that learns from demonstrations, it is the share of correct actions in the development set. For a run that
    learns by reinforcement, it is the share of solved episodes. Raises SynparseError if a run has no such history.
    """
    lines = []
    for run in runs:
        history = read(find(Path(run))).facts.history
        points = [(float(check.step), 100 * (check.development_accuracy or 0.0)) for check in history]
        if not any(check.development_accuracy is not None for check in history):
            raise SynparseError(f"{run}: no accuracy by step in this run; curves need a run of a task")
        lines.append(Line(run, points))
    return lines
