"""Tables and plots of the steps of a policy with options along demonstrations, and of learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from induce.reporting.plots import Line, draw_lines
from induce.reporting.runs import read_log
from induce.storage.checkpoint import build_model
from induce.storage.locate import MODEL_FILES
from induce.storage.outputs import LOG
from induce.tasks.accuracy import read_run
from induce.tasks.craft.demonstrations import Craft, Demonstration, make_batch, replay
from induce.tasks.craft.ocn import OptionController
from induce.tasks.craft.policy_scores import subtasks_of
from induce.tasks.craft.world import SUBTASKS, read_sketches
from treebank.base.errors import SynparseError
from treebank.base.tables import Cell, Column, Table
from treebank.draw.scene import Scene

LATEST_FIRST = tuple(reversed(MODEL_FILES))  # the history of the best checkpoint ends with it


@dataclass(frozen=True)
class StepAnalysis:
    """Predictions of a model at each of T steps of a demonstration (figure 18 of the thesis)."""

    demonstration: Demonstration
    ends: Sequence[float]  # (T,) the probability that the subtask before the step was done ("switch")
    choices: Sequence[Sequence[float]]  # (T, K) weights of the active options

    def table(self) -> Table:
        """A row for each step."""
        options = [Column(f"Option {k}", ".2f") for k in range(1, len(self.choices[0]) + 1)]
        columns = [Column("Step"), Column("Action"), Column("Subtask"), Column("Switch", ".2f"), *options]
        subtasks = [list(SUBTASKS)[number] for number in subtasks_of(self.demonstration)]
        steps = zip(self.demonstration.actions, subtasks, self.ends, self.choices, strict=True)
        rows: list[list[Cell]] = [
            [str(step), action, subtask, end, *choice] for step, (action, subtask, end, choice) in enumerate(steps, 1)
        ]
        return Table(self.demonstration.sketch, columns, rows)

    def scene(self) -> Scene:
        """Plot of the predictions as lines over the steps."""
        lines = [Line("switch", list(enumerate(self.ends)))]
        for number, values in enumerate(zip(*self.choices, strict=True), 1):
            lines.append(Line(f"option {number}", list(enumerate(values))))
        title = f"{self.demonstration.sketch}: {self.demonstration.size} actions"
        ends = ", ".join(str(end + 1) for end in self.demonstration.ends)
        across = f"actions; subtasks end with {ends}" if ends else "actions"
        return draw_lines(
            lines, title=title, across=across, up=f"{title}, probability", names=self.demonstration.actions
        )

    def to_json(self) -> dict[str, Any]:
        """The analysis as a JSON object."""
        document = {
            "task": self.demonstration.sketch,
            "actions": list(self.demonstration.actions),
            "ends": list(self.demonstration.ends),
        }
        return {**document, "switch": list(self.ends), "options": [list(weights) for weights in self.choices]}


@dataclass(frozen=True)
class StepAnalyses:
    """Analyses of several demonstrations."""

    analyses: Sequence[StepAnalysis]

    def tables(self) -> list[Table]:
        """A table for each demonstration."""
        return [analysis.table() for analysis in self.analyses]

    def to_json(self) -> list[dict[str, Any]]:
        """The analyses as JSON objects."""
        return [analysis.to_json() for analysis in self.analyses]

    def scenes(self) -> list[Scene]:
        """A plot for each demonstration."""
        return [analysis.scene() for analysis in self.analyses]


@dataclass(frozen=True)
class LearningCurves:
    """Success rates of several runs in percent over their steps, or the returns of their episodes."""

    lines: Sequence[Line]
    quantity: str = "success"

    def tables(self) -> list[Table]:
        """Steps, last and best value of each run."""
        unit, form = ("return", ".2f") if self.quantity == "return" else ("%", ".1f")
        columns = [Column("Run"), Column("Steps"), Column(f"Last {unit}", form), Column(f"Best {unit}", form)]
        rows: list[list[Cell]] = [
            [line.name, round(line.points[-1][0]), line.points[-1][1], max(y for _, y in line.points)]
            for line in self.lines
        ]
        return [Table("", columns, rows)]

    def to_json(self) -> list[dict[str, Any]]:
        """All points of each run."""
        return [{"run": line.name, "points": [list(point) for point in line.points]} for line in self.lines]

    def scenes(self) -> list[Scene]:
        """The curves in one plot."""
        return [
            draw_lines(
                self.lines, title="Learning", across="steps", up="return" if self.quantity == "return" else "percent"
            )
        ]


@torch.inference_mode()
def follow_options(run: str, paths: Sequence[str]) -> StepAnalyses:
    """Analyze the demonstrations in files, or one generated for each task, with the model in ``run``.

    Raises SynparseError if the model has no options or has not learned a task.
    """
    checkpoint = read_run(run, "craft")
    model = build_model(checkpoint)
    if not isinstance(model, OptionController):
        raise SynparseError(f"{run}: this {checkpoint.config.model_name} has no options")
    craft, settings = Craft(), checkpoint.config.purpose
    sketches = read_sketches(settings.sketches)
    demonstrations = list(craft.read(paths, settings) if paths else craft.generate(settings, "test", len(sketches)))
    items, analyses = replay(demonstrations, sketches), []
    for index, demonstration in enumerate(demonstrations):
        batch = make_batch(items, [index])
        trace = model.run(batch.observations, batch.sketches)
        analyses.append(StepAnalysis(demonstration, trace.end[0].tolist(), trace.choice[0].tolist()))
    return StepAnalyses(analyses)


def learning_curves(runs: Sequence[str], quantity: str = "success") -> LearningCurves:
    """A quantity of each run over all its steps, also after the best one: updates, or calls of options.

    The ``success`` of a run that learns from demonstrations is the share of correct actions in the development set, in
    percent. For a run that learns by reinforcement, it is the share of solved episodes. The ``return`` is the mean sum
    of the rewards of an episode. Raises SynparseError for other runs, and if there is no such quantity yet.
    """
    lines = []
    for run in runs:
        facts, log = read_run(run, "craft", LATEST_FIRST).facts, Path(run) / LOG
        if quantity == "return":
            if not facts.program_facts:
                remedy = "name runs of task transfer"
                raise SynparseError(f"{run}: this run learns from demonstrations, without returns; {remedy}")
            events = [event for event in read_log(log) if event.get("event") == "learned"]
            points = [(float(event["calls"]), float(event["reward"])) for event in events]
            if not points:
                raise SynparseError(f"{log}: there is no return; name a run folder, or continue it with --resume")
        else:
            points = [(float(check.step), 100 * (check.development_accuracy or 0.0)) for check in facts.history]
            if not any(check.development_accuracy is not None for check in facts.history):
                raise SynparseError(f"{run}: no accuracy in this run yet; continue it with --resume")
        lines.append(Line(run, points))
    return LearningCurves(lines, quantity)
