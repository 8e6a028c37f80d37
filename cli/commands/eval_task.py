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
    from induce.tasks.spreads import spreads_of

    score = load(known(TASKS, task, "task").score)
    if form not in (None, "json"):
        raise click.UsageError(f"--{form} is not for --task; use --json")
    runs = [run for group in groups.values() for run in group]
    evaluation = score(task, paths, runs, device=given["device"], largest=given["max_length"])
    document = evaluation.to_json()
    spreads = spreads_of(document, groups)
    if form == "json":
        over = [{"systems": pattern, **one.to_json()} for pattern, one in spreads.items()]
        print_json({**document, **({"groups": over} if over else {})})
        return
    for title, columns, rows in evaluation.tables():
        click.echo(title)
        print_table(columns, rows, text_columns=2 if columns[1] == "Measure" else 1)
        click.echo()
    if spreads:
        click.echo("Over the runs of a pattern")
        rows = [
            [name, str(len(one.values)), f"{one.mean:.2f}", f"{one.deviation:.2f}"] for name, one in spreads.items()
        ]
        print_table(["Runs", "Number", "Mean", "SD"], rows)
        click.echo()
    for line in evaluation.signatures():
        click.echo(line)
