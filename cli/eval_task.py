"""``synparse eval --task``: what models that have learned a task can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from cli.output import print_json, print_table
from induce.registry import TASKS, known, load


def show_task(
    task: str, paths: Sequence[str], groups: Mapping[str, Sequence[str]], given: Mapping[str, Any], form: str | None
) -> None:
    """Score the models in the folders of ``groups`` on a task and print its tables and signatures, or JSON."""
    score = load(known(TASKS, task, "task").score)
    if form not in (None, "json"):
        raise click.UsageError(f"--{form} is not for --task; use --json")
    runs = [run for group in groups.values() for run in group]
    evaluation = score(task, paths, runs, device=given["device"], largest=given["max_length"])
    if form == "json":
        print_json(evaluation.to_json())
        return
    for title, columns, rows in evaluation.tables():
        click.echo(title)
        print_table(columns, rows, text_columns=2 if columns[1] == "Measure" else 1)
        click.echo()
    for line in evaluation.signatures():
        click.echo(line)
