"""``synparse eval --task``: accuracy and trees of models that have learned a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.output import print_json, print_table

if TYPE_CHECKING:
    from induce.tasks.evaluation import TaskScore


def show_task(
    task: str, paths: Sequence[str], groups: Mapping[str, Sequence[str]], given: Mapping[str, Any], form: str | None
) -> None:
    """Score the models in the folders of ``groups`` on a task and print a table, or JSON."""
    from induce.tasks.evaluation import score_task

    if form not in (None, "json"):
        raise click.UsageError(f"--{form} is not for --task; use --json")
    runs = [run for group in groups.values() for run in group]
    evaluation = score_task(task, paths, runs, device=given["device"], largest=given["max_length"])
    if form == "json":
        print_json(evaluation.to_json())
    else:
        _print(evaluation.scores, evaluation.measure)


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
