"""``synparse eval --task``: accuracy and trees of models that have learned a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.output import print_json, print_table

if TYPE_CHECKING:
    from induce.tasks.evaluation import TaskScore


def evaluate_task(
    task: str, paths: Sequence[str], runs: Sequence[str], *, device: str, form: str | None, largest: int | None
) -> None:
    """Score the models in ``runs`` on published files, or on generated examples, of at most the size ``largest``."""
    from induce.registry import TASKS, known
    from induce.tasks.evaluation import load_test, read_run, score_run

    known(TASKS, task, "task")
    if form not in (None, "json"):
        raise click.UsageError(f"--{form} is not for --task; use --json")
    checkpoints = {run: read_run(run, task) for run in runs}
    examples = load_test(task, paths, next(iter(checkpoints.values())).config.data, largest=largest)
    data = (" ".join(paths) or "generated") + (f" (up to {largest} {examples.task.measure})" if largest else "")
    scores = []
    for run, checkpoint in checkpoints.items():
        name = checkpoint.config.model_name + (f" {run}" if len(runs) > 1 else "")
        scores.append(score_run(name, checkpoint, examples, data, device=device))
    if form == "json":
        print_json({"task": task, "data": data, "scores": [score.to_json() for score in scores]})
    else:
        _print(scores, examples.task.measure)


def _print(scores: Sequence[TaskScore], measure: str) -> None:
    """A line for each model and measure, a column for each group of sizes; the signatures below."""
    columns = list(dict.fromkeys(name for score in scores for name in score.groups))
    rows = []
    for score in scores:
        values = {name: f"{100 * found / count:.2f}" for name, (found, count) in score.groups.items()}
        rows.append([score.system, "accuracy", f"{score.accuracy:.2f}", *(values.get(name, "") for name in columns)])
        if score.trees is not None:
            by_group = {name: f"{value:.2f}" for name, value in score.trees_by_group.items()}
            rows.append(
                [score.system, "UF1", f"{score.trees.value:.2f}", *(by_group.get(name, "") for name in columns)]
            )
    counts = scores[0].groups
    total = sum(count for name, (_, count) in counts.items() if name in ("learned", "longer"))
    rows.append(["", "examples", str(total), *(str(counts[name][1]) if name in counts else "" for name in columns)])
    click.echo(f"By the number of {measure}, in percent")
    print_table(["System", "Measure", "All", *columns], rows, text_columns=2)
    click.echo()
    for score in scores:
        click.echo(str(score))
        if score.trees is not None:
            click.echo(str(score.trees))
