"""A plot of accuracy over the size of the examples, as in figure 3 of Shen et al. 2019 and figure 7 of the thesis."""

from __future__ import annotations

import os

from induce.reporting.plots import Line, draw_lines
from induce.tasks.evaluation import AccuracyScore
from induce.tasks.results import TaskEvaluation
from treebank.base.errors import SynparseError
from treebank.draw.scene import Scene
from treebank.evaluate.score import Runs


def draw_accuracy(evaluation: TaskEvaluation) -> Scene:
    """Accuracy in percent by size, one line for each model or pattern.

    The line of a pattern of several models is their mean, with bars of one standard deviation. Raises SynparseError if
    the task has no accuracy by size.
    """
    scores = {score.model: score for score in evaluation.scores if isinstance(score, AccuracyScore)}
    sizes = list(dict.fromkeys(name for score in scores.values() for name in score.groups if name[0].isdigit()))
    if not sizes:
        raise SynparseError(f"--plot draws accuracy by the size of examples, which the task {evaluation.task} has not")
    lines = []
    for pattern, folders in evaluation.groups.items():
        runs = [(index, _accuracies([scores[folder] for folder in folders], size)) for index, size in enumerate(sizes)]
        known = [(index, each) for index, each in runs if each.values]
        points = [(float(index), each.mean) for index, each in known]
        several = len(folders) > 1
        deviations = [each.deviation for _, each in known] if several else []
        lines.append(Line(pattern if several else scores[folders[0]].system, points, deviations))
    title = f"Accuracy on {os.path.basename(evaluation.data)}"
    return draw_lines(lines, title=title, across="size of the examples", up="%", names=sizes)


def _accuracies(scores: list[AccuracyScore], size: str) -> Runs:
    """The accuracy in percent of each model on the examples of one size."""
    counts = {score.model: score.groups[size] for score in scores if size in score.groups}
    return Runs({model: 100 * correct / count for model, (correct, count) in counts.items()})
